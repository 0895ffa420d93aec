//! Each rule alone.

use openclaw_core::diff;
use serde_json::{Value, json};

/// The diff of two specs, of which `fields` says what is ours.
fn spec(intent: &Value, live: &Value, fields: &Value) -> Vec<String> {
    let intent = json!({"spec": intent});
    let live = json!({
        "spec": live,
        "metadata": {"managedFields": [{"manager": "us", "operation": "Apply", "fieldsV1": fields_v1("f:spec", fields)}]},
    });
    let lines = diff(intent.to_string().as_bytes(), live.to_string().as_bytes(), "us").unwrap();
    lines.iter().map(|line| line.replace(" spec.", " ")).collect()
}

/// The field set of the whole object; none of it is ours when `fields` is empty.
fn fields_v1(section: &str, fields: &Value) -> Value {
    if *fields == json!({}) {
        json!({})
    } else {
        json!({section: fields})
    }
}

fn meta(intent: &Value, live: &Value, fields: &Value) -> Vec<String> {
    let mut live = json!({"metadata": live});
    live["metadata"]["managedFields"] =
        json!([{"manager": "us", "operation": "Apply", "fieldsV1": fields_v1("f:metadata", fields)}]);
    let intent = json!({"metadata": intent});
    diff(intent.to_string().as_bytes(), live.to_string().as_bytes(), "us").unwrap()
}

#[test]
fn null_is_absent() {
    let fields = json!({"f:a": {}});
    assert_eq!(
        spec(&json!({"a": 1, "b": null}), &json!({"a": 1}), &fields),
        [""; 0]
    );
    assert_eq!(
        spec(&json!({"a": 1, "b": null}), &json!({"a": 1, "b": 2}), &fields),
        [""; 0]
    );
    assert_eq!(spec(&json!({"a": 1}), &json!({"a": null}), &fields), ["+ a"]);
    let atomic = json!({"f:a": {}});
    assert_eq!(
        spec(
            &json!({"a": [{"x": 1, "y": null}]}),
            &json!({"a": [{"x": 1}]}),
            &atomic
        ),
        [""; 0]
    );
    assert_eq!(
        spec(
            &json!({"a": [{"x": 1}]}),
            &json!({"a": [{"x": 1, "y": null}]}),
            &atomic
        ),
        [""; 0]
    );
}

#[test]
fn empty_is_absent_when_the_server_dropped_it() {
    for (empty, full) in [(json!({}), json!({"x": 1})), (json!([]), json!([1]))] {
        let wanted = json!({"a": empty});
        // The server drops empty maps and lists of built-in kinds, but says that we own them: no apply changes that.
        assert_eq!(spec(&wanted, &json!({}), &json!({"f:a": {}})), [""; 0]);
        assert_eq!(spec(&wanted, &json!({}), &json!({})), [""; 0]);
        assert_eq!(spec(&wanted, &json!({"a": empty}), &json!({"f:a": {}})), [""; 0]);
        assert_eq!(spec(&wanted, &json!({"a": empty}), &json!({})), ["@ a"]);
        assert_eq!(
            spec(&json!({"a": full}), &json!({"a": empty}), &json!({"f:a": {}})),
            ["~ a"]
        );
    }
    // An empty map that others filled contains what we want of it; a list is compared as a whole.
    assert_eq!(
        spec(&json!({"a": {}}), &json!({"a": {"x": 1}}), &json!({"f:a": {}})),
        [""; 0]
    );
    assert_eq!(
        spec(&json!({"a": []}), &json!({"a": [1]}), &json!({"f:a": {}})),
        ["~ a"]
    );
    // What we put in is to go.
    assert_eq!(
        spec(
            &json!({"a": {}}),
            &json!({"a": {"x": 1}}),
            &json!({"f:a": {"f:x": {}}})
        ),
        ["- a.x"]
    );
    assert_eq!(
        spec(&json!({"a": {}}), &json!({}), &json!({"f:a": {"f:x": {}}})),
        ["- a"]
    );
}

#[test]
fn numbers_and_texts() {
    let fields = json!({"f:a": {}});
    let same =
        |wanted: Value, found: Value| spec(&json!({"a": wanted}), &json!({"a": found}), &fields).is_empty();
    assert!(same(json!(1), json!(1.0)));
    assert!(same(json!([1, {"x": 2.0}]), json!([1.0, {"x": 2}])));
    assert!(!same(json!("80"), json!(80)));
    assert!(!same(json!(80), json!("80")));
    assert!(!same(json!("1"), json!("1000m")));
    assert!(!same(json!("60s"), json!("1m")));
    assert!(!same(json!(true), json!("true")));
    assert!(!same(
        json!(9_007_199_254_740_993_i64),
        json!(9_007_199_254_740_992_i64)
    ));
    assert!(!same(json!({"x": 1}), json!("x")));
}

