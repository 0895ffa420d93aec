//! The share of the objects that a cache holds: which slots, of which it tells, and from where on.
//!
//! Everything that a stream tells is known up to its position, but for slots that were listed by themselves: these are known up
//! to their list's position. To bring both together the stream begins again at the older of the two, and each slot has a
//! *floor*: what the stream tells of a slot up to its floor is known, and is not taken twice.

use crate::error::StateError;
use crate::owners::controllers;
use crate::probe::each_member;
use crate::scan::View;
use crate::slots::slot;
use crate::slotset::SlotSet;
use crate::version::Version;

/// The label of a child that names the slot of its root.
const SLOT_LABEL: &str = "openclaw.dev/slot";

/// What decides an object's slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// There are no slots: every object is kept and told of.
    Everything,
    /// The object's own uid.
    Roots,
    /// The uid of the controller that owns it; of an object that nothing controls, its label `openclaw.dev/slot`.
    Children,
}

/// Slots of which more is known than the stream's position says.
#[derive(Debug)]
struct Floor {
    slots: SlotSet,
    version: Version,
}

/// What an event's object is to the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Of this slot, which is kept.
    Ours(u8),
    /// Of a slot that is kept, but known already.
    Replayed(u8),
    /// Of a slot that is not kept, or of none.
    Foreign,
}

/// Which slots are kept, and which of these are active.
#[derive(Debug)]
pub(crate) struct Share {
    scope: Scope,
    kept: SlotSet,
    active: SlotSet,
    floors: Vec<Floor>,
}

impl Default for Share {
    fn default() -> Self {
        Self::new(Scope::Everything)
    }
}

impl Share {
    pub(crate) fn new(scope: Scope) -> Self {
        let slots = match scope {
            Scope::Everything => SlotSet::ALL,
            Scope::Roots | Scope::Children => SlotSet::EMPTY,
        };
        Self {
            scope,
            kept: slots,
            active: slots,
            floors: Vec::new(),
        }
    }

    /// Refuses where there are no slots.
    pub(crate) fn sliced(&self) -> Result<(), StateError> {
        match self.scope {
            Scope::Everything => Err(StateError(
                "the cache holds everything and knows no slots: make it with the scope of roots or children",
            )),
            Scope::Roots | Scope::Children => Ok(()),
        }
    }

    pub(crate) fn kept(&self) -> SlotSet {
        self.kept
    }

    pub(crate) fn active(&self) -> SlotSet {
        self.active
    }

    /// The slot of an object; of any where there are no slots.
    pub(crate) fn slot(&self, view: View<'_>) -> Option<u8> {
        match self.scope {
            Scope::Everything => Some(0),
            Scope::Roots => Some(slot(&view.uid())),
            Scope::Children => owner_slot(view).or_else(|| label_slot(view)),
        }
    }

    /// Whether there is somebody to be told of this object.
    pub(crate) fn tells(&self, view: View<'_>) -> bool {
        self.scope == Scope::Everything || self.slot(view).is_some_and(|slot| self.active.contains(slot))
    }

    /// Whether an object is of a slot that is not kept, or of none.
    pub(crate) fn is_foreign(&self, view: View<'_>) -> bool {
        self.scope != Scope::Everything && self.slot(view).is_none_or(|slot| !self.kept.contains(slot))
    }

    pub(crate) fn standing(&self, view: View<'_>, version: &Version) -> Standing {
        match self.slot(view).filter(|&slot| self.kept.contains(slot)) {
            None => Standing::Foreign,
            Some(slot) if self.floor(slot).is_some_and(|floor| version <= floor) => Standing::Replayed(slot),
            Some(slot) => Standing::Ours(slot),
        }
    }

    fn floor(&self, slot: u8) -> Option<&Version> {
        let floors = self.floors.iter().filter(|floor| floor.slots.contains(slot));
        floors.map(|floor| &floor.version).max()
    }

    /// The stream has come to this position.
    pub(crate) fn passed(&mut self, position: &Version) {
        if !self.floors.is_empty() {
            self.floors.retain(|floor| floor.version > *position);
        }
    }

    /// Whether a list of these slots at `list` can be brought together with what is known from a stream at `position`.
    pub(crate) fn can_take(
        &self,
        slots: SlotSet,
        list: &Version,
        position: Option<&Version>,
    ) -> Result<(), StateError> {
        let others = self.kept - slots;
        if others.is_empty() || (list.is_number() && position.is_some_and(Version::is_number)) {
            return Ok(());
        }
        Err(StateError(
            "these resourceVersions are no numbers, so it cannot be told which is older: list all slots at once",
        ))
    }

    /// These slots were listed, at `list`. Returns where the stream is to begin again.
    pub(crate) fn listed(&mut self, slots: SlotSet, list: Version, position: Option<Version>) -> Version {
        let others = self.kept - slots;
        self.kept |= slots;
        for floor in &mut self.floors {
            floor.slots -= slots;
        }
        let start = match position.filter(|_| !others.is_empty()) {
            None => list,
            Some(position) => {
                let start = list.clone().min(position.clone());
                self.floors.extend([
                    Floor { slots, version: list },
                    Floor {
                        slots: others,
                        version: position,
                    },
                ]);
                start
            }
        };
        self.floors.retain(|floor| !floor.slots.is_empty());
        self.passed(&start);
        start
    }

    /// Makes slots active, and returns those that were not.
    pub(crate) fn start(&mut self, slots: SlotSet) -> Result<SlotSet, StateError> {
        self.sliced()?;
        if !slots.is_subset(&self.kept) {
            return Err(StateError(
                "a slot to be started is not kept: its objects must be listed first",
            ));
        }
        let new = slots - self.active;
        self.active |= slots;
        Ok(new)
    }

    /// Makes slots inactive.
    pub(crate) fn stop(&mut self, slots: SlotSet) {
        self.active -= slots;
    }

    /// Keeps slots no longer.
    pub(crate) fn drop(&mut self, slots: SlotSet) {
        self.stop(slots);
        self.kept -= slots;
        for floor in &mut self.floors {
            floor.slots -= slots;
        }
        self.floors.retain(|floor| !floor.slots.is_empty());
    }
}

fn owner_slot(view: View<'_>) -> Option<u8> {
    let mut uid = None;
    controllers(view, |found| uid = found.uid);
    uid.map(|uid| slot(&uid.decode(view.bytes)))
}

fn label_slot(view: View<'_>) -> Option<u8> {
    let mut slot = None;
    each_member(view, view.scan.labels, |key, value| {
        if key == SLOT_LABEL {
            slot = serde_json::from_slice::<&str>(value)
                .ok()
                .and_then(|text| text.parse().ok());
        }
    });
    slot
}
