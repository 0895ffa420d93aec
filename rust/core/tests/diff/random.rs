//! Random documents: what the server would make of an intent contains it, and one edit is one line.

use openclaw_core::diff;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A value of an intent, with lists of each kind. Which kind a list is, is told by its key: `m…` a list map by `name`,
/// `s…` a set, `a…` atomic.
fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        (0i64..100).prop_map(Value::from),
        "[a-z0-9]{0,5}".prop_map(Value::from),
    ]
    .boxed()
}

fn map(depth: u32) -> BoxedStrategy<Value> {
    let leaf = ("x[a-d]", scalar()).boxed();
    let field = if depth == 0 {
        leaf
    } else {
        let below = map(depth - 1);
        let items = prop::collection::btree_map("[a-z]{1,3}", below.clone(), 1..4);
        let named = items.prop_map(|items| {
            let items = items.into_iter().map(|(name, mut item)| {
                item["name"] = json!(name);
                item
            });
            Value::Array(items.collect())
        });
        let atoms = prop_oneof![scalar(), below.clone()];
        prop_oneof![
            leaf,
            ("o[a-d]", below),
            ("a[a-d]", prop::collection::vec(atoms, 1..4).prop_map(Value::from)),
            (
                "s[a-d]",
                prop::collection::btree_set("[a-z]{1,3}", 1..4).prop_map(|set| json!(set))
            ),
            ("m[a-d]", named),
        ]
        .boxed()
    };
    prop::collection::vec(field, 1..4)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
        .boxed()
}

fn kind(key: &str) -> char {
    key.chars().next().unwrap_or_default()
}

/// The field set that the server would record for the intent.
fn field_set(value: &Value, kind_of_list: char) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(key, value)| (format!("f:{key}"), field_set(value, kind(key))))
                .collect(),
        ),
        Value::Array(items) if kind_of_list == 's' => Value::Object(
            items
                .iter()
                .map(|item| (format!("v:{item}"), json!({})))
                .collect(),
        ),
        Value::Array(items) if kind_of_list == 'm' => Value::Object(
            items
                .iter()
                .map(|item| {
                    let mut fields = field_set(item, 'o');
                    fields["."] = json!({});
                    (format!("k:{{\"name\":{}}}", item["name"]), fields)
                })
                .collect(),
        ),
        _ => json!({}),
    }
}

/// What the server might make of the intent: others' fields and items, defaults, another order.
fn dress(value: &Value, kind_of_list: char, extra: &str) -> Value {
    match value {
        Value::Object(members) => {
            let mut dressed: Map<String, Value> = members
                .iter()
                .map(|(key, value)| (key.clone(), dress(value, kind(key), extra)))
                .collect();
            dressed.insert(format!("z{extra}"), json!({"default": [1, null]}));
            Value::Object(dressed)
        }
        Value::Array(items) if kind_of_list == 'm' => {
            let mut dressed = vec![json!({"name": format!("other-{extra}"), "x": 1})];
            dressed.extend(items.iter().rev().map(|item| dress(item, 'o', extra)));
            Value::Array(dressed)
        }
        Value::Array(items) if kind_of_list == 's' => {
            let mut dressed = vec![json!(format!("other-{extra}"))];
            dressed.extend(items.iter().rev().cloned());
            Value::Array(dressed)
        }
        other => other.clone(),
    }
}

fn lines(intent: &Value, live: &Value, fields: &Value) -> Vec<String> {
    let intent = json!({"apiVersion": "v1", "spec": intent});
    let live = json!({
        "spec": live,
        "metadata": {"managedFields": [
            {"manager": "them", "operation": "Update", "fieldsV1": {"f:spec": {"f:foreign": {}}}},
            {"manager": "us", "operation": "Apply", "fieldsV1": {"f:spec": fields}},
        ]},
    });
    diff(intent.to_string().as_bytes(), live.to_string().as_bytes(), "us").unwrap()
}

/// The pointers of all members of maps, and of items of list maps, that are not inside something atomic.
fn places(value: &Value, at: &str, kind_of_list: char, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let below = format!("{at}/{key}");
                if key != "name" {
                    out.push(below.clone());
                    places(value, &below, kind(key), out);
                }
            }
        }
        Value::Array(items) if kind_of_list == 'm' => {
            for (place, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{place}"), 'o', out);
            }
        }
        _ => {}
    }
}

fn remove(document: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    document
        .pointer_mut(parent)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove(key);
}

proptest! {
    #[test]
    fn what_the_server_made_of_an_intent_contains_it(intent in map(3), extra in "[a-c]") {
        let fields = field_set(&intent, 'o');
        prop_assert_eq!(lines(&intent, &intent, &fields), Vec::<String>::new());
        prop_assert_eq!(lines(&intent, &dress(&intent, 'o', &extra), &fields), Vec::<String>::new());
    }

    #[test]
    fn one_edit_is_one_line(intent in map(3), at in any::<prop::sample::Index>()) {
        let fields = field_set(&intent, 'o');
        let live = dress(&intent, 'o', "q");
        let mut all = Vec::new();
        places(&intent, "", 'o', &mut all);
        let pointer = &all[at.index(all.len())];

        // Someone changed it: the type of a value is never that of an object here, so it differs.
        let mut changed = intent.clone();
        *changed.pointer_mut(pointer).unwrap() = json!(-1);
        let told = lines(&changed, &live, &fields);
        prop_assert_eq!(told.len(), 1, "{:?}", told);
        prop_assert!(told[0].starts_with("~ spec."), "{:?}", told);

        // The intent has it no more.
        let mut smaller = intent.clone();
        remove(&mut smaller, pointer);
        let told = lines(&smaller, &live, &fields);
        let emptied = smaller == json!({}) || told.is_empty();
        prop_assert!(emptied || told.iter().all(|line| line.starts_with("- spec")), "{:?}", told);
        prop_assert!(!told.is_empty());

        // Someone removed it, or never had it as ours.
        let mut stranger = intent.clone();
        stranger["xnew"] = json!(1);
        prop_assert_eq!(lines(&stranger, &live, &fields), ["+ spec.xnew"]);
        let mut theirs = live.clone();
        theirs["xnew"] = json!(1);
        prop_assert_eq!(lines(&stranger, &theirs, &fields), ["@ spec.xnew"]);
    }
}
