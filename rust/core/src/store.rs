//! The store: a slab of entries, found by namespace and name through a table that keeps nothing but their ids.

mod upkeep;

use std::collections::VecDeque;

use hashbrown::HashTable;

use crate::dictionary::unpacked_len;
use crate::digest::{self, ABSENT};
use crate::entry::{self, Body, Entry, Flag, Form, Parts};
use crate::heap::{Block, Heap};
use crate::names::Names;
use crate::slotset::SlotSet;
use crate::version::{Uid, Version};

/// Sums over all entries.
#[derive(Debug, Default)]
struct Tally {
    /// Bytes of the stored forms, were none of them packed.
    text: usize,
    /// Bytes of the stored forms that wait to be packed.
    waiting: usize,
    /// Objects packed, by the place of the dictionary.
    packed: [usize; 2],
}

impl Tally {
    /// Counts an entry, or no longer.
    fn count(&mut self, entry: &Entry, payload: &[u8], here: bool) {
        let shift = |sum: &mut usize, by: usize| {
            *sum = if here {
                sum.saturating_add(by)
            } else {
                sum.saturating_sub(by)
            };
        };
        match entry.form() {
            Form::Raw => {
                shift(&mut self.text, payload.len());
                if entry.has(Flag::QUEUED) {
                    shift(&mut self.waiting, payload.len());
                }
            }
            Form::Packed(place) => {
                shift(&mut self.text, unpacked_len(payload));
                if let Some(packed) = self.packed.get_mut(place) {
                    shift(packed, 1);
                }
            }
        }
    }
}

/// A slab of entries and the table that finds them.
#[derive(Debug, Default)]
pub(crate) struct Store {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    table: HashTable<u32>,
    namespaces: Names,
    probes: usize,
    heap: Heap,
    tally: Tally,
    /// Entries to be packed, the one that waits longest first.
    queue: VecDeque<u32>,
    /// How far the entries have gone over to the present dictionary.
    moved: usize,
    /// A block in the making.
    blob: Vec<u8>,
    /// By id, the digest of what an entry was last found to be as it should be by; none since it changed. Empty until asked for.
    settled: Vec<u64>,
}

fn hash(namespace: &str, name: &str) -> u64 {
    digest::pair(namespace.as_bytes(), name.as_bytes())
}

