//! However the cache came to know of the objects, it holds the same.

use std::collections::BTreeMap;

use openclaw_core::Cache;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::objects::{bookmark, cache, line, object, page, stat, with};

fn state(cache: &mut Cache) -> BTreeMap<String, Value> {
    let keys = cache.keys().into_iter();
    keys.map(|(namespace, name)| {
        let stored = cache.get(&namespace, &name).unwrap();
        (name, serde_json::from_slice(stored).unwrap())
    })
    .collect()
}

/// A history: names with the value they get, or that they go.
fn history() -> impl Strategy<Value = Vec<(u8, Option<u8>)>> {
    prop::collection::vec((0u8..6, prop::option::weighted(0.75, 0u8..4)), 0..30)
}

/// The events of a history, as a server would send them, and the objects that are there after it.
fn play(history: &[(u8, Option<u8>)], from: u64) -> (Vec<Vec<u8>>, BTreeMap<u8, Value>) {
    let mut events = Vec::new();
    let mut objects: BTreeMap<u8, Value> = BTreeMap::new();
    for (version, (name, value)) in (from..).zip(history) {
        let known = objects.get(name);
        let Some(value) = value else {
            if let Some(mut gone) = objects.remove(name) {
                gone["metadata"]["resourceVersion"] = json!(version.to_string());
                events.push(line("DELETED", &gone));
            }
            continue;
        };
        let uid = known.map_or_else(
            || json!(format!("uid{version}")),
            |old| old["metadata"]["uid"].clone(),
        );
        let kind = if known.is_some() { "MODIFIED" } else { "ADDED" };
        let new = with(
            with(object(&format!("o{name}"), version), "spec", json!({"v": value})),
            "metadata/uid",
            uid,
        );
        events.push(line(kind, &new));
        objects.insert(*name, new);
    }
    (events, objects)
}

fn changes(batch: &openclaw_core::Batch) -> BTreeMap<String, (&'static str, String)> {
    batch
        .deltas
        .iter()
        .map(|delta| (delta.name.clone(), (delta.reason.name(), delta.uid.clone())))
        .collect()
}

proptest! {
    #[test]
    fn a_relist_is_as_good_as_the_events(before in history(), between in history(), split in 0usize..6, streamed: bool) {
        let (events, _) = play(&before, 1);
        let whole: Vec<_> = before.iter().chain(&between).copied().collect();
        let (all, objects) = play(&whole, 1);
        let end = whole.len() as u64 + 1;

        let (mut watched, mut listed) = (cache(&json!({"content": {}})), cache(&json!({"content": {}})));
        watched.add_index("v", "spec.v").unwrap();
        listed.add_index("v", "spec.v").unwrap();
        watched.feed(&all.concat());
        listed.feed(&events.concat());
        let old = state(&mut listed);

        let items: Vec<Value> = objects.values().cloned().collect();
        listed.begin_relist();
        if streamed {
            for item in &items {
                listed.feed(&line("ADDED", item));
            }
            listed.feed(&bookmark(end, true));
        } else {
            let (first, second) = items.split_at(split.min(items.len()));
            listed.feed_list(&page(end, "more", first)).unwrap();
            listed.feed_list(&page(end, "", second)).unwrap();
        }
        prop_assert_eq!(state(&mut listed), old.clone(), "old until the commit");
        let batch = listed.commit_relist().unwrap();

        let new = state(&mut watched);
        prop_assert_eq!(state(&mut listed), new.clone());
        for value in 0..4 {
            prop_assert_eq!(listed.lookup("v", &value.to_string()), watched.lookup("v", &value.to_string()));
        }
        // The deltas are what differs between before and after.
        let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
        let mut expected = BTreeMap::new();
        for (name, object) in &new {
            match old.get(name) {
                None => { expected.insert(name.clone(), ("added", uid(object))); }
                Some(known) if uid(known) != uid(object) || known["spec"] != object["spec"] => {
                    expected.insert(name.clone(), ("updated", uid(object)));
                }
                Some(_) => {}
            }
        }
        for (name, object) in &old {
            if !new.contains_key(name) {
                expected.insert(name.clone(), ("deleted", uid(object)));
            }
        }
        prop_assert_eq!(changes(&batch), expected);
    }

    #[test]
    fn a_stream_told_twice_is_told_once(history in history()) {
        let (events, objects) = play(&history, 1);
        let mut cache = cache(&json!({"content": {}}));
        cache.feed(&events.concat());
        let before = state(&mut cache);
        prop_assert_eq!(before.len(), objects.len());
        // What is there is not disturbed by old events of it or of those before it.
        let deltas = stat(&cache, "deltas");
        for (name, object) in &objects {
            let old = with(with(object.clone(), "metadata/resourceVersion", json!("1")), "metadata/uid", json!("older"));
            if object["metadata"]["resourceVersion"] != "1" {
                cache.feed(&[line("ADDED", &old), line("DELETED", &old)].concat());
                let name = format!("o{name}");
                prop_assert!(before.contains_key(&name));
            }
        }
        prop_assert_eq!(state(&mut cache), before);
        prop_assert_eq!(stat(&cache, "deltas"), deltas);
    }
}
