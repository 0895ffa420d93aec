//! That the rules hold whatever happens within budgets of faults, all of it; and that each rule is needed.
//!
//! Those that take long are left to `make model-check`.

use super::model::{
    Budget, CLASH, NONE, Setting, Start, THREE, UNOWNED, UNPUBLISHED, count_by_stateright, explore,
};
use crate::handover::rules::Fault;

/// States after which a search is given up: then it has not shown what it is there to show, and fails.
const LIMIT: usize = 30_000_000;

const TWO: Setting = Setting {
    shards: 2,
    slots: 2,
    ..THREE
};

/// Two steps of time in a renewal interval; writes to objects arrive until 2.2 s after the fence, of its 10 s.
const FINE: Setting = Setting {
    grid: 2,
    flight: 9,
    ..THREE
};

/// Explores all there is, and fails when something is wrong or left out.
fn holds(name: &str, setting: &Setting) {
    let outcome = explore(setting, LIMIT);
    println!(
        "{name}: {} states, {} transitions, {} different processes, exhausted: {}, {:.1} s",
        outcome.states,
        outcome.transitions,
        outcome.processes,
        if outcome.exhausted { "yes" } else { "no" },
        outcome.time.as_secs_f64()
    );
    if let Some((property, way)) = outcome.broken {
        panic!("{name}: broken: {property}: {way}");
    }
    assert!(
        outcome.exhausted,
        "{name}: cut off after {} states",
        outcome.states
    );
}

