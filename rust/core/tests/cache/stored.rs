//! The stored form, against `serde_json`.

use openclaw_core::Cache;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::objects::{object, with};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What pruning means, on parsed values.
fn pruned(object: &Value, manager: Option<&str>) -> Value {
    let mut object = object.clone();
    let top = object.as_object_mut().unwrap();
    top.remove("apiVersion");
    top.remove("kind");
    let metadata = top["metadata"].as_object_mut().unwrap();
    if let Some(Value::Array(entries)) = metadata.remove("managedFields") {
        let kept: Vec<Value> = entries
            .into_iter()
            .filter(|entry| {
                manager.is_some_and(|manager| entry["manager"] == manager)
                    && entry["operation"] == "Apply"
                    && (entry["subresource"].is_null() || entry["subresource"] == "")
            })
            .collect();
        if !kept.is_empty() {
            metadata.insert("managedFields".to_owned(), Value::Array(kept));
        }
    }
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(LAST_APPLIED);
    }
    object
}

fn stored(text: &str, manager: Option<&str>) -> Option<Value> {
    let mut cache = Cache::new(manager.map(str::to_owned));
    cache.put(text.as_bytes()).ok()?;
    let (namespace, name) = cache.keys().pop()?;
    serde_json::from_slice(cache.get(&namespace, &name)?).ok()
}

/// Any JSON, with texts that need escapes.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6f64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,12}".boxed(),
        "[\"\\\\/\u{8}\u{c}\n\r\t\u{0}\u{1f}é😀a]{0,20}".boxed(),
        "\\PC{0,20}".boxed(),
    ]
}

fn managed() -> impl Strategy<Value = Value> {
    let entry = (
        prop::sample::select(vec!["us", "them", "u\"s"]),
        prop::sample::select(vec!["Apply", "Update"]),
        prop::sample::select(vec![json!(null), json!(""), json!("status")]),
        json_value(),
    )
        .prop_map(|(manager, operation, subresource, fields)| {
            json!({"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": fields})
        });
    prop_oneof![
        prop::collection::vec(entry, 0..5).prop_map(Value::from),
        Just(Value::Null),
    ]
}

/// An object whose members come in any order, with any of those that pruning looks at.
fn any_object() -> impl Strategy<Value = Vec<(String, Value)>> {
    let annotations = prop_oneof![
        json_value(),
        prop::collection::vec(
            (prop_oneof![Just(LAST_APPLIED.to_owned()), text()], json_value()),
            0..4
        )
        .prop_map(|members| Value::Object(members.into_iter().collect())),
    ];
    let metadata = (
        prop::option::of(annotations),
        prop::option::of(managed()),
        prop::collection::vec((text(), json_value()), 0..3),
        Just(()),
    )
        .prop_flat_map(|(annotations, managed, others, ())| {
            let mut members = vec![
                ("name".to_owned(), json!("x")),
                ("resourceVersion".to_owned(), json!("5")),
            ];
            members.extend(annotations.map(|value| ("annotations".to_owned(), value)));
            members.extend(managed.map(|value| ("managedFields".to_owned(), value)));
            members.extend(others);
            Just(members).prop_shuffle()
        });
    let others = prop::collection::vec(
        (
            prop_oneof![
                prop::sample::select(vec!["spec".to_owned(), "status".to_owned(), "data".to_owned()]),
                text()
            ],
            json_value(),
        ),
        0..4,
    );
    (metadata, others, any::<bool>(), any::<bool>()).prop_flat_map(|(metadata, others, version, kind)| {
        let metadata: Vec<_> = metadata;
        let mut members = vec![("metadata".to_owned(), ordered(&metadata))];
        if version {
            members.push(("apiVersion".to_owned(), json!("v1")));
        }
        if kind {
            members.push(("kind".to_owned(), json!("Thing")));
        }
        members.extend(others);
        Just(members).prop_shuffle()
    })
}

/// A marker for an object whose members must keep their order in the text: `serde_json` sorts them.
fn ordered(members: &[(String, Value)]) -> Value {
    json!({"ordered": members})
}

/// Writes the object with its members in this order, each key once, with blanks where blanks may be.
fn write(members: &[(String, Value)], blank: &str) -> String {
    let mut seen = Vec::new();
    let mut parts = Vec::new();
    for (key, value) in members {
        if seen.contains(key) {
            continue;
        }
        seen.push(key.clone());
        let value = if key == "metadata" && value["ordered"].is_array() {
            let inner: Vec<(String, Value)> = serde_json::from_value(value["ordered"].clone()).unwrap();
            write(&inner, blank)
        } else {
            value.to_string()
        };
        parts.push(format!("{blank}{}{blank}:{blank}{value}{blank}", json!(key)));
    }
    format!("{{{}}}", parts.join(","))
}

#[test]
fn what_goes_and_what_stays() {
    let object = with(
        with(
            with(
                object("a", 1),
                "metadata/annotations",
                json!({LAST_APPLIED: "{}", "b": "c"}),
            ),
            "metadata/managedFields",
            json!([
                {"manager": "them", "operation": "Apply"},
                {"manager": "us", "operation": "Apply", "fieldsV1": {"f:spec": {}}},
                {"manager": "us", "operation": "Update"},
            ]),
        ),
        "spec",
        json!({"kind": "stays", "apiVersion": "stays"}),
    );
    let stored = stored(&object.to_string(), Some("us")).unwrap();
    assert_eq!(
        stored,
        json!({
            "metadata": {
                "name": "a", "namespace": "n", "uid": "uid-a", "resourceVersion": "1", "annotations": {"b": "c"},
                "managedFields": [{"manager": "us", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
            },
            "spec": {"kind": "stays", "apiVersion": "stays"},
        })
    );
}

proptest! {
    #[test]
    fn the_stored_form_is_the_pruned_object(
        members in any_object(),
        blank in prop::sample::select(vec!["", " ", "\n\t"]),
        manager in prop::sample::select(vec![None, Some("us"), Some("u\"s")]),
    ) {
        let text = write(&members, blank);
        let object: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(stored(&text, manager), Some(pruned(&object, manager)), "{}", text);
    }

    #[test]
    fn what_serde_json_refuses_is_refused(value in json_value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut members = Map::new();
        members.insert("metadata".to_owned(), json!({"name": "x", "resourceVersion": "5"}));
        members.insert("zpec".to_owned(), value);
        let mut bytes = Value::Object(members).to_string().into_bytes();
        // Only what comes after the metadata is damaged, so that the rest decides.
        let start = bytes.windows(6).position(|window| window == b"\"zpec\"").unwrap() + 6;
        let at = start + at.index(bytes.len() - start);
        bytes[at] = byte;
        let mut cache = Cache::new(None);
        let reference = serde_json::from_slice::<Value>(&bytes);
        let out_of_range = reference.as_ref().is_err_and(|error| error.to_string().contains("out of range"));
        prop_assume!(!out_of_range);
        prop_assert_eq!(cache.put(&bytes).is_ok(), reference.is_ok_and(|value| value["metadata"].is_object()));
    }
}
