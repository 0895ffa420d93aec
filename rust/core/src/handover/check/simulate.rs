//! Long random runs in real times: five shards and more, 256 slots, faults of all kinds, then calm.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::handover::{Action, Handover, Lease, Nanos, Record, Rules, Stop, seconds};
use crate::ring::Ring;
use crate::slotset::SlotSet;

const MS: Nanos = 1_000_000;
const SECOND: Nanos = 1_000 * MS;

/// `SplitMix64`: what a seed draws.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}

enum Message {
    Write {
        id: u64,
        expect: Option<u64>,
        record: Record,
    },
    Written {
        id: u64,
        version: Option<u64>,
    },
    List {
        id: u64,
    },
    Listed {
        id: u64,
        leases: Vec<Lease>,
    },
    Warmed {
        ticket: u64,
        slots: SlotSet,
    },
    Drained {
        ticket: u64,
        slots: SlotSet,
    },
    Watch(Lease),
}

struct Process {
    name: String,
    machine: Handover,
    /// Its clock, in percent of the true time, and where it began.
    rate: u64,
    skew: Nanos,
    paused_until: Nanos,
    cut_until: Nanos,
    stopping: bool,
    ended: bool,
}

impl Process {
    fn clock(&self, now: Nanos) -> Nanos {
        self.skew + now / 100 * self.rate
    }

    fn acts(&self, now: Nanos) -> SlotSet {
        let open = self.machine.fence().is_some_and(|fence| self.clock(now) < fence);
        if open {
            self.machine.acting()
        } else {
            SlotSet::EMPTY
        }
    }
}

struct World {
    now: Nanos,
    dice: Dice,
    leases: BTreeMap<String, (u64, Record)>,
    version: u64,
    processes: Vec<Process>,
    queue: BTreeMap<(Nanos, u64), (usize, Message)>,
    sent: u64,
    faults: bool,
}

impl World {
    fn spawn(&mut self, name: &str) {
        let incarnation = self.processes.len().to_string();
        let machine = Handover::new(Rules::new(name, incarnation)).expect("sound rules");
        let (rate, skew) = (95 + self.dice.roll(11), self.dice.roll(1_000) * SECOND);
        let (paused_until, cut_until) = (0, 0);
        let (stopping, ended) = (false, false);
        let name = name.into();
        self.processes.push(Process {
            name,
            machine,
            rate,
            skew,
            paused_until,
            cut_until,
            stopping,
            ended,
        });
        self.input(self.processes.len() - 1, Handover::tick);
    }

    fn send(&mut self, place: usize, message: Message) {
        let long = self.faults && self.dice.roll(40) == 0;
        let delay = if long {
            self.dice.roll(8_000)
        } else {
            1 + self.dice.roll(30)
        };
        self.sent += 1;
        self.queue
            .insert((self.now + delay * MS, self.sent), (place, message));
    }

    fn input(&mut self, place: usize, input: impl FnOnce(&mut Handover, Nanos) -> Vec<Action>) {
        let process = &mut self.processes[place];
        let clock = process.clock(self.now);
        for action in input(&mut process.machine, clock) {
            match action {
                Action::Write { id, expect, record } => {
                    self.send(place, Message::Write { id, expect, record });
                }
                Action::List { id } => self.send(place, Message::List { id }),
                Action::Warm { ticket, slots } => self.send(place, Message::Warmed { ticket, slots }),
                Action::Drain { ticket, slots } => self.send(place, Message::Drained { ticket, slots }),
                Action::Ended { .. } => self.processes[place].ended = true,
                Action::Cool { .. } | Action::Start { .. } | Action::Lost { .. } => (),
            }
        }
    }

