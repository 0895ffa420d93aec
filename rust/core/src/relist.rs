//! A relist: objects gather in a staging store until all are there, then take the place of the live ones at once.

use crate::delta::{Deltas, Reason};
use crate::entry::{Body, Flag, Form, Parts};
use crate::error::StateError;
use crate::filter::Change;
use crate::live::Live;
use crate::packer::Packer;
use crate::scan::View;
use crate::slotset::SlotSet;
use crate::store::Store;
use crate::version::{Uid, Version};

/// How many staged objects are packed, at most, with each that comes.
const LOOKS: usize = 4;

/// What a relist has gathered.
#[derive(Debug)]
pub(crate) struct Relist {
    /// The slots that are listed.
    slots: SlotSet,
    /// None of the slots was kept before, and the stream goes on for those that are.
    gain: bool,
    /// An entry without a stored form is the same as the live one.
    store: Store,
    position: Option<Version>,
    complete: bool,
    digests: Vec<u64>,
}

impl Relist {
    pub(crate) fn new(slots: SlotSet, gain: bool, probes: usize) -> Self {
        Self {
            slots,
            gain,
            store: Store::new(probes),
            position: None,
            complete: false,
            digests: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.store.bytes()
    }

    /// A page was read. Pages of one list have one position; if they differ, the oldest is the safe one to watch from.
    pub(crate) fn page(&mut self, version: Version, last: bool) {
        self.position = match self.position.take() {
            Some(known) => Some(known.min(version)),
            None => Some(version),
        };
        self.complete = last;
    }

    /// A streamed list has come to this position.
    pub(crate) fn advance(&mut self, version: Version, end: bool) {
        self.position = match self.position.take() {
            Some(known) => Some(known.max(version)),
            None => Some(version),
        };
        self.complete |= end;
    }

    pub(crate) fn slots(&self) -> SlotSet {
        self.slots
    }

    /// Whether slots are being gained.
    pub(crate) fn is_gain(&self) -> bool {
        self.gain
    }

    /// The slot of an object, when it is one of those that are listed.
    pub(crate) fn slot(&self, view: View<'_>, live: &Live) -> Option<u8> {
        live.share.slot(view).filter(|&slot| self.slots.contains(slot))
    }

    /// These slots are not wanted any more.
    pub(crate) fn drop(&mut self, slots: SlotSet) {
        self.slots -= slots;
        for id in self.store.ids_of(slots) {
            self.store.remove(id);
        }
    }

    /// The list has this object, of this slot.
    pub(crate) fn stage(&mut self, view: View<'_>, slot: u8, live: &mut Live) {
        let (namespace, name) = (view.namespace(), view.name());
        let version = Version::parse(&view.resource_version());
        let uid = Uid::parse(&view.uid());
        let same = live
            .store
            .find(&namespace, &name)
            .and_then(|id| live.store.get(id))
            .is_some_and(|entry| live.store.version(entry) == version && live.store.uid(entry) == uid);
        let found = self.store.find(&namespace, &name);
        let known = found.and_then(|id| self.store.get(id));
        if known.is_some_and(|entry| self.store.version(entry) >= version) {
            return;
        }
        if same {
            self.digests.clear();
            self.digests.resize(live.rules.probes.len(), 0);
        } else {
            live.rules.probes.take(view, &[], &mut self.digests);
        }
        let parts = Parts {
            name: &name,
            version: &version,
            uid: &uid,
            slot,
            digests: &self.digests,
        };
        let body = if same {
            Body::Kept(Form::Raw, b"")
        } else {
            live.packer.body(view)
        };
        match found {
            None => {
                self.store.insert(&namespace, parts, body);
            }
            Some(id) => self.store.replace(id, parts, body),
        }
        self.tend(&mut live.packer);
    }

    /// Trains the first dictionary as soon as there is something to train it from, and packs what came before it.
    fn tend(&mut self, packer: &mut Packer) {
        packer.poll();
        if packer.wants_samples(self.store.len(), false) {
            let samples = self.store.samples(packer);
            packer.train_now(samples);
        }
        self.store.tidy(packer, LOOKS);
        self.store.compact();
    }

    /// How many objects are packed, by the place of the dictionary.
    pub(crate) fn packed(&self) -> [usize; 2] {
        [self.store.packed(0), self.store.packed(1)]
    }

    /// A streamed list tells that an object is gone again, or went to another slot.
    pub(crate) fn unstage(&mut self, view: View<'_>) {
        if let Some(id) = self.store.find(&view.namespace(), &view.name()) {
            self.store.remove(id);
        }
    }

    /// The live entry is about to be overwritten: if the list has the same, it needs a copy of its own now.
    pub(crate) fn detach(&mut self, namespace: &str, name: &str, live: &Live) {
        let Some(staged) = self.store.find(namespace, name) else {
            return;
        };
        let same = self
            .store
            .get(staged)
            .is_some_and(|entry| self.store.payload(entry).is_empty());
        let entry = live.store.find(namespace, name).and_then(|id| live.store.get(id));
        if let (true, Some(entry)) = (same, entry) {
            live.store.digests(entry, &mut self.digests);
            let payload = live.store.payload(entry);
            let parts = Parts {
                name,
                version: &live.store.version(entry),
                uid: &live.store.uid(entry),
                slot: entry.slot,
                digests: &self.digests,
            };
            self.store
                .replace(staged, parts, Body::Kept(entry.form(), payload));
        }
    }

    /// Puts the list in the place of what is live of its slots, and returns the list's position. `stream` is the stream's.
    pub(crate) fn commit(
        mut self,
        stream: Option<&Version>,
        live: &mut Live,
        deltas: &mut Deltas,
    ) -> Result<Version, StateError> {
        let (true, Some(position)) = (self.complete, self.position.take()) else {
            return Err(StateError(
                "the relist is not complete: its last page, or the bookmark that ends the initial events, has not been fed",
            ));
        };
        live.share.can_take(self.slots, &position, stream)?;
        let ids: Vec<u32> = self.store.ids().collect();
        if live.store.len() == 0 {
            // The first list: nothing is there that it could be compared with.
            live.store = self.store;
            for id in ids {
                welcome(id, live, deltas);
            }
            return Ok(position);
        }
        for id in ids {
            let Some(entry) = self.store.get(id) else {
                continue;
            };
            let namespace = self.store.namespace(entry).to_owned();
            match live.store.find(&namespace, self.store.name(entry)) {
                Some(known) => self.settle(id, known, &position, live, deltas),
                None => self.arrive(id, &namespace, live, deltas),
            }
        }
        sweep(self.slots, &position, live, deltas);
        Ok(position)
    }

    /// An object of the list that is not in the live state.
    fn arrive(&mut self, staged: u32, namespace: &str, live: &mut Live, deltas: &mut Deltas) {
        let Some(entry) = self.store.get(staged) else {
            return;
        };
        let adopted = live.store.adopt(namespace, *entry, self.store.blob(entry));
        self.store.remove(staged);
        let Some(id) = adopted else { return };
        if let Some(entry) = live.store.get_mut(id) {
            entry.set(Flag::SEEN, true);
        }
        welcome(id, live, deltas);
    }

    /// An object that both the list and the live state have.
    fn settle(&mut self, staged: u32, id: u32, position: &Version, live: &mut Live, deltas: &mut Deltas) {
        if self.moved(staged, id, live) {
            self.resettle(staged, id, position, live, deltas);
            return;
        }
        if outlives(id, position, live) {
            return;
        }
        let (Some(entry), Some(known)) = (self.store.get(staged), live.store.get_mut(id)) else {
            return;
        };
        known.set(Flag::SEEN, true);
        let unconfirmed = known.has(Flag::UNCONFIRMED);
        let Some(known) = live.store.get(id) else { return };
        let uid = live.store.uid(known);
        if live.store.version(known) == self.store.version(entry) {
            let base = live.confirm(id);
            if unconfirmed {
                // Others may have changed it before our own write did; only the list is left to tell.
                if let Some(entry) = live.store.get(id) {
                    live.store.digests(entry, &mut live.new);
                }
                live.with_stored(id, |live, view| {
                    live.compare(true, base.as_ref(), &uid, view, &[], deltas);
                });
            }
            return;
        }
        self.store.digests(entry, &mut live.new);
        let old_keys = live.exchange(id, entry, self.store.blob(entry));
        self.store.remove(staged);
        let base = live.confirm(id);
        live.with_stored(id, |live, view| {
            live.compare(unconfirmed, base.as_ref(), &uid, view, &old_keys, deltas);
        });
    }

    /// Whether the list has an object in another slot than it is live in.
    fn moved(&self, staged: u32, id: u32, live: &Live) -> bool {
        let (entry, known) = (self.store.get(staged), live.store.get(id));
        entry.map(|entry| entry.slot) != known.map(|known| known.slot)
    }

    /// The same as `settle`, for a name that went from one slot to another.
    fn resettle(&mut self, staged: u32, id: u32, position: &Version, live: &mut Live, deltas: &mut Deltas) {
        let (Some(entry), Some(known)) = (self.store.get(staged), live.store.get(id)) else {
            return;
        };
        // A slot that is not listed is known from the stream, which may be ahead of the list.
        let stays = if self.slots.contains(known.slot) {
            outlives(id, position, live)
        } else {
            live.store.version(known) >= self.store.version(entry)
        };
        if !stays {
            let namespace = self.store.namespace(entry).to_owned();
            live.let_go(id, deltas);
            self.arrive(staged, &namespace, live, deltas);
        }
    }
}

/// An object is new.
fn welcome(id: u32, live: &mut Live, deltas: &mut Deltas) {
    live.with_stored(id, |live, view| {
        for index in &mut live.indexes {
            index.add(id, view);
        }
        live.emit(Change { probes: None }, Reason::Added, view, &[], deltas);
    });
}

/// Whether the entry is a write of our own that is newer than the list. It is kept, but by one list only.
fn outlives(id: u32, position: &Version, live: &mut Live) -> bool {
    let Some(entry) = live.store.get(id) else {
        return false;
    };
    if !entry.has(Flag::UNCONFIRMED) || live.store.version(entry) <= *position {
        return false;
    }
    let Some(ahead) = live.writes.get_mut(id) else {
        return false;
    };
    if std::mem::replace(&mut ahead.survived, true) {
        return false;
    }
    if let Some(entry) = live.store.get_mut(id) {
        entry.set(Flag::SEEN, true);
    }
    true
}

/// Deletes what the list did not have of its slots.
fn sweep(slots: SlotSet, position: &Version, live: &mut Live, deltas: &mut Deltas) {
    for id in live.store.ids_of(slots) {
        let Some(entry) = live.store.get_mut(id) else {
            continue;
        };
        if entry.unset(Flag::SEEN) {
            continue;
        }
        if outlives(id, position, live) {
            if let Some(entry) = live.store.get_mut(id) {
                entry.set(Flag::SEEN, false);
            }
            continue;
        }
        live.let_go(id, deltas);
    }
}
