//! The world of a few processes and their Leases.
//!
//! A state names its parts by number: each process, as far as it differs, is kept once, and what an event makes of it is
//! worked out once. So states are small and exact, and the checker compares them as they are, not by a hash.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3Builder;

use super::model::{Budget, Setting};
use super::process::{Op, Process};
use crate::handover::Record;
use crate::slotset::SlotSet;

/// No process, no Lease.
const NONE: u32 = u32::MAX;
/// Processes at a time, those among them that have ended while something of theirs is on its way.
pub(super) const PROCESSES: usize = 7;
const SHARDS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) processes: [u32; PROCESSES],
    pub(super) leases: [u32; SHARDS],
    pub(super) left: Budget,
}

/// Things that are numbered, each once.
#[derive(Debug)]
struct Table<T> {
    numbers: HashMap<Arc<T>, u32, Xxh3Builder>,
    all: Vec<Arc<T>>,
}

impl<T: Eq + Hash> Table<T> {
    fn new() -> Self {
        Self {
            numbers: HashMap::default(),
            all: Vec::new(),
        }
    }

    fn number(&mut self, thing: T) -> u32 {
        if let Some(number) = self.numbers.get(&thing) {
            return *number;
        }
        let number = u32::try_from(self.all.len()).expect("fewer than 2^32 parts");
        let thing = Arc::new(thing);
        self.numbers.insert(Arc::clone(&thing), number);
        self.all.push(thing);
        number
    }

    fn get(&self, number: u32) -> &T {
        &self.all[number as usize]
    }
}

/// What the search asks of a process in each state.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools)] // each is a question of its own
pub(super) struct Facts {
    acts: SlotSet,
    reaches: SlotSet,
    /// It acts on its share, and on nothing else.
    pub(super) settled: bool,
    pub(super) shard: u8,
    pub(super) paused: bool,
    pub(super) stopping: bool,
    pub(super) ended: bool,
    pub(super) dozy: bool,
    pub(super) write: bool,
    pub(super) list: bool,
    pub(super) answers: bool,
    pub(super) snapshots: bool,
    pub(super) warms: bool,
    pub(super) drains: bool,
    pub(super) orphans: bool,
}

impl Facts {
    fn of(process: &Process) -> Self {
        let acts = process.acts();
        Self {
            acts,
            reaches: process.reaches(),
            settled: acts == process.machine.ring().share(&process.machine.rules.name),
            shard: u8::try_from(process.shard).unwrap_or_default(),
            paused: process.paused,
            stopping: process.stopping,
            ended: process.ended,
            dozy: process.dozy,
            write: process.write.is_some(),
            list: process.list.is_some(),
            answers: !process.answers.is_empty(),
            snapshots: !process.snapshots.is_empty(),
            warms: !process.warms.is_empty(),
            drains: !process.drains.is_empty(),
            orphans: !process.orphans.is_empty(),
        }
    }

    pub(super) fn runs(&self) -> bool {
        !self.paused && !self.ended
    }

    /// Something waits for the world: a request unserved, or the host's own work.
    pub(super) fn waits(&self) -> bool {
        self.runs() && (self.write || self.list || self.warms || self.drains)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Op(Op),
    List([u32; SHARDS]),
    Watch(usize, u32),
}

/// The parts of all states, and what becomes of them.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) setting: Setting,
    processes: Table<Process>,
    facts: Vec<Facts>,
    records: Table<Record>,
    steps: HashMap<(u32, Step), u32, Xxh3Builder>,
}

impl Parts {
    pub(super) fn new(setting: &Setting) -> Self {
        Self {
            setting: setting.clone(),
            processes: Table::new(),
            facts: Vec::new(),
            records: Table::new(),
            steps: HashMap::default(),
        }
    }

    /// How many different processes there are, over all states.
    pub(super) fn len(&self) -> usize {
        self.processes.all.len()
    }

    pub(super) fn empty(&self) -> World {
        World {
            processes: [NONE; PROCESSES],
            leases: [NONE; SHARDS],
            left: self.setting.budget,
        }
    }

    fn number(&mut self, process: Process) -> u32 {
        if process.ended && process.orphans.is_empty() && process.reaches().is_empty() {
            return NONE;
        }
        let number = self.processes.number(process);
        if number as usize == self.facts.len() {
            self.facts.push(Facts::of(self.processes.get(number)));
        }
        number
    }

