//! Indexes against a naive model.

use std::collections::BTreeMap;

use openclaw_core::Cache;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::objects::{cache, line, object, page, put, with};

#[test]
fn an_index_is_known_by_its_name() {
    let mut cache = cache(&json!({"always": {}}));
    cache.add_index("q", "spec.q").unwrap();
    assert!(
        cache
            .add_index("q", "spec.r")
            .unwrap_err()
            .to_string()
            .contains("\"q\" exists")
    );
    assert!(cache.add_index("r", "spec[").is_err());
    let error = cache.lookup("nope", "x").unwrap_err().to_string();
    assert!(error.contains("nope") && error.contains("\"q\""), "{error}");
    cache.feed(b"");
    assert!(cache.add_index("s", "spec.s").is_err());
}

#[derive(Debug, Clone)]
enum Step {
    Upsert(u8, Vec<u8>),
    Delete(u8),
    Put(u8, Vec<u8>),
    Relist(Vec<(u8, Vec<u8>)>),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let values = || prop::collection::vec(0u8..5, 0..4);
    let step = prop_oneof![
        4 => (0u8..8, values()).prop_map(|(name, values)| Step::Upsert(name, values)),
        2 => (0u8..8).prop_map(Step::Delete),
        2 => (0u8..8, values()).prop_map(|(name, values)| Step::Put(name, values)),
        1 => prop::collection::vec((0u8..8, values()), 0..8).prop_map(Step::Relist),
    ];
    prop::collection::vec(step, 0..40)
}

fn thing(name: u8, version: u64, values: &[u8]) -> Value {
    let items: Vec<Value> = values
        .iter()
        .map(|value| json!({"v": format!("v{value}"), "n": value}))
        .collect();
    with(
        object(&format!("o{name}"), version),
        "spec",
        json!({"items": items, "first": values.first()}),
    )
}

fn model_lookup(model: &BTreeMap<u8, Vec<u8>>, value: u8, first: bool) -> Vec<(String, String)> {
    model
        .iter()
        .filter(|(_, values)| {
            if first {
                values.first() == Some(&value)
            } else {
                values.contains(&value)
            }
        })
        .map(|(name, _)| ("n".to_owned(), format!("o{name}")))
        .collect()
}

fn indexed() -> Cache {
    let mut cache = cache(&json!({"content": {}}));
    cache.add_index("each", "spec.items[*].v").unwrap();
    cache.add_index("first", "spec.first").unwrap();
    cache
}

proptest! {
    #[test]
    fn an_index_holds_what_the_objects_hold(steps in steps()) {
        let mut cache = indexed();
        let mut model: BTreeMap<u8, Vec<u8>> = BTreeMap::new();
        let mut version = 0;
        for step in steps {
            version += 10;
            match step {
                Step::Upsert(name, values) => {
                    cache.feed(&line("MODIFIED", &thing(name, version, &values)));
                    model.insert(name, values);
                }
                Step::Put(name, values) => {
                    prop_assert!(put(&mut cache, &thing(name, version, &values)));
                    model.insert(name, values);
                }
                Step::Delete(name) => {
                    cache.feed(&line("DELETED", &thing(name, version, &[])));
                    model.remove(&name);
                }
                Step::Relist(items) => {
                    let items: BTreeMap<u8, Vec<u8>> = items.into_iter().collect();
                    let listed: Vec<Value> = items
                        .iter()
                        .map(|(name, values)| thing(*name, version - u64::from(*name), values))
                        .collect();
                    cache.begin_relist();
                    cache.feed_list(&page(version, "", &listed)).unwrap();
                    cache.commit_relist().unwrap();
                    model = items;
                }
            }
            for value in 0..5 {
                prop_assert_eq!(cache.lookup("each", &format!("v{value}")).unwrap(), model_lookup(&model, value, false));
                prop_assert_eq!(cache.lookup("first", &value.to_string()).unwrap(), model_lookup(&model, value, true));
            }
            prop_assert_eq!(cache.len(), model.len());
        }
        // With the objects goes what they took.
        version += 10;
        for name in 0..8 {
            cache.feed(&line("DELETED", &thing(name, version, &[])));
        }
        for value in 0..5 {
            prop_assert_eq!(cache.lookup("each", &format!("v{value}")).unwrap().len(), 0);
        }
    }
}
