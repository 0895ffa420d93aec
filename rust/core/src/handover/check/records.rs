//! Records on the wire, Leases that cannot be understood, and the time at which one is void.

use crate::handover::view::View;
use crate::handover::{Action, Handover, Lease, Nanos, Record, Rules, State, nanos, seconds};
use crate::slotset::SlotSet;

const SECOND: Nanos = 1_000_000_000;

fn record(slots: u16, holds: SlotSet) -> Record {
    Record {
        incarnation: "7f".into(),
        sequence: 3,
        slots,
        duration: 15 * SECOND,
        state: State::Active,
        ring: "0440fb97".into(),
        holds,
        ready: SlotSet::EMPTY,
        acts: SlotSet::EMPTY,
    }
}

fn lease(name: &str, version: u64, record: Record) -> Lease {
    Lease {
        name: name.into(),
        version,
        record: Ok(record),
    }
}

#[test]
fn a_record_comes_back() {
    let states = [
        State::Active,
        State::Leaving,
        State::Restarting(30 * SECOND),
        State::Released,
    ];
    for state in states {
        let record = Record {
            state,
            ..record(256, "0-84,90".parse().unwrap())
        };
        assert_eq!(Record::decode(&record.encode()).unwrap(), record);
    }
}

#[test]
fn errors_name_the_field() {
    let text = record(256, SlotSet::EMPTY).encode();
    for (from, to, word) in [
        ("\"v\":1", "\"v\":2", "v: 2 is not known here"),
        ("\"active\"", "\"odd\"", "state: \"odd\""),
        ("\"slots\":256", "\"slots\":512", "slots: 512"),
        ("\"holds\":\"\"", "\"holds\":\"9-3\"", "holds: "),
        ("\"sequence\":3", "\"sequence\":-3", "sequence: a whole number"),
        ("15.0", "1e300", "duration: a number of seconds"),
        ("{", "[", "no JSON"),
    ] {
        let error = Record::decode(&text.replacen(from, to, 1))
            .unwrap_err()
            .to_string();
        assert!(error.contains(word), "{error}");
    }
    assert!(Record::decode(&text.replacen('{', "{\"later\":[],", 1)).is_ok());
}

#[test]
fn seconds_are_nanoseconds() {
    assert_eq!((nanos(1.5), seconds(1_500_000_000)), (Some(1_500_000_000), 1.5));
    assert_eq!(
        (nanos(-1.0), nanos(f64::NAN), nanos(f64::INFINITY)),
        (None, None, None)
    );
}

/// The answer to a list may be old when it comes: what counts is when it was asked for.
#[test]
fn a_lease_is_void_by_the_time_of_the_question() {
    let mut view = View::new(256, 15 * SECOND, 60 * SECOND);
    let leases = || vec![lease("b", 1, record(256, SlotSet::ALL))];
    view.list(leases(), 0, SECOND);
    view.list(leases(), 16 * SECOND, 30 * SECOND);
    assert_eq!(view.blocked(), SlotSet::ALL);
    view.list(leases(), 16 * SECOND + 1, 30 * SECOND);
    assert_eq!(view.blocked(), SlotSet::EMPTY);
    // It wakes: its next version counts again.
    view.observe(lease("b", 2, record(256, SlotSet::ALL)), 31 * SECOND);
    assert_eq!(view.blocked(), SlotSet::ALL);
}

#[test]
fn a_deleted_lease_counts_as_long_as_its_shard_may_act() {
    let mut view = View::new(256, 15 * SECOND, 60 * SECOND);
    view.list(vec![lease("b", 1, record(256, SlotSet::ALL))], 0, 0);
    view.list(Vec::new(), 15 * SECOND, 15 * SECOND);
    assert_eq!(view.blocked(), SlotSet::ALL);
    view.list(Vec::new(), 16 * SECOND, 16 * SECOND);
    assert_eq!(view.blocked(), SlotSet::EMPTY);
}

/// Runs one shard against a server on which another Lease stands, renewed all the time.
fn beside(other: &Lease, time: Nanos) -> Handover {
    let mut machine = Handover::new(Rules::new("a", "1")).unwrap();
    let mut own: Option<(u64, Record)> = None;
    let mut version = 100;
    let mut now = SECOND;
    while now < time {
        let mut todo = machine.tick(now);
        while let Some(action) = todo.pop() {
            version += 1;
            let more = match action {
                Action::Write { id, record, .. } => {
                    own = Some((version, record));
                    machine.written(now, id, version)
                }
                Action::List { id } => {
                    let mine = own.clone().map(|(version, record)| lease("a", version, record));
                    let other = Lease {
                        version,
                        ..other.clone()
                    };
                    machine.listed(now, id, mine.into_iter().chain([other]).collect())
                }
                Action::Warm { ticket, slots } => machine.warmed(now, ticket, slots),
                Action::Drain { ticket, slots } => machine.drained(now, ticket, slots),
                _ => Vec::new(),
            };
            todo.extend(more);
        }
        now += SECOND;
    }
    machine
}

#[test]
fn a_shard_starts_on_nothing_beside_a_lease_that_it_does_not_understand() {
    let unreadable = [
        Lease::read("b", 1, None),
        Lease::read("b", 1, Some("{}")),
        Lease::read(
            "b",
            1,
            Some(&record(256, SlotSet::EMPTY).encode().replace("\"v\":1", "\"v\":9")),
        ),
        lease("b", 1, record(64, SlotSet::EMPTY)),
    ];
    for other in unreadable {
        let machine = beside(&other, 60 * SECOND);
        assert!(machine.acting().is_empty(), "{other:?}");
        let problems = machine.report().problems;
        assert!(
            problems.len() == 1 && problems[0].contains("the Lease of shard b"),
            "{problems:?}"
        );
    }
    // The control: one that is understood leaves it its share.
    let machine = beside(&lease("b", 1, record(256, SlotSet::EMPTY)), 60 * SECOND);
    assert_eq!(machine.acting(), machine.ring().share("a"));
    assert_eq!(machine.acting().len(), 128);
}

#[test]
fn rules_that_cannot_keep_shards_apart_are_refused() {
    let change: [fn(&mut Rules); 5] = [
        |rules| rules.fence = rules.duration,
        |rules| rules.renew = rules.fence,
        |rules| rules.slots = 100,
        |rules| rules.name.clear(),
        |rules| rules.timeout = 0,
    ];
    for change in change {
        let mut rules = Rules::new("a", "1");
        change(&mut rules);
        let error = Handover::new(rules).unwrap_err().to_string();
        assert!(error.starts_with("hand-over: "), "{error}");
    }
}
