//! Field indexes: from the value at a field path to the objects that have it.

use hashbrown::HashTable;

use crate::digest;
use crate::path::Path;
use crate::scan::View;

/// The objects of one value, in order of their ids. One object alone needs no block of memory.
#[derive(Debug)]
enum Ids {
    One(u32),
    Many(Vec<u32>),
}

#[derive(Debug)]
struct Posting {
    value: Box<str>,
    ids: Ids,
}

impl Posting {
    fn heap(&self) -> usize {
        let ids = match &self.ids {
            Ids::One(_) => 0,
            Ids::Many(ids) => ids.capacity() * size_of::<u32>(),
        };
        self.value.len() + ids
    }
}

/// One inverted index.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) name: Box<str>,
    path: Path,
    /// The probe that tells whether an object's values changed.
    pub(crate) probe: usize,
    postings: HashTable<Posting>,
    heap: usize,
}

impl Index {
    pub(crate) fn new(name: &str, path: Path, probe: usize) -> Self {
        Self {
            name: name.into(),
            path,
            probe,
            postings: HashTable::new(),
            heap: 0,
        }
    }

    /// Bytes held, all told.
    pub(crate) fn bytes(&self) -> usize {
        self.heap + self.postings.allocation_size()
    }

    /// The ids of the objects that have this value.
    pub(crate) fn lookup(&self, value: &str) -> &[u32] {
        let hash = digest::of(value.as_bytes());
        match self.postings.find(hash, |posting| *posting.value == *value) {
            None => &[],
            Some(posting) => match &posting.ids {
                Ids::One(id) => std::slice::from_ref(id),
                Ids::Many(ids) => ids,
            },
        }
    }

    /// An object of this id is there.
    pub(crate) fn add(&mut self, id: u32, view: View<'_>) {
        let path = self.path.clone();
        path.scalars(view, |value| self.insert(&value, id));
    }

    /// The object of this id is there no more; `view` is what it was when it was added.
    pub(crate) fn remove(&mut self, id: u32, view: View<'_>) {
        let path = self.path.clone();
        path.scalars(view, |value| self.take(&value, id));
    }

    fn insert(&mut self, value: &str, id: u32) {
        let hash = digest::of(value.as_bytes());
        if let Some(posting) = self.postings.find_mut(hash, |posting| *posting.value == *value) {
            self.heap -= posting.heap();
            match &mut posting.ids {
                Ids::One(known) if *known == id => {}
                Ids::One(known) => {
                    posting.ids = Ids::Many(vec![id.min(*known), id.max(*known)]);
                }
                Ids::Many(ids) => {
                    // An object may have a value twice; it is listed once.
                    if let Err(at) = ids.binary_search(&id) {
                        ids.insert(at, id);
                    }
                }
            }
            self.heap += posting.heap();
            return;
        }
        let posting = Posting {
            value: value.into(),
            ids: Ids::One(id),
        };
        self.heap += posting.heap();
        self.postings
            .insert_unique(hash, posting, |posting| digest::of(posting.value.as_bytes()));
    }

    fn take(&mut self, value: &str, id: u32) {
        let hash = digest::of(value.as_bytes());
        let Ok(mut found) = self.postings.find_entry(hash, |posting| *posting.value == *value) else {
            return;
        };
        let posting = found.get_mut();
        self.heap -= posting.heap();
        let empty = match &mut posting.ids {
            Ids::One(known) => *known == id,
            Ids::Many(ids) => {
                if let Ok(at) = ids.binary_search(&id) {
                    ids.remove(at);
                    if ids.capacity() > 8 && ids.len() * 4 < ids.capacity() {
                        ids.shrink_to(ids.len() * 2);
                    }
                }
                ids.is_empty()
            }
        };
        if empty {
            found.remove();
        } else {
            self.heap += posting.heap();
        }
    }
}
