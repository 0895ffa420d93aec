//! Our own writes, their echoes, and every race between a response and the stream that could be thought of.

use openclaw_core::Cache;
use serde_json::{Value, json};

use crate::objects::{bookmark, cache, feed, object, put, relist, stat, version, with};

const NOTHING: [&str; 0] = [];

fn spec(object: Value, x: u64) -> Value {
    with(object, "spec", json!({"x": x}))
}

fn watched() -> Cache {
    let mut cache = cache(&json!({"content": {}}));
    cache.add_index("x", "spec.x").unwrap();
    cache
}

fn found(cache: &Cache, x: &str) -> usize {
    cache.lookup("x", x).unwrap().len()
}

#[test]
fn a_write_is_seen_at_once_and_its_echo_is_no_news() {
    let mut cache = watched();
    feed(&mut cache, "ADDED", &spec(object("a", 5), 1));
    assert!(put(&mut cache, &spec(object("a", 7), 2)));
    assert_eq!(
        (
            version(&cache, "a").as_str(),
            found(&cache, "2"),
            found(&cache, "1")
        ),
        ("7", 1, 0)
    );
    assert_eq!(stat(&cache, "unconfirmed"), 1);
    assert_eq!(feed(&mut cache, "MODIFIED", &spec(object("a", 7), 2)), NOTHING);
    assert_eq!((stat(&cache, "events_echo"), stat(&cache, "unconfirmed")), (1, 0));
    assert_eq!(
        feed(&mut cache, "MODIFIED", &spec(object("a", 8), 3)),
        ["a updated"]
    );
}

#[test]
fn a_write_that_the_stream_has_passed_is_refused() {
    let mut cache = watched();
    feed(&mut cache, "ADDED", &object("a", 5));
    // The echo was quicker than the response.
    assert!(!put(&mut cache, &object("a", 5)));
    assert!(!put(&mut cache, &object("a", 4)));
    // Created and deleted by others before the response came.
    feed(&mut cache, "ADDED", &object("b", 6));
    feed(&mut cache, "DELETED", &object("b", 9));
    assert!(!put(&mut cache, &object("b", 6)));
    // A bookmark moves the stream too.
    cache.feed(&bookmark(20, false));
    assert!(!put(&mut cache, &object("c", 20)));
    assert!(put(&mut cache, &object("c", 21)));
    assert_eq!(
        (stat(&cache, "puts_accepted"), stat(&cache, "puts_refused")),
        (1, 4)
    );
}

#[test]
fn others_changes_before_ours_are_still_told() {
    let mut cache = cache(&json!({"generation": {}}));
    let of =
        |version: u64, generation: u64| with(object("a", version), "metadata/generation", json!(generation));
    feed(&mut cache, "ADDED", &of(5, 1));
    // A user changes the spec (6), and our status write (7) returns both.
    assert!(put(&mut cache, &of(7, 2)));
    assert_eq!(feed(&mut cache, "MODIFIED", &of(6, 2)), ["a updated"]);
    assert_eq!(version(&cache, "a"), "7");
    assert_eq!(feed(&mut cache, "MODIFIED", &of(7, 2)), NOTHING);
    assert_eq!(feed(&mut cache, "MODIFIED", &of(8, 2)), NOTHING);
}

#[test]
fn several_writes_are_all_known_as_ours() {
    let mut cache = watched();
    feed(&mut cache, "ADDED", &spec(object("a", 5), 1));
    for version in [7, 9, 11] {
        assert!(put(&mut cache, &spec(object("a", version), version)));
    }
    assert_eq!(feed(&mut cache, "MODIFIED", &spec(object("a", 7), 7)), NOTHING);
    assert_eq!(
        feed(&mut cache, "MODIFIED", &spec(object("a", 8), 8)),
        ["a updated"]
    );
    assert_eq!(
        feed(&mut cache, "MODIFIED", &spec(object("a", 8), 8)),
        NOTHING,
        "told already"
    );
    assert_eq!(feed(&mut cache, "MODIFIED", &spec(object("a", 9), 9)), NOTHING);
    assert_eq!((version(&cache, "a").as_str(), found(&cache, "11")), ("11", 1));
    assert_eq!(feed(&mut cache, "MODIFIED", &spec(object("a", 11), 11)), NOTHING);
    assert_eq!(stat(&cache, "unconfirmed"), 0);
}

