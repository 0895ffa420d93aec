//! The live state of a collection: store and indexes, and how events and our own writes change them.

use std::cmp::Ordering;

use crate::delta::{Deltas, Reason};
use crate::entry::{Body, Entry, Flag, Parts};
use crate::filter::Change;
use crate::index::Index;
use crate::packer::Packer;
use crate::rules::{OldKey, Rules};
use crate::scan::{Scan, View};
use crate::share::{Share, Standing};
use crate::store::Store;
use crate::version::{Uid, Version};
use crate::writes::{Told, Writes};

/// What an event came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It changed something; whether some subscription wants to know.
    Changed { wanted: bool },
    /// It told of what is known already.
    Echo,
    /// It is older than what is known.
    Stale,
    /// There is nothing to delete.
    Unknown,
}

/// Store, indexes and what watches over them.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) rules: Rules,
    pub(crate) share: Share,
    pub(crate) store: Store,
    pub(crate) packer: Packer,
    pub(crate) indexes: Vec<Index>,
    pub(crate) writes: Writes,
    /// Digests of the object at hand.
    pub(crate) new: Vec<u64>,
    /// Digests of the stored object.
    pub(crate) old: Vec<u64>,
    /// The stored object, and a scan of it.
    text: Vec<u8>,
    stored: Scan,
}