    pub(super) fn step(&mut self, number: u32, step: Step) -> u32 {
        if let Some(next) = self.steps.get(&(number, step)) {
            return *next;
        }
        let process = self.processes.get(number);
        let lease = |shard: usize, record: u32| {
            (record != NONE).then(|| process.lease(shard, self.records.get(record)))
        };
        let next = match step {
            Step::Op(op) => process.after(op),
            Step::List(leases) => {
                let leases = leases.into_iter().enumerate();
                process.after_list(
                    leases
                        .filter_map(|(shard, record)| lease(shard, record))
                        .collect(),
                )
            }
            Step::Watch(shard, record) => match lease(shard, record) {
                Some(lease) => process.after_watch(lease),
                None => process.clone(),
            },
        };
        let next = self.number(next);
        self.steps.insert((number, step), next);
        next
    }

    pub(super) fn op(&mut self, world: &mut World, place: usize, op: Op) {
        if world.processes[place] != NONE {
            world.processes[place] = self.step(world.processes[place], Step::Op(op));
        }
    }

    pub(super) fn at(&self, world: &World, place: usize) -> &Process {
        self.processes.get(world.processes[place])
    }

    /// The processes there are, with their places.
    pub(super) fn present(&self, world: &World) -> impl Iterator<Item = (usize, &Facts)> {
        let numbers = world.processes.into_iter().enumerate();
        let present = numbers.filter(|(_, number)| *number != NONE);
        present.map(|(place, number)| (place, &self.facts[number as usize]))
    }

    /// Whether the server would do a write that expects this.
    pub(super) fn live(world: &World, shard: usize, expect: Option<u64>) -> bool {
        match expect {
            None => world.leases[shard] == NONE,
            Some(version) => version == super::canonical::CURRENT,
        }
    }

    pub(super) fn spawn(&mut self, world: &mut World, shard: usize) {
        let numbers = world.processes.iter().filter(|number| **number != NONE);
        let others = numbers.map(|number| self.processes.get(*number));
        let taken: Vec<String> = others
            .filter(|process| process.shard == shard)
            .map(|process| process.machine.rules.incarnation.clone())
            .collect();
        let free = (1..).map(|mark: u8| mark.to_string());
        let mark = free
            .into_iter()
            .find(|mark| !taken.contains(mark))
            .unwrap_or_default();
        // A successor's clock is another one.
        let clock = shard + usize::from(world.leases[shard] != NONE);
        let rate = self.setting.rates[clock % self.setting.rates.len()];
        let process = Process::new(shard, &mark, rate, &self.setting);
        let place = world.processes.iter().position(|number| *number == NONE);
        world.processes[place.expect("a place for a process")] = self.number(process);
    }

    /// The server has a new version of a Lease.
    pub(super) fn renew(&mut self, world: &mut World, shard: usize, record: &Record, by: usize) {
        world.leases[shard] = self.records.number(super::canonical::content(record));
        for place in (0..PROCESSES).filter(|place| *place != by) {
            self.op(world, place, Op::Age(shard));
        }
    }

    pub(super) fn serve_write(&mut self, world: &mut World, place: usize) {
        let process = self.at(world, place);
        let shard = process.shard;
        let request = process.write.clone().expect("a write");
        let applied = Self::live(world, shard, request.expect);
        self.op(world, place, Op::ServeWrite(applied));
        if applied {
            self.renew(world, shard, &request.record, place);
        }
    }

    /// Whether the write on its way may still be done when it is given up.
    pub(super) fn write_is_live(&self, world: &World, place: usize) -> bool {
        let process = self.at(world, place);
        let write = process.write.as_ref();
        write.is_some_and(|write| Self::live(world, process.shard, write.expect))
    }

    pub(super) fn serve_list(&mut self, world: &mut World, place: usize) {
        world.processes[place] = self.step(world.processes[place], Step::List(world.leases));
    }

    /// The slots on which two processes act.
    pub(super) fn clashes(&self, world: &World) -> SlotSet {
        let mut seen = SlotSet::EMPTY;
        let mut twice = SlotSet::EMPTY;
        for (_, facts) in self.present(world) {
            twice |= seen & facts.reaches;
            seen |= facts.reaches;
        }
        twice
    }

    /// All that is acted on is published as held.
    pub(super) fn published(&self, world: &World) -> bool {
        self.present(world).all(|(_, facts)| {
            let holds = match world.leases[usize::from(facts.shard)] {
                NONE => SlotSet::EMPTY,
                record => self.records.get(record).holds,
            };
            facts.reaches.is_subset(&holds)
        })
    }

    /// Every slot is acted on by its owner, and whoever was to stop has; or there is nobody to act.
    pub(super) fn in_order(&self, world: &World) -> bool {
        let mut acted = SlotSet::EMPTY;
        let mut anybody = false;
        for (_, facts) in self.present(world) {
            acted |= facts.acts;
            if facts.runs() {
                if facts.stopping || !facts.settled {
                    return false;
                }
                anybody = true;
            }
        }
        !anybody || acted == SlotSet::first(self.setting.slots)
    }
}