    fn deliver(&mut self, place: usize, message: Message) {
        let cut = self.processes[place].cut_until > self.now;
        match message {
            Message::Write { .. } | Message::List { .. } | Message::Watch(_) if cut => (),
            Message::Write { id, expect, record } => {
                let name = self.processes[place].name.clone();
                let same = self.leases.get(&name).map(|(version, _)| *version) == expect;
                if same {
                    self.version += 1;
                    let version = self.version;
                    let lease = Lease {
                        name: name.clone(),
                        version,
                        record: Ok(record.clone()),
                    };
                    self.leases.insert(name.clone(), (version, record));
                    for other in 0..self.processes.len() {
                        if self.processes[other].name != name && !self.processes[other].ended {
                            self.send(other, Message::Watch(lease.clone()));
                        }
                    }
                }
                self.send(
                    place,
                    Message::Written {
                        id,
                        version: same.then_some(self.version),
                    },
                );
            }
            Message::List { id } => {
                let lease = |(name, (version, record)): (&String, &(u64, Record))| Lease {
                    name: name.clone(),
                    version: *version,
                    record: Ok(record.clone()),
                };
                let leases = self.leases.iter().map(lease).collect();
                self.send(place, Message::Listed { id, leases });
            }
            _ if self.processes[place].ended => (),
            message @ (Message::Written { .. }
            | Message::Listed { .. }
            | Message::Warmed { .. }
            | Message::Drained { .. }
            | Message::Watch(_))
                if self.processes[place].paused_until > self.now =>
            {
                let until = self.processes[place].paused_until;
                self.sent += 1;
                self.queue.insert((until, self.sent), (place, message));
            }
            Message::Written {
                id,
                version: Some(version),
            } => self.input(place, |m, now| m.written(now, id, version)),
            Message::Written { id, version: None } => self.input(place, |m, now| m.write_conflict(now, id)),
            Message::Listed { id, leases } => self.input(place, |m, now| m.listed(now, id, leases)),
            Message::Warmed { ticket, slots } => self.input(place, |m, now| m.warmed(now, ticket, slots)),
            Message::Drained { ticket, slots } => self.input(place, |m, now| m.drained(now, ticket, slots)),
            Message::Watch(lease) => self.input(place, |m, now| m.observed(now, lease)),
        }
    }

    /// Lets the time pass in steps of 10 ms; all that has come is delivered, and at each step nobody clashes.
    fn run(&mut self, time: Nanos, mut done: impl FnMut(&Self) -> bool) -> Option<Nanos> {
        let start = self.now;
        while self.now < start + time {
            self.now += 10 * MS;
            while let Some(first) = self.queue.first_entry().filter(|first| first.key().0 <= self.now) {
                let (place, message) = first.remove();
                self.deliver(place, message);
            }
            for place in 0..self.processes.len() {
                let process = &self.processes[place];
                let due = process
                    .machine
                    .wake()
                    .is_some_and(|wake| wake <= process.clock(self.now));
                if due && !process.ended && process.paused_until <= self.now {
                    self.input(place, Handover::tick);
                }
            }
            let mut seen = SlotSet::EMPTY;
            for process in self.processes.iter().filter(|process| !process.ended) {
                let acts = process.acts(self.now);
                assert!(
                    (seen & acts).is_empty(),
                    "{:.2} s: two act on {}",
                    seconds(self.now),
                    seen & acts
                );
                seen |= acts;
            }
            if done(self) {
                return Some(self.now - start);
            }
        }
        None
    }

    fn running(&self) -> Vec<usize> {
        (0..self.processes.len())
            .filter(|place| !self.processes[*place].ended)
            .collect()
    }

    fn settled(&self) -> bool {
        let running: Vec<&Process> = self.processes.iter().filter(|process| !process.ended).collect();
        let ring = Ring::new(256, running.iter().map(|process| process.name.clone()));
        running
            .iter()
            .all(|process| process.acts(self.now) == ring.share(&process.name))
    }

    /// Something goes wrong, or somebody scales.
    fn trouble(&mut self) {
        let running = self.running();
        if running.is_empty() {
            // The last of them were stopped, or lost their names: the set is scaled up again.
            return self.spawn("openclaw-0");
        }
        let place = running[usize::try_from(self.dice.roll(running.len() as u64)).unwrap_or_default()];
        let name = self.processes[place].name.clone();
        let alone = running
            .iter()
            .filter(|other| !self.processes[**other].stopping)
            .count()
            < 2;
        match self.dice.roll(7) {
            0 if !alone => self.processes[place].ended = true,
            1 => {
                self.processes[place].ended = true;
                self.spawn(&name);
            }
            // The old process is still there, paused.
            2 => {
                self.processes[place].paused_until = self.now + self.dice.roll(40) * SECOND;
                self.spawn(&name);
            }
            3 => self.processes[place].paused_until = self.now + self.dice.roll(40) * SECOND,
            4 => self.processes[place].cut_until = self.now + self.dice.roll(40) * SECOND,
            5 if !alone => {
                let how = if self.dice.roll(2) == 0 {
                    Stop::Release
                } else {
                    Stop::Restart(30 * SECOND)
                };
                self.processes[place].stopping = true;
                self.input(place, |machine, now| machine.stop(now, how));
            }
            _ => {
                let name = format!("openclaw-{}", self.dice.roll(8));
                let taken = |process: &Process| process.name == name && !process.ended;
                if !self.processes.iter().any(taken) {
                    self.spawn(&name);
                }
            }
        }
    }
}