impl Live {
    pub(crate) fn new(share: Share) -> Self {
        Self {
            share,
            ..Self::default()
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.store.bytes()
            + self.packer.bytes()
            + self.text.capacity()
            + self.writes.bytes()
            + self.indexes.iter().map(Index::bytes).sum::<usize>()
    }

    /// The stream tells that an object of this slot is there, in this state.
    pub(crate) fn upsert(&mut self, view: View<'_>, slot: u8, deltas: &mut Deltas) -> Outcome {
        let version = Version::parse(&view.resource_version());
        let found = self.store.find(&view.namespace(), &view.name());
        let Some(id) = found.filter(|&id| !self.displace(id, Some(slot), &version, deltas)) else {
            self.rules.probes.take(view, &[], &mut self.new);
            self.insert(view, slot, &version);
            return self.changed(Change { probes: None }, Reason::Added, view, &[], deltas);
        };
        let Some(entry) = self.store.get(id) else {
            return Outcome::Stale;
        };
        let order = version.cmp(&self.store.version(entry));
        let unconfirmed = entry.has(Flag::UNCONFIRMED);
        match order {
            Ordering::Equal => {
                self.confirm(id);
                Outcome::Echo
            }
            Ordering::Less if unconfirmed => self.behind(id, version, view, deltas),
            Ordering::Less => Outcome::Stale,
            Ordering::Greater => {
                let known = self.store.uid(entry);
                self.store.digests(entry, &mut self.old);
                self.rules.probes.take(view, &self.old, &mut self.new);
                let old_keys = self.replace(id, view, slot, &version);
                let base = self.confirm(id);
                self.compare(unconfirmed, base.as_ref(), &known, view, &old_keys, deltas)
            }
        }
    }

    /// The stream tells that an object of this slot is gone.
    pub(crate) fn delete(&mut self, view: View<'_>, slot: u8, deltas: &mut Deltas) -> Outcome {
        let version = Version::parse(&view.resource_version());
        let found = self.store.find(&view.namespace(), &view.name());
        let Some(id) = found.filter(|&id| !self.displace(id, Some(slot), &version, deltas)) else {
            return Outcome::Unknown;
        };
        let Some(entry) = self.store.get(id) else {
            return Outcome::Unknown;
        };
        if entry.slot != slot && !entry.has(Flag::UNCONFIRMED) {
            return Outcome::Stale;
        }
        if version < self.store.version(entry) {
            if entry.has(Flag::UNCONFIRMED) {
                return self.recreated(id, version, view, deltas);
            }
            if self.store.uid(entry) != Uid::parse(&view.uid()) {
                return Outcome::Stale;
            }
        }
        self.rules.probes.take(view, &[], &mut self.new);
        let old_keys = self.forget(id);
        self.changed(Change { probes: None }, Reason::Deleted, view, &old_keys, deltas)
    }

    /// Stores the response to a write of our own, unless the stream has been there already, or the slot is not kept.
    pub(crate) fn put(&mut self, view: View<'_>, position: Option<&Version>) -> bool {
        let version = Version::parse(&view.resource_version());
        let Standing::Ours(slot) = self.share.standing(view, &version) else {
            return false;
        };
        if position.is_some_and(|position| version <= *position) {
            return false;
        }
        let found = self.store.find(&view.namespace(), &view.name());
        let id = if let Some(id) = found {
            let Some(entry) = self.store.get(id) else {
                return false;
            };
            if version <= self.store.version(entry) {
                return false;
            }
            if !entry.has(Flag::UNCONFIRMED) {
                self.store.digests(entry, &mut self.old);
                let ahead = self.writes.entry(id);
                ahead.version = Some(self.store.version(entry));
                ahead.base = Some(Told {
                    uid: self.store.uid(entry),
                    digests: self.old.as_slice().into(),
                });
            }
            self.rules.probes.take(view, &[], &mut self.new);
            self.replace(id, view, slot, &version);
            id
        } else {
            self.rules.probes.take(view, &[], &mut self.new);
            let Some(id) = self.insert(view, slot, &version) else {
                return false;
            };
            id
        };
        self.writes.entry(id).wrote(version);
        if let Some(entry) = self.store.get_mut(id) {
            entry.set(Flag::UNCONFIRMED, true);
        }
        true
    }

    /// An event older than a write of our own that the stream has not come to yet.
    fn behind(&mut self, id: u32, version: Version, view: View<'_>, deltas: &mut Deltas) -> Outcome {
        self.rules.probes.take(view, &[], &mut self.new);
        let told = Told {
            uid: Uid::parse(&view.uid()),
            digests: self.new.as_slice().into(),
        };
        let ahead = self.writes.entry(id);
        if ahead.version.as_ref().is_some_and(|last| version <= *last) {
            return Outcome::Stale;
        }
        let ours = ahead.is_ours(&version);
        ahead.version = Some(version);
        let uid = told.uid.clone();
        let base = ahead.base.replace(told);
        if ours {
            return Outcome::Echo;
        }
        self.compare(true, base.as_ref(), &uid, view, &[], deltas)
    }

    /// A deletion older than a write of our own: what was deleted is there again, by us.
    fn recreated(&mut self, id: u32, version: Version, view: View<'_>, deltas: &mut Deltas) -> Outcome {
        let ahead = self.writes.entry(id);
        if ahead.version.as_ref().is_some_and(|last| version <= *last) {
            return Outcome::Stale;
        }
        ahead.version = Some(version);
        if ahead.base.take().is_none() {
            return Outcome::Stale;
        }
        self.changed(Change { probes: None }, Reason::Updated, view, &[], deltas)
    }

    /// The deltas of a change from the stored state, or from `base` when the stored one was `ahead` of the stream,
    /// to `self.new`. `known` is the uid before the change when not ahead.
    pub(crate) fn compare(
        &mut self,
        ahead: bool,
        base: Option<&Told>,
        known: &Uid,
        view: View<'_>,
        old_keys: &[OldKey],
        deltas: &mut Deltas,
    ) -> Outcome {
        let (new, old) = (std::mem::take(&mut self.new), std::mem::take(&mut self.old));
        let told = if ahead {
            base.map(|told| (&told.uid, &*told.digests))
        } else {
            Some((known, old.as_slice()))
        };
        let reason = if told.is_some() {
            Reason::Updated
        } else {
            Reason::Added
        };
        let uid = Uid::parse(&view.uid());
        let same = told.filter(|(told, _)| **told == uid);
        let change = Change {
            probes: same.map(|(_, digests)| (digests, new.as_slice())),
        };
        let outcome = self.changed(change, reason, view, old_keys, deltas);
        self.old = old;
        self.new = new;
        outcome
    }

    fn changed(
        &self,
        change: Change<'_>,
        reason: Reason,
        view: View<'_>,
        old_keys: &[OldKey],
        deltas: &mut Deltas,
    ) -> Outcome {
        Outcome::Changed {
            wanted: self.emit(change, reason, view, old_keys, deltas),
        }
    }

    /// Adds the deltas of a change, if its object's slot is active, and returns whether there is any.
    pub(crate) fn emit(
        &self,
        change: Change<'_>,
        reason: Reason,
        view: View<'_>,
        old_keys: &[OldKey],
        deltas: &mut Deltas,
    ) -> bool {
        self.share.tells(view) && self.rules.emit(change, reason, view, old_keys, deltas)
    }

    /// Marks an entry as told by the stream; returns what the stream had told of before.
    pub(crate) fn confirm(&mut self, id: u32) -> Option<Told> {
        let entry = self.store.get_mut(id)?;
        if !entry.unset(Flag::UNCONFIRMED) {
            return None;
        }
        self.writes.remove(id)?.base
    }

    /// Adds an object whose digests are `self.new`.
    fn insert(&mut self, view: View<'_>, slot: u8, version: &Version) -> Option<u32> {
        let (namespace, name) = (view.namespace(), view.name());
        let parts = Parts {
            name: &name,
            version,
            uid: &Uid::parse(&view.uid()),
            slot,
            digests: &self.new,
        };
        // A new object is packed at once: it may never change again.
        let id = self.store.insert(&namespace, parts, self.packer.body(view))?;
        for index in &mut self.indexes {
            index.add(id, view);
        }
        Some(id)
    }

    /// Replaces an object by one whose digests are `self.new`; `self.old` are its digests before. Returns the keys that it
    /// led to before, when they may be others now.
    fn replace(&mut self, id: u32, view: View<'_>, slot: u8, version: &Version) -> Vec<OldKey> {
        let old_keys = self.leave(id);
        let name = view.name();
        let parts = Parts {
            name: &name,
            version,
            uid: &Uid::parse(&view.uid()),
            slot,
            digests: &self.new,
        };
        // What changed once may change again soon: it waits for its turn to be packed.
        self.store.replace(id, parts, Body::Fresh(view));
        self.enter(id, view);
        self.relieve();
        old_keys
    }

    /// The same with an entry of another store, whose stored form `view` is a scan of.
    pub(crate) fn exchange(&mut self, id: u32, entry: &Entry, blob: &[u8]) -> Vec<OldKey> {
        let old_keys = self.leave(id);
        self.store.exchange(id, entry, blob);
        self.with_stored(id, |live, view| live.enter(id, view));
        old_keys
    }

    /// Takes an object out of the indexes whose values differ between its stored digests and `self.new`.
    fn leave(&mut self, id: u32) -> Vec<OldKey> {
        let Some(entry) = self.store.get(id) else {
            return Vec::new();
        };
        self.store.digests(entry, &mut self.old);
        let differs = |probe: usize| self.old.get(probe) != self.new.get(probe);
        let owners = self.rules.owners_differ(&self.old, &self.new);
        if !owners && !self.indexes.iter().any(|index| differs(index.probe)) {
            return Vec::new();
        }
        let bytes = self.packer.read(entry.form(), self.store.payload(entry));
        self.stored.stored(bytes);
        let view = View {
            bytes,
            scan: &self.stored,
        };
        for index in &mut self.indexes {
            if self.old.get(index.probe) != self.new.get(index.probe) {
                index.remove(id, view);
            }
        }
        if owners {
            self.rules.owner_keys(view)
        } else {
            Vec::new()
        }
    }

    /// Puts an object into the indexes whose values differ between `self.old` and `self.new`.
    fn enter(&mut self, id: u32, view: View<'_>) {
        for index in &mut self.indexes {
            if self.old.get(index.probe) != self.new.get(index.probe) {
                index.add(id, view);
            }
        }
    }

    /// Drops an object. Returns the keys that it led to, when they may be others than those of `self.new`.
    pub(crate) fn forget(&mut self, id: u32) -> Vec<OldKey> {
        let old_keys = self.unlist(id);
        self.store.remove(id);
        self.writes.remove(id);
        old_keys
    }

    fn unlist(&mut self, id: u32) -> Vec<OldKey> {
        let Some(entry) = self.store.get(id) else {
            return Vec::new();
        };
        self.store.digests(entry, &mut self.old);
        let owners = self.rules.owners_differ(&self.old, &self.new);
        if !owners && self.indexes.is_empty() {
            return Vec::new();
        }
        let bytes = self.packer.read(entry.form(), self.store.payload(entry));
        self.stored.stored(bytes);
        let view = View {
            bytes,
            scan: &self.stored,
        };
        for index in &mut self.indexes {
            index.remove(id, view);
        }
        if owners {
            self.rules.owner_keys(view)
        } else {
            Vec::new()
        }
    }

    /// Calls `visit` with a view of a stored object.
    pub(crate) fn with_stored(&mut self, id: u32, visit: impl FnOnce(&mut Self, View<'_>)) {
        let Some(entry) = self.store.get(id) else {
            return;
        };
        let (mut bytes, mut scan) = (std::mem::take(&mut self.text), std::mem::take(&mut self.stored));
        self.packer
            .unpack(entry.form(), self.store.payload(entry), &mut bytes);
        scan.stored(&bytes);
        let view = View {
            bytes: &bytes,
            scan: &scan,
        };
        visit(self, view);
        self.text = bytes;
        self.stored = scan;
    }
}
