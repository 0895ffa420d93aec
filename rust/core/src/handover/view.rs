//! What a shard knows of the other shards' Leases, and for how long each has not changed.

use std::collections::BTreeMap;

use crate::handover::Nanos;
use crate::handover::record::{Record, State};
use crate::slotset::SlotSet;

/// A Lease as a list or a watch showed it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The shard's name.
    pub name: String,
    /// The Lease's resourceVersion.
    pub version: u64,
    /// What the shard published, or why it cannot be read.
    pub record: Result<Record, String>,
}

impl Lease {
    /// Reads the text that a Lease carries; None stands for a Lease that carries none.
    pub fn read(name: impl Into<String>, version: u64, text: Option<&str>) -> Self {
        let record = match text {
            Some(text) => Record::decode(text).map_err(|error| error.to_string()),
            None => Err("it carries no shard record".into()),
        };
        Self {
            name: name.into(),
            version,
            record,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) version: u64,
    pub(crate) record: Result<Record, String>,
    /// When this version was first seen, by our clock.
    pub(crate) first: Nanos,
    /// It has not changed for longer than its duration: its shard acts on nothing.
    pub(crate) void: bool,
    /// The last list did not have it.
    gone: bool,
}

impl Seen {
    /// The slots that nobody else may start on.
    fn blocks(&self) -> SlotSet {
        match &self.record {
            _ if self.void => SlotSet::EMPTY,
            Ok(record) => record.holds,
            // What it holds cannot be known.
            Err(_) => SlotSet::ALL,
        }
    }

    fn duration(&self, least: Nanos) -> Nanos {
        self.record
            .as_ref()
            .map_or(least, |record| record.duration.max(least))
    }
}

/// The other shards' Leases.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct View {
    pub(super) seen: BTreeMap<String, Seen>,
    slots: u16,
    duration: Nanos,
    longest_hold: Nanos,
}

impl View {
    pub(crate) fn new(slots: u16, duration: Nanos, longest_hold: Nanos) -> Self {
        Self {
            seen: BTreeMap::new(),
            slots,
            duration,
            longest_hold,
        }
    }

    /// Takes in a version of a Lease, unless a newer one is known.
    pub(crate) fn observe(&mut self, lease: Lease, now: Nanos) {
        let Lease {
            name,
            version,
            record,
        } = lease;
        let record = record.and_then(|record| {
            if record.slots == self.slots {
                Ok(record)
            } else {
                Err(format!(
                    "it counts {} slots, this shard {}: stop one of the two sets of shards",
                    record.slots, self.slots
                ))
            }
        });
        match self.seen.get_mut(&name) {
            Some(seen) if seen.version >= version => seen.gone = false,
            _ => {
                self.seen.insert(
                    name,
                    Seen {
                        version,
                        record,
                        first: now,
                        void: false,
                        gone: false,
                    },
                );
            }
        }
    }

    /// Takes in a whole list that was asked for at `asked` and came at `now`.
    ///
    /// What a list shows is only known to hold at the moment it was asked for: a Lease that was unchanged then may
    /// have been renewed while the answer was under way. So it is void when `asked`, not `now`, is too late.
    pub(crate) fn list(&mut self, leases: Vec<Lease>, asked: Nanos, now: Nanos) {
        for seen in self.seen.values_mut() {
            seen.gone = true;
        }
        for lease in leases {
            self.observe(lease, now);
        }
        let duration = self.duration;
        for seen in self.seen.values_mut() {
            seen.void = asked.saturating_sub(seen.first) > seen.duration(duration);
        }
        // A Lease that somebody deleted counts as long as its shard may act.
        self.seen.retain(|_, seen| {
            let released = matches!(&seen.record, Ok(record) if record.state == State::Released && record.holds.is_empty());
            !(seen.gone && (seen.void || released))
        });
    }

    /// The shards that a ring counts.
    pub(crate) fn live(&self, now: Nanos) -> impl Iterator<Item = &str> {
        self.seen.iter().filter_map(move |(name, seen)| {
            let live = match seen.record.as_ref().ok()?.state {
                State::Active => !seen.void,
                State::Restarting(hold) => now.saturating_sub(seen.first) <= hold.min(self.longest_hold),
                State::Leaving | State::Released => false,
            };
            live.then_some(name.as_str())
        })
    }

    /// The slots that others hold.
    pub(crate) fn blocked(&self) -> SlotSet {
        self.seen
            .values()
            .fold(SlotSet::EMPTY, |all, seen| all | seen.blocks())
    }

    /// The slots that a shard waits for, warmed.
    pub(crate) fn ready(&self, name: &str) -> SlotSet {
        match self.seen.get(name) {
            Some(Seen {
                record: Ok(record),
                void: false,
                ..
            }) => record.ready,
            _ => SlotSet::EMPTY,
        }
    }

    /// Leases that count but cannot be read, with the reason.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = (&str, &str)> {
        self.seen
            .iter()
            .filter(|(_, seen)| !seen.void)
            .filter_map(|(name, seen)| {
                seen.record
                    .as_ref()
                    .err()
                    .map(|reason| (name.as_str(), reason.as_str()))
            })
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &Seen)> {
        self.seen.iter()
    }

    /// When to look next: the moments at which Leases turn void if they do not change, and at which holds end.
    pub(crate) fn next(&self, now: Nanos) -> Option<Nanos> {
        self.seen
            .values()
            .filter_map(|seen| {
                let turns = (!seen.void).then(|| {
                    seen.first
                        .saturating_add(seen.duration(self.duration))
                        .saturating_add(1)
                });
                let ends = match &seen.record {
                    Ok(Record {
                        state: State::Restarting(hold),
                        ..
                    }) => Some(
                        seen.first
                            .saturating_add((*hold).min(self.longest_hold))
                            .saturating_add(1),
                    ),
                    _ => None,
                };
                turns.into_iter().chain(ends.filter(|end| *end > now)).min()
            })
            .min()
    }

    /// Whether a list could show a Lease to be void.
    pub(crate) fn overdue(&self, now: Nanos) -> bool {
        self.seen
            .values()
            .any(|seen| !seen.void && now.saturating_sub(seen.first) > seen.duration(self.duration))
    }
}