impl Store {
    /// An empty store whose entries have this many probes.
    pub(crate) fn new(probes: usize) -> Self {
        Self {
            probes,
            ..Self::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Bytes held, all told.
    pub(crate) fn bytes(&self) -> usize {
        self.heap.bytes()
            + self.blob.capacity()
            + self.entries.capacity() * size_of::<Option<Entry>>()
            + self.settled.capacity() * size_of::<u64>()
            + (self.free.capacity() + self.queue.capacity()) * size_of::<u32>()
            + self.table.allocation_size()
            + self.namespaces.bytes()
    }

    /// Bytes of the stored forms, were none of them packed.
    pub(crate) fn text_bytes(&self) -> usize {
        self.tally.text
    }

    /// Bytes of the stored forms that wait to be packed.
    pub(crate) fn waiting(&self) -> usize {
        self.tally.waiting
    }

    /// How many objects are packed with the dictionary in this place.
    pub(crate) fn packed(&self, place: usize) -> usize {
        self.tally.packed.get(place).copied().unwrap_or_default()
    }

    pub(crate) fn find(&self, namespace: &str, name: &str) -> Option<u32> {
        self.table
            .find(hash(namespace, name), |&id| {
                self.get(id)
                    .is_some_and(|entry| self.name(entry) == name && self.namespace(entry) == namespace)
            })
            .copied()
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Entry> {
        self.entries.get(id as usize)?.as_ref()
    }

    /// For its marks only.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Entry> {
        self.entries.get_mut(id as usize)?.as_mut()
    }

    /// The ids of all entries, in the order of the slab.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        (0..)
            .zip(&self.entries)
            .filter_map(|(id, entry)| entry.as_ref().map(|_| id))
    }

    /// The ids of the entries of these slots.
    pub(crate) fn ids_of(&self, slots: SlotSet) -> Vec<u32> {
        let wanted = |id: &u32| self.get(*id).is_some_and(|entry| slots.contains(entry.slot));
        self.ids().filter(wanted).collect()
    }

    /// The entry's block.
    pub(crate) fn blob(&self, entry: &Entry) -> &[u8] {
        self.heap.get(entry.block)
    }

    pub(crate) fn name(&self, entry: &Entry) -> &str {
        entry.name(self.blob(entry), self.probes)
    }

    pub(crate) fn uid(&self, entry: &Entry) -> Uid {
        entry.uid(self.blob(entry), self.probes)
    }

    pub(crate) fn version(&self, entry: &Entry) -> Version {
        entry.version(self.blob(entry), self.probes)
    }

    pub(crate) fn namespace(&self, entry: &Entry) -> &str {
        self.namespaces.get(entry.namespace)
    }

    /// The stored form, as it is kept.
    pub(crate) fn payload(&self, entry: &Entry) -> &[u8] {
        entry.payload(self.blob(entry), self.probes)
    }

    /// Writes the digests of the entry's probes.
    pub(crate) fn digests(&self, entry: &Entry, out: &mut Vec<u64>) {
        entry::digests(self.blob(entry), self.probes, out);
    }

    /// Adds an object that is not in the store. `None` only when the store is full (four thousand million objects), or a part
    /// of the object is too long.
    pub(crate) fn insert(&mut self, namespace: &str, parts: Parts<'_>, body: Body<'_>) -> Option<u32> {
        let mut blob = std::mem::take(&mut self.blob);
        let mut entry = Entry::blank();
        let written = entry.write(parts, body, &mut blob);
        let id = written.and_then(|()| self.adopt(namespace, entry, &blob));
        self.blob = blob;
        id
    }

    /// Adds an entry of another store with as many probes.
    pub(crate) fn adopt(&mut self, namespace: &str, mut entry: Entry, blob: &[u8]) -> Option<u32> {
        let next = u32::try_from(self.entries.len()).ok();
        let id = self.free.last().copied().or(next)?;
        entry.block = self.heap.add(id, blob)?;
        entry.namespace = self.namespaces.acquire(namespace)?;
        entry.set(Flag::QUEUED, false);
        self.free.pop();
        self.unsettle(id);
        let probes = self.probes;
        self.tally.count(&entry, entry.payload(blob, probes), true);
        match self.entries.get_mut(id as usize) {
            Some(place) => *place = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        let Self {
            entries,
            namespaces,
            table,
            heap,
            ..
        } = self;
        let hashed = hash(namespace, entry.name(blob, probes));
        table.insert_unique(hashed, id, |&id| match entries.get(id as usize) {
            Some(Some(entry)) => hash(
                namespaces.get(entry.namespace),
                entry.name(heap.get(entry.block), probes),
            ),
            _ => 0,
        });
        self.enqueue(id);
        Some(id)
    }

    /// Replaces an object by a newer state of the same name.
    pub(crate) fn replace(&mut self, id: u32, parts: Parts<'_>, body: Body<'_>) {
        self.change(id, |entry, _, blob| {
            entry.set(Flag::TOUCHED, true);
            entry.write(parts, body, blob).is_some()
        });
        self.unsettle(id);
        self.enqueue(id);
    }

    /// Replaces an object by an entry of another store, whose block `new` is.
    pub(crate) fn exchange(&mut self, id: u32, other: &Entry, new: &[u8]) {
        self.change(id, |entry, _, blob| {
            entry.take(other);
            blob.clear();
            blob.extend_from_slice(new);
            true
        });
        self.unsettle(id);
        self.enqueue(id);
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, id: u32) {
        let Some(entry) = self.get(id).copied() else {
            return;
        };
        let hashed = hash(self.namespace(&entry), self.name(&entry));
        if let Ok(found) = self.table.find_entry(hashed, |&other| other == id) {
            found.remove();
        }
        self.tally.count(
            &entry,
            entry.payload(self.heap.get(entry.block), self.probes),
            false,
        );
        if let Some(place) = self.entries.get_mut(id as usize) {
            *place = None;
        }
        self.heap.remove(entry.block);
        self.namespaces.release(entry.namespace);
        self.free.push(id);
    }

    /// Changes an entry and keeps the sums right. `change` gets the entry, its block, and room for another block, and says
    /// whether that is to be the entry's block now.
    fn change(&mut self, id: u32, change: impl FnOnce(&mut Entry, &[u8], &mut Vec<u8>) -> bool) {
        let Some(Some(entry)) = self.entries.get_mut(id as usize) else {
            return;
        };
        let old = self.heap.get(entry.block);
        self.tally.count(entry, entry.payload(old, self.probes), false);
        if change(entry, old, &mut self.blob) && !self.heap.overwrite(entry.block, &self.blob) {
            self.heap.remove(entry.block);
            entry.block = self.heap.add(id, &self.blob).unwrap_or(Block::NONE);
        }
        let new = self.heap.get(entry.block);
        self.tally.count(entry, entry.payload(new, self.probes), true);
    }

    /// Whether the entry was found to be as it should be by what has this digest, and did not change since.
    pub(crate) fn is_settled(&self, id: u32, digest: u64) -> bool {
        self.settled.get(id as usize) == Some(&digest)
    }

    /// The entry is as it should be by what has this digest.
    pub(crate) fn settle(&mut self, id: u32, digest: u64) {
        if self.settled.len() <= id as usize {
            self.settled.resize(self.entries.len(), ABSENT);
        }
        if let Some(place) = self.settled.get_mut(id as usize) {
            *place = digest;
        }
    }

    fn unsettle(&mut self, id: u32) {
        if let Some(place) = self.settled.get_mut(id as usize) {
            *place = ABSENT;
        }
    }

    /// An entry that is not packed gets into the queue, once.
    fn enqueue(&mut self, id: u32) {
        let waits = self
            .get(id)
            .is_some_and(|entry| entry.form() == Form::Raw && !entry.has(Flag::QUEUED));
        if waits {
            self.change(id, |entry, _, _| {
                entry.set(Flag::QUEUED, true);
                false
            });
            self.queue.push_back(id);
        }
    }
}
