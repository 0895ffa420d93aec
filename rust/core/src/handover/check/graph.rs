//! The graph of all states: what leads where, the way to a state, and whether all ends well.

/// Edges in the order in which states are explored, breadth first.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// Where the edges of each explored state end.
    ends: Vec<usize>,
    targets: Vec<u32>,
    /// The state from which each state but the first was found.
    parents: Vec<u32>,
}

/// Not visited yet; or in a component that is complete.
const NEVER: u32 = 0;
const COMPLETE: u32 = u32::MAX;

impl Graph {
    /// An edge of the state that is being explored. A state that is new has the next number.
    pub(super) fn edge(&mut self, from: usize, to: u32) {
        if to as usize == self.parents.len() + 1 {
            self.parents.push(u32::try_from(from).unwrap_or_default());
        }
        self.targets.push(to);
    }

    /// All edges of a state are there.
    pub(super) fn done(&mut self) {
        self.ends.push(self.targets.len());
    }

    pub(super) fn edges(&self) -> usize {
        self.targets.len()
    }

    /// The states on the way to one, the first and itself among them.
    pub(super) fn way(&self, to: usize) -> Vec<usize> {
        let parent = |place: &usize| place.checked_sub(1).map(|place| self.parents[place] as usize);
        let mut way: Vec<usize> = std::iter::successors(Some(to), parent).collect();
        way.reverse();
        way
    }

    fn targets(&self, place: usize) -> std::ops::Range<usize> {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[place]
    }

    /// A state that is not in order and may be visited for ever: it lies on a cycle, or nothing follows it.
    ///
    /// Faults use up their budgets, so a cycle has none. When there is no such state, then whatever has happened, once
    /// nothing goes wrong any more the world comes in order and stays so.
    ///
    /// Strongly connected components after Tarjan, without recursion.
    pub(super) fn restless(&self, in_order: &dyn Fn(usize) -> bool) -> Option<usize> {
        let states = self.ends.len();
        // The lowest visited state that each one is known to reach, and complete components.
        let mut low = vec![NEVER; states];
        let mut component: Vec<usize> = Vec::new();
        let mut path: Vec<(usize, usize, u32)> = Vec::new();
        let mut visited = 0;
        for root in 0..states {
            if low[root] != NEVER {
                continue;
            }
            let mut enter = Some(root);
            loop {
                if let Some(place) = enter.take() {
                    visited += 1;
                    low[place] = visited;
                    component.push(place);
                    path.push((place, self.targets(place).start, visited));
                }
                let Some((place, edge, number)) = path.last_mut() else {
                    break;
                };
                let (place, number) = (*place, *number);
                if *edge < self.targets(place).end {
                    let target = self.targets[*edge] as usize;
                    *edge += 1;
                    if low[target] == NEVER {
                        enter = Some(target);
                    } else if low[target] != COMPLETE {
                        low[place] = low[place].min(low[target]);
                    }
                    continue;
                }
                path.pop();
                if let Some((before, ..)) = path.last() {
                    low[*before] = low[*before].min(low[place]);
                }
                if low[place] != number {
                    continue;
                }
                let start = component.iter().rposition(|member| *member == place).unwrap_or(0);
                let members = component.split_off(start);
                for member in &members {
                    low[*member] = COMPLETE;
                }
                let targets = &self.targets[self.targets(place)];
                let again = members.len() > 1
                    || targets.is_empty()
                    || targets.iter().any(|target| *target as usize == place);
                let wrong = members.into_iter().find(|member| again && !in_order(*member));
                if wrong.is_some() {
                    return wrong;
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;

    fn graph(edges: &[&[u32]]) -> Graph {
        let mut graph = Graph::default();
        for (place, targets) in edges.iter().enumerate() {
            targets.iter().for_each(|target| graph.edge(place, *target));
            graph.done();
        }
        graph
    }

    #[test]
    fn what_is_passed_once_may_be_out_of_order() {
        // 0 -> 1 -> 2 <-> 3
        let graph = graph(&[&[1], &[2], &[3], &[2]]);
        assert_eq!(graph.restless(&|place| place >= 2), None);
        assert!(matches!(graph.restless(&|place| place != 3), Some(3)));
        assert_eq!(graph.way(3), [0, 1, 2, 3]);
    }

    #[test]
    fn what_nothing_follows_and_what_follows_itself_must_be_in_order() {
        let dead = graph(&[&[1, 2], &[], &[2]]);
        assert_eq!(dead.restless(&|place| place != 1), Some(1));
        assert_eq!(dead.restless(&|place| place != 2), Some(2));
        assert_eq!(dead.restless(&|place| place != 0), None);
    }

    #[test]
    fn a_cycle_over_a_state_already_seen_is_found() {
        // Two ways round: 0 -> 1 -> 3 -> 0 and 0 -> 2 -> 3.
        let round = graph(&[&[1, 2], &[3], &[3], &[0]]);
        for wrong in 0..4 {
            assert_eq!(round.restless(&|place| place != wrong), Some(wrong));
        }
    }
}
