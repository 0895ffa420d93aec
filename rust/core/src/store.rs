//! The store: a slab of entries, found by namespace and name through a table that keeps nothing but their ids.

use hashbrown::HashTable;

use crate::digest;
use crate::names::Names;
use crate::version::{Uid, Version};

/// The bytes of one digest in a blob.
const DIGEST: usize = size_of::<u64>();

/// One object. Its probes' digests, its name and its stored form lie behind each other in one block.
#[derive(Debug)]
pub(crate) struct Entry {
    blob: Box<[u8]>,
    pub(crate) version: Version,
    pub(crate) uid: Uid,
    namespace: u32,
    name_len: u32,
    /// Put by ourselves, not yet told by the stream.
    pub(crate) unconfirmed: bool,
    /// The relist being committed told of it.
    pub(crate) seen: bool,
}

/// What an entry is made of.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: Version,
    pub(crate) uid: Uid,
    pub(crate) digests: &'a [u64],
}

impl Parts<'_> {
    /// The block of an entry, to which the stored form of `len` bytes is still to be appended. Reuses an old block.
    fn blob(&self, old: Box<[u8]>, len: usize) -> Vec<u8> {
        let mut blob = old.into_vec();
        blob.clear();
        blob.reserve_exact(self.digests.len() * DIGEST + self.name.len() + len);
        for digest in self.digests {
            blob.extend_from_slice(&digest.to_le_bytes());
        }
        blob.extend_from_slice(self.name.as_bytes());
        blob
    }
}

/// A slab of entries and the table that finds them.
#[derive(Debug)]
pub(crate) struct Store {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    table: HashTable<u32>,
    namespaces: Names,
    probes: usize,
    heap: usize,
}

fn hash(namespace: &str, name: &str) -> u64 {
    digest::pair(namespace.as_bytes(), name.as_bytes())
}

impl Store {
    /// An empty store whose entries have this many probes.
    pub(crate) fn new(probes: usize) -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            table: HashTable::new(),
            namespaces: Names::default(),
            probes,
            heap: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// Bytes held, all told.
    pub(crate) fn bytes(&self) -> usize {
        self.heap
            + self.entries.capacity() * size_of::<Option<Entry>>()
            + self.free.capacity() * size_of::<u32>()
            + self.table.allocation_size()
            + self.namespaces.bytes()
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

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Entry> {
        self.entries.get_mut(id as usize)?.as_mut()
    }

    /// The ids of all entries, in the order of the slab.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        (0..)
            .zip(&self.entries)
            .filter_map(|(id, entry)| entry.as_ref().map(|_| id))
    }

    fn name_range(&self, entry: &Entry) -> (usize, usize) {
        let start = self.probes * DIGEST;
        (start, start + entry.name_len as usize)
    }

    pub(crate) fn name<'a>(&self, entry: &'a Entry) -> &'a str {
        let (start, end) = self.name_range(entry);
        let name = entry.blob.get(start..end).unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    }

    pub(crate) fn namespace(&self, entry: &Entry) -> &str {
        self.namespaces.get(entry.namespace)
    }

    /// The stored form.
    pub(crate) fn payload<'a>(&self, entry: &'a Entry) -> &'a [u8] {
        let (_, end) = self.name_range(entry);
        entry.blob.get(end..).unwrap_or_default()
    }

    /// Writes the digests of the entry's probes.
    pub(crate) fn digests(&self, entry: &Entry, out: &mut Vec<u64>) {
        out.clear();
        let chunks = entry.blob.chunks_exact(DIGEST).take(self.probes);
        out.extend(chunks.filter_map(|chunk| chunk.first_chunk().copied().map(u64::from_le_bytes)));
    }

    /// Adds an object that is not in the store; `write` appends its stored form of `len` bytes. `None` only when the store
    /// is full (four thousand million objects).
    pub(crate) fn insert(
        &mut self,
        namespace: &str,
        parts: Parts<'_>,
        len: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Option<u32> {
        let id = match self.free.pop() {
            Some(id) => id,
            None => u32::try_from(self.entries.len()).ok()?,
        };
        let mut blob = parts.blob(Box::default(), len);
        write(&mut blob);
        let entry = Entry {
            name_len: u32::try_from(parts.name.len()).ok()?,
            blob: blob.into_boxed_slice(),
            version: parts.version,
            uid: parts.uid,
            namespace: self.namespaces.acquire(namespace)?,
            unconfirmed: false,
            seen: false,
        };
        let hashed = hash(namespace, parts.name);
        self.place(id, entry, hashed);
        Some(id)
    }

    /// Adds an entry of another store with as many probes.
    pub(crate) fn adopt(&mut self, namespace: &str, mut entry: Entry) -> Option<u32> {
        let id = match self.free.pop() {
            Some(id) => id,
            None => u32::try_from(self.entries.len()).ok()?,
        };
        entry.namespace = self.namespaces.acquire(namespace)?;
        let hashed = hash(namespace, self.name(&entry));
        self.place(id, entry, hashed);
        Some(id)
    }

    fn place(&mut self, id: u32, entry: Entry, hashed: u64) {
        self.heap += entry.heap();
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
        let start = *probes * DIGEST;
        table.insert_unique(hashed, id, |&id| {
            let Some(Some(entry)) = entries.get(id as usize) else {
                return 0;
            };
            let name = entry
                .blob
                .get(start..start + entry.name_len as usize)
                .unwrap_or_default();
            digest::pair(namespaces.get(entry.namespace).as_bytes(), name)
        });
    }

    /// Replaces an object by a newer state of the same name.
    pub(crate) fn replace(
        &mut self,
        id: u32,
        parts: Parts<'_>,
        len: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let Some(Some(entry)) = self.entries.get_mut(id as usize) else {
            return;
        };
        self.heap -= entry.heap();
        let mut blob = parts.blob(std::mem::take(&mut entry.blob), len);
        write(&mut blob);
        entry.blob = blob.into_boxed_slice();
        entry.version = parts.version;
        entry.uid = parts.uid;
        self.heap += entry.heap();
    }

    /// Replaces an object by its entry of another store.
    pub(crate) fn exchange(&mut self, id: u32, other: Entry) {
        let Some(Some(entry)) = self.entries.get_mut(id as usize) else {
            return;
        };
        self.heap -= entry.heap();
        entry.blob = other.blob;
        entry.version = other.version;
        entry.uid = other.uid;
        self.heap += entry.heap();
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Entry> {
        let entry = self.get(id)?;
        let hashed = hash(self.namespace(entry), self.name(entry));
        if let Ok(found) = self.table.find_entry(hashed, |&other| other == id) {
            found.remove();
        }
        let entry = self.entries.get_mut(id as usize)?.take()?;
        self.heap -= entry.heap();
        self.namespaces.release(entry.namespace);
        self.free.push(id);
        Some(entry)
    }
}

impl Entry {
    fn heap(&self) -> usize {
        self.blob.len() + self.version.heap() + self.uid.heap()
    }
}