fn begin(seed: u64, shards: u64) -> World {
    let (leases, queue) = (BTreeMap::new(), BTreeMap::new());
    let dice = Dice(seed);
    let mut world = World {
        now: 0,
        dice,
        leases,
        version: 0,
        processes: Vec::new(),
        queue,
        sent: 0,
        faults: false,
    };
    for shard in 0..shards {
        world.spawn(&format!("openclaw-{shard}"));
    }
    assert!(
        world.run(5 * SECOND, World::settled).is_some(),
        "no start within 5 s"
    );
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_clash_in_trouble_and_order_in_calm(seed in any::<u64>()) {
        let mut world = begin(seed, 5);
        world.faults = true;
        for _ in 0..20 {
            world.trouble();
            let pause = world.dice.roll(15) * SECOND + SECOND;
            world.run(pause, |_| false);
        }
        world.faults = false;
        // What was stopped ends; what is paused or cut off (40 s) comes back; a lost lease is waited for; a hold ends.
        let calm = world.run(120 * SECOND, World::settled);
        prop_assert!(calm.is_some(), "no order after 120 s: {} run", world.running().len());
    }

    #[test]
    fn a_crash_is_taken_over_within_the_duration(seed in any::<u64>()) {
        let mut world = begin(seed, 5);
        let pause = world.dice.roll(10_000) * MS;
        world.run(pause, |_| false);
        let lost = usize::try_from(world.dice.roll(5)).unwrap_or_default();
        world.processes[lost].ended = true;
        let others: Vec<SlotSet> = world.processes.iter().map(|process| process.acts(world.now)).collect();
        let taken = world.run(20 * SECOND, World::settled);
        // 15 s by a clock that runs 5 % slow, then two writes and two lists of at most 60 ms each, and the warming.
        prop_assert!(taken.is_some_and(|time| time <= 16_300 * MS), "took {:?}", taken.map(seconds));
        for (place, before) in others.into_iter().enumerate().filter(|(place, _)| *place != lost) {
            prop_assert!(before.is_subset(&world.processes[place].acts(world.now)), "more moved than was lost");
        }
    }

    #[test]
    fn a_join_and_a_leave_hand_over_in_a_moment(seed in any::<u64>()) {
        let mut world = begin(seed, 5);
        world.spawn("openclaw-5");
        let joined = world.run(5 * SECOND, World::settled);
        prop_assert!(joined.is_some_and(|time| time <= SECOND), "joining took {:?}", joined.map(seconds));
        world.input(5, |machine, now| machine.stop(now, Stop::Release));
        let left = world.run(5 * SECOND, |world| world.processes[5].ended && world.settled());
        prop_assert!(left.is_some_and(|time| time <= SECOND), "leaving took {:?}", left.map(seconds));
    }

    #[test]
    fn a_rolling_restart_moves_nothing(seed in any::<u64>()) {
        let mut world = begin(seed, 5);
        for place in 0..5 {
            let share = world.processes[place].acts(world.now);
            let name = world.processes[place].name.clone();
            world.input(place, |machine, now| machine.stop(now, Stop::Restart(30 * SECOND)));
            world.run(SECOND, |world| world.processes[place].ended);
            let down = world.dice.roll(20) * SECOND + SECOND;
            world.run(down, |_| false);
            let others = world.processes.iter().filter(|process| !process.ended);
            let acted = others.fold(SlotSet::EMPTY, |all, process| all | process.acts(world.now));
            prop_assert_eq!(acted, SlotSet::ALL - share);
            world.spawn(&name);
            let back = world.run(5 * SECOND, World::settled);
            prop_assert!(back.is_some_and(|time| time <= SECOND), "coming back took {:?}", back.map(seconds));
        }
    }
}
