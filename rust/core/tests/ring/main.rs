//! Slots in their written forms, and the ring: balance, and how little a change moves.
#![cfg(test)]

use std::collections::BTreeSet;

use openclaw_core::{Ring, SlotSet, fnv1a64, slot};
use proptest::prelude::*;

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("openclaw-{number}")).collect()
}

fn named(count: usize, seed: u64) -> Vec<String> {
    let name = |number| format!("pod-{:016x}", fnv1a64(format!("{seed}/{number}").as_bytes()));
    (0..count).map(name).collect()
}

fn ring(names: &[String]) -> Ring {
    Ring::new(256, names.iter().cloned())
}

fn moved(one: &Ring, other: &Ring) -> usize {
    one.owners()
        .iter()
        .zip(other.owners())
        .filter(|(one, other)| one != other)
        .count()
}

fn without(names: &[String], lost: usize) -> Vec<String> {
    let kept = names.iter().enumerate().filter(|(place, _)| *place != lost);
    kept.map(|(_, name)| name.clone()).collect()
}

#[test]
fn all_sizes_are_balanced_and_whole() {
    for count in 1..=64 {
        for names in [numbered(count), named(count, 0)] {
            let ring = ring(&names);
            let loads: BTreeSet<usize> = names.iter().map(|name| ring.share(name).len()).collect();
            let expected: BTreeSet<usize> = [256 / count, 256_usize.div_ceil(count)].into();
            assert!(loads.is_subset(&expected), "{count}: {loads:?}");
            let all = names
                .iter()
                .fold(SlotSet::EMPTY, |all, name| all | ring.share(name));
            assert_eq!(all, SlotSet::ALL);
        }
    }
}

#[test]
fn numbered_shards_move_only_what_they_must() {
    for count in 2..=64 {
        let names = numbered(count);
        let whole = ring(&names);
        for lost in 0..count {
            let rest = ring(&without(&names, lost));
            assert_eq!(
                moved(&whole, &rest),
                whole.share(&names[lost]).len(),
                "{count} without {lost}"
            );
        }
    }
}

#[test]
fn numbered_shards_have_few_runs_and_short_selectors() {
    for count in 1..=64 {
        let names = numbered(count);
        let ring = ring(&names);
        for name in &names {
            let share = ring.share(name);
            assert!(share.runs().len() <= 20, "{name} of {count}: {share}");
            assert!(
                share.shard_selector(256, 4096).is_some(),
                "{name} of {count}: {share}"
            );
        }
    }
}

#[test]
fn other_names_move_little_more_than_a_share() {
    for count in 2..=64 {
        let names = named(count, 1);
        let whole = ring(&names);
        for lost in 0..count {
            let rest = ring(&without(&names, lost));
            let share = whole.share(&names[lost]).len();
            assert!(
                moved(&whole, &rest) <= share + share / 2 + 24,
                "{count} without {lost}"
            );
        }
    }
}

