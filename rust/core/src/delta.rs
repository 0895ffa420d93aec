//! Deltas: what a chunk of events asks to be enqueued.

use hashbrown::HashTable;

use crate::digest;

/// Why a key is to be enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The object is new.
    Added,
    /// The object changed, or is another one under the same name.
    Updated,
    /// The object is gone.
    Deleted,
}

impl Reason {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        }
    }
}

/// One key to enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    /// The number of the subscription.
    pub subscription: usize,
    /// The namespace of the key, empty when it has none.
    pub namespace: String,
    /// The name of the key.
    pub name: String,
    /// Why.
    pub reason: Reason,
    /// The uid of the object that caused it.
    pub uid: String,
}

/// What feeding a chunk, or committing a relist, came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The keys to enqueue, each once a subscription.
    pub deltas: Vec<Delta>,
    /// The newest position seen in this chunk.
    pub resource_version: Option<String>,
    /// The Status of an error event.
    pub error: Option<Vec<u8>>,
    /// The bookmark that ends the initial events of a streamed list was seen.
    pub initial_events_end: bool,
    /// Events read, of any type.
    pub events: u64,
}

/// Collects deltas, one a subscription and key.
#[derive(Debug, Default)]
pub(crate) struct Deltas {
    list: Vec<Delta>,
    table: HashTable<usize>,
}

fn hash(subscription: usize, namespace: &str, name: &str) -> u64 {
    digest::chain(
        digest::pair(namespace.as_bytes(), name.as_bytes()),
        &subscription.to_le_bytes(),
    )
}

impl Deltas {
    pub(crate) fn push(&mut self, delta: Delta) {
        let hash_of = |delta: &Delta| hash(delta.subscription, &delta.namespace, &delta.name);
        let list = &mut self.list;
        let found = self.table.find(hash_of(&delta), |&at| {
            list.get(at).is_some_and(|known| {
                known.subscription == delta.subscription
                    && known.namespace == delta.namespace
                    && known.name == delta.name
            })
        });
        if let Some(known) = found.and_then(|&at| list.get_mut(at)) {
            // Gone and back again must not look like something that is merely new.
            known.reason = match (known.reason, delta.reason) {
                (Reason::Deleted, Reason::Added) => Reason::Updated,
                (_, reason) => reason,
            };
            known.uid = delta.uid;
            return;
        }
        let at = list.len();
        self.table
            .insert_unique(hash_of(&delta), at, |&at| list.get(at).map_or(0, hash_of));
        list.push(delta);
    }

    pub(crate) fn into_list(self) -> Vec<Delta> {
        self.list
    }
}
