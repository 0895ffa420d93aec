//! The objects of some slots only: what is kept, what is told, and how slots come and go.

use openclaw_core::{Cache, Scope, slot};
use serde_json::{Value, json};

use crate::objects::{bookmark, feed, line, object, page, put, stat, told, version, with};

const NOTHING: [&str; 0] = [];

/// A uid of a slot.
fn uid(wanted: u8) -> String {
    let mut numbers = 0u32..;
    numbers
        .find_map(|number| Some(format!("{number}-9a55-0d8f")).filter(|uid| slot(uid) == wanted))
        .unwrap()
}

/// A root of a slot; its name begins with the slot's number.
fn root(name: &str, version: u64) -> Value {
    let (number, _) = name.split_once('-').unwrap();
    with(
        object(name, version),
        "metadata/uid",
        json!(uid(number.parse().unwrap())),
    )
}

/// A child of a root of this slot.
fn child(name: &str, version: u64, of: u8) -> Value {
    let owner = json!([{"apiVersion": "g/v1", "kind": "Root", "name": format!("root{of}"), "uid": uid(of), "controller": true}]);
    with(object(name, version), "metadata/ownerReferences", owner)
}

fn cache(scope: Scope) -> Cache {
    let mut cache = Cache::scoped(None, scope);
    cache.subscribe(br#"{"content":{}}"#, br#"{"self":{}}"#).unwrap();
    cache
}

/// Lists slots in one page, and returns where the watch is to begin.
fn gain(cache: &mut Cache, slots: &[u8], version: u64, items: &[Value]) -> String {
    cache.begin_gain(slots).unwrap();
    cache.feed_list(&page(version, "", items)).unwrap();
    let batch = cache.commit_relist().unwrap();
    assert_eq!(told(&batch), NOTHING);
    batch.resource_version.unwrap()
}

fn start(cache: &mut Cache, slots: &[u8]) -> Vec<String> {
    let names = |batch: openclaw_core::Batch| {
        let deltas = batch.deltas.iter();
        deltas
            .map(|delta| format!("{} {}", delta.name, delta.reason.name()))
            .collect()
    };
    names(cache.start_slots(slots).unwrap())
}

fn names(cache: &Cache) -> Vec<String> {
    cache.keys().into_iter().map(|(_, name)| name).collect()
}

fn reasons(cache: &mut Cache, kind: &str, object: &Value) -> Vec<String> {
    let batch = cache.feed(&line(kind, object));
    let deltas = batch.deltas.iter();
    deltas
        .map(|delta| format!("{} {}", delta.name, delta.reason.name()))
        .collect()
}

#[test]
fn nothing_is_kept_at_first_and_bookmarks_and_errors_pass() {
    let mut cache = cache(Scope::Roots);
    assert_eq!(feed(&mut cache, "ADDED", &root("1-a", 5)), NOTHING);
    assert_eq!((names(&cache), stat(&cache, "events_foreign")), (vec![], 1));
    let batch = cache.feed(&bookmark(7, false));
    assert_eq!(batch.resource_version.as_deref(), Some("7"));
    let batch = cache.feed(&line("ERROR", &json!({"code": 410})));
    assert!(batch.error.is_some());
    assert_eq!(stat(&cache, "events_received"), 1);
}

#[test]
fn a_list_has_the_objects_of_the_slots_that_are_gained() {
    let mut cache = cache(Scope::Roots);
    let items = [root("1-a", 3), root("2-b", 4), root("3-c", 5)];
    assert_eq!(gain(&mut cache, &[1, 3], 9, &items), "9");
    assert_eq!(names(&cache), ["1-a", "3-c"]);
    assert_eq!((cache.kept(), cache.active()), (vec![1, 3], vec![]));
    assert_eq!(
        (stat(&cache, "objects_listed"), stat(&cache, "objects_foreign")),
        (3, 1)
    );
    assert_eq!(
        (cache.slot_of("n", "3-c"), cache.slot_of("n", "2-b")),
        (Some(3), None)
    );
    assert_eq!(
        cache.keys_in(&[3, 2]).unwrap(),
        [("n".to_owned(), "3-c".to_owned())]
    );
}

#[test]
fn what_is_warm_is_stored_and_told_when_it_starts() {
    let mut cache = cache(Scope::Roots);
    gain(&mut cache, &[1], 9, &[root("1-a", 3)]);
    assert_eq!(reasons(&mut cache, "ADDED", &root("1-b", 10)), NOTHING);
    assert_eq!(names(&cache), ["1-a", "1-b"]);
    assert_eq!(start(&mut cache, &[1]), ["1-a added", "1-b added"]);
    assert_eq!(start(&mut cache, &[1]), NOTHING, "active already");
    let new = with(root("1-b", 11), "spec", json!(1));
    assert_eq!(reasons(&mut cache, "MODIFIED", &new), ["1-b updated"]);
    cache.stop_slots(&[1]).unwrap();
    let newer = with(root("1-b", 12), "spec", json!(2));
    assert_eq!(reasons(&mut cache, "MODIFIED", &newer), NOTHING);
    assert_eq!(version(&cache, "1-b"), "12");
    assert_eq!(reasons(&mut cache, "DELETED", &root("1-a", 13)), NOTHING);
    assert_eq!(names(&cache), ["1-b"]);
}

#[test]
fn what_is_lost_goes_without_a_word() {
    let mut cache = cache(Scope::Roots);
    cache.add_index("uid", "metadata.uid").unwrap();
    gain(&mut cache, &[1, 2], 9, &[root("1-a", 3), root("2-b", 4)]);
    start(&mut cache, &[1, 2]);
    cache.drop_slots(&[1]).unwrap();
    assert_eq!(
        (names(&cache), cache.kept(), cache.active()),
        (vec!["2-b".to_owned()], vec![2], vec![2])
    );
    assert_eq!(cache.lookup("uid", &uid(1)).unwrap(), []);
    assert_eq!(reasons(&mut cache, "MODIFIED", &root("1-a", 10)), NOTHING);
    assert!(
        cache
            .start_slots(&[1, 2])
            .unwrap_err()
            .to_string()
            .contains("not kept")
    );
    cache.drop_slots(&[2]).unwrap();
    assert!(cache.is_empty());
    // Gained again, it begins afresh, from a list of any position.
    assert_eq!(gain(&mut cache, &[1], 5, &[root("1-a", 3)]), "5");
}

#[test]
fn a_gain_begins_the_watch_where_nothing_is_missed_and_takes_nothing_twice() {
    let mut cache = cache(Scope::Roots);
    gain(&mut cache, &[1], 10, &[root("1-a", 3)]);
    start(&mut cache, &[1]);
    cache.begin_gain(&[2]).unwrap();
    cache
        .feed_list(&page(20, "more", &[root("2-b", 12), root("2-gone", 13)]))
        .unwrap();
    // The stream goes on for what is kept; of what is not yet it knows nothing.
    assert_eq!(reasons(&mut cache, "ADDED", &root("1-c", 30)), ["1-c added"]);
    assert_eq!(reasons(&mut cache, "DELETED", &root("2-gone", 31)), NOTHING);
    assert_eq!(reasons(&mut cache, "DELETED", &root("1-a", 32)), ["1-a deleted"]);
    cache.feed_list(&page(20, "", &[])).unwrap();
    let batch = cache.commit_relist().unwrap();
    assert_eq!(
        (batch.resource_version.as_deref(), told(&batch)),
        (Some("20"), vec![])
    );
    start(&mut cache, &[2]);
    let again = [
        ("MODIFIED", with(root("1-a", 25), "spec", json!(1)), vec![]),
        ("ADDED", root("1-c", 30), vec![]),
        ("DELETED", root("2-gone", 31), vec!["2-gone deleted".to_owned()]),
        ("DELETED", root("1-a", 32), vec![]),
        ("ADDED", root("1-d", 33), vec!["1-d added".to_owned()]),
    ];
    for (kind, object, deltas) in again {
        assert_eq!(reasons(&mut cache, kind, &object), deltas, "{object}");
    }
    assert_eq!(names(&cache), ["1-c", "1-d", "2-b"]);
    assert_eq!(stat(&cache, "events_replayed"), 3);
}

#[test]
fn a_list_ahead_of_the_stream_is_not_told_again() {
    let mut cache = cache(Scope::Roots);
    gain(&mut cache, &[1], 10, &[]);
    assert_eq!(gain(&mut cache, &[2], 20, &[root("2-b", 12)]), "10");
    start(&mut cache, &[1, 2]);
    assert_eq!(reasons(&mut cache, "ADDED", &root("2-gone", 11)), NOTHING);
    assert_eq!(reasons(&mut cache, "ADDED", &root("1-a", 12)), ["1-a added"]);
    assert_eq!(reasons(&mut cache, "DELETED", &root("2-gone", 13)), NOTHING);
    // A second gain, while the stream is still on the way: each slot's own floor counts.
    assert_eq!(gain(&mut cache, &[3], 30, &[root("3-c", 25)]), "13");
    start(&mut cache, &[3]);
    assert_eq!(reasons(&mut cache, "DELETED", &root("2-b", 19)), NOTHING);
    assert_eq!(reasons(&mut cache, "DELETED", &root("1-a", 20)), ["1-a deleted"]);
    assert_eq!(reasons(&mut cache, "DELETED", &root("2-b", 21)), ["2-b deleted"]);
    assert_eq!(reasons(&mut cache, "DELETED", &root("3-c", 26)), NOTHING);
    assert_eq!(reasons(&mut cache, "DELETED", &root("3-c", 31)), ["3-c deleted"]);
}

#[test]
fn a_full_list_sets_every_position_even_back() {
    let mut cache = cache(Scope::Roots);
    gain(&mut cache, &[1], 50, &[]);
    gain(&mut cache, &[2], 90, &[root("2-b", 80)]);
    // A server that was set back to a backup.
    cache.begin_relist();
    cache.feed_list(&page(40, "", &[root("1-a", 30)])).unwrap();
    assert_eq!(
        cache.commit_relist().unwrap().resource_version.as_deref(),
        Some("40")
    );
    assert_eq!(reasons(&mut cache, "ADDED", &root("2-b", 41)), NOTHING);
    assert_eq!(names(&cache), ["1-a", "2-b"]);
    assert_eq!(stat(&cache, "events_replayed"), 0);
    // One more slot in a full list is gained by it.
    cache.begin_relist_of(&[1, 2, 3]).unwrap();
    cache
        .feed_list(&page(45, "", &[root("3-c", 44), root("2-b", 41)]))
        .unwrap();
    assert_eq!(
        cache.commit_relist().unwrap().resource_version.as_deref(),
        Some("45")
    );
    assert_eq!(
        (names(&cache), cache.kept()),
        (vec!["2-b".to_owned(), "3-c".to_owned()], vec![1, 2, 3])
    );
}

#[test]
fn a_list_under_way_goes_on_without_what_is_lost() {
    let mut cache = cache(Scope::Roots);
    gain(&mut cache, &[1, 2], 10, &[root("1-a", 3), root("2-b", 4)]);
    for relist in [true, false] {
        if relist {
            cache.begin_relist();
        } else {
            cache.begin_gain(&[3, 4]).unwrap();
        }
        let items = [root("1-a", 3), root("2-b", 4), root("3-c", 5), root("4-d", 6)];
        cache.feed_list(&page(20, "more", &items)).unwrap();
        cache.drop_slots(&[1, 3]).unwrap();
        cache
            .feed_list(&page(20, "", &[root("1-z", 7), root("3-z", 8)]))
            .unwrap();
        cache.commit_relist().unwrap();
    }
    assert_eq!(
        (names(&cache), cache.kept()),
        (vec!["2-b".to_owned(), "4-d".to_owned()], vec![2, 4])
    );
}

#[test]
fn a_gain_leaves_alone_what_is_kept() {
    let mut cache = cache(Scope::Roots);
    gain(&mut cache, &[1], 10, &[root("1-a", 3)]);
    assert_eq!(gain(&mut cache, &[1, 2], 20, &[root("2-b", 4)]), "10");
    assert_eq!(names(&cache), ["1-a", "2-b"]);
}

#[test]
fn a_name_that_is_another_object_goes_from_slot_to_slot() {
    let mut cache = cache(Scope::Roots);
    let reborn = |version| with(root("1-a", version), "metadata/uid", json!(uid(2)));
    gain(&mut cache, &[1], 10, &[root("1-a", 3)]);
    start(&mut cache, &[1]);
    // The list has what the stream has not told of yet.
    cache.begin_gain(&[2]).unwrap();
    cache.feed_list(&page(20, "", &[reborn(15)])).unwrap();
    let batch = cache.commit_relist().unwrap();
    assert_eq!(batch.deltas.len(), 1);
    assert_eq!(
        (batch.deltas[0].reason.name(), &batch.deltas[0].uid),
        ("deleted", &uid(1))
    );
    assert_eq!(cache.slot_of("n", "1-a"), Some(2));
    assert_eq!(reasons(&mut cache, "DELETED", &root("1-a", 14)), NOTHING);
    assert_eq!(version(&cache, "1-a"), "15");
    assert_eq!(start(&mut cache, &[2]), ["1-a added"]);
    // Another one takes its place, of a slot of another shard.
    let foreign = with(root("1-a", 30), "metadata/uid", json!(uid(9)));
    assert_eq!(reasons(&mut cache, "ADDED", &foreign), ["1-a deleted"]);
    assert!(cache.is_empty());
}

#[test]
fn a_child_belongs_to_the_slot_of_its_controller() {
    let mut cache = cache(Scope::Children);
    gain(&mut cache, &[1, 2], 10, &[child("a", 3, 1), child("b", 4, 9)]);
    start(&mut cache, &[1, 2]);
    assert_eq!(names(&cache), ["a"]);
    let label = |object, slot: u8| {
        with(
            object,
            "metadata/labels",
            json!({"openclaw.dev/slot": slot.to_string(), "x": "y"}),
        )
    };
    // What it says of itself counts only where nothing controls it.
    assert_eq!(
        reasons(&mut cache, "ADDED", &label(child("c", 11, 9), 1)),
        NOTHING
    );
    assert_eq!(
        reasons(&mut cache, "ADDED", &label(object("d", 12), 2)),
        ["d added"]
    );
    assert_eq!(reasons(&mut cache, "ADDED", &object("e", 13)), NOTHING);
    assert_eq!(cache.slot_of("n", "d"), Some(2));
    assert_eq!(stat(&cache, "events_foreign"), 2);
    // Another controller: from slot to slot, and away.
    assert_eq!(reasons(&mut cache, "MODIFIED", &child("a", 14, 2)), ["a updated"]);
    assert_eq!(cache.slot_of("n", "a"), Some(2));
    assert_eq!(reasons(&mut cache, "MODIFIED", &child("a", 15, 9)), ["a deleted"]);
    assert_eq!(reasons(&mut cache, "MODIFIED", &child("a", 16, 1)), ["a added"]);
}

#[test]
fn a_child_that_left_between_a_list_and_the_stream_is_gone() {
    let mut cache = cache(Scope::Children);
    gain(&mut cache, &[1], 10, &[]);
    cache.begin_gain(&[2]).unwrap();
    cache.feed_list(&page(20, "", &[child("a", 15, 2)])).unwrap();
    // Since then it came to slot 1 and is gone.
    feed(&mut cache, "MODIFIED", &child("a", 21, 1));
    feed(&mut cache, "DELETED", &child("a", 22, 1));
    cache.commit_relist().unwrap();
    assert_eq!(names(&cache), ["a"], "as the list had it");
    feed(&mut cache, "MODIFIED", &child("a", 21, 1));
    assert!(cache.is_empty());
    feed(&mut cache, "DELETED", &child("a", 22, 1));
    assert_eq!(stat(&cache, "events_replayed"), 2);
}

#[test]
fn the_deletion_of_a_name_does_not_harm_who_has_it_now() {
    let mut cache = cache(Scope::Children);
    gain(&mut cache, &[1], 10, &[child("a", 3, 1)]);
    // It went to another shard's slot at 12, which a server that filters tells as a deletion, and to slot 2 at 15.
    gain(&mut cache, &[2], 20, &[child("a", 15, 2)]);
    feed(&mut cache, "DELETED", &child("a", 12, 1));
    assert_eq!(
        (version(&cache, "a"), cache.slot_of("n", "a")),
        ("15".to_owned(), Some(2))
    );
}

#[test]
fn own_writes_are_taken_for_what_is_kept() {
    let mut cache = cache(Scope::Roots);
    gain(&mut cache, &[1], 10, &[root("1-a", 3)]);
    start(&mut cache, &[1]);
    assert!(!put(&mut cache, &root("2-b", 11)), "its slot is not kept");
    // In the middle of a gain, before and after it.
    cache.begin_gain(&[2]).unwrap();
    cache.feed_list(&page(20, "", &[root("2-b", 12)])).unwrap();
    assert!(put(&mut cache, &with(root("1-a", 25), "spec", json!(1))));
    assert!(!put(&mut cache, &root("2-b", 26)));
    feed(&mut cache, "ADDED", &root("1-c", 30));
    cache.commit_relist().unwrap();
    assert!(
        !put(&mut cache, &with(root("1-c", 28), "spec", json!(1))),
        "known up to 30, though the watch is at 20"
    );
    assert!(put(&mut cache, &with(root("2-b", 28), "spec", json!(1))));
    assert_eq!(
        reasons(&mut cache, "MODIFIED", &with(root("2-b", 28), "spec", json!(1))),
        NOTHING
    );
    assert_eq!(stat(&cache, "events_echo"), 1);
    assert_eq!(stat(&cache, "unconfirmed"), 1);
    cache.drop_slots(&[1]).unwrap();
    assert_eq!(stat(&cache, "unconfirmed"), 0);
}

#[test]
fn a_streamed_list_is_of_its_slots_too() {
    let mut cache = cache(Scope::Children);
    gain(&mut cache, &[1], 10, &[child("a", 3, 1), child("gone", 4, 1)]);
    start(&mut cache, &[1]);
    cache.begin_relist_of(&[1, 2]).unwrap();
    for item in [
        child("a", 3, 1),
        child("b", 5, 2),
        child("c", 6, 9),
        child("d", 7, 1),
    ] {
        assert_eq!(feed(&mut cache, "ADDED", &item), NOTHING);
    }
    feed(&mut cache, "MODIFIED", &child("d", 19, 9));
    cache.feed(&bookmark(20, true));
    let batch = cache.commit_relist().unwrap();
    assert_eq!(
        (told(&batch), batch.resource_version.as_deref()),
        (vec!["gone deleted".to_owned()], Some("20"))
    );
    assert_eq!(
        (names(&cache), stat(&cache, "events_foreign")),
        (vec!["a".to_owned(), "b".to_owned()], 2)
    );
}

#[test]
fn positions_that_cannot_be_compared_ask_for_a_list_of_all() {
    let mut cache = cache(Scope::Roots);
    gain(&mut cache, &[1], 10, &[root("1-a", 3)]);
    let odd = |items: &[Value]| {
        let page = page(7, "", items);
        String::from_utf8(page)
            .unwrap()
            .replace(r#""resourceVersion":"7""#, r#""resourceVersion":"x7""#)
            .into_bytes()
    };
    cache.begin_gain(&[2]).unwrap();
    cache.feed_list(&odd(&[root("2-b", 4)])).unwrap();
    assert!(
        cache
            .commit_relist()
            .unwrap_err()
            .to_string()
            .contains("list all slots at once")
    );
    assert_eq!((names(&cache), cache.kept()), (vec!["1-a".to_owned()], vec![1]));
    cache.begin_relist_of(&[1, 2]).unwrap();
    cache.feed_list(&odd(&[root("1-a", 3), root("2-b", 4)])).unwrap();
    assert_eq!(
        cache.commit_relist().unwrap().resource_version.as_deref(),
        Some("x7")
    );
    assert_eq!(cache.kept(), [1, 2]);
}

#[test]
fn a_cache_of_everything_knows_no_slots() {
    let mut cache = cache(Scope::Everything);
    assert_eq!(reasons(&mut cache, "ADDED", &root("1-a", 5)), ["1-a added"]);
    let errors = [
        cache.begin_gain(&[1]).unwrap_err(),
        cache.begin_relist_of(&[1]).unwrap_err(),
        cache.start_slots(&[1]).unwrap_err(),
        cache.stop_slots(&[1]).unwrap_err(),
        cache.drop_slots(&[1]).unwrap_err(),
        cache.keys_in(&[1]).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("knows no slots"));
    }
    assert_eq!(
        (cache.kept(), cache.active(), cache.slot_of("n", "1-a")),
        (vec![], vec![], None)
    );
    assert_eq!(names(&cache), ["1-a"]);
}

#[test]
fn what_is_lost_gives_its_memory_back() {
    let mut cache = cache(Scope::Roots);
    let noise = |seed: u32| -> String {
        let numbers = (0..100u32).map(|at| (seed * 101 + at).wrapping_mul(2_654_435_761));
        numbers
            .flat_map(|number| format!("{number:08x}").into_bytes())
            .map(char::from)
            .collect()
    };
    let many = |slot: u8| -> Vec<Value> {
        let root = |number: u32| root(&format!("{slot}-{number}"), 5);
        (0..500)
            .map(|number| with(root(number), "spec", json!(noise(number))))
            .collect()
    };
    let held = |cache: &Cache| stat(cache, "bytes") - stat(cache, "dictionary_bytes");
    gain(&mut cache, &[1], 10, &many(1));
    let alone = held(&cache);
    gain(&mut cache, &[2], 20, &many(2));
    assert!(held(&cache) > alone * 3 / 2);
    cache.drop_slots(&[2]).unwrap();
    assert!(held(&cache) < alone * 3 / 2);
    cache.drop_slots(&[1]).unwrap();
    assert!(held(&cache) < alone / 4, "{} of {alone}", held(&cache));
}
