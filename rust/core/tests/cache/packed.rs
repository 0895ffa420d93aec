//! Packed or not, a cache holds and tells the same.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use openclaw_core::Cache;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::objects::{bookmark, cache, feed, line, object, page, put, stat, with};

/// An object with a text that its kind has in common, and one of its own.
fn thing(name: &str, version: u64, common: &str, own: u64) -> Value {
    let spec =
        json!({"queue": format!("q{}", own % 5), "own": own.to_string(), "common": [common, common.len()]});
    with(object(name, version), "spec", spec)
}

const COMMON: &str = "the quick brown fox jumps over the lazy dog and runs back to its den";
const OTHER: &str = "CPU-REQUESTS/MEMORY-LIMITS/EPHEMERAL-STORAGE:READWRITEONCE_POD=FILESYSTEM";

/// Feeds nothing until something is so; a training has a thread of its own.
fn until(cache: &mut Cache, what: &str, so: impl Fn(&Cache) -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so(cache) {
        assert!(Instant::now() < end, "{what}: {:?}", cache.stats());
        cache.feed(b"");
        std::thread::yield_now();
    }
}

/// A cache of so many objects, all packed.
fn packed(objects: u64) -> Cache {
    let mut cache = cache(&json!({"content": {}}));
    cache.add_index("queue", "spec.queue").unwrap();
    for at in 0..objects {
        cache.feed(&line("ADDED", &thing(&format!("o{at}"), at + 1, COMMON, at)));
    }
    until(&mut cache, "all packed", |cache| {
        stat(cache, "objects_compressed") == objects
    });
    cache
}

fn stored(cache: &mut Cache, name: &str) -> Option<Value> {
    cache
        .get("n", name)
        .map(|bytes| serde_json::from_slice(bytes).unwrap())
}

/// The stored form, as values.
fn pruned(mut object: Value) -> Value {
    let members = object.as_object_mut().unwrap();
    members.remove("apiVersion");
    members.remove("kind");
    object
}

#[test]
fn a_few_objects_are_not_worth_a_dictionary() {
    let mut cache = cache(&json!({"always": {}}));
    for at in 0..200 {
        cache.feed(&line("ADDED", &thing(&format!("o{at}"), at + 1, COMMON, at)));
    }
    assert_eq!(stat(&cache, "objects_compressed"), 0);
    assert_eq!(stat(&cache, "dictionary_bytes"), 0);
}

#[test]
fn many_objects_take_a_fraction_of_their_length() {
    let mut cache = packed(3000);
    let (raw, bytes) = (stat(&cache, "raw_bytes"), stat(&cache, "bytes"));
    assert!(
        bytes - stat(&cache, "dictionary_bytes") < raw,
        "{:?}",
        cache.stats()
    );
    assert_eq!(stat(&cache, "dictionaries_trained"), 1);
    let length: usize = (0..3000)
        .map(|at| cache.get("n", &format!("o{at}")).unwrap().len())
        .sum();
    assert_eq!(raw, length as u64);
    for at in 0..3000 {
        feed(
            &mut cache,
            "DELETED",
            &thing(&format!("o{at}"), 10_000 + at, COMMON, at),
        );
    }
    assert_eq!(stat(&cache, "raw_bytes"), 0);
    assert_eq!(stat(&cache, "objects_compressed"), 0);
    assert!(stat(&cache, "bytes") < bytes);
}

#[test]
fn a_packed_object_changes_its_indexes_and_goes_as_any_other() {
    let mut cache = packed(400);
    assert_eq!(cache.lookup("queue", "q2").unwrap().len(), 80);
    assert_eq!(
        feed(&mut cache, "MODIFIED", &thing("o2", 5000, COMMON, 4)),
        ["o2 updated"]
    );
    assert_eq!(cache.lookup("queue", "q2").unwrap().len(), 79);
    assert_eq!(
        stat(&cache, "objects_compressed"),
        399,
        "what changed waits for its turn"
    );
    assert_eq!(
        feed(&mut cache, "DELETED", &thing("o7", 5001, COMMON, 7)),
        ["o7 deleted"]
    );
    assert_eq!(cache.lookup("queue", "q2").unwrap().len(), 78);
    until(&mut cache, "its turn", |cache| {
        stat(cache, "objects_compressed") == 399
    });
    assert_eq!(
        stored(&mut cache, "o2"),
        Some(pruned(thing("o2", 5000, COMMON, 4)))
    );
}

#[test]
fn a_list_is_packed_while_it_is_read() {
    let mut cache = packed(300);
    let mut items: Vec<Value> = (0..1200)
        .map(|at| thing(&format!("o{at}"), at + 1, COMMON, at))
        .collect();
    items[5] = thing("o5", 4000, COMMON, 6);
    cache.begin_relist();
    cache.feed_list(&page(5000, "", &items)).unwrap();
    let length: usize = items.iter().map(|item| item.to_string().len()).sum();
    assert!(stat(&cache, "staged_bytes") < length as u64);
    // Our own write in between is newer than the list; the list's own state of the object is kept for its commit.
    assert!(put(&mut cache, &thing("o9", 6000, COMMON, 1)));
    assert_eq!(cache.commit_relist().unwrap().deltas.len(), 900 + 1);
    assert_eq!(
        stat(&cache, "objects_compressed"),
        1199,
        "our own write waits for its turn"
    );
    items[9] = thing("o9", 6000, COMMON, 1);
    for (at, item) in items.into_iter().enumerate() {
        assert_eq!(stored(&mut cache, &format!("o{at}")), Some(pruned(item)));
    }
    assert_eq!(cache.lookup("queue", "q1").unwrap().len(), 242);
}

