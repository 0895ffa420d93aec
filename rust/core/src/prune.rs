//! Pruning: the stored form of an object is its bytes without some members, spliced, never written anew.

use crate::skim::Span;

/// Collects the ranges to leave out of one object or array, whose members are told in order, each kept or cut.
///
/// A cut takes one comma with it: the one before the member when something before it was kept, else the one after.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    kept_end: Option<usize>,
    pending: Option<Span>,
}

impl Cutter {
    /// A member that stays begins at `start`. What is cut inside it may be pushed after this.
    pub(crate) fn keep(&mut self, start: usize, cuts: &mut Vec<Span>) {
        if let Some(pending) = self.pending.take() {
            cuts.push(Span {
                start: pending.start,
                end: start,
            });
        }
    }

    /// The member that stays ended at `end`.
    pub(crate) fn kept(&mut self, end: usize) {
        self.kept_end = Some(end);
    }

    /// A member goes.
    pub(crate) fn cut(&mut self, member: Span, cuts: &mut Vec<Span>) {
        if let Some(start) = self.kept_end {
            match cuts.last_mut() {
                Some(last) if last.start == start => last.end = member.end,
                _ => cuts.push(Span {
                    start,
                    end: member.end,
                }),
            }
        } else {
            let start = self.pending.map_or(member.start, |pending| pending.start);
            self.pending = Some(Span {
                start,
                end: member.end,
            });
        }
    }

    /// No more members.
    pub(crate) fn finish(self, cuts: &mut Vec<Span>) {
        cuts.extend(self.pending);
    }
}

/// The length of `whole` without `cuts`.
pub(crate) fn spliced_len(whole: Span, cuts: &[Span]) -> usize {
    cuts.iter()
        .fold(whole.end - whole.start, |left, cut| left - (cut.end - cut.start))
}

/// Appends `whole` of `bytes` to `out`, without `cuts`, which are in order.
pub(crate) fn splice(bytes: &[u8], whole: Span, cuts: &[Span], out: &mut Vec<u8>) {
    let mut start = whole.start;
    for cut in cuts {
        let end = cut.start;
        out.extend_from_slice(Span { start, end }.of(bytes));
        start = cut.end;
    }
    let end = whole.end;
    out.extend_from_slice(Span { start, end }.of(bytes));
}
