//! Relists, paged and streamed.

use serde_json::{Value, json};

use crate::objects::{bookmark, cache, feed, line, object, page, put, relist, stat, told, version, with};

const NOTHING: [&str; 0] = [];

#[test]
fn pages_gather_beside_the_live_state_until_the_commit() {
    let mut cache = cache(&json!({"content": {}}));
    relist(
        &mut cache,
        5,
        &[object("same", 1), object("changed", 2), object("gone", 3)],
    );
    cache.begin_relist();
    let first = cache
        .feed_list(&page(10, "more", &[object("same", 1), object("new", 9)]))
        .unwrap();
    assert_eq!(
        (
            first.items,
            first.continue_token.as_str(),
            first.resource_version.as_str()
        ),
        (2, "more", "10")
    );
    assert_eq!(cache.keys().len(), 3);
    assert!(stat(&cache, "staged_bytes") > 0);
    let changed = with(object("changed", 8), "spec", json!({"x": 1}));
    cache.feed_list(&page(10, "", &[changed])).unwrap();
    assert_eq!(version(&cache, "changed"), "2");
    let batch = cache.commit_relist().unwrap();
    assert_eq!(told(&batch), ["new added", "changed updated", "gone deleted"]);
    assert_eq!(batch.resource_version.as_deref(), Some("10"));
    let names: Vec<String> = cache.keys().into_iter().map(|(_, name)| name).collect();
    assert_eq!(names, ["changed", "new", "same"]);
    assert_eq!((stat(&cache, "staged_bytes"), stat(&cache, "relists")), (0, 2));
}

#[test]
fn what_a_list_says_is_read_wherever_it_stands() {
    let mut cache = cache(&json!({"always": {}}));
    cache.begin_relist();
    let text = r#"{"items":[{"metadata":{"name":"a","resourceVersion":"3"}}],"metadata":{"remainingItemCount":7,"continue":"tok\u0065n","resourceVersion":"9"}}"#;
    let info = cache.feed_list(text.as_bytes()).unwrap();
    assert_eq!(
        (info.remaining, info.continue_token.as_str(), info.items),
        (Some(7), "token", 1)
    );
    let info = cache
        .feed_list(br#"{"items":null,"metadata":{"resourceVersion":"9","continue":null}}"#)
        .unwrap();
    assert_eq!(
        (info.remaining, info.continue_token.as_str(), info.items),
        (None, "", 0)
    );
    assert_eq!(told(&cache.commit_relist().unwrap()), ["a added "]);
}

#[test]
fn the_first_list_adds_everything_the_predicate_wants() {
    let mut cache = cache(&json!({"equals": ["spec.x", 1]}));
    let of = |name: &str, x: u64| with(object(name, 1), "spec", json!({"x": x}));
    assert_eq!(relist(&mut cache, 5, &[of("a", 1), of("b", 2)]), ["a added"]);
    assert_eq!(cache.len(), 2);
}

#[test]
fn another_object_of_the_same_name_is_an_update() {
    let mut cache = cache(&json!({"generation": {}}));
    relist(&mut cache, 5, &[object("a", 1)]);
    let other = with(object("a", 7), "metadata/uid", json!("other"));
    assert_eq!(relist(&mut cache, 8, &[other]), ["a updated other"]);
}

#[test]
fn a_list_from_before_wins() {
    let mut cache = cache(&json!({"content": {}}));
    relist(
        &mut cache,
        100,
        &[with(object("a", 90), "spec", json!(1)), object("b", 91)],
    );
    // etcd was restored from a backup.
    assert_eq!(
        relist(&mut cache, 50, &[with(object("a", 40), "spec", json!(0))]),
        ["a updated", "b deleted"]
    );
    assert_eq!(version(&cache, "a"), "40");
    assert_eq!(feed(&mut cache, "ADDED", &object("b", 51)), ["b added"]);
    assert!(put(&mut cache, &object("c", 52)), "the position is the list's");
}

#[test]
fn an_abandoned_relist_leaves_no_trace() {
    let mut cache = cache(&json!({"always": {}}));
    relist(&mut cache, 5, &[object("a", 1)]);
    cache.begin_relist();
    cache.feed_list(&page(9, "", &[])).unwrap();
    cache.abort_relist();
    assert!(cache.commit_relist().is_err());
    assert!(cache.feed_list(&page(9, "", &[])).is_err());
    cache.begin_relist();
    cache.feed_list(&page(9, "", &[])).unwrap();
    cache.begin_relist();
    assert!(cache.commit_relist().is_err(), "begun anew, nothing was fed");
    assert_eq!(cache.len(), 1);
    assert_eq!(feed(&mut cache, "MODIFIED", &object("a", 6)), ["a updated"]);
}

#[test]
fn half_a_list_is_never_committed() {
    let mut cache = cache(&json!({"always": {}}));
    relist(&mut cache, 5, &[object("a", 1), object("b", 2)]);
    cache.begin_relist();
    cache.feed_list(&page(9, "more", &[object("a", 1)])).unwrap();
    assert!(
        cache
            .commit_relist()
            .unwrap_err()
            .to_string()
            .contains("not complete")
    );
    cache.begin_relist();
    cache.feed(&line("ADDED", &object("a", 1)));
    cache.feed(&bookmark(9, false));
    assert!(cache.commit_relist().is_err());
    assert_eq!(cache.len(), 2);
}

#[test]
fn a_page_that_is_none_ends_the_relist() {
    let good = page(9, "", &[object("z", 1)]);
    let bad: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "malformed"),
        (good[..good.len() - 4].to_vec(), "malformed"),
        (
            br#"{"kind":"Status","metadata":{},"code":410}"#.to_vec(),
            "no list",
        ),
        (br#"{"items":[]}"#.to_vec(), "no list"),
        (
            br#"{"items":[3],"metadata":{"resourceVersion":"1"}}"#.to_vec(),
            "malformed",
        ),
        (
            page(9, "", &[json!({"metadata": {"name": "a"}})]),
            "an item lacks",
        ),
        (
            b"{\"items\":[],\"metadata\":{\"resourceVersion\":\"\xFF\"}}".to_vec(),
            "UTF-8",
        ),
    ];
    for (page, why) in bad {
        let mut cache = cache(&json!({"always": {}}));
        relist(&mut cache, 5, &[object("a", 1)]);
        cache.begin_relist();
        let error = cache.feed_list(&page).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(cache.commit_relist().is_err());
        assert_eq!(cache.len(), 1);
    }
}

