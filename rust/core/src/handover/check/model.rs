//! What is explored: settings, budgets of faults, properties, and the search itself.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use hashbrown::HashTable;
use stateright::{Checker, Model, Property};
use xxhash_rust::xxh3::Xxh3Builder;

use std::hash::BuildHasher;

use super::events::Event;
use super::graph::Graph;
use super::world::{Parts, World};
use crate::handover::Nanos;
use crate::handover::rules::Fault;

/// What may go wrong, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    /// Requests answered late, never or with a failure, and steps of time over unserved requests.
    pub(super) delays: u8,
    pub(super) crashes: u8,
    pub(super) pauses: u8,
    pub(super) spawns: u8,
    pub(super) stops: u8,
    pub(super) watches: u8,
}

pub(super) const NONE: Budget = Budget {
    delays: 0,
    crashes: 0,
    pauses: 0,
    spawns: 0,
    stops: 0,
    watches: 0,
};

/// How the world begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// All shards start at once.
    Cold,
    /// All shards run and own their shares.
    Steady,
    /// All but the last run; the last one starts.
    Joining,
}

#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub(super) shards: usize,
    pub(super) slots: u16,
    /// How much each shard's clock advances in a step of time.
    pub(super) rates: [Nanos; 3],
    /// Steps of time in a renewal interval.
    pub(super) grid: Nanos,
    /// For how long after the fence, by its shard's clock, a write to an object may still arrive.
    pub(super) flight: Nanos,
    pub(super) start: Start,
    pub(super) budget: Budget,
    pub(super) fault: Option<Fault>,
}

pub(super) const THREE: Setting = Setting {
    shards: 3,
    slots: 2,
    rates: [9, 11, 10],
    grid: 1,
    flight: 0,
    start: Start::Steady,
    budget: NONE,
    fault: None,
};

impl Parts {
    /// The first state of a setting.
    pub(super) fn begin(&mut self, setting: &Setting) -> World {
        let mut world = self.empty();
        world.left = NONE;
        let early = match setting.start {
            Start::Cold => 0,
            Start::Steady => setting.shards,
            Start::Joining => setting.shards - 1,
        };
        (0..early).for_each(|shard| self.spawn(&mut world, shard));
        let mut events = Vec::new();
        // Some steps at rest: all that follows from the beginning has been done.
        for _ in 0..3 * early.min(1) * usize::try_from(setting.grid).unwrap_or_default() {
            loop {
                events.clear();
                self.events(&world, &mut events);
                let Some(event) = events.iter().find(|event| **event != Event::Tick) else {
                    break;
                };
                world = self.next(&world, *event);
            }
            world = self.next(&world, Event::Tick);
        }
        (early..setting.shards).for_each(|shard| self.spawn(&mut world, shard));
        world.left = setting.budget;
        world
    }
}

/// What a run of the checker came to.
pub(super) struct Outcome {
    pub(super) states: usize,
    pub(super) transitions: usize,
    /// Different processes over all states.
    pub(super) processes: usize,
    /// No state is left unexplored.
    pub(super) exhausted: bool,
    pub(super) time: Duration,
    /// The broken property and the way to it.
    pub(super) broken: Option<(&'static str, String)>,
}

pub(super) const CLASH: &str = "one actor a slot";
pub(super) const UNPUBLISHED: &str = "what is acted on is published";
pub(super) const UNOWNED: &str = "every slot is owned again, and stays so";

/// Explores breadth first, up to a number of states.
pub(super) fn explore(setting: &Setting, limit: usize) -> Outcome {
    let started = Instant::now();
    let mut parts = Parts::new(setting);
    let hasher = Xxh3Builder::new();
    let mut known: HashTable<u32> = HashTable::new();
    let mut states: Vec<World> = Vec::new();
    let mut graph = Graph::default();
    let mut broken = None;
    let mut events = Vec::new();
    let mut find = |states: &mut Vec<World>, world: World| {
        let hash = hasher.hash_one(world);
        let same = |place: &u32| states[*place as usize] == world;
        let rehash = |place: &u32| hasher.hash_one(states[*place as usize]);
        match known.entry(hash, same, rehash) {
            hashbrown::hash_table::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let place = u32::try_from(states.len()).expect("fewer than 2^32 states");
                entry.insert(place);
                states.push(world);
                place
            }
        }
    };
    let first = parts.begin(setting);
    find(&mut states, first);
    let mut place = 0;
    while let Some(world) = states.get(place).copied().filter(|_| states.len() < limit) {
        let property = match &parts {
            parts if !parts.clashes(&world).is_empty() => Some(CLASH),
            parts if !parts.published(&world) => Some(UNPUBLISHED),
            _ => None,
        };
        if let Some(property) = property {
            broken = Some((property, place));
            break;
        }
        events.clear();
        parts.events(&world, &mut events);
        for event in &events {
            let next = parts.next(&world, *event);
            let next = find(&mut states, next);
            graph.edge(place, next);
        }
        graph.done();
        place += 1;
    }
    let exhausted = place == states.len();
    if exhausted {
        let stuck = graph.restless(&|place| parts.in_order(&states[place]));
        broken = stuck.map(|place| (UNOWNED, place));
    }
    let broken = broken.map(|(property, place)| (property, way(&mut parts, &states, &graph, place)));
    Outcome {
        states: states.len(),
        transitions: graph.edges(),
        processes: parts.len(),
        exhausted,
        time: started.elapsed(),
        broken,
    }
}

/// The events that lead to a state.
fn way(parts: &mut Parts, states: &[World], graph: &Graph, place: usize) -> String {
    let mut words = Vec::new();
    for pair in graph.way(place).windows(2) {
        let (from, to) = (states[pair[0]], states[pair[1]]);
        let mut events = Vec::new();
        parts.events(&from, &mut events);
        let event = events.into_iter().find(|event| parts.next(&from, *event) == to);
        words.extend(event.map(|event| format!("{event:?}")));
    }
    words.join(" ")
}

/// The same for `stateright`, to compare the number of states with.
struct Peer {
    setting: Setting,
    parts: Mutex<Parts>,
}

impl Model for Peer {
    type State = World;
    type Action = Event;

    fn init_states(&self) -> Vec<World> {
        vec![self.parts.lock().expect("no panic").begin(&self.setting)]
    }

    fn actions(&self, world: &World, events: &mut Vec<Event>) {
        self.parts.lock().expect("no panic").events(world, events);
    }

    fn next_state(&self, world: &World, event: Event) -> Option<World> {
        Some(self.parts.lock().expect("no panic").next(world, event))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(CLASH, |peer: &Self, world: &World| {
            peer.parts.lock().expect("no panic").clashes(world).is_empty()
        })]
    }
}

/// How many states `stateright` finds.
pub(super) fn count_by_stateright(setting: &Setting) -> usize {
    let peer = Peer {
        setting: setting.clone(),
        parts: Mutex::new(Parts::new(setting)),
    };
    let checker = peer.checker().threads(1).spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}
