//! What must hold for any bytes; `rust/fuzz` runs these with cargo-fuzz, and `main.rs` beside it for a bounded while.

use openclaw_core::{Cache, Scope};
use serde_json::Value;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A cache with a predicate of each kind and indexes.
fn cache() -> Cache {
    let mut cache = Cache::new(Some("us".to_owned()));
    let parts = r#"{"any":[{"content":{}},{"labels":{}},{"annotations":{}},{"label":"a"},{"deletion":{}},{"spec":{}},
        {"changed":"spec.a[*].b"},{"equals":["spec.a",1]},{"not":{"generation":{}}},{"finalizers":{}}]}"#;
    let owner = br#"{"owner":{"group":"g","kind":"K"}}"#;
    cache.subscribe(parts.as_bytes(), br#"{"self":{}}"#).unwrap();
    cache.subscribe(br#"{"owners":{}}"#, owner).unwrap();
    cache.add_index("a", "spec.a[*]").unwrap();
    cache.add_index("labels", "metadata.labels@keys").unwrap();
    cache
}

/// What pruning means, on parsed values.
fn pruned(mut object: Value) -> Value {
    let top = object.as_object_mut().unwrap();
    top.remove("apiVersion");
    top.remove("kind");
    let metadata = top["metadata"].as_object_mut().unwrap();
    if let Some(Value::Array(entries)) = metadata.remove("managedFields") {
        let ours = |entry: &Value| {
            let whole = entry["subresource"].is_null() || entry["subresource"] == "";
            entry["manager"] == "us" && entry["operation"] == "Apply" && whole
        };
        let kept: Vec<Value> = entries.into_iter().filter(ours).collect();
        if !kept.is_empty() {
            metadata.insert("managedFields".to_owned(), kept.into());
        }
    }
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove(LAST_APPLIED);
    }
    object
}

/// Whether some object in the document has a key twice: then it is not told which one counts.
fn repeats(document: &[u8]) -> bool {
    struct Keys;
    impl<'de> serde::de::Visitor<'de> for Keys {
        type Value = bool;
        fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str("a value")
        }
        fn visit_unit<E>(self) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_str<E>(self, _: &str) -> Result<bool, E> {
            Ok(false)
        }
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
            let mut twice = false;
            while let Some(Any(item)) = items.next_element()? {
                twice |= item;
            }
            Ok(twice)
        }
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
            let (mut twice, mut seen) = (false, std::collections::HashSet::new());
            while let Some((key, Any(value))) = members.next_entry::<String, Any>()? {
                twice |= value | !seen.insert(key);
            }
            Ok(twice)
        }
    }
    struct Any(bool);
    impl<'de> serde::Deserialize<'de> for Any {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            from.deserialize_any(Keys).map(Any)
        }
    }
    serde_json::from_slice(document).map_or(true, |Any(twice)| twice)
}

/// A document that is stored was an object, and what is stored is that object pruned.
pub(crate) fn scan(bytes: &[u8]) {
    let mut cache = cache();
    let stored = cache.put(bytes).is_ok();
    let parsed = serde_json::from_slice::<Value>(bytes).ok();
    let text = |field: &str| {
        let value = parsed.as_ref()?.get("metadata")?.get(field)?.as_str()?;
        (1..=65_535).contains(&value.len()).then(|| value.to_owned())
    };
    if !stored {
        return;
    }
    let Some(parsed) = &parsed else {
        // Numbers are not read, so 1e999 is one here.
        assert!(std::str::from_utf8(bytes).is_ok_and(|text| text.contains(['e', 'E'])));
        return;
    };
    if repeats(bytes) {
        return;
    }
    let (Some(name), Some(_)) = (text("name"), text("resourceVersion")) else {
        panic!("stored without a name or a resourceVersion");
    };
    let namespace = text("namespace").unwrap_or_default();
    assert_eq!(cache.keys(), [(namespace.clone(), name.clone())]);
    let kept: Value = serde_json::from_slice(cache.get(&namespace, &name).unwrap()).unwrap();
    assert_eq!(kept, pruned(parsed.clone()));
}

/// Bytes of a stream, in chunks and whole, through a cache that holds something.
pub(crate) fn feed(bytes: &[u8]) {
    let (size, stream) = bytes
        .split_first()
        .map_or((1, bytes), |(first, rest)| (usize::from(*first) + 1, rest));
    let (mut whole, mut cut) = (cache(), cache());
    whole.feed(stream);
    for chunk in stream.chunks(size) {
        cut.feed(chunk);
    }
    assert_eq!(whole.keys(), cut.keys());
    for (namespace, name) in whole.keys() {
        let stored = whole.get(&namespace, &name).map(<[u8]>::to_vec);
        assert_eq!(stored.as_deref(), cut.get(&namespace, &name));
        assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&stored.unwrap()).is_ok());
    }
    // The same again is old news; and it is no list either, or one that the cache can take.
    let held = whole.keys();
    whole.reset_stream();
    whole.begin_relist();
    whole.feed(stream);
    if whole.feed_list(stream).is_ok() {
        let _ = whole.commit_relist();
    } else {
        assert_eq!(whole.keys(), held);
    }
    whole.begin_relist();
    whole.abort_relist();
    shares(stream);
    for (namespace, name) in cut.keys() {
        cut.lookup("a", &name).unwrap();
        cut.diff(&namespace, &name, stream).ok();
    }
}

/// A cache of half of the slots holds what a cache of all slots holds in them.
fn shares(stream: &[u8]) {
    // Of a key that is there twice it is not told which one counts.
    let sound =
        |line: &&[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err() || !repeats(line);
    let lines: Vec<&[u8]> = stream.split(|byte| *byte == b'\n').filter(sound).collect();
    let mut stream = lines.join(&b'\n');
    stream.push(b'\n');
    let half: Vec<u8> = (0..128).collect();
    let all: Vec<u8> = (0..=255).collect();
    for scope in [Scope::Roots, Scope::Children] {
        let of = |slots: &[u8]| {
            let mut cache = Cache::scoped(None, scope);
            cache.begin_gain(slots).unwrap();
            cache
                .feed_list(br#"{"metadata":{"resourceVersion":"1"},"items":[]}"#)
                .unwrap();
            cache.commit_relist().unwrap();
            cache.feed(&stream);
            cache
        };
        assert_eq!(of(&half).keys(), of(&all).keys_in(&half).unwrap());
    }
}

/// An intent and a live object, with a line between them.
pub(crate) fn diff(bytes: &[u8]) {
    let at = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let (intent, live) = (&bytes[..at], bytes.get(at + 1..).unwrap_or_default());
    let told = openclaw_core::diff(intent, live, "us");
    let repeated = openclaw_core::diff(intent, live, "us");
    assert_eq!(told, repeated);
    let Ok(lines) = told else { return };
    for line in &lines {
        let sound = line.starts_with(['+', '~', '-', '@']) && line.as_bytes().get(1) == Some(&b' ');
        assert!(sound || line == "metadata.managedFields[manager=us]", "{line}");
    }
    // Null and absent are alike, so an intent of nothing differs only by what is ours.
    if let Ok(lines) = openclaw_core::diff(b"{\"spec\":null}", live, "us") {
        let own = |line: &String| line.starts_with("- ") || line.starts_with("metadata.managedFields");
        assert!(lines.iter().all(own), "{lines:?}");
    }
}