#[test]
fn quantities_are_compared_by_amount_where_they_are_quantities() {
    let fields = json!({"f:limits": {"f:cpu": {}}, "f:sizeLimit": {}, "f:hard": {}});
    let live = json!({"limits": {"cpu": "1"}, "sizeLimit": "1Gi", "hard": {"pods": "10"}});
    let wanted = json!({"limits": {"cpu": 1.0}, "sizeLimit": "1024Mi", "hard": {"pods": 10}});
    assert_eq!(spec(&wanted, &live, &fields), [""; 0]);
    let wanted = json!({"limits": {"cpu": "1m"}, "sizeLimit": "1G", "hard": {"pods": 11}});
    assert_eq!(
        spec(&wanted, &live, &fields),
        ["~ hard", "~ limits.cpu", "~ sizeLimit"]
    );
    // Deeper inside, or beside, they are texts again.
    let fields = json!({"f:limits": {"f:x": {"f:y": {}}}, "f:other": {"f:cpu": {}}});
    let live = json!({"limits": {"x": {"y": "1"}}, "other": {"cpu": "1"}});
    let wanted = json!({"limits": {"x": {"y": "1000m"}}, "other": {"cpu": "1000m"}});
    assert_eq!(spec(&wanted, &live, &fields), ["~ limits.x.y", "~ other.cpu"]);
}

#[test]
fn a_limit_range_has_quantities_a_level_deeper() {
    let item = |cpu: Value, ratio: Value| json!([{"type": "Container", "default": {"cpu": cpu}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": ratio}}]);
    let fields = json!({"f:limits": {}});
    let live = json!({"limits": item(json!("500m"), json!("4"))});
    assert_eq!(
        spec(&json!({"limits": item(json!(0.5), json!(4))}), &live, &fields),
        [""; 0]
    );
    assert_eq!(
        spec(&json!({"limits": item(json!("5"), json!(4))}), &live, &fields),
        ["~ limits"]
    );
    // Not so where there is no `limits` around it.
    let (wanted, live) = (
        json!({"default": {"cpu": "0.5"}}),
        json!({"default": {"cpu": "500m"}}),
    );
    assert_eq!(
        spec(&wanted, &live, &json!({"f:default": {"f:cpu": {}}})),
        ["~ default.cpu"]
    );
}

#[test]
fn sets_have_no_order() {
    let fields = json!({"f:s": {"v:\"a\"": {}, "v:\"b\"": {}, "v:3": {}}});
    let live = json!({"s": ["x", 3, "b", "a"]});
    assert_eq!(spec(&json!({"s": ["a", "b", 3.0]}), &live, &fields), [""; 0]);
    assert_eq!(
        spec(&json!({"s": ["a", "x", "new"]}), &live, &fields),
        ["@ s[\"x\"]", "+ s[\"new\"]", "- s[\"b\"]", "- s[3]"]
    );
}

#[test]
fn lists_by_place() {
    let fields = json!({"f:l": {"i:0": {}, "i:1": {"f:a": {}}}});
    let live = json!({"l": ["x", {"a": 1, "b": 2}]});
    assert_eq!(spec(&json!({"l": ["x", {"a": 1}]}), &live, &fields), [""; 0]);
    assert_eq!(
        spec(&json!({"l": ["y", {"a": 2}, 3]}), &live, &fields),
        ["~ l[0]", "~ l[1].a", "+ l[2]"]
    );
    assert_eq!(spec(&json!({"l": ["x"]}), &live, &fields), ["- l[1]"]);
}

#[test]
fn an_item_may_omit_a_key_that_the_server_fills_in() {
    let key = |protocol: &str| format!("k:{{\"port\":53,\"protocol\":\"{protocol}\"}}");
    let both = json!({"p": [{"port": 53, "protocol": "UDP", "name": "u"}, {"port": 53, "protocol": "TCP", "name": "t"}]});
    let ours = json!({"f:p": {key("TCP"): {".": {}, "f:port": {}, "f:name": {}}}});
    assert_eq!(
        spec(&json!({"p": [{"port": 53, "name": "t"}]}), &both, &ours),
        [""; 0]
    );
    let all = json!({"f:p": {
        key("TCP"): {".": {}, "f:port": {}, "f:name": {}},
        key("UDP"): {".": {}, "f:port": {}, "f:name": {}, "f:protocol": {}},
    }});
    let wanted = json!({"p": [{"port": 53, "name": "t"}, {"port": 53, "protocol": "UDP", "name": "u"}]});
    assert_eq!(spec(&wanted, &both, &all), [""; 0]);
    assert_eq!(
        spec(&json!({"p": [{"port": 53, "name": "t"}]}), &both, &all),
        ["- p[port=53,protocol=UDP]"]
    );
    assert_eq!(
        spec(&json!({"p": [{"port": 54, "name": "t"}]}), &both, &ours),
        ["+ p[port=54]", "- p[port=53,protocol=TCP]"]
    );
}

#[test]
fn an_item_that_others_made_is_not_ours() {
    let fields = json!({"f:l": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}}}});
    let live = json!({"l": [{"name": "a"}, {"name": "b", "x": 1}]});
    assert_eq!(
        spec(
            &json!({"l": [{"name": "a"}, {"name": "b", "x": 1}]}),
            &live,
            &fields
        ),
        ["@ l[name=b]"]
    );
    assert_eq!(
        spec(
            &json!({"l": [{"name": "a"}, {"name": "b", "x": 2}]}),
            &live,
            &fields
        ),
        ["@ l[name=b]", "~ l[name=b].x"]
    );
}

