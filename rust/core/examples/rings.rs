//! How many slots a change of the set moves, for the ring and for other ways to make one.
//!
//! Run it with `cargo run --release -p openclaw-core --example rings`.
#![allow(clippy::print_stdout, clippy::indexing_slicing, clippy::cast_precision_loss)]

use std::collections::{BTreeMap, BTreeSet};

use openclaw_core::{Ring, SlotSet, fnv1a64};

type Way = fn(&[String]) -> Vec<String>;

const SLOTS: u16 = 256;

fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

fn ring(names: &[String]) -> Vec<String> {
    Ring::new(SLOTS, names.iter().map(String::as_str))
        .owners()
        .to_vec()
}

/// Slot modulo number of shards.
fn modulo(names: &[String]) -> Vec<String> {
    (0..usize::from(SLOTS))
        .map(|slot| names[slot % names.len()].clone())
        .collect()
}

/// Consistent hashing with bounded load (Mirrokni, Thorup, Zadimoghaddam): 100 points a shard, the next one with room.
fn points(names: &[String]) -> Vec<String> {
    let mut circle: Vec<(u64, &String)> = Vec::new();
    for name in names {
        circle.extend((0..100).map(|point| (mix(fnv1a64(format!("{name}/{point}").as_bytes())), name)));
    }
    circle.sort_unstable();
    let bound = usize::from(SLOTS).div_ceil(names.len());
    let mut loads: BTreeMap<&String, usize> = BTreeMap::new();
    (0..u64::from(SLOTS))
        .map(|slot| {
            let start = circle.partition_point(|(point, _)| *point < mix(slot + 1));
            let mut around = circle[start..].iter().chain(&circle[..start]);
            let found = around.find(|(_, name)| loads.get(name).copied().unwrap_or_default() < bound);
            let name = found.map_or(&names[0], |(_, name)| name);
            *loads.entry(name).or_default() += 1;
            name.clone()
        })
        .collect()
}

/// Rendezvous hashing with bounded load: the ring's way for names without numbers.
fn rendezvous(names: &[String]) -> Vec<String> {
    let disguised: BTreeMap<String, &String> = names.iter().map(|name| (format!("{name}!"), name)).collect();
    ring(&disguised.keys().cloned().collect::<Vec<_>>())
        .iter()
        .map(|name| disguised[name].clone())
        .collect()
}

fn moved(before: &[String], after: &[String]) -> usize {
    before
        .iter()
        .zip(after)
        .filter(|(one, other)| one != other)
        .count()
}

fn load(owners: &[String], name: &String) -> usize {
    owners.iter().filter(|owner| *owner == name).count()
}

fn main() {
    let numbered = |count: usize| (0..count).map(|n| format!("openclaw-{n}")).collect::<Vec<_>>();
    let other = |count: usize| {
        (0..count as u64)
            .map(|n| format!("pod-{:x}", mix(n + 7) >> 40))
            .collect::<Vec<_>>()
    };
    let ways: [(&str, Way); 4] = [
        ("ring", ring),
        ("rendezvous", rendezvous),
        ("points", points),
        ("modulo", modulo),
    ];
    println!(
        "{SLOTS} slots; moved: slots that change their shard, over the least possible; runs: of the shard with most"
    );
    println!(
        "{:<9} {:<11} {:>3} {:>9} {:>12} {:>12} {:>12} {:>5}",
        "names", "way", "N", "max-min", "add next", "lose any", "worst", "runs"
    );
    for (kind, names) in [
        ("numbered", numbered as fn(usize) -> Vec<String>),
        ("other", other),
    ] {
        for (way, assign) in ways {
            for count in [2, 3, 5, 8, 16, 32, 64] {
                let names = names(count + 1);
                let (now, more) = (assign(&names[..count]), assign(&names));
                let loads: BTreeSet<usize> = names[..count].iter().map(|name| load(&now, name)).collect();
                let spread = loads.last().unwrap_or(&0) - loads.first().unwrap_or(&0);
                let add = moved(&now, &more) as f64 / load(&more, &names[count]).max(1) as f64;
                let losses: Vec<f64> = (0..count)
                    .map(|lost| {
                        let rest: Vec<String> = names[..count]
                            .iter()
                            .filter(|name| **name != names[lost])
                            .cloned()
                            .collect();
                        moved(&now, &assign(&rest)) as f64 / load(&now, &names[lost]).max(1) as f64
                    })
                    .collect();
                let mean = losses.iter().sum::<f64>() / losses.len() as f64;
                let worst = losses.iter().copied().fold(0.0, f64::max);
                let runs = names[..count]
                    .iter()
                    .map(|name| {
                        let share = (0..=u8::MAX)
                            .zip(&now)
                            .filter(|(_, owner)| *owner == name)
                            .map(|(slot, _)| slot);
                        share.collect::<SlotSet>().runs().len()
                    })
                    .max();
                println!(
                    "{kind:<9} {way:<11} {count:>3} {spread:>9} {add:>12.2} {mean:>12.2} {worst:>12.2} {:>5}",
                    runs.unwrap_or_default()
                );
            }
        }
    }
}
