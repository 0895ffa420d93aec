//! The slots of a cache that holds a share: gained, made active, made inactive, dropped.

use super::{Cache, Key};
use crate::delta::{Batch, Deltas, Reason};
use crate::error::StateError;
use crate::filter::Change;
use crate::slotset::SlotSet;

impl Cache {
    /// Begins a relist of these slots, which are kept when it is committed; a list under way is dropped.
    pub fn begin_relist_of(&mut self, slots: &[u8]) -> Result<(), StateError> {
        self.live.share.sliced()?;
        self.begin(SlotSet::of(slots), false);
        Ok(())
    }

    /// Begins a list of these slots, as far as they are not kept, while the stream goes on for those that are; a list under
    /// way is dropped.
    pub fn begin_gain(&mut self, slots: &[u8]) -> Result<(), StateError> {
        self.live.share.sliced()?;
        self.begin(SlotSet::of(slots) - self.live.share.kept(), true);
        Ok(())
    }

    /// Makes slots active: from now on there are deltas of their objects. Returns a first one of each object.
    pub fn start_slots(&mut self, slots: &[u8]) -> Result<Batch, StateError> {
        let new = self.live.share.start(SlotSet::of(slots))?;
        let mut deltas = Deltas::default();
        for id in self.live.store.ids_of(new) {
            self.live.with_stored(id, |live, view| {
                live.emit(Change { probes: None }, Reason::Added, view, &[], &mut deltas);
            });
        }
        let deltas = deltas.into_list();
        self.stats.deltas += deltas.len() as u64;
        Ok(Batch {
            deltas,
            ..Batch::default()
        })
    }

    /// Makes slots inactive: their objects stay, and there are no deltas of them.
    pub fn stop_slots(&mut self, slots: &[u8]) -> Result<(), StateError> {
        self.live.share.sliced()?;
        self.live.share.stop(SlotSet::of(slots));
        Ok(())
    }

    /// Forgets slots and their objects, without deltas, also in a list under way.
    pub fn drop_slots(&mut self, slots: &[u8]) -> Result<(), StateError> {
        self.live.share.sliced()?;
        let slots = SlotSet::of(slots);
        if let Some(relist) = &mut self.relist {
            relist.drop(slots);
        }
        self.live.share.drop(slots);
        for id in self.live.store.ids_of(slots) {
            self.live.forget(id);
        }
        if self.live.share.kept().is_empty() {
            self.position = None;
        }
        self.live.store.shrink();
        Ok(())
    }

    /// The slots that are kept, in order.
    pub fn kept(&self) -> Vec<u8> {
        self.slots_of(self.live.share.kept())
    }

    /// The slots that are active, in order.
    pub fn active(&self) -> Vec<u8> {
        self.slots_of(self.live.share.active())
    }

    fn slots_of(&self, slots: SlotSet) -> Vec<u8> {
        self.live
            .share
            .sliced()
            .map(|()| slots.iter().collect())
            .unwrap_or_default()
    }

    /// The keys of the objects of these slots, sorted.
    pub fn keys_in(&self, slots: &[u8]) -> Result<Vec<Key>, StateError> {
        self.live.share.sliced()?;
        Ok(self.sorted(self.live.store.ids_of(SlotSet::of(slots)).into_iter()))
    }

    /// The slot of an object; `None` when there is no such object, or there are no slots.
    pub fn slot_of(&self, namespace: &str, name: &str) -> Option<u8> {
        self.live.share.sliced().ok()?;
        let store = &self.live.store;
        let entry = store.get(store.find(namespace, name)?)?;
        Some(entry.slot)
    }
}
