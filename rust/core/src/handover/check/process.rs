//! One shard process in the model: the machine, and what is on its way to and from it.

use super::canonical::{CURRENT, NOW, content};
use super::model::{Setting, THREE};
use crate::handover::rules::Fault;
use crate::handover::{Action, Handover, Lease, Nanos, Record, Rules, Stop};
use crate::slotset::SlotSet;

pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];

/// A write of the own Lease on its way to the server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) id: u64,
    pub(super) expect: Option<u64>,
    pub(super) record: Record,
}

/// What happens to a process. `CURRENT` is what the server has of a Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Op {
    /// A step of time.
    Tick,
    /// The host looks at the clock between steps.
    Wake,
    /// The server does the write, or refuses it.
    ServeWrite(bool),
    AnswerWrite,
    /// The write is given up; whether the server may still do it.
    LoseWrite(bool),
    FailWrite(bool),
    /// The server does a write that was given up.
    Apply(usize),
    LoseList,
    FailList,
    AnswerList,
    Warmed,
    Drained,
    /// The server has a new version of this shard's Lease.
    Age(usize),
    Pause,
    Resume,
    Stop(Stop),
    Crash,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub(super) struct Process {
    pub(super) shard: usize,
    pub(super) machine: Handover,
    /// How much its clock advances a step.
    pub(super) rate: Nanos,
    pub(super) paused: bool,
    pub(super) stopping: bool,
    pub(super) ended: bool,
    /// A look at the clock would do something.
    pub(super) dozy: bool,
    /// For how long after the fence writes to objects may still arrive.
    pub(super) flight: Nanos,
    /// What it acted on when it crashed or its fence ended, and until when writes to objects may still arrive.
    pub(super) left: (SlotSet, Nanos),
    pub(super) write: Option<Request>,
    /// Writes that nobody waits for any more; each may still be applied.
    pub(super) orphans: Vec<Request>,
    /// Answers to writes: the new version, or a conflict.
    pub(super) answers: Vec<(u64, Option<u64>)>,
    pub(super) list: Option<u64>,
    pub(super) snapshots: Vec<(u64, Vec<Lease>)>,
    pub(super) warms: Vec<(u64, SlotSet)>,
    pub(super) drains: Vec<(u64, SlotSet)>,
    /// The number of the write that the server's Lease is from, if this process wrote it.
    pub(super) written: Option<u64>,
}

impl Process {
    /// One that begins; all times are in parts of a renewal interval, which has `10 * grid`.
    pub(super) fn new(shard: usize, incarnation: &str, rate: Nanos, setting: &Setting) -> Self {
        let grid = setting.grid;
        let mut rules = Rules::new(NAMES[shard], incarnation);
        (rules.slots, rules.fault) = (setting.slots, setting.fault);
        (rules.duration, rules.renew, rules.fence) = (30 * grid, 10 * grid, 20 * grid);
        (rules.relist, rules.retry, rules.timeout) = (10 * grid, 5 * grid, 15 * grid);
        (rules.patience, rules.longest_hold) = (25 * grid, 50 * grid);
        let mut machine = Handover::new(rules).expect("sound rules");
        machine.now = NOW;
        let mut process = Self {
            shard,
            machine,
            rate,
            paused: false,
            stopping: false,
            ended: false,
            dozy: false,
            flight: setting.flight,
            left: (SlotSet::EMPTY, 0),
            write: None,
            orphans: Vec::new(),
            answers: Vec::new(),
            list: None,
            snapshots: Vec::new(),
            warms: Vec::new(),
            drains: Vec::new(),
            written: None,
        };
        process.input(|machine| machine.tick(NOW));
        process.canonical();
        process
    }

    /// The slots on which it may act.
    pub(super) fn acts(&self) -> SlotSet {
        let checked = !self.machine.rules.without(Fault::Fence);
        if checked && NOW >= self.fence() {
            SlotSet::EMPTY
        } else {
            self.machine.acting()
        }
    }

    /// The slots on which it acts, or on which writes of it may still arrive.
    pub(super) fn reaches(&self) -> SlotSet {
        let left = if NOW < self.left.1 {
            self.left.0
        } else {
            SlotSet::EMPTY
        };
        if self.ended {
            left
        } else if NOW < self.fence() + self.flight {
            left | self.machine.acting()
        } else {
            left | self.acts()
        }
    }

    fn fence(&self) -> Nanos {
        self.machine.fence().unwrap_or_default()
    }

    /// What the server shows of a Lease, to this process.
    pub(super) fn lease(&self, shard: usize, record: &Record) -> Lease {
        let mut record = record.clone();
        if let (true, Some(sequence)) = (shard == self.shard, self.written) {
            record.incarnation.clone_from(&self.machine.rules.incarnation);
            record.sequence = sequence;
        }
        Lease {
            name: NAMES[shard].into(),
            version: CURRENT,
            record: Ok(record),
        }
    }

    /// The process after this, in its canonical form.
    pub(super) fn after(&self, op: Op) -> Self {
        let mut next = self.clone();
        next.apply(op);
        next.canonical_or_over();
        next
    }

