//! A Deployment applied server-side, and what may happen to it.

use openclaw_core::diff;
use serde_json::{Value, json};

fn intent() -> Value {
    serde_json::from_str(include_str!("../fixtures/deployment_intent.json")).unwrap()
}

fn live() -> Value {
    serde_json::from_str(include_str!("../fixtures/deployment_live.json")).unwrap()
}

fn lines(intent: &Value, live: &Value) -> Vec<String> {
    diff(
        intent.to_string().as_bytes(),
        live.to_string().as_bytes(),
        "openclaw",
    )
    .unwrap()
}

const POD: &str = "/spec/template/spec";
const WEB: &str = "/spec/template/spec/containers/0";

/// The document with the value at a pointer edited.
fn edit(mut document: Value, pointer: &str, change: impl FnOnce(&mut Value)) -> Value {
    change(document.pointer_mut(pointer).unwrap());
    document
}

fn remove(document: Value, pointer: &str, key: &str) -> Value {
    edit(document, pointer, |place| {
        place.as_object_mut().unwrap().remove(key).unwrap();
    })
}

#[test]
fn what_the_server_made_of_the_intent_is_the_intent() {
    assert_eq!(lines(&intent(), &live()), [""; 0]);
}

#[test]
fn what_is_none_of_our_business_is_no_difference() {
    let changed = edit(live(), "/metadata/labels", |labels| {
        labels["team"] = json!("other");
    });
    let changed = edit(changed, "/spec", |spec| spec["paused"] = json!(true));
    let changed = edit(changed, WEB, |web| web["imagePullPolicy"] = json!("Always"));
    let changed = edit(changed, &format!("{WEB}/env"), |env| {
        env.as_array_mut()
            .unwrap()
            .insert(0, json!({"name": "INJECTED", "value": "1"}));
    });
    let changed = edit(changed, &format!("{POD}/containers"), |containers| {
        containers
            .as_array_mut()
            .unwrap()
            .insert(0, json!({"name": "sidecar", "image": "mesh"}));
    });
    let changed = edit(changed, "/status", |status| status["readyReplicas"] = json!(0));
    assert_eq!(lines(&intent(), &changed), [""; 0]);
    let identity = edit(intent(), "/metadata", |metadata| {
        metadata["resourceVersion"] = json!("1");
        metadata["generation"] = json!(9);
        metadata["creationTimestamp"] = Value::Null;
    });
    let identity = edit(identity, "", |object| object["status"] = json!({"replicas": 99}));
    assert_eq!(lines(&identity, &live()), [""; 0]);
}

#[test]
fn what_was_changed_by_hand_is_named() {
    let cases = [
        (
            edit(live(), "/spec", |spec| spec["replicas"] = json!(5)),
            "~ spec.replicas",
        ),
        (
            edit(live(), WEB, |web| web["image"] = json!("x")),
            "~ spec.template.spec.containers[name=web].image",
        ),
        (
            edit(live(), &format!("{WEB}/env/0"), |env| env["value"] = json!("80")),
            "~ spec.template.spec.containers[name=web].env[name=PORT].value",
        ),
        (
            edit(live(), &format!("{WEB}/resources/limits"), |limits| {
                limits["memory"] = json!("513Mi");
            }),
            "~ spec.template.spec.containers[name=web].resources.limits.memory",
        ),
        (
            remove(live(), "/metadata/labels", "openclaw.dev/slot"),
            "+ metadata.labels[\"openclaw.dev/slot\"]",
        ),
        (
            remove(live(), "/metadata", "ownerReferences"),
            "+ metadata.ownerReferences",
        ),
        (remove(live(), "/spec/template", "spec"), "+ spec.template.spec"),
        (
            edit(live(), &format!("{POD}/nodeSelector"), |selector| {
                selector["zone"] = json!("a");
            }),
            "~ spec.template.spec.nodeSelector",
        ),
        (
            edit(live(), &format!("{POD}/tolerations"), |list| {
                list.as_array_mut().unwrap().push(json!({"key": "x"}));
            }),
            "~ spec.template.spec.tolerations",
        ),
        (
            edit(live(), &format!("{POD}/imagePullSecrets"), |list| {
                *list = json!([{"name": "other"}]);
            }),
            "+ spec.template.spec.imagePullSecrets[name=registry]",
        ),
        (
            edit(live(), &format!("{WEB}/env/1/valueFrom/fieldRef"), |field| {
                field["apiVersion"] = json!("v2");
            }),
            "~ spec.template.spec.containers[name=web].env[name=POD].valueFrom.fieldRef",
        ),
        (
            edit(live(), &format!("{POD}/volumes/0/emptyDir"), |dir| {
                dir["sizeLimit"] = json!("2Gi");
            }),
            "~ spec.template.spec.volumes[name=cache].emptyDir.sizeLimit",
        ),
    ];
    for (live, line) in cases {
        assert_eq!(lines(&intent(), &live), [line]);
    }
}

