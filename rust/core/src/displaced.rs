//! Names that go from one slot to another: an object is there again under its name as another one, or has another controller.
//!
//! To the slot that it leaves, the object is gone. What a name is last, by its resourceVersion, is right, whichever slot tells.

use crate::delta::{Deltas, Reason};
use crate::entry::Flag;
use crate::filter::Change;
use crate::live::Live;
use crate::scan::View;
use crate::version::Version;

impl Live {
    /// An event of another slot than the kept ones, or of one that is known already. What is stored under its name may be gone.
    pub(crate) fn hear(&mut self, view: View<'_>, slot: Option<u8>, version: &Version, deltas: &mut Deltas) {
        if let Some(id) = self.store.find(&view.namespace(), &view.name()) {
            self.displace(id, slot, version, deltas);
        }
    }

    /// The stream tells that at this version an object of this slot had the entry's name. Returns whether the entry is gone.
    pub(crate) fn displace(
        &mut self,
        id: u32,
        slot: Option<u8>,
        version: &Version,
        deltas: &mut Deltas,
    ) -> bool {
        let Some(entry) = self.store.get(id).filter(|entry| Some(entry.slot) != slot) else {
            return false;
        };
        if *version > self.store.version(entry) {
            self.let_go(id, deltas);
            return true;
        }
        if slot.is_none() && entry.has(Flag::UNCONFIRMED) {
            self.away(id, version, deltas);
        }
        false
    }

    /// Before a write of our own that the stream has not come to yet, the object was another's.
    fn away(&mut self, id: u32, version: &Version, deltas: &mut Deltas) {
        let ahead = self.writes.entry(id);
        if ahead.version.as_ref().is_some_and(|last| version <= last) {
            return;
        }
        ahead.version = Some(version.clone());
        if ahead.base.take().is_some() {
            self.with_stored(id, |live, view| {
                live.emit(Change { probes: None }, Reason::Updated, view, &[], deltas);
            });
        }
    }

    /// Tells that an entry is gone, and forgets it.
    pub(crate) fn let_go(&mut self, id: u32, deltas: &mut Deltas) {
        self.with_stored(id, |live, view| {
            live.emit(Change { probes: None }, Reason::Deleted, view, &[], deltas);
        });
        if let Some(entry) = self.store.get(id) {
            self.store.digests(entry, &mut self.new);
        }
        self.forget(id);
    }
}
