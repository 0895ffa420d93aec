//! What a cache was told to look for: its subscriptions and the probes that they and the indexes need.

use crate::delta::{Delta, Deltas, Reason};
use crate::error::SpecError;
use crate::filter::{Change, Predicate};
use crate::mapping::Mapping;
use crate::probe::{Probe, Probes};
use crate::scan::View;

/// A key that an object no longer leads to, for one subscription.
#[derive(Debug)]
pub(crate) struct OldKey {
    subscription: usize,
    namespace: String,
    name: String,
}

#[derive(Debug)]
struct Subscription {
    predicate: Predicate,
    mapping: Mapping,
}

/// Subscriptions and probes.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    subscriptions: Vec<Subscription>,
    pub(crate) probes: Probes,
    /// Tells whether the owners changed; there when a mapping needs to know.
    owners: Option<usize>,
}

impl Rules {
    pub(crate) fn subscribe(&mut self, predicate: &[u8], mapping: &[u8]) -> Result<usize, SpecError> {
        let mapping = Mapping::compile(mapping)?;
        let predicate = Predicate::compile(predicate, &mut self.probes)?;
        if mapping != Mapping::Itself {
            self.owners = Some(self.probes.intern(Probe::Owners));
        }
        self.subscriptions.push(Subscription { predicate, mapping });
        Ok(self.subscriptions.len() - 1)
    }

    /// Whether the change is one of owners, to a mapping that minds.
    pub(crate) fn owners_differ(&self, old: &[u64], new: &[u64]) -> bool {
        self.owners.is_some_and(|probe| old.get(probe) != new.get(probe))
    }

    /// The keys that the object led to.
    pub(crate) fn owner_keys(&self, view: View<'_>) -> Vec<OldKey> {
        self.subscriptions
            .iter()
            .enumerate()
            .filter(|(_, subscription)| subscription.mapping != Mapping::Itself)
            .filter_map(|(number, subscription)| {
                let (namespace, name) = subscription.mapping.key(view)?;
                Some(OldKey {
                    subscription: number,
                    namespace,
                    name,
                })
            })
            .collect()
    }

    /// Adds the deltas of a change and returns whether there is any.
    pub(crate) fn emit(
        &self,
        change: Change<'_>,
        reason: Reason,
        view: View<'_>,
        old_keys: &[OldKey],
        deltas: &mut Deltas,
    ) -> bool {
        let mut any = false;
        for (number, subscription) in self.subscriptions.iter().enumerate() {
            if !subscription.predicate.holds(change, view) {
                continue;
            }
            let new = subscription.mapping.key(view);
            let old = old_keys
                .iter()
                .filter(|old| old.subscription == number)
                .map(|old| (old.namespace.clone(), old.name.clone()));
            for (namespace, name) in old.chain(new) {
                any = true;
                deltas.push(Delta {
                    subscription: number,
                    namespace,
                    name,
                    reason,
                    uid: view.uid().into_owned(),
                });
            }
        }
        any
    }
}
