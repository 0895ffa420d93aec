//! The store: a slab of entries, found by namespace and name through a table that keeps nothing but their ids.

use std::collections::VecDeque;

use hashbrown::HashTable;

use crate::dictionary::{Samples, unpacked_len};
use crate::digest;
use crate::entry::{Body, Entry, Flag, Form, Parts};
use crate::names::Names;
use crate::packer::Packer;
use crate::version::{Uid, Version};

/// How many objects a dictionary is trained from, and how many bytes at most of one and of all.
const SAMPLES: usize = 128;
const SAMPLE: usize = 16 << 10;
const ALL_SAMPLES: usize = 384 << 10;

/// Sums over all entries.
#[derive(Debug, Default)]
struct Tally {
    /// Bytes on the heap.
    heap: usize,
    /// Bytes of the stored forms, were none of them packed.
    text: usize,
    /// Bytes of the stored forms that wait to be packed.
    waiting: usize,
    /// Objects packed, by the place of the dictionary.
    packed: [usize; 2],
}

impl Tally {
    /// Counts an entry, or no longer.
    fn count(&mut self, entry: &Entry, probes: usize, here: bool) {
        let shift = |sum: &mut usize, by: usize| {
            *sum = if here {
                sum.saturating_add(by)
            } else {
                sum.saturating_sub(by)
            };
        };
        let payload = entry.payload(probes);
        shift(&mut self.heap, entry.heap());
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
    tally: Tally,
    /// Entries to be packed, the one that waits longest first.
    queue: VecDeque<u32>,
    /// How far the entries have gone over to the present dictionary.
    moved: usize,
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
        self.tally.heap
            + self.entries.capacity() * size_of::<Option<Entry>>()
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

    pub(crate) fn name<'a>(&self, entry: &'a Entry) -> &'a str {
        entry.name(self.probes)
    }

    pub(crate) fn uid(&self, entry: &Entry) -> Uid {
        entry.uid(self.probes)
    }

    pub(crate) fn version(&self, entry: &Entry) -> Version {
        entry.version(self.probes)
    }

    pub(crate) fn namespace(&self, entry: &Entry) -> &str {
        self.namespaces.get(entry.namespace)
    }

    /// The stored form, as it is kept.
    pub(crate) fn payload<'a>(&self, entry: &'a Entry) -> &'a [u8] {
        entry.payload(self.probes)
    }

    /// Writes the digests of the entry's probes.
    pub(crate) fn digests(&self, entry: &Entry, out: &mut Vec<u64>) {
        entry.digests(self.probes, out);
    }

    /// Adds an object that is not in the store. `None` only when the store is full (four thousand million objects), or a part
    /// of the object is too long.
    pub(crate) fn insert(&mut self, namespace: &str, parts: Parts<'_>, body: Body<'_>) -> Option<u32> {
        self.adopt(namespace, Entry::new(parts, body)?)
    }

    /// Adds an entry of another store with as many probes.
    pub(crate) fn adopt(&mut self, namespace: &str, mut entry: Entry) -> Option<u32> {
        let id = match self.free.pop() {
            Some(id) => id,
            None => u32::try_from(self.entries.len()).ok()?,
        };
        entry.namespace = self.namespaces.acquire(namespace)?;
        entry.set(Flag::QUEUED, false);
        let hashed = hash(namespace, self.name(&entry));
        self.tally.count(&entry, self.probes, true);
        match self.entries.get_mut(id as usize) {
            Some(place) => *place = Some(entry),
            None => self.entries.push(Some(entry)),
        }
        let Self {
            entries,
            namespaces,
            table,
            probes,
            ..
        } = self;
        table.insert_unique(hashed, id, |&id| match entries.get(id as usize) {
            Some(Some(entry)) => hash(namespaces.get(entry.namespace), entry.name(*probes)),
            _ => 0,
        });
        self.enqueue(id);
        Some(id)
    }

    /// Replaces an object by a newer state of the same name.
    pub(crate) fn replace(&mut self, id: u32, parts: Parts<'_>, body: Body<'_>) {
        self.change(id, |entry, _| {
            entry.write(parts, body);
            entry.set(Flag::TOUCHED, true);
        });
        self.enqueue(id);
    }

    /// Replaces an object by its entry of another store.
    pub(crate) fn exchange(&mut self, id: u32, other: Entry) {
        self.change(id, |entry, _| entry.take(other));
        self.enqueue(id);
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Entry> {
        let entry = self.get(id)?;
        let hashed = hash(self.namespace(entry), self.name(entry));
        if let Ok(found) = self.table.find_entry(hashed, |&other| other == id) {
            found.remove();
        }
        let entry = self.entries.get_mut(id as usize)?.take()?;
        self.tally.count(&entry, self.probes, false);
        self.namespaces.release(entry.namespace);
        self.free.push(id);
        Some(entry)
    }

    /// Changes an entry and keeps the sums right.
    fn change<T>(&mut self, id: u32, change: impl FnOnce(&mut Entry, usize) -> T) -> Option<T> {
        let Some(Some(entry)) = self.entries.get_mut(id as usize) else {
            return None;
        };
        self.tally.count(entry, self.probes, false);
        let done = change(entry, self.probes);
        self.tally.count(entry, self.probes, true);
        Some(done)
    }

    /// An entry that is not packed gets into the queue, once.
    fn enqueue(&mut self, id: u32) {
        let waits = self
            .get(id)
            .is_some_and(|entry| entry.form() == Form::Raw && !entry.has(Flag::QUEUED));
        if waits {
            self.change(id, |entry, _| entry.set(Flag::QUEUED, true));
            self.queue.push_back(id);
        }
    }

    /// Looks at the entries that wait longest, at most so many, and packs those that did not change since the last look.
    pub(crate) fn tidy(&mut self, packer: &mut Packer, looks: usize) {
        if !packer.is_ready() {
            return;
        }
        // None is looked at twice in one go.
        for _ in 0..looks.min(self.queue.len()) {
            let Some(id) = self.queue.pop_front() else {
                break;
            };
            let again = self.change(id, |entry, probes| {
                // An entry that is gone, or another one of the same id by now, may be in the queue still.
                if !entry.has(Flag::QUEUED) {
                    return false;
                }
                if entry.form() == Form::Raw && entry.unset(Flag::TOUCHED) {
                    return true;
                }
                entry.set(Flag::QUEUED, false);
                if entry.form() == Form::Raw {
                    if let Some((form, packed)) = packer.pack(entry.payload(probes)) {
                        entry.repack(probes, form, packed);
                    }
                }
                false
            });
            if again == Some(true) {
                self.queue.push_back(id);
            }
        }
        if self.queue.capacity() > 64 && self.queue.len() * 4 < self.queue.capacity() {
            self.queue.shrink_to(self.queue.len() * 2);
        }
    }

    /// Packs entries of an outdated dictionary with the present one, at most so many.
    pub(crate) fn move_on(&mut self, outdated: usize, packer: &mut Packer, most: usize) {
        for _ in 0..most {
            if self.packed(outdated) == 0 {
                return;
            }
            let at = self.moved % self.entries.len().max(1);
            self.moved = at + 1;
            let Ok(id) = u32::try_from(at) else { return };
            if self
                .get(id)
                .is_some_and(|entry| entry.form() == Form::Packed(outdated))
            {
                self.change(id, |entry, probes| {
                    let (form, payload) = packer.repack(entry.form(), entry.payload(probes));
                    entry.repack(probes, form, payload);
                });
            }
        }
    }

    /// Stored forms from all over the store to train a dictionary from.
    pub(crate) fn samples(&self, packer: &mut Packer) -> Samples {
        let mut samples = Samples {
            objects: self.len(),
            ..Samples::default()
        };
        let mut text = Vec::new();
        let step = (self.entries.len() / SAMPLES).max(1);
        for entry in self.entries.iter().step_by(step).flatten() {
            packer.unpack(entry.form(), self.payload(entry), &mut text);
            text.truncate(SAMPLE);
            if samples.bytes.len() + text.len() > ALL_SAMPLES {
                break;
            }
            if !text.is_empty() {
                samples.bytes.extend_from_slice(&text);
                samples.lengths.push(text.len());
            }
        }
        samples
    }
}