#[test]
fn owner_references_and_finalizers_need_no_entry() {
    let reference = |uid: &str| json!({"uid": uid, "name": uid, "kind": "K", "apiVersion": "v1"});
    let live = json!({"ownerReferences": [reference("x"), reference("a")], "finalizers": ["other", "ours"]});
    let wanted = json!({"ownerReferences": [reference("a")], "finalizers": ["ours"]});
    assert_eq!(
        meta(&wanted, &live, &json!({})),
        [
            "@ metadata.finalizers[\"ours\"]",
            "@ metadata.ownerReferences[uid=a]"
        ]
    );
    let fields = json!({"f:finalizers": {"v:\"ours\"": {}}, "f:ownerReferences": {"k:{\"uid\":\"a\"}": {}}});
    assert_eq!(meta(&wanted, &live, &fields), [""; 0]);
    let wanted = json!({"ownerReferences": [reference("b")], "finalizers": ["new"]});
    assert_eq!(
        meta(&wanted, &live, &fields),
        [
            "+ metadata.finalizers[\"new\"]",
            "- metadata.finalizers[\"ours\"]",
            "+ metadata.ownerReferences[uid=b]",
            "- metadata.ownerReferences[uid=a]",
        ]
    );
}

#[test]
fn only_the_top_has_a_status_and_an_identity() {
    let fields = json!({"f:status": {}, "f:kind": {}, "f:metadata": {"f:name": {}}});
    let wanted = json!({"status": 1, "kind": 1, "metadata": {"name": 1}});
    let live = json!({"status": 2, "kind": 2, "metadata": {"name": 2}});
    assert_eq!(
        spec(&wanted, &live, &fields),
        ["~ kind", "~ metadata.name", "~ status"]
    );
}

#[test]
fn what_atomic_values_get_from_the_server_is_no_difference() {
    let same = |wanted: Value, found: Value| {
        spec(&json!({"a": wanted}), &json!({"a": found}), &json!({"f:a": {}})).is_empty()
    };
    assert!(same(
        json!([{"port": 80}]),
        json!([{"port": 80, "protocol": "TCP"}])
    ));
    assert!(!same(
        json!([{"port": 80}]),
        json!([{"port": 80, "protocol": "UDP"}])
    ));
    assert!(!same(
        json!([{"path": 80}]),
        json!([{"path": 80, "protocol": "TCP"}])
    ));
    assert!(same(
        json!({"resource": "limits.cpu"}),
        json!({"resource": "limits.cpu", "divisor": "0"})
    ));
    let claim = json!([{"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1024Mi"}}}}]);
    let live = json!([{"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"creationTimestamp": null, "name": "d"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"},
        "status": {"phase": "Pending"}}]);
    assert!(same(claim, live));
}

#[test]
fn documents_that_are_none_are_errors() {
    for (intent, live, why) in [
        ("", "{}", "intent: no JSON"),
        ("[]", "{}", "intent: must be"),
        ("{}", "{", "live: no JSON"),
        ("{}", "3", "live: must be"),
        (
            "{}",
            r#"{"metadata":{"managedFields":[{"manager":"us","operation":"Apply","fieldsV1":{"x:y":{}}}]}}"#,
            "x:y",
        ),
    ] {
        let error = diff(intent.as_bytes(), live.as_bytes(), "us")
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}