proptest! {
    #[test]
    fn the_ring_depends_on_the_set_of_names_alone(seed in any::<u64>(), count in 1_usize..40, slots in 0_u32..9) {
        let slots = 1_u16 << slots;
        for mut names in [numbered(count), named(count, seed)] {
            let one = Ring::new(slots, names.iter().cloned());
            names.rotate_left(count / 2);
            names.push(names[0].clone());
            let other = Ring::new(slots, names.iter().cloned());
            prop_assert_eq!(&one, &other);
            prop_assert_eq!(one.owners().len(), usize::from(slots));
            names.push("another".into());
            prop_assert_ne!(one.id(), Ring::new(slots, names).id());
        }
    }

    #[test]
    fn any_numbers_are_balanced(numbers in prop::collection::btree_set(0_usize..300, 1..40)) {
        let names: Vec<String> = numbers.iter().map(|number| format!("shard-{number}")).collect();
        let ring = ring(&names);
        let loads: Vec<usize> = names.iter().map(|name| ring.share(name).len()).collect();
        prop_assert!(loads.iter().max().unwrap() - loads.iter().min().unwrap() <= 1, "{:?}", loads);
    }

    #[test]
    fn written_forms_come_back(slots in prop::collection::btree_set(any::<u8>(), 0..256)) {
        let set: SlotSet = slots.iter().copied().collect();
        prop_assert_eq!(set.iter().collect::<BTreeSet<u8>>(), slots.clone());
        prop_assert_eq!(set.len(), slots.len());
        prop_assert_eq!(set.to_string().parse::<SlotSet>().unwrap(), set);
        prop_assert_eq!(SlotSet::from_hex(&set.hex()).unwrap(), set);
        prop_assert_eq!((SlotSet::ALL - set) | set, SlotSet::ALL);
        prop_assert!(((SlotSet::ALL - set) & set).is_empty());
    }

    #[test]
    fn no_text_panics(text in "[-0-9a-z, ]{0,70}") {
        let _ = text.parse::<SlotSet>();
        let _ = SlotSet::from_hex(&text);
    }

    #[test]
    fn the_selector_selects_the_slots_of_uids(uid in "[0-9a-f-]{36}", hex in "[0-9a-f]{64}") {
        let set = SlotSet::from_hex(&hex).unwrap();
        let hash = u128::from(fnv1a64(uid.as_bytes()));
        let selector = set.shard_selector(256, usize::MAX).unwrap_or_default();
        let inside = selector.split(" || ").filter(|range| !range.is_empty()).any(|range| {
            let ends: Vec<u128> = range
                .split('\'')
                .filter_map(|part| part.strip_prefix("0x"))
                .map(|digits| u128::from_str_radix(digits, 16).unwrap())
                .collect();
            ends[0] <= hash && hash < ends[1]
        });
        prop_assert_eq!(inside, set.contains(slot(&uid)));
    }
}

#[test]
fn selectors_as_the_server_reads_them() {
    let set: SlotSet = "0-127,255".parse().unwrap();
    assert_eq!(
        set.shard_selector(256, 8192).unwrap(),
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') || \
         shardRange(object.metadata.uid, '0xff00000000000000', '0x10000000000000000')"
    );
    let half = SlotSet::first(1).shard_selector(2, 8192).unwrap();
    assert_eq!(
        half,
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
    );
    assert_eq!(set.shard_selector(256, 100), None);
    assert_eq!(SlotSet::EMPTY.shard_selector(256, 8192), None);
    assert_eq!(SlotSet::EMPTY.label_selector("k"), None);
    let few: SlotSet = "3,7-8".parse().unwrap();
    assert_eq!(
        few.label_selector("openclaw.dev/slot").unwrap(),
        "openclaw.dev/slot in (3,7,8)"
    );
}

#[test]
fn texts_that_are_no_sets_are_refused() {
    for text in ["x", "1-", "-1", "+1", "256", "3-2", "1,,2", "1 ", "1-2-3"] {
        let error = text.parse::<SlotSet>().unwrap_err().to_string();
        assert!(error.starts_with("slot set: "), "{error}");
    }
    assert!(SlotSet::from_hex(&"0".repeat(63)).is_err());
    assert!(SlotSet::from_hex(&"é".repeat(32)).is_err());
    assert_eq!("".parse::<SlotSet>().unwrap(), SlotSet::EMPTY);
}

/// A ring's id is written into Leases and read by other versions: it must not change by accident.
#[test]
fn ids_and_shares_are_stable() {
    let ring = ring(&numbered(3));
    assert_eq!(ring.id(), "a18bc561");
    let shares: Vec<String> = numbered(3)
        .iter()
        .map(|name| ring.share(name).to_string())
        .collect();
    assert_eq!(shares, ["0-84", "128-213", "85-127,214-255"]);
    assert_eq!(Ring::new(256, Vec::<String>::new()).owner(0), None);
}
