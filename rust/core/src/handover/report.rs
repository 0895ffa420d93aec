//! What a shard knows of the set, for people: readiness, metrics, the CLI.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use super::{Handover, Nanos, State};
use crate::slotset::SlotSet;

/// How it stands with a slot, from the reporting shard's point of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlotState {
    /// Nobody acts on it and nobody claims it.
    Unowned,
    /// Several claim it and none acts, or several say that they act.
    Contested,
    /// This shard lists and watches it before it claims it.
    Warming,
    /// One shard claims it; none acts on it yet.
    Claiming,
    /// One shard acts on it.
    Acting,
    /// This shard lets its last runs finish.
    Draining,
}

impl SlotState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unowned => "unowned",
            Self::Contested => "contested",
            Self::Warming => "warming",
            Self::Claiming => "claiming",
            Self::Acting => "acting",
            Self::Draining => "draining",
        }
    }
}

/// One slot in a [`Report`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotReport {
    /// The slot.
    pub slot: u8,
    /// The shard that the ring names.
    pub owner: Option<String>,
    /// The shards that publish it as held, sorted.
    pub holders: Vec<String>,
    /// How it stands.
    pub state: SlotState,
    /// Since when it is so in this shard itself (0: since its start).
    pub since: Nanos,
}

/// One shard in a [`Report`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardReport {
    /// Its name.
    pub name: String,
    /// Its state; None when its Lease cannot be read.
    pub state: Option<State>,
    /// Its Lease has not been renewed for longer than its duration.
    pub void: bool,
    /// The ring counts it.
    pub live: bool,
    /// The ring that it says it follows.
    pub ring: String,
    /// The slots that it holds.
    pub holds: SlotSet,
    /// The slots that it says it acts on.
    pub acts: SlotSet,
    /// When the present version of its Lease was first seen; of the own one, when it was sent.
    pub seen: Nanos,
}

/// What a shard knows of the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The ring's id.
    pub ring: String,
    /// All shards, itself among them, sorted.
    pub shards: Vec<ShardReport>,
    /// All slots.
    pub slots: Vec<SlotReport>,
    /// What keeps this shard from starting, in words: Leases that cannot be read.
    pub problems: Vec<String>,
}

impl Report {
    /// The slots in one of these states.
    pub fn count(&self, state: SlotState) -> usize {
        self.slots.iter().filter(|slot| slot.state == state).count()
    }

    /// The slots on which nobody acts, whatever the reason.
    pub fn idle(&self) -> usize {
        self.slots.len() - self.count(SlotState::Acting) - self.count(SlotState::Draining)
    }
}

impl Handover {
    /// What this shard knows of the set.
    pub fn report(&self) -> Report {
        let shards = self.shards();
        let slots = (0..self.rules.slots)
            .filter_map(|slot| u8::try_from(slot).ok())
            .map(|slot| self.slot(slot, &shards))
            .collect();
        let problems = self
            .view
            .foreign()
            .map(|(name, reason)| format!("the Lease of shard {name} counts but is not understood: {reason}"))
            .collect();
        Report {
            ring: self.ring.id(),
            shards,
            slots,
            problems,
        }
    }

    fn shards(&self) -> Vec<ShardReport> {
        let live: Vec<&str> = self.ring.names().collect();
        let mut shards: Vec<ShardReport> = self
            .view
            .all()
            .map(|(name, seen)| {
                let record = seen.record.as_ref().ok();
                ShardReport {
                    name: name.clone(),
                    state: record.map(|record| record.state),
                    void: seen.void,
                    live: live.contains(&name.as_str()),
                    ring: record.map(|record| record.ring.clone()).unwrap_or_default(),
                    holds: record
                        .filter(|_| !seen.void)
                        .map(|record| record.holds)
                        .unwrap_or_default(),
                    acts: record
                        .filter(|_| !seen.void)
                        .map(|record| record.acts)
                        .unwrap_or_default(),
                    seen: seen.first,
                }
            })
            .collect();
        let published = self.own.published.as_ref();
        shards.push(ShardReport {
            name: self.rules.name.clone(),
            state: Some(published.map_or(State::Active, |record| record.state)),
            void: false,
            live: live.contains(&self.rules.name.as_str()),
            ring: self.ring.id(),
            holds: published.map(|record| record.holds).unwrap_or_default(),
            acts: self.acting(),
            seen: self.own.last_sent.unwrap_or_default(),
        });
        shards.sort_by(|one, other| one.name.cmp(&other.name));
        shards
    }

    fn slot(&self, slot: u8, shards: &[ShardReport]) -> SlotReport {
        let holders: Vec<String> = shards
            .iter()
            .filter(|shard| shard.holds.contains(slot))
            .map(|shard| shard.name.clone())
            .collect();
        let actors = shards.iter().filter(|shard| shard.acts.contains(slot)).count();
        let warming = self.warming.values().any(|slots| slots.contains(slot));
        let state = match (actors, holders.len()) {
            (2.., _) | (0, 2..) => SlotState::Contested,
            (1, _) if self.drains().contains(slot) => SlotState::Draining,
            (1, _) => SlotState::Acting,
            (0, 1) => SlotState::Claiming,
            (0, 0) if warming => SlotState::Warming,
            (0, 0) => SlotState::Unowned,
        };
        SlotReport {
            slot,
            owner: self.ring.owner(slot).map(Into::into),
            holders,
            state,
            since: self.since.of(slot),
        }
    }
}

/// Since when each slot is as it is. Two machines that differ in nothing else are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Since(BTreeMap<u8, Nanos>);

impl Since {
    pub(super) fn mark(&mut self, slots: SlotSet, now: Nanos) {
        for slot in slots.iter() {
            self.0.insert(slot, now);
        }
    }

    fn of(&self, slot: u8) -> Nanos {
        self.0.get(&slot).copied().unwrap_or_default()
    }
}

impl PartialEq for Since {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Since {}

impl Hash for Since {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