#[test]
fn a_streamed_list_gathers_until_its_last_bookmark() {
    let mut cache = cache(&json!({"content": {}}));
    relist(
        &mut cache,
        5,
        &[object("same", 1), object("changed", 2), object("gone", 3)],
    );
    cache.begin_relist();
    let changed = with(object("changed", 8), "spec", json!({"x": 1}));
    let bytes = [
        line("ADDED", &object("same", 1)),
        line("ADDED", &changed),
        line("ADDED", &object("brief", 4)),
    ]
    .concat();
    let batch = cache.feed(&bytes);
    assert_eq!((told(&batch), batch.initial_events_end), (vec![], false));
    assert_eq!(version(&cache, "changed"), "2");
    // Events behind the last bookmark, in the same chunk, belong to it too.
    let after = with(object("changed", 12), "spec", json!({"x": 2}));
    let bytes = [
        bookmark(10, true),
        line("DELETED", &object("brief", 11)),
        line("MODIFIED", &after),
    ]
    .concat();
    let batch = cache.feed(&bytes);
    assert!(batch.initial_events_end);
    assert_eq!(batch.resource_version.as_deref(), Some("12"));
    assert_eq!(cache.len(), 3);
    let batch = cache.commit_relist().unwrap();
    assert_eq!(told(&batch), ["changed updated", "gone deleted"]);
    assert_eq!(batch.resource_version.as_deref(), Some("12"));
    assert_eq!(feed(&mut cache, "MODIFIED", &after), NOTHING);
    assert_eq!(feed(&mut cache, "DELETED", &object("same", 13)), ["same deleted"]);
}

#[test]
fn an_empty_streamed_list_is_a_list() {
    let mut cache = cache(&json!({"always": {}}));
    relist(&mut cache, 5, &[object("a", 1)]);
    cache.begin_relist();
    cache.feed(&bookmark(10, true));
    assert_eq!(told(&cache.commit_relist().unwrap()), ["a deleted"]);
}

#[test]
fn owners_hear_of_children_that_a_list_lacks_or_moves() {
    let mut cache = openclaw_core::Cache::new(None);
    cache
        .subscribe(br#"{"owners":{}}"#, br#"{"owner":{"group":"g","kind":"Root"}}"#)
        .unwrap();
    let of = |name: &str, version: u64, owner: &str| {
        let owner = json!([{"apiVersion": "g/v1", "kind": "Root", "name": owner, "controller": true}]);
        with(object(name, version), "metadata/ownerReferences", owner)
    };
    let told = |batch: openclaw_core::Batch| -> Vec<Value> {
        batch
            .deltas
            .iter()
            .map(|delta| json!([delta.name, delta.reason.name(), delta.uid]))
            .collect()
    };
    let mut list = |version: u64, items: &[Value]| {
        cache.begin_relist();
        cache.feed_list(&page(version, "", items)).unwrap();
        told(cache.commit_relist().unwrap())
    };
    assert_eq!(list(5, &[of("x", 1, "one"), of("y", 2, "two")]).len(), 2);
    assert_eq!(
        list(9, &[of("x", 7, "three")]),
        [
            json!(["one", "updated", "uid-x"]),
            json!(["three", "updated", "uid-x"]),
            json!(["two", "deleted", "uid-y"])
        ]
    );
}
