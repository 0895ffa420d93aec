//! Our own writes that the stream has not told of yet.
//!
//! The response to a write is stored at once, so the cache runs ahead of the stream. What others did meanwhile must not be
//! lost in that: until the stream has caught up, its events are compared with the state that it told of last (the *base*),
//! not with the stored one, and the events of our own writes are known by their resourceVersions.

use std::hash::RandomState;

use hashbrown::HashMap;

use crate::version::{Uid, Version};

/// More own writes of one object than this are not kept apart; older ones then count as another's.
const MOST: usize = 64;

/// A state that the stream told of.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) uid: Uid,
    pub(crate) digests: Box<[u64]>,
}

/// The writes of one object.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// What the stream told of last; none when to the stream there is no such object.
    pub(crate) base: Option<Told>,
    /// The version of the last event.
    pub(crate) version: Option<Version>,
    /// The entry was kept although a list did not know of it.
    pub(crate) survived: bool,
    writes: Vec<Version>,
}

impl Ahead {
    pub(crate) fn wrote(&mut self, version: Version) {
        if self.writes.len() == MOST {
            self.writes.remove(0);
        }
        self.writes.push(version);
        self.survived = false;
    }

    pub(crate) fn is_ours(&self, version: &Version) -> bool {
        self.writes.contains(version)
    }

    fn heap(&self) -> usize {
        let base = self
            .base
            .as_ref()
            .map_or(0, |told| told.uid.heap() + size_of_val(&*told.digests));
        let versions = self.writes.iter().chain(&self.version).map(Version::heap);
        base + self.writes.capacity() * size_of::<Version>() + versions.sum::<usize>()
    }
}

/// The objects that are ahead of the stream, by id.
#[derive(Debug, Default)]
pub(crate) struct Writes(HashMap<u32, Ahead, RandomState>);

impl Writes {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Ahead> {
        self.0.get_mut(&id)
    }

    pub(crate) fn entry(&mut self, id: u32) -> &mut Ahead {
        self.0.entry(id).or_default()
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Ahead> {
        let ahead = self.0.remove(&id);
        if self.0.is_empty() {
            self.0.shrink_to_fit();
        }
        ahead
    }

    /// Bytes held, all told.
    pub(crate) fn bytes(&self) -> usize {
        self.0.allocation_size() + self.0.values().map(Ahead::heap).sum::<usize>()
    }
}