#[test]
fn an_echo_that_never_came_does_not_hide_the_next_change() {
    let mut cache = watched();
    feed(&mut cache, "ADDED", &spec(object("a", 5), 1));
    put(&mut cache, &spec(object("a", 7), 2));
    // Someone undid our write; the event of our write was lost on the way.
    assert_eq!(
        feed(&mut cache, "MODIFIED", &spec(object("a", 8), 1)),
        NOTHING,
        "as the stream last told"
    );
    put(&mut cache, &spec(object("a", 9), 2));
    assert_eq!(
        feed(&mut cache, "MODIFIED", &spec(object("a", 10), 3)),
        ["a updated"]
    );
}

#[test]
fn our_creation_is_no_news_but_anothers_is() {
    let mut cache = watched();
    assert!(put(&mut cache, &object("ours", 7)));
    assert_eq!(feed(&mut cache, "ADDED", &object("ours", 7)), NOTHING);
    // Created by someone (8), applied to by us (9).
    assert!(put(&mut cache, &object("theirs", 9)));
    assert_eq!(feed(&mut cache, "ADDED", &object("theirs", 8)), ["theirs added"]);
    assert_eq!(feed(&mut cache, "MODIFIED", &object("theirs", 9)), NOTHING);
}

#[test]
fn a_deletion_older_than_our_recreation_leaves_it() {
    let mut cache = watched();
    feed(&mut cache, "ADDED", &object("a", 5));
    let ours = with(object("a", 9), "metadata/uid", json!("second"));
    assert!(put(&mut cache, &ours));
    assert_eq!(
        feed(&mut cache, "MODIFIED", &object("a", 7)),
        ["a updated"; 0],
        "same content"
    );
    assert_eq!(feed(&mut cache, "DELETED", &object("a", 8)), ["a updated"]);
    assert_eq!(version(&cache, "a"), "9");
    assert_eq!(
        feed(&mut cache, "DELETED", &object("a", 8)),
        NOTHING,
        "told already"
    );
    assert_eq!(feed(&mut cache, "ADDED", &ours), NOTHING);
    assert_eq!(
        feed(
            &mut cache,
            "DELETED",
            &with(ours, "metadata/resourceVersion", json!("10"))
        ),
        ["a deleted second"]
    );
    assert_eq!(cache.len(), 0);
}

#[test]
fn a_deletion_newer_than_our_write_removes() {
    let mut cache = watched();
    feed(&mut cache, "ADDED", &object("a", 5));
    put(&mut cache, &spec(object("a", 7), 2));
    assert_eq!(
        feed(&mut cache, "DELETED", &spec(object("a", 8), 2)),
        ["a deleted"]
    );
    assert_eq!(
        (cache.len(), found(&cache, "2"), stat(&cache, "unconfirmed")),
        (0, 0, 0)
    );
    // Our write took the object out of the watch's selector: the deletion has our write's own version.
    feed(&mut cache, "ADDED", &object("b", 9));
    put(&mut cache, &object("b", 10));
    assert_eq!(feed(&mut cache, "DELETED", &object("b", 10)), ["b deleted"]);
}

#[test]
fn a_write_of_something_going_is_stored_until_it_is_gone() {
    let mut cache = watched();
    feed(&mut cache, "ADDED", &object("a", 5));
    let going = with(
        object("a", 6),
        "metadata/deletionTimestamp",
        json!("2026-01-01T00:00:00Z"),
    );
    assert!(put(&mut cache, &going));
    assert_eq!(feed(&mut cache, "MODIFIED", &going), NOTHING);
    assert_eq!(
        feed(
            &mut cache,
            "DELETED",
            &with(going, "metadata/resourceVersion", json!("7"))
        ),
        ["a deleted"]
    );
}

