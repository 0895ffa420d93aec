//! Names that many entries share, each kept once for as long as someone holds it.

use hashbrown::HashTable;

use crate::digest;

#[derive(Debug)]
struct Name {
    text: Box<str>,
    holders: u32,
}

/// A set of counted names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    all: Vec<Name>,
    free: Vec<u32>,
    table: HashTable<u32>,
    heap: usize,
}

impl Names {
    pub(crate) fn get(&self, id: u32) -> &str {
        self.all.get(id as usize).map_or("", |name| &name.text)
    }

    /// The id of a name, held once more.
    pub(crate) fn acquire(&mut self, text: &str) -> Option<u32> {
        let hash = digest::of(text.as_bytes());
        let names = &mut self.all;
        let found = self.table.find(hash, |&id| {
            names.get(id as usize).is_some_and(|name| *name.text == *text)
        });
        if let Some(&id) = found {
            names.get_mut(id as usize)?.holders += 1;
            return Some(id);
        }
        let id = match self.free.pop() {
            Some(id) => id,
            None => u32::try_from(names.len()).ok()?,
        };
        let name = Name {
            text: text.into(),
            holders: 1,
        };
        self.heap += text.len();
        match names.get_mut(id as usize) {
            Some(place) => *place = name,
            None => names.push(name),
        }
        self.table.insert_unique(hash, id, |&id| {
            names
                .get(id as usize)
                .map_or(0, |name| digest::of(name.text.as_bytes()))
        });
        Some(id)
    }

    /// Holds a name once less.
    pub(crate) fn release(&mut self, id: u32) {
        let Some(name) = self.all.get_mut(id as usize) else {
            return;
        };
        name.holders = name.holders.saturating_sub(1);
        if name.holders > 0 {
            return;
        }
        let text = std::mem::take(&mut name.text);
        self.heap -= text.len();
        if let Ok(found) = self
            .table
            .find_entry(digest::of(text.as_bytes()), |&other| other == id)
        {
            found.remove();
        }
        self.free.push(id);
    }

    pub(crate) fn bytes(&self) -> usize {
        self.heap
            + self.all.capacity() * size_of::<Name>()
            + self.free.capacity() * size_of::<u32>()
            + self.table.allocation_size()
    }
}
