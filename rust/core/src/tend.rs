//! What is to be done besides, in bounded steps, so that no call takes long: training dictionaries and packing with them.

use crate::live::Live;

/// Stored forms that changed lately are kept unpacked, up to so many bytes: what changes often would be packed each time,
/// which costs more than all the rest of an event.
pub(crate) const KEPT: usize = 1 << 20;
/// Up to so many bytes while more comes than is packed meanwhile.
pub(crate) const WAITING: usize = 8 << 20;
/// How many waiting entries to look at, at most, with each change while there are too many, and with each call otherwise.
/// An entry that changed is looked at twice.
const LOOKS: usize = 3;
/// How many entries to look at, at most, with each call while they go over to another dictionary.
const MOVES: usize = 8;

impl Live {
    /// Keeps what waits to be packed, and what is dead, within bounds; to be called after each change.
    pub(crate) fn relieve(&mut self) {
        if self.store.waiting() > WAITING {
            self.store.tidy(&mut self.packer, LOOKS);
        }
        self.store.compact();
    }

    /// Does a little of all; to be called once a chunk. `staged` tells how many entries of a relist are packed with the
    /// dictionary in a place, `None` when there is no relist under way; `calm`, that nothing changed.
    pub(crate) fn tend(&mut self, staged: Option<[usize; 2]>, calm: bool) {
        let Self { store, packer, .. } = self;
        packer.poll();
        if packer.wants_samples(store.len(), staged.is_none()) {
            let samples = store.samples(packer);
            packer.train(samples);
        }
        if calm || store.waiting() > KEPT {
            store.tidy(packer, LOOKS);
        }
        store.compact();
        if let Some(place) = packer.outdated() {
            store.move_on(place, packer, MOVES);
            let elsewhere = staged.and_then(|staged| staged.get(place).copied());
            if store.packed(place) == 0 && elsewhere.unwrap_or_default() == 0 {
                packer.retire(place);
            }
        }
    }
}
