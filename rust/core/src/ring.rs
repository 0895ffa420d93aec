//! The ring: which shard each slot belongs to, as a pure function of the live shards' names.
//!
//! No shard has more than one slot more than another. Names decide how:
//!
//! - **Numbered names** (`openclaw-0`, `openclaw-1`, …, as a `StatefulSet` has): the ring of *n* shards is that of *n* - 1, of
//!   which the last one takes just its share, in contiguous pieces from those that have most. A number that is missing below
//!   the highest (a crash) has its share spread over the others. So adding the next, removing the last and losing
//!   any one moves exactly the share concerned, and a shard's slots are a few runs, which the API server's filter likes.
//! - **Other names**: each pair of slot and shard has a weight by hash, and the heaviest pairs win, up to the bound
//!   (rendezvous hashing with bounded load).
//!
//! `cargo run --release -p openclaw-core --example rings` prints how many slots each change moves, beside other ways.

use std::collections::{BTreeMap, BTreeSet};

use crate::slots::fnv1a64;
use crate::slotset::SlotSet;

/// The assignment of slots to shards.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ring {
    id: u32,
    owners: Vec<String>,
    shares: BTreeMap<String, SlotSet>,
}

impl Ring {
    /// The ring of `slots` slots (at most 256) over these shards. Order and repetition of the names do not matter.
    pub fn new<I, S>(slots: u16, names: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        let slots = slots.min(SlotSet::CAPACITY);
        let owners = assign(slots, &names);
        let mut shares: BTreeMap<String, SlotSet> =
            names.iter().map(|name| (name.clone(), SlotSet::EMPTY)).collect();
        for (slot, owner) in (0..=u8::MAX).zip(&owners) {
            if let Some(share) = shares.get_mut(owner) {
                share.insert(slot);
            }
        }
        Self {
            id: identify(slots, &names),
            owners,
            shares,
        }
    }

    /// The shard that a slot belongs to; None when there is no shard.
    pub fn owner(&self, slot: u8) -> Option<&str> {
        self.owners.get(usize::from(slot)).map(String::as_str)
    }

    /// The owner of each slot; empty when there is no shard.
    pub fn owners(&self) -> &[String] {
        &self.owners
    }

    /// The slots of a shard.
    pub fn share(&self, name: &str) -> SlotSet {
        self.shares.get(name).copied().unwrap_or_default()
    }

    /// The shards, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.shares.keys().map(String::as_str)
    }

    /// Eight hexadecimal digits that stand for this ring: the same for the same slots and shards, everywhere.
    pub fn id(&self) -> String {
        format!("{:08x}", self.id)
    }
}

/// FNV-1a's high bits barely depend on the last bytes; this spreads them (the finalizer of `MurmurHash3`).
fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

fn identify(slots: u16, names: &BTreeSet<String>) -> u32 {
    let mut text = format!("1/{slots}");
    for name in names {
        text.push('/');
        text.push_str(name);
    }
    (mix(fnv1a64(text.as_bytes())) >> 32) as u32
}

fn assign(slots: u16, names: &BTreeSet<String>) -> Vec<String> {
    let places = match numbered(names) {
        Some(numbers) => by_number(slots, &numbers),
        None => by_weight(slots, names),
    };
    let names: Vec<&String> = names.iter().collect();
    places
        .into_iter()
        .filter_map(|place| names.get(place).map(|name| (*name).clone()))
        .collect()
}

/// The numbers of names that differ in nothing else, in the order of the names.
fn numbered(names: &BTreeSet<String>) -> Option<Vec<usize>> {
    let mut prefix = None;
    names
        .iter()
        .map(|name| {
            let (stem, digits) = name.rsplit_once('-')?;
            let number: usize = digits
                .parse()
                .ok()
                .filter(|number| *number < usize::from(SlotSet::CAPACITY))?;
            // No leading zero or sign: two names of one number would be one shard.
            (*prefix.get_or_insert(stem) == stem && number.to_string() == digits).then_some(number)
        })
        .collect()
}

/// The place in `numbers` of each slot's owner.
fn by_number(slots: u16, numbers: &[usize]) -> Vec<usize> {
    let slots = usize::from(slots);
    let highest = numbers.iter().max().copied().unwrap_or_default();
    let mut owners = vec![0; slots];
    let mut loads = vec![0; highest + 1];
    if let Some(load) = loads.first_mut() {
        *load = slots;
    }
    for taker in 1..=highest {
        for _ in 0..slots / (taker + 1) {
            let most = loads.iter().take(taker).max().copied().unwrap_or_default();
            let giver = loads
                .iter()
                .take(taker)
                .position(|load| *load == most)
                .unwrap_or_default();
            hand_over(&mut owners, &mut loads, giver, taker);
        }
    }
    let alive: BTreeSet<usize> = numbers.iter().copied().collect();
    for missing in (0..highest).filter(|number| !alive.contains(number)) {
        while loads.get(missing).is_some_and(|load| *load > 0) {
            let load = |number: &usize| loads.get(*number).copied().unwrap_or_default();
            let Some(taker) = alive.iter().copied().min_by_key(load) else {
                break;
            };
            hand_over(&mut owners, &mut loads, missing, taker);
        }
    }
    let place = |owner: &usize| {
        numbers
            .iter()
            .position(|number| number == owner)
            .unwrap_or_default()
    };
    owners.iter().map(place).collect()
}

/// The last slot of one shard goes to another: taken one after the other, they make a run.
fn hand_over(owners: &mut [usize], loads: &mut [usize], giver: usize, taker: usize) {
    if let Some(owner) = owners.iter_mut().rev().find(|owner| **owner == giver) {
        *owner = taker;
        for (number, load) in loads.iter_mut().enumerate() {
            *load = *load + usize::from(number == taker) - usize::from(number == giver);
        }
    }
}

/// The place in `names` of each slot's owner.
fn by_weight(slots: u16, names: &BTreeSet<String>) -> Vec<usize> {
    let count = names.len();
    if count == 0 {
        return Vec::new();
    }
    let (low, spare) = (usize::from(slots) / count, usize::from(slots) % count);
    let mut pairs: Vec<(u64, u16, usize)> = Vec::with_capacity(usize::from(slots) * count);
    for (place, name) in names.iter().enumerate() {
        let seed = fnv1a64(name.as_bytes());
        pairs.extend((0..slots).map(|slot| (mix(seed ^ mix(u64::from(slot) + 1)), slot, place)));
    }
    pairs.sort_unstable();
    let mut owners: BTreeMap<u16, usize> = BTreeMap::new();
    let mut loads = vec![0; count];
    let mut full = 0;
    for (_, slot, place) in pairs {
        let Some(load) = loads.get_mut(place) else {
            continue;
        };
        if owners.contains_key(&slot) || *load > low || (*load == low && full == spare) {
            continue;
        }
        full += usize::from(*load == low);
        *load += 1;
        owners.insert(slot, place);
    }
    owners.into_values().collect()
}