#[test]
fn a_first_list_is_packed_before_its_commit() {
    for streamed in [false, true] {
        let mut cache = cache(&json!({"content": {}}));
        cache.begin_relist();
        let end = Instant::now() + Duration::from_secs(60);
        let mut at = 0;
        // Goes on listing until the dictionary is there and what came before it is packed too.
        loop {
            let items: Vec<Value> = (at..at + 100)
                .map(|at| thing(&format!("o{at}"), at + 1, COMMON, at))
                .collect();
            at += 100;
            if streamed {
                for item in &items {
                    cache.feed(&line("ADDED", item));
                }
            } else {
                cache.feed_list(&page(9_000_000, "more", &items)).unwrap();
            }
            if stat(&cache, "staged_bytes") < at * 200 && stat(&cache, "dictionaries_trained") == 1 {
                break;
            }
            assert!(Instant::now() < end, "{:?}", cache.stats());
        }
        if streamed {
            cache.feed(&bookmark(9_000_000, true));
        } else {
            cache.feed_list(&page(9_000_000, "", &[])).unwrap();
        }
        assert_eq!(cache.commit_relist().unwrap().deltas.len() as u64, at);
        until(&mut cache, "all packed", |cache| {
            stat(cache, "objects_compressed") == at
        });
        assert_eq!(
            stored(&mut cache, "o77"),
            Some(pruned(thing("o77", 78, COMMON, 77)))
        );
    }
}

#[test]
fn a_dictionary_that_saves_less_than_it_did_is_replaced_bit_by_bit() {
    let mut cache = packed(1500);
    let alone = stat(&cache, "dictionary_bytes");
    let mut version = 10_000;
    let end = Instant::now() + Duration::from_secs(60);
    // All but a few objects become something else.
    while stat(&cache, "dictionaries_trained") == 1 {
        for at in 0..1400 {
            version += 1;
            feed(
                &mut cache,
                "MODIFIED",
                &thing(&format!("o{at}"), version, OTHER, at),
            );
        }
        for _ in 0..1500 {
            cache.feed(b"");
        }
        assert!(Instant::now() < end, "{:?}", cache.stats());
    }
    until(&mut cache, "one is left", |cache| {
        stat(cache, "dictionary_bytes") < alone * 3 / 2
    });
    until(&mut cache, "all packed", |cache| {
        stat(cache, "objects_compressed") == 1500
    });
    for at in 0..1500 {
        let own = stored(&mut cache, &format!("o{at}")).unwrap()["spec"].clone();
        assert_eq!(own["own"], at.to_string());
        assert_eq!(own["common"][0], if at < 1400 { OTHER } else { COMMON });
    }
}

#[test]
fn what_changes_stays_unpacked_up_to_a_megabyte() {
    let mut cache = packed(400);
    let mut change = |version: u64, at: u64, text: &str| {
        feed(
            &mut cache,
            "MODIFIED",
            &thing(&format!("o{at}"), version, text, at),
        );
        (stat(&cache, "objects_compressed"), stat(&cache, "bytes"))
    };
    for version in 1000..1600 {
        let (packed, _) = change(version, version % 100, COMMON);
        assert!(
            packed >= 300 && (packed == 300 || version < 1100),
            "{version}: {packed}"
        );
    }
    let long = "x".repeat(30_000);
    let (packed, bytes) = (2000..4000)
        .map(|version| change(version, version % 300, &long))
        .last()
        .unwrap();
    assert!(packed > 350 && bytes < 3 << 20, "{packed} packed, {bytes} bytes");
}

#[test]
fn what_changes_all_the_time_is_kept_within_bounds() {
    let mut cache = packed(300);
    let long = "x".repeat(60_000);
    for version in 0..300 {
        feed(
            &mut cache,
            "MODIFIED",
            &thing(&format!("o{version}"), 1000 + version, &long, version),
        );
    }
    // 18 MB of changed objects, of which 8 MiB may wait.
    assert!(stat(&cache, "bytes") < 11 << 20, "{:?}", cache.stats());
}

/// What happens to which of the objects: it gets a value, is written by us, or goes.
fn history() -> impl Strategy<Value = Vec<(u16, u8, u8)>> {
    prop::collection::vec((0u16..320, 0u8..8, any::<u8>()), 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn a_history_over_packed_objects_is_as_the_model_says(history in history()) {
        let mut cache = packed(300);
        let mut model: BTreeMap<String, Value> =
            (0..300).map(|at| (format!("o{at}"), thing(&format!("o{at}"), at + 1, COMMON, at))).collect();
        for (version, (name, what, own)) in (1000..).zip(history) {
            let name = format!("o{name}");
            let object = thing(&name, version, if what == 1 { OTHER } else { COMMON }, own.into());
            match what {
                0 => {
                    feed(&mut cache, "DELETED", &object);
                    model.remove(&name);
                }
                2 => {
                    put(&mut cache, &object);
                    model.insert(name, object);
                }
                _ => {
                    feed(&mut cache, "MODIFIED", &object);
                    model.insert(name, object);
                }
            }
        }
        prop_assert_eq!(cache.len(), model.len());
        let text: usize = model.keys().map(|name| cache.get("n", name).unwrap().len()).sum();
        prop_assert_eq!(stat(&cache, "raw_bytes"), text as u64);
        for (name, object) in &model {
            prop_assert_eq!(stored(&mut cache, name), Some(pruned(object.clone())));
        }
        for queue in ["q0", "q1", "q2", "q3", "q4"] {
            let listed = cache.lookup("queue", queue).unwrap();
            let expected = model.values().filter(|object| object["spec"]["queue"] == queue).count();
            prop_assert_eq!(listed.len(), expected);
        }
    }
}
