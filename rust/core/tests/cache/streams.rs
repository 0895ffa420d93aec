//! Lines, chunks, and lines that are none.

use openclaw_core::Cache;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::objects::{bookmark, cache, feed, line, object, stat, told, with};

#[test]
fn the_order_of_members_is_free() {
    let mut cache = cache(&json!({"always": {}}));
    let text = r#"{"object":{"spec":{"a":1},"metadata":{"resourceVersion":"7","uid":"u","name":"x"},"kind":"K"},"type":"ADDED"}"#;
    let batch = cache.feed(format!("{text}\n").as_bytes());
    assert_eq!(told(&batch), ["x added u"]);
    assert_eq!(batch.resource_version.as_deref(), Some("7"));
    assert_eq!(
        cache.get("", "x"),
        Some(&br#"{"spec":{"a":1},"metadata":{"resourceVersion":"7","uid":"u","name":"x"}}"#[..])
    );
}

#[test]
fn blank_lines_and_carriage_returns_are_nothing() {
    let mut cache = cache(&json!({"always": {}}));
    let mut bytes = b"\n\r\n  \n".to_vec();
    let one = line("ADDED", &object("a", 1));
    bytes.extend_from_slice(one.trim_ascii_end());
    bytes.extend_from_slice(b"\r\n\n");
    let batch = cache.feed(&bytes);
    assert_eq!(batch.events, 1);
    assert_eq!(stat(&cache, "events_malformed"), 0);
    assert_eq!(cache.len(), 1);
}

#[test]
fn escaped_names_and_keys_are_decoded() {
    let mut cache = cache(&json!({"label": "app/é"}));
    cache.add_index("label", r#"metadata.labels["app/é"]"#).unwrap();
    let event = |version: u32, value: &str| {
        format!(
            "{{\"t\\u0079pe\":\"ADD\\u0045D\",\"object\":{{\"m\\u0065tadata\":{{\"n\\u0061me\":\"\\u0078\\u00e9\",\
             \"resourceVersion\":\"\\u0031{version}\",\"labels\":{{\"app\\/\\u00e9\":\"{value}\"}}}}}}}}\n"
        )
    };
    assert_eq!(told(&cache.feed(event(1, "\\u0076").as_bytes())), ["xé added "]);
    assert_eq!(cache.resource_version("", "xé").as_deref(), Some("11"));
    assert_eq!(
        cache.lookup("label", "v").unwrap(),
        [(String::new(), "xé".to_owned())]
    );
    assert_eq!(told(&cache.feed(event(2, "\\u0076").as_bytes())), [""; 0]);
    assert_eq!(told(&cache.feed(event(3, "w").as_bytes())), ["xé updated "]);
}

#[test]
fn lines_that_are_none_are_counted_and_skipped() {
    let mut cache = cache(&json!({"always": {}}));
    let good = line("ADDED", &object("a", 1));
    let deep = format!(
        r#"{{"type":"ADDED","object":{{"metadata":{{"name":"d","resourceVersion":"1"}},"spec":{}{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let mut not_utf8 = line("ADDED", &object("b", 1));
    not_utf8[20] = 0xFF;
    let truncated = &good[..good.len() - 5];
    let bad: Vec<&[u8]> = vec![
        b"nonsense",
        b"{}",
        b"[]",
        b"null",
        b"\"text\"",
        truncated,
        deep.as_bytes(),
        not_utf8.trim_ascii_end(),
        br#"{"type":"ADDED"}"#,
        br#"{"type":"ADDED","object":null}"#,
        br#"{"type":"ADDED","object":{}}"#,
        br#"{"type":"ADDED","object":{"metadata":{"name":"x"}}}"#,
        br#"{"type":"ADDED","object":{"metadata":{"resourceVersion":"1"}}}"#,
        br#"{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":1}}}"#,
        br#"{"type":"ADDED","object":{"metadata":[]}}"#,
        br#"{"type":"PATCHED","object":{"metadata":{"name":"x","resourceVersion":"1"}}}"#,
        br#"{"type":7,"object":{"metadata":{"name":"x","resourceVersion":"1"}}}"#,
        br#"{"object":{"metadata":{"name":"x","resourceVersion":"1"}}}"#,
        br#"{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"1"}}} x"#,
        br#"{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"1"},"a":01}}"#,
        br#"{"type":"BOOKMARK","object":{"metadata":{}}}"#,
    ];
    for (count, bad) in bad.iter().enumerate() {
        let batch = cache.feed(&[*bad, &b"\n"[..]].concat());
        assert_eq!((batch.events, batch.deltas.len()), (0, 0), "{count}");
        assert_eq!(
            stat(&cache, "events_malformed"),
            count as u64 + 1,
            "{:?}",
            bad.get(..200)
        );
    }
    assert_eq!(cache.feed(&good).events, 1);
    assert_eq!(cache.len(), 1);
}

#[test]
fn errors_and_bookmarks_are_told_not_stored() {
    let mut cache = cache(&json!({"always": {}}));
    let status = json!({"kind": "Status", "code": 410, "metadata": {}, "reason": "Expired"});
    let bytes = [line("ERROR", &status), bookmark(9, false)].concat();
    let batch = cache.feed(&bytes);
    let error: Value = serde_json::from_slice(&batch.error.clone().unwrap()).unwrap();
    assert_eq!(error, status);
    assert_eq!(batch.resource_version.as_deref(), Some("9"));
    assert!(!batch.initial_events_end);
    assert!(cache.feed(&bookmark(10, true)).initial_events_end);
    assert_eq!(cache.len(), 0);
    assert_eq!(
        (stat(&cache, "events_error"), stat(&cache, "events_bookmark")),
        (1, 2)
    );
}

#[test]
fn a_half_line_is_forgotten_with_its_stream() {
    let mut cache = cache(&json!({"always": {}}));
    let one = line("ADDED", &object("a", 1));
    cache.feed(&one[..10]);
    assert_eq!(cache.reset_stream(), 10);
    assert_eq!(cache.feed(&one).events, 1);
}

#[test]
fn old_news_is_no_news() {
    let mut cache = cache(&json!({"always": {}}));
    feed(&mut cache, "ADDED", &object("a", 10));
    assert_eq!(feed(&mut cache, "MODIFIED", &object("a", 10)), [""; 0]);
    assert_eq!(feed(&mut cache, "MODIFIED", &object("a", 9)), [""; 0]);
    assert_eq!(
        (stat(&cache, "events_echo"), stat(&cache, "events_stale")),
        (1, 1)
    );
    assert_eq!(feed(&mut cache, "DELETED", &object("b", 11)), [""; 0]);
    // Versions of another length compare as numbers, not as text.
    assert_eq!(feed(&mut cache, "MODIFIED", &object("a", 100)), ["a updated"]);
}

#[test]
fn a_deletion_is_of_its_own_object() {
    let mut cache = cache(&json!({"always": {}}));
    let second = with(object("a", 20), "metadata/uid", json!("second"));
    feed(&mut cache, "ADDED", &second);
    // Of the object that had the name before: a stream replayed from an older position.
    assert_eq!(feed(&mut cache, "DELETED", &object("a", 15)), [""; 0]);
    // Of the same object, by a server that sends its last version but one.
    let older = with(object("a", 19), "metadata/uid", json!("second"));
    assert_eq!(feed(&mut cache, "DELETED", &older), ["a deleted second"]);
}

#[test]
fn keys_of_a_batch_are_told_once() {
    let mut cache = cache(&json!({"always": {}}));
    let again = with(object("a", 5), "metadata/uid", json!("other"));
    let bytes = [
        line("ADDED", &object("a", 1)),
        line("ADDED", &object("b", 2)),
        line("MODIFIED", &object("a", 3)),
    ]
    .concat();
    assert_eq!(told(&cache.feed(&bytes)), ["a updated", "b added"]);
    let bytes = [line("DELETED", &object("a", 4)), line("ADDED", &again)].concat();
    assert_eq!(told(&cache.feed(&bytes)), ["a updated other"]);
    let gone = with(object("a", 6), "metadata/uid", json!("other"));
    let bytes = [
        line("DELETED", &gone),
        line("ADDED", &object("c", 7)),
        line("DELETED", &object("c", 8)),
    ]
    .concat();
    assert_eq!(told(&cache.feed(&bytes)), ["a deleted other", "c deleted"]);
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    let event = (0..4u8, 0..3u8, "[a-z\"\\\\é😀\n]{0,6}").prop_map(|(kind, name, text)| (kind, name, text));
    prop::collection::vec(event, 1..12).prop_map(|events| {
        let mut bytes = Vec::new();
        for (version, (kind, name, text)) in (1..).zip(events) {
            let object = with(
                object(&format!("é{name}"), version),
                "spec",
                json!({"text": text}),
            );
            match kind {
                0 => bytes.extend(line("ADDED", &object)),
                1 => bytes.extend(line("MODIFIED", &object)),
                2 => bytes.extend(line("DELETED", &object)),
                _ => bytes.extend_from_slice(format!("{{broken {text}\n").as_bytes()),
            }
        }
        bytes
    })
}

fn state(cache: &mut Cache) -> Vec<(String, Vec<u8>)> {
    let keys = cache.keys().into_iter();
    keys.map(|(namespace, name)| {
        let bytes = cache.get(&namespace, &name).unwrap().to_vec();
        (name, bytes)
    })
    .collect()
}

proptest! {
    #[test]
    fn borders_of_chunks_do_not_matter(bytes in stream(), size in 1usize..40) {
        let (mut whole, mut cut) = (cache(&json!({"always": {}})), cache(&json!({"always": {}})));
        let batch = whole.feed(&bytes);
        let batches: Vec<_> = bytes.chunks(size).map(|chunk| cut.feed(chunk)).collect();
        prop_assert_eq!(state(&mut whole), state(&mut cut));
        prop_assert_eq!(whole.stats()[8..13].to_vec(), cut.stats()[8..13].to_vec());
        prop_assert_eq!(batches.iter().map(|batch| batch.events).sum::<u64>(), batch.events);
        let last = batches.iter().rev().find_map(|batch| batch.resource_version.clone());
        prop_assert_eq!(last, batch.resource_version);
    }

    #[test]
    fn no_bytes_do_harm(noise in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..400) {
        let mut cache = cache(&json!({"content": {}}));
        cache.feed(&noise);
        let mut bytes = line("ADDED", &with(object("a", 1), "spec", json!({"text": "é\n", "list": [1, {}]})));
        let at = at % bytes.len();
        bytes.splice(at..at, noise.iter().copied().take(3));
        cache.feed(&bytes);
        cache.reset_stream();
        for (_, stored) in state(&mut cache) {
            prop_assert!(serde_json::from_slice::<Value>(&stored).is_ok());
        }
    }
}