    pub(super) fn after_list(&self, leases: Vec<Lease>) -> Self {
        let mut next = self.clone();
        if let Some(id) = next.list.take() {
            next.snapshots.push((id, leases));
        }
        next.canonical_or_over();
        next
    }

    pub(super) fn after_watch(&self, lease: Lease) -> Self {
        let mut next = self.clone();
        next.input(|machine| machine.observed(NOW, lease));
        next.canonical_or_over();
        next
    }

    fn canonical_or_over(&mut self) {
        if self.ended {
            self.bury();
        } else {
            self.canonical();
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Tick => self.tick(),
            Op::Wake => self.input(|machine| machine.tick(NOW)),
            Op::ServeWrite(applied) => {
                if let Some(request) = self.write.take() {
                    if applied {
                        self.age(self.shard);
                        self.written = Some(request.id);
                    }
                    self.answers.push((request.id, applied.then_some(CURRENT)));
                }
            }
            Op::Apply(place) => {
                let request = self.orphans.remove(place);
                self.age(self.shard);
                self.written = Some(request.id);
            }
            Op::AnswerWrite => {
                // It is no more there when nobody waited for it.
                for (id, answer) in self
                    .answers
                    .drain(..1.min(self.answers.len()))
                    .collect::<Vec<_>>()
                {
                    self.input(|machine| match answer {
                        Some(version) => machine.written(NOW, id, version),
                        None => machine.write_conflict(NOW, id),
                    });
                }
            }
            Op::LoseWrite(live) => {
                let write = self.write.take();
                self.orphans.extend(write.filter(|_| live));
            }
            Op::FailWrite(live) => {
                if let Some(write) = self.write.take() {
                    let id = write.id;
                    self.orphans.extend(live.then_some(write));
                    self.input(|machine| machine.write_failed(NOW, id));
                }
            }
            Op::LoseList => self.list = None,
            Op::FailList => {
                if let Some(id) = self.list.take() {
                    self.input(|machine| machine.list_failed(NOW, id));
                }
            }
            Op::AnswerList => {
                for (id, leases) in self
                    .snapshots
                    .drain(..1.min(self.snapshots.len()))
                    .collect::<Vec<_>>()
                {
                    self.input(|machine| machine.listed(NOW, id, leases));
                }
            }
            Op::Warmed => {
                let (ticket, slots) = self.warms.remove(0);
                self.input(|machine| machine.warmed(NOW, ticket, slots));
            }
            Op::Drained => {
                let (ticket, slots) = self.drains.remove(0);
                self.input(|machine| machine.drained(NOW, ticket, slots));
            }
            Op::Age(shard) => self.age(shard),
            Op::Pause => self.paused = true,
            Op::Resume => self.paused = false,
            Op::Stop(how) => {
                self.stopping = true;
                self.input(|machine| machine.stop(NOW, how));
            }
            Op::Crash => {
                self.left = (self.reaches(), self.fence() + self.flight);
                self.ended = true;
            }
        }
    }

    /// Gives the machine an input and does what comes of it.
    fn input(&mut self, input: impl FnOnce(&mut Handover) -> Vec<Action>) {
        let until = self.fence() + self.flight;
        for action in input(&mut self.machine) {
            match action {
                Action::Write { id, expect, record } => {
                    self.orphans.extend(self.write.take());
                    self.write = Some(Request { id, expect, record });
                }
                Action::List { id } => self.list = Some(id),
                Action::Warm { ticket, slots } => self.warms.push((ticket, slots)),
                Action::Drain { ticket, slots } => self.drains.push((ticket, slots)),
                Action::Cool { slots } => self.warms.retain(|(_, warming)| !warming.is_subset(&slots)),
                Action::Start { .. } => (),
                Action::Lost { slots, .. } => self.left = (slots, until),
                Action::Ended { .. } => self.ended = true,
            }
        }
    }

    /// A step of time passes, on its clock at its own rate; one that is not paused notices.
    fn tick(&mut self) {
        self.shift(self.rate);
        if !self.paused && !self.ended {
            self.input(|machine| machine.tick(NOW));
        }
    }

    /// The server has a new version of a Lease: what is known of it is one older, and no other write can succeed.
    fn age(&mut self, shard: usize) {
        self.each_version(&mut |name, version| *version -= u64::from(name == NAMES[shard]));
        if shard == self.shard {
            self.orphans.clear();
            self.written = None;
        }
    }

    /// Nothing is left of a process that has ended but what is on its way.
    fn bury(&mut self) {
        let mut buried = Self::new(self.shard, "0", self.rate, &THREE);
        (buried.list, buried.warms, buried.dozy) = (None, Vec::new(), false);
        (buried.ended, buried.left) = (true, self.left);
        buried.forget_left();
        for request in self.write.iter().chain(&self.orphans) {
            buried.orphans.push(Request {
                id: 0,
                record: content(&request.record),
                ..request.clone()
            });
        }
        *self = buried;
    }
}