#[test]
fn what_the_intent_has_no_more_is_named() {
    let cases = [
        (remove(intent(), "/spec", "replicas"), vec!["- spec.replicas"]),
        (
            edit(intent(), "/spec", |spec| spec["replicas"] = Value::Null),
            vec!["- spec.replicas"],
        ),
        (
            remove(intent(), "/metadata/labels", "openclaw.dev/slot"),
            vec!["- metadata.labels[\"openclaw.dev/slot\"]"],
        ),
        (remove(intent(), "/metadata", "labels"), vec!["- metadata.labels"]),
        (
            remove(intent(), POD, "nodeSelector"),
            vec!["- spec.template.spec.nodeSelector"],
        ),
        (
            edit(intent(), &format!("{WEB}/env"), |env| {
                env.as_array_mut().unwrap().remove(0);
            }),
            vec!["- spec.template.spec.containers[name=web].env[name=PORT]"],
        ),
        (
            edit(intent(), &format!("{POD}/containers"), |containers| {
                containers.as_array_mut().unwrap()[0]["name"] = json!("new");
            }),
            vec![
                "+ spec.template.spec.containers[name=new]",
                "- spec.template.spec.containers[name=web]",
            ],
        ),
        (
            edit(intent(), &format!("{WEB}/ports"), |ports| *ports = json!([])),
            vec!["- spec.template.spec.containers[name=web].ports[containerPort=8080,protocol=TCP]"],
        ),
        (
            edit(intent(), &format!("{POD}/nodeSelector"), |selector| {
                *selector = json!({"a": "b"});
            }),
            vec!["~ spec.template.spec.nodeSelector"],
        ),
    ];
    for (intent, expected) in cases {
        assert_eq!(lines(&intent, &live()), expected);
    }
}

#[test]
fn what_is_right_but_not_ours_yet_is_named() {
    let wanted = edit(intent(), "/spec", |spec| spec["revisionHistoryLimit"] = json!(10));
    assert_eq!(lines(&wanted, &live()), ["@ spec.revisionHistoryLimit"]);
    let wanted = edit(intent(), "/metadata/labels", |labels| {
        labels["team"] = json!("shop");
    });
    assert_eq!(lines(&wanted, &live()), ["@ metadata.labels.team"]);
    // kubectl edit took a field from us, and left the value as we want it.
    let taken = remove(
        live(),
        "/metadata/managedFields/0/fieldsV1/f:spec/f:template/f:spec",
        "f:nodeSelector",
    );
    assert_eq!(
        lines(&intent(), &taken),
        ["@ spec.template.spec.nodeSelector[\"kubernetes.io/os\"]"]
    );
}

#[test]
fn without_an_entry_of_ours_everything_is_to_be_applied() {
    let foreign = remove(live(), "/metadata", "managedFields");
    assert_eq!(
        lines(&intent(), &foreign),
        ["metadata.managedFields[manager=openclaw]"]
    );
}

#[test]
fn the_order_of_a_list_map_does_not_matter_but_that_of_an_atomic_list_does() {
    let shuffled = edit(live(), &format!("{WEB}/env"), |env| {
        env.as_array_mut().unwrap().reverse();
    });
    assert_eq!(lines(&intent(), &shuffled), [""; 0]);
    let two = json!([{"key": "a"}, {"key": "b"}]);
    let wanted = edit(intent(), &format!("{POD}/tolerations"), |list| {
        *list = two.clone();
    });
    let same = edit(live(), &format!("{POD}/tolerations"), |list| *list = two.clone());
    assert_eq!(lines(&wanted, &same), [""; 0]);
    let other = edit(same, &format!("{POD}/tolerations"), |list| {
        list.as_array_mut().unwrap().reverse();
    });
    assert_eq!(lines(&wanted, &other), ["~ spec.template.spec.tolerations"]);
}