#[test]
fn a_list_may_not_know_of_our_write_yet() {
    let mut cache = watched();
    relist(&mut cache, 5, &[object("a", 4)]);
    put(&mut cache, &object("new", 12));
    put(&mut cache, &spec(object("a", 13), 2));
    // A list as of 10: it knows of neither, and both stay.
    assert_eq!(relist(&mut cache, 10, &[object("a", 4)]), NOTHING);
    assert_eq!(
        (version(&cache, "new"), version(&cache, "a")),
        ("12".into(), "13".into())
    );
    assert_eq!(found(&cache, "2"), 1);
    assert_eq!(feed(&mut cache, "ADDED", &object("new", 12)), NOTHING);
    // The other was never heard of again: the next list that does not know of it wins.
    assert_eq!(
        relist(&mut cache, 12, &[object("new", 12), object("a", 4)]),
        NOTHING,
        "as the stream last told"
    );
    assert_eq!(
        (
            version(&cache, "a").as_str(),
            found(&cache, "2"),
            stat(&cache, "unconfirmed")
        ),
        ("4", 0, 0)
    );
}

#[test]
fn a_creation_that_two_lists_do_not_know_is_dropped() {
    let mut cache = watched();
    relist(&mut cache, 5, &[]);
    put(&mut cache, &object("ghost", 12));
    assert_eq!(relist(&mut cache, 6, &[]), NOTHING);
    assert_eq!(cache.len(), 1);
    assert_eq!(relist(&mut cache, 7, &[]), ["ghost deleted"]);
    assert_eq!((cache.len(), stat(&cache, "unconfirmed")), (0, 0));
}

#[test]
fn a_list_newer_than_our_write_wins() {
    let mut cache = watched();
    relist(&mut cache, 5, &[object("a", 4), object("b", 4)]);
    put(&mut cache, &spec(object("a", 7), 2));
    put(&mut cache, &spec(object("b", 8), 2));
    put(&mut cache, &object("c", 9));
    // Changed on, gone, gone.
    assert_eq!(
        relist(&mut cache, 20, &[spec(object("a", 15), 3)]),
        ["a updated", "b deleted", "c deleted"]
    );
    assert_eq!(
        (
            found(&cache, "2"),
            found(&cache, "3"),
            stat(&cache, "unconfirmed")
        ),
        (0, 1, 0)
    );
}

#[test]
fn a_list_tells_of_others_changes_hidden_under_our_write() {
    let mut cache = cache(&json!({"generation": {}}));
    let of =
        |version: u64, generation: u64| with(object("a", version), "metadata/generation", json!(generation));
    relist(&mut cache, 5, &[of(5, 1)]);
    // A user's change (6) came back with our write (7), and the watch broke before it told of either.
    put(&mut cache, &of(7, 2));
    assert_eq!(relist(&mut cache, 8, &[of(7, 2)]), ["a updated"]);
    assert_eq!(stat(&cache, "unconfirmed"), 0);
}

#[test]
fn a_write_during_a_relist_stays_if_the_list_is_older() {
    let mut cache = watched();
    relist(&mut cache, 5, &[spec(object("a", 4), 1), spec(object("b", 4), 1)]);
    cache.begin_relist();
    // Both staged as unchanged, then written to.
    let items = [spec(object("a", 4), 1), spec(object("b", 4), 1)];
    cache.feed_list(&crate::objects::page(10, "", &items)).unwrap();
    assert!(put(&mut cache, &spec(object("a", 11), 2)));
    // A contradiction (the list should have it): the list wins, with the bytes that it had.
    assert!(put(&mut cache, &spec(object("b", 9), 2)));
    assert_eq!(found(&cache, "2"), 2);
    let batch = cache.commit_relist().unwrap();
    assert_eq!(crate::objects::told(&batch), NOTHING, "as the stream last told");
    assert_eq!(
        (version(&cache, "a"), version(&cache, "b")),
        ("11".into(), "4".into())
    );
    assert_eq!((found(&cache, "1"), found(&cache, "2")), (1, 1));
    assert!(
        std::str::from_utf8(cache.get("n", "b").unwrap())
            .unwrap()
            .contains("\"x\":1")
    );
}

#[test]
fn a_body_that_is_no_object_is_an_error() {
    let mut cache = watched();
    for body in [
        "",
        "{}",
        "[]",
        r#"{"metadata":{"name":"a"}}"#,
        r#"{"kind":"Status","metadata":{}}"#,
    ] {
        assert!(cache.put(body.as_bytes()).is_err(), "{body}");
    }
    assert_eq!(cache.len(), 0);
}
