//! Objects, events and pages to test with, and what came of them in short form.

use openclaw_core::{Batch, Cache};
use serde_json::{Value, json};

/// An object of namespace `n` whose uid is `uid-` and its name.
pub(crate) fn object(name: &str, version: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Thing",
        "metadata": {"name": name, "namespace": "n", "uid": format!("uid-{name}"), "resourceVersion": version.to_string()},
    })
}

/// The object with another value at a JSON pointer below `metadata` or the top; parents are made.
pub(crate) fn with(mut object: Value, path: &str, value: Value) -> Value {
    let mut place = &mut object;
    for key in path.split('/') {
        place = &mut place[key];
    }
    *place = value;
    object
}

pub(crate) fn line(kind: &str, object: &Value) -> Vec<u8> {
    let mut line = serde_json::to_vec(&json!({"type": kind, "object": object})).unwrap();
    line.push(b'\n');
    line
}

pub(crate) fn bookmark(version: u64, end: bool) -> Vec<u8> {
    let mut object = json!({"kind": "Thing", "metadata": {"resourceVersion": version.to_string()}});
    if end {
        object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    line("BOOKMARK", &object)
}

pub(crate) fn page(version: u64, next: &str, items: &[Value]) -> Vec<u8> {
    serde_json::to_vec(&json!({
        "kind": "ThingList",
        "metadata": {"resourceVersion": version.to_string(), "continue": next},
        "items": items,
    }))
    .unwrap()
}

/// A cache with one subscription of the objects themselves.
pub(crate) fn cache(predicate: &Value) -> Cache {
    let mut cache = Cache::new(Some("us".to_owned()));
    cache
        .subscribe(predicate.to_string().as_bytes(), br#"{"self":{}}"#)
        .unwrap();
    cache
}

/// The deltas as `name reason uid`, where the uid is left out when it is the name's own.
pub(crate) fn told(batch: &Batch) -> Vec<String> {
    batch
        .deltas
        .iter()
        .map(|delta| {
            let usual = delta.uid == format!("uid-{}", delta.name);
            let uid = if usual {
                String::new()
            } else {
                format!(" {}", delta.uid)
            };
            format!("{} {}{uid}", delta.name, delta.reason.name())
        })
        .collect()
}

pub(crate) fn feed(cache: &mut Cache, kind: &str, object: &Value) -> Vec<String> {
    told(&cache.feed(&line(kind, object)))
}

pub(crate) fn put(cache: &mut Cache, object: &Value) -> bool {
    cache.put(&serde_json::to_vec(object).unwrap()).unwrap()
}

/// Relists with one page.
pub(crate) fn relist(cache: &mut Cache, version: u64, items: &[Value]) -> Vec<String> {
    cache.begin_relist();
    cache.feed_list(&page(version, "", items)).unwrap();
    told(&cache.commit_relist().unwrap())
}

pub(crate) fn stat(cache: &Cache, name: &str) -> u64 {
    let stats = cache.stats();
    stats.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The resourceVersion stored for a name, empty when there is none.
pub(crate) fn version(cache: &Cache, name: &str) -> String {
    cache.resource_version("n", name).unwrap_or_default()
}