macro_rules! scenarios {
    ($($(#[$mark:meta])? $name:ident: $setting:expr, { $($what:ident: $times:expr),* };)*) => {$(
        #[test]
        $(#[$mark])?
        fn $name() {
            let budget = Budget { $($what: $times,)* ..NONE };
            holds(stringify!($name), &Setting { budget, ..$setting });
        }
    )*};
}

const FOUR_SLOTS: Setting = Setting { slots: 4, ..THREE };
const COLD: Setting = Setting {
    start: Start::Cold,
    ..THREE
};
const JOINING: Setting = Setting {
    start: Start::Joining,
    ..THREE
};
const TWO_COLD: Setting = Setting {
    start: Start::Cold,
    ..TWO
};
const TWO_JOINING: Setting = Setting {
    start: Start::Joining,
    ..TWO
};
const TWO_FINE_JOINING: Setting = Setting {
    start: Start::Joining,
    shards: 2,
    ..FINE
};
/// The other clocks: whose is slow and whose is fast matters where shares differ.
const OTHER_CLOCKS: Setting = Setting {
    rates: [11, 9, 10],
    ..THREE
};

scenarios! {
    three_shards_crash_twice: THREE, { crashes: 2 };
    three_shards_crash_with_a_successor: THREE, { crashes: 1, spawns: 1 };
    three_shards_of_four_slots_crash: FOUR_SLOTS, { crashes: 1 };
    three_shards_pause_beyond_their_lease: THREE, { pauses: 1 };
    three_shards_with_a_late_or_lost_request: THREE, { delays: 1 };
    three_shards_with_news_by_watch: THREE, { watches: 2 };
    three_shards_start_at_once: COLD, {};
    three_shards_stop: THREE, { stops: 1 };
    a_third_shard_joins_and_one_stops: JOINING, { stops: 1 };
    two_shards_with_a_successor_of_a_paused_one: TWO, { pauses: 1, spawns: 1 };
    two_shards_with_two_late_or_lost_requests: TWO, { delays: 2 };
    two_shards_crash_with_successors_and_a_late_request: TWO, { crashes: 1, spawns: 1, delays: 1 };
    a_second_shard_joins_one_that_pauses_with_writes_in_flight: TWO_FINE_JOINING, { pauses: 1 };

    #[ignore = "takes long: make model-check"]
    deep_three_shards_crash_twice_with_a_successor: THREE, { crashes: 2, spawns: 1 };
    #[ignore = "takes long: make model-check"]
    deep_three_shards_crash_with_a_late_request: THREE, { crashes: 1, delays: 1 };
    #[ignore = "takes long: make model-check"]
    deep_three_shards_of_four_slots_crash_with_a_successor: FOUR_SLOTS, { crashes: 1, spawns: 1 };
    #[ignore = "takes long: make model-check"]
    deep_three_shards_of_four_slots_pause: FOUR_SLOTS, { pauses: 1 };
    #[ignore = "takes long: make model-check"]
    deep_three_shards_of_other_clocks_pause: OTHER_CLOCKS, { pauses: 1 };
    #[ignore = "takes long: make model-check"]
    deep_three_shards_of_other_clocks_with_a_late_request: OTHER_CLOCKS, { delays: 1 };
    #[ignore = "takes long: make model-check"]
    deep_three_shards_with_writes_in_flight_crash: FINE, { crashes: 1, spawns: 1 };
    #[ignore = "takes long: make model-check"]
    deep_three_shards_with_writes_in_flight_pause: FINE, { pauses: 1 };
    #[ignore = "takes long: make model-check"]
    deep_three_shards_with_writes_in_flight_and_a_late_request: FINE, { delays: 1 };
    #[ignore = "takes long: make model-check"]
    deep_a_third_shard_joins_with_a_late_request: JOINING, { delays: 1 };
    #[ignore = "takes long: make model-check"]
    deep_a_third_shard_joins_and_one_pauses: JOINING, { pauses: 1 };
    #[ignore = "takes long: make model-check"]
    deep_a_third_shard_joins_and_one_stops_with_news: JOINING, { stops: 1, watches: 1 };
    #[ignore = "takes long: make model-check"]
    deep_two_shards_with_three_late_or_lost_requests: TWO, { delays: 3 };
    #[ignore = "takes long: make model-check"]
    deep_two_shards_start_with_two_late_or_lost_requests: TWO_COLD, { delays: 2 };
    #[ignore = "takes long: make model-check"]
    deep_two_shards_pause_twice: TWO, { pauses: 2 };
    #[ignore = "takes long: make model-check"]
    deep_two_shards_pause_with_a_late_request: TWO, { pauses: 1, delays: 1 };
    #[ignore = "takes long: make model-check"]
    deep_a_second_shard_joins_with_two_late_or_lost_requests: TWO_JOINING, { delays: 2 };
    #[ignore = "takes long: make model-check"]
    deep_a_second_shard_joins_and_one_pauses_and_one_stops: TWO_FINE_JOINING, { pauses: 1, stops: 1 };
}

/// The count of an independent checker is the same.
#[test]
fn stateright_finds_as_many_states() {
    let crash = Budget {
        crashes: 1,
        spawns: 1,
        ..NONE
    };
    let late = Budget { delays: 1, ..NONE };
    for (setting, budget) in [(THREE, NONE), (TWO, crash), (TWO_JOINING, late)] {
        let setting = Setting { budget, ..setting };
        assert_eq!(explore(&setting, LIMIT).states, count_by_stateright(&setting));
    }
}

#[test]
fn a_search_that_is_cut_off_says_so() {
    let whole = explore(&TWO, LIMIT);
    assert!(whole.exhausted);
    assert!(!explore(&TWO, whole.states - 1).exhausted);
}

/// The checker finds that the rule is missing, and nothing with it.
fn found(fault: Fault, setting: &Setting, budget: Budget, expected: &[&str]) {
    let setting = Setting {
        budget,
        ..setting.clone()
    };
    let outcome = explore(
        &Setting {
            fault: Some(fault),
            ..setting.clone()
        },
        LIMIT,
    );
    let (property, way) = outcome
        .broken
        .unwrap_or_else(|| panic!("{fault:?} is not found in {} states", outcome.states));
    println!("{fault:?}: {property} after {} states: {way}", outcome.states);
    assert!(expected.contains(&property), "{property}");
    holds(&format!("the same with {fault:?} mended"), &setting);
}

const PAUSE: Budget = Budget { pauses: 1, ..NONE };
const CRASH: Budget = Budget { crashes: 1, ..NONE };
const SUCCESSOR: Budget = Budget { spawns: 1, ..CRASH };

#[test]
fn the_fence_is_needed() {
    found(Fault::Fence, &TWO, PAUSE, &[CLASH]);
}

#[test]
fn continuity_is_needed() {
    found(Fault::Continuity, &TWO, PAUSE, &[CLASH]);
}

#[test]
fn the_fresh_list_is_needed() {
    let setting = Setting { slots: 1, ..TWO_COLD };
    let budget = Budget { delays: 2, ..NONE };
    found(Fault::FreshList, &setting, budget, &[CLASH]);
}

#[test]
fn the_publication_is_needed() {
    found(Fault::Publication, &TWO, CRASH, &[CLASH, UNPUBLISHED]);
}

#[test]
fn the_inherited_wait_is_needed() {
    found(Fault::InheritedWait, &TWO, SUCCESSOR, &[CLASH]);
}

#[test]
fn inheriting_is_needed() {
    found(Fault::Inheritance, &TWO, SUCCESSOR, &[CLASH, UNPUBLISHED]);
}

#[test]
fn draining_first_is_needed() {
    found(Fault::Drain, &TWO_JOINING, NONE, &[CLASH, UNPUBLISHED]);
}

#[test]
fn lingering_is_needed() {
    found(Fault::Lingering, &TWO_FINE_JOINING, PAUSE, &[CLASH, UNPUBLISHED]);
}

#[test]
fn noticing_void_leases_is_needed() {
    found(Fault::Void, &TWO, CRASH, &[UNOWNED]);
}
