//! Predicates and mappings, one by one.

use openclaw_core::Cache;
use serde_json::{Value, json};

use crate::objects::{cache, feed, object, stat, told, with};

/// Whether an update from one object to the other matters to the predicate.
fn matters(predicate: &Value, old: &Value, new: &Value) -> bool {
    let mut cache = cache(predicate);
    let old = with(old.clone(), "metadata/resourceVersion", json!("10"));
    let new = with(new.clone(), "metadata/resourceVersion", json!("11"));
    feed(&mut cache, "ADDED", &old);
    let before = stat(&cache, "events_dropped");
    let told = feed(&mut cache, "MODIFIED", &new);
    assert_eq!(
        stat(&cache, "events_dropped") - before,
        u64::from(told.is_empty())
    );
    !told.is_empty()
}

/// Objects that differ from the first in one part each.
fn variants() -> Vec<(&'static str, Value)> {
    let base = object("a", 1);
    let base = with(base, "metadata/generation", json!(1));
    let base = with(base, "metadata/labels", json!({"l": "1", "m": "1"}));
    let base = with(base, "metadata/annotations", json!({"a": "1", "b": "1"}));
    let base = with(base, "metadata/finalizers", json!(["f"]));
    let base = with(base, "metadata/ownerReferences", json!([{"uid": "o"}]));
    let base = with(base, "spec", json!({"x": {"y": 1, "z": 1}}));
    let base = with(base, "status", json!({"s": 1}));
    let base = with(base, "data", json!({"k": "1"}));
    let change = |path: &str, value: Value| with(base.clone(), path, value);
    let last_applied = "kubectl.kubernetes.io/last-applied-configuration";
    vec![
        ("nothing", base.clone()),
        ("generation", change("metadata/generation", json!(2))),
        ("label l", change("metadata/labels/l", json!("2"))),
        ("label m gone", change("metadata/labels", json!({"l": "1"}))),
        ("annotation a", change("metadata/annotations/a", json!("2"))),
        ("annotation c new", change("metadata/annotations/c", json!(""))),
        (
            "last applied",
            change(
                "metadata/annotations",
                json!({"a": "1", last_applied: "{}", "b": "1"}),
            ),
        ),
        ("finalizers", change("metadata/finalizers", json!(["f", "g"]))),
        (
            "deletion",
            change("metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
        ),
        (
            "owners",
            change("metadata/ownerReferences", json!([{"uid": "p"}])),
        ),
        ("spec.x.y", change("spec/x/y", json!(2))),
        ("spec.x.z", change("spec/x/z", json!(2))),
        ("status", change("status/s", json!(2))),
        ("data", change("data/k", json!("2"))),
    ]
}

#[test]
fn each_predicate_sees_its_part_and_no_other() {
    let cases = [
        (json!({"generation": {}}), vec!["generation"]),
        (json!({"labels": {}}), vec!["label l", "label m gone"]),
        (json!({"label": "l"}), vec!["label l"]),
        (json!({"label": "m"}), vec!["label m gone"]),
        (
            json!({"annotations": {}}),
            vec!["annotation a", "annotation c new"],
        ),
        (json!({"annotation": "a"}), vec!["annotation a"]),
        (json!({"finalizers": {}}), vec!["finalizers"]),
        (json!({"deletion": {}}), vec!["deletion"]),
        (json!({"owners": {}}), vec!["owners"]),
        (json!({"spec": {}}), vec!["spec.x.y", "spec.x.z"]),
        (json!({"status": {}}), vec!["status"]),
        (json!({"changed": "spec.x.y"}), vec!["spec.x.y"]),
        (json!({"changed": "data"}), vec!["data"]),
        (json!({"changed": "metadata.labels[\"l\"]"}), vec!["label l"]),
        (
            json!({"any": [{"status": {}}, {"label": "l"}]}),
            vec!["label l", "status"],
        ),
        (
            json!({"all": [{"spec": {}}, {"changed": "spec.x.z"}]}),
            vec!["spec.x.z"],
        ),
        (
            json!({"all": [{"spec": {}}, {"not": {"changed": "spec.x.z"}}]}),
            vec!["spec.x.y"],
        ),
    ];
    let variants = variants();
    let base = &variants[0].1;
    for (predicate, expected) in cases {
        let seen: Vec<&str> = variants
            .iter()
            .filter(|(_, variant)| matters(&predicate, base, variant))
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(seen, expected, "{predicate}");
    }
    for (name, variant) in &variants {
        assert!(matters(&json!({"always": {}}), base, variant));
        assert!(matters(&json!({"resourceVersion": {}}), base, variant));
        let silent = ["nothing", "generation", "last applied"].contains(name);
        assert_eq!(matters(&json!({"content": {}}), base, variant), !silent, "{name}");
    }
}

#[test]
fn null_empty_and_absent_are_alike_in_metadata() {
    let predicate = json!({"any": [{"labels": {}}, {"annotations": {}}, {"finalizers": {}}, {"owners": {}}, {"deletion": {}}]});
    let bare = object("a", 1);
    let mut nulls = object("a", 1);
    let mut empty = object("a", 1);
    for (key, value) in [
        ("labels", json!({})),
        ("annotations", json!({})),
        ("finalizers", json!([])),
        ("ownerReferences", json!([])),
    ] {
        nulls["metadata"][key] = Value::Null;
        empty["metadata"][key] = value;
    }
    nulls["metadata"]["deletionTimestamp"] = Value::Null;
    assert!(!matters(&predicate, &bare, &nulls));
    assert!(!matters(&predicate, &bare, &empty));
    assert!(!matters(
        &json!({"any": [{"spec": {}}, {"changed": "spec.x"}]}),
        &bare,
        &with(bare.clone(), "spec", Value::Null)
    ));
}

#[test]
fn the_order_of_labels_does_not_matter() {
    let mut cache = cache(&json!({"any": [{"labels": {}}, {"content": {}}]}));
    let event = |version: u32, labels: &str| {
        format!(
            "{{\"type\":\"MODIFIED\",\"object\":{{\"metadata\":{{\"name\":\"a\",\"resourceVersion\":\"{version}\",\"labels\":{labels}}}}}}}\n"
        )
    };
    cache.feed(event(1, r#"{"a":"1","b":"2"}"#).as_bytes());
    assert_eq!(
        told(&cache.feed(event(2, r#"{"b":"2","a":"1"}"#).as_bytes())).len(),
        1,
        "content is by bytes"
    );
    let mut only = self::cache(&json!({"labels": {}}));
    only.feed(event(1, r#"{"a":"1","b":"2"}"#).as_bytes());
    assert_eq!(
        told(&only.feed(event(2, r#"{"b":"2","a":"1"}"#).as_bytes())),
        [""; 0]
    );
    assert_eq!(
        told(&only.feed(event(3, r#"{"b":"1","a":"2"}"#).as_bytes())),
        ["a updated "]
    );
}

#[test]
fn a_part_of_what_is_new_gone_or_another_counts_as_changed() {
    for predicate in [
        json!({"generation": {}}),
        json!({"deletion": {}}),
        json!({"changed": "spec.q"}),
        json!({"label": "x"}),
    ] {
        let mut cache = cache(&predicate);
        assert_eq!(
            feed(&mut cache, "ADDED", &object("a", 1)),
            ["a added"],
            "{predicate}"
        );
        let other = with(object("a", 2), "metadata/uid", json!("other"));
        assert_eq!(
            feed(&mut cache, "MODIFIED", &other),
            ["a updated other"],
            "{predicate}"
        );
        let gone = with(object("a", 3), "metadata/uid", json!("other"));
        assert_eq!(
            feed(&mut cache, "DELETED", &gone),
            ["a deleted other"],
            "{predicate}"
        );
    }
}

#[test]
fn equals_looks_at_the_object_as_it_is_now() {
    let holds = |predicate: Value, spec: Value| {
        let mut cache = cache(&predicate);
        !feed(&mut cache, "ADDED", &with(object("a", 1), "spec", spec)).is_empty()
    };
    let equals = |path: &str, value: Value| json!({"equals": [path, value]});
    assert!(holds(equals("spec.a", json!("x")), json!({"a": "x"})));
    assert!(!holds(equals("spec.a", json!("x")), json!({"a": "y"})));
    assert!(!holds(equals("spec.a", json!("1")), json!({"a": 1})));
    assert!(holds(equals("spec.a", json!(1.0)), json!({"a": 1})));
    assert!(holds(
        equals("spec.a", json!({"b": [1, null]})),
        json!({"a": {"b": [1.0, null]}})
    ));
    assert!(holds(
        equals("spec.a[*].n", json!(2)),
        json!({"a": [{"n": 1}, {"n": 2}]})
    ));
    assert!(holds(equals("spec.a", Value::Null), json!({"a": null})));
    assert!(holds(equals("spec.a", Value::Null), json!({"b": 1})));
    assert!(!holds(equals("spec.a", Value::Null), json!({"a": 0})));
    assert!(holds(equals("spec@keys", json!("b")), json!({"b": 1})));

    let mut cache = cache(&equals("spec.a", json!("x")));
    feed(
        &mut cache,
        "ADDED",
        &with(object("a", 1), "spec", json!({"a": "x"})),
    );
    assert_eq!(
        feed(
            &mut cache,
            "MODIFIED",
            &with(object("a", 2), "spec", json!({"a": "y"}))
        ),
        [""; 0]
    );
    assert_eq!(
        feed(
            &mut cache,
            "DELETED",
            &with(object("a", 3), "spec", json!({"a": "x"}))
        ),
        ["a deleted"]
    );
}

#[test]
fn bad_specs_are_refused_with_their_reason() {
    for (predicate, why) in [
        ("", "no JSON"),
        ("[]", "one member"),
        ("{}", "one member"),
        (r#"{"labels":{},"spec":{}}"#, "one member"),
        (r#"{"lables":{}}"#, "\"lables\" is unknown"),
        (r#"{"labels":"x"}"#, "\"labels\": takes no argument"),
        (r#"{"label":{}}"#, "\"label\": takes a string"),
        (r#"{"any":[]}"#, "\"any\": takes a list"),
        (r#"{"all":[{"x":{}}]}"#, "\"x\" is unknown"),
        (r#"{"not":[]}"#, "one member"),
        (r#"{"equals":["spec.a"]}"#, "takes [path, value]"),
        (r#"{"changed":"kind"}"#, "not stored"),
    ] {
        let error = Cache::new(None)
            .subscribe(predicate.as_bytes(), br#"{"self":{}}"#)
            .unwrap_err();
        assert!(error.to_string().contains(why), "{predicate}: {error}");
    }
    for (mapping, why) in [
        ("x", "no JSON"),
        (r#"{"self":{"a":1}}"#, "must be"),
        (r#"{"owner":{}}"#, "must be"),
        (r#"{"owner":{"group":"g","kind":7}}"#, "must be"),
        (r#"{"owner":{"group":"g","kind":"k","version":"v1"}}"#, "must be"),
        (
            r#"{"owner":{"group":"g","kind":"k","clusterScoped":"yes"}}"#,
            "must be",
        ),
        (r#"{"parent":{}}"#, "must be"),
    ] {
        let error = Cache::new(None)
            .subscribe(br#"{"always":{}}"#, mapping.as_bytes())
            .unwrap_err();
        assert!(error.to_string().contains(why), "{mapping}: {error}");
    }
}

fn owned(version: u64, owners: Value) -> Value {
    with(object("child", version), "metadata/ownerReferences", owners)
}

fn owner(api_version: &str, kind: &str, name: &str, controller: bool) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": name, "controller": controller})
}

fn keys(cache: &mut Cache, kind: &str, object: &Value) -> Vec<String> {
    let batch = cache.feed(&crate::objects::line(kind, object));
    batch
        .deltas
        .iter()
        .map(|delta| {
            assert_eq!(delta.uid, "uid-child");
            format!(
                "{} {}/{} {}",
                delta.subscription,
                delta.namespace,
                delta.name,
                delta.reason.name()
            )
        })
        .collect()
}

#[test]
fn owners_are_found_and_both_hear_of_a_change_of_owner() {
    let mut cache = Cache::new(None);
    cache
        .subscribe(br#"{"content":{}}"#, br#"{"owner":{"group":"g","kind":"Root"}}"#)
        .unwrap();
    cache
        .subscribe(
            br#"{"content":{}}"#,
            br#"{"owner":{"group":"","kind":"Core","clusterScoped":true}}"#,
        )
        .unwrap();
    cache
        .subscribe(br#"{"status":{}}"#, br#"{"owner":{"group":"g","kind":"Root"}}"#)
        .unwrap();
    let nobody = json!([
        owner("other/v1", "Root", "x", true),
        owner("g/v1", "Other", "x", true),
        owner("g/v1", "Root", "x", false),
        owner("v1", "Root", "x", true),
        {"apiVersion": "g/v1", "kind": "Root", "name": "x"},
        null,
    ]);
    assert_eq!(keys(&mut cache, "ADDED", &owned(1, nobody)), [""; 0]);
    assert_eq!(
        keys(
            &mut cache,
            "MODIFIED",
            &owned(2, json!([owner("g/v2", "Root", "one", true)]))
        ),
        ["0 n/one updated"]
    );
    assert_eq!(
        keys(
            &mut cache,
            "MODIFIED",
            &owned(
                3,
                json!([owner("g/v1", "Root", "two", true), owner("v1", "Core", "c", true)])
            )
        ),
        ["0 n/one updated", "0 n/two updated", "1 /c updated"]
    );
    // The last known owner hears of the deletion even when the event tells of another.
    assert_eq!(
        keys(
            &mut cache,
            "DELETED",
            &owned(4, json!([owner("g/v1", "Root", "three", true)]))
        ),
        [
            "0 n/two deleted",
            "0 n/three deleted",
            "1 /c deleted",
            "2 n/two deleted",
            "2 n/three deleted"
        ]
    );
}
