//! What can happen in a world next, and what becomes of it.

use super::process::Op;
use super::world::{PROCESSES, Parts, Step, World};
use crate::handover::Stop;

/// Something happens; processes are named by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Event {
    Tick,
    Wake(usize),
    Write(usize),
    ServeWrite(usize),
    LoseWrite(usize),
    FailWrite(usize),
    AnswerWrite(usize),
    List(usize),
    ServeList(usize),
    LoseList(usize),
    FailList(usize),
    AnswerList(usize),
    Warmed(usize),
    Drained(usize),
    Watch(usize, usize),
    /// A write that nobody waits for is done by the server.
    Late(usize, usize),
    Crash(usize),
    Pause(usize),
    Resume(usize),
    Spawn(usize),
    Stop(usize, Stop),
}

impl Parts {
    pub(super) fn waits(&self, world: &World) -> bool {
        self.present(world).any(|(_, facts)| facts.waits())
    }

    pub(super) fn events(&self, world: &World, events: &mut Vec<Event>) {
        let left = world.left;
        if !self.waits(world) || left.delays > 0 {
            events.push(Event::Tick);
        }
        for (place, process) in self.present(world) {
            if process.orphans {
                let shard = usize::from(process.shard);
                let late = self.at(world, place).orphans.iter().enumerate();
                let late = late.filter(|(_, write)| Self::live(world, shard, write.expect));
                events.extend(late.map(|(which, _)| Event::Late(place, which)));
            }
            if process.ended {
                continue;
            }
            if left.crashes > 0 {
                events.push(Event::Crash(place));
            }
            let (writes, lists) = (process.write, process.list);
            if process.paused {
                events.push(Event::Resume(place));
                events.extend(writes.then_some(Event::ServeWrite(place)));
                events.extend(lists.then_some(Event::ServeList(place)));
                continue;
            }
            events.extend(process.dozy.then_some(Event::Wake(place)));
            events.extend(writes.then_some(Event::Write(place)));
            events.extend(lists.then_some(Event::List(place)));
            if left.delays > 0 && writes {
                events.extend([
                    Event::ServeWrite(place),
                    Event::LoseWrite(place),
                    Event::FailWrite(place),
                ]);
            }
            if left.delays > 0 && lists {
                events.extend([
                    Event::ServeList(place),
                    Event::LoseList(place),
                    Event::FailList(place),
                ]);
            }
            events.extend(process.answers.then_some(Event::AnswerWrite(place)));
            events.extend(process.snapshots.then_some(Event::AnswerList(place)));
            events.extend(process.warms.then_some(Event::Warmed(place)));
            events.extend(process.drains.then_some(Event::Drained(place)));
            if left.watches > 0 {
                events.extend((0..self.setting.shards).map(|shard| Event::Watch(place, shard)));
            }
            if left.pauses > 0 {
                events.push(Event::Pause(place));
            }
            if left.stops > 0 && !process.stopping {
                let hold = 50 * self.setting.grid;
                events.push(Event::Stop(place, Stop::Release));
                events.push(Event::Stop(place, Stop::Restart(hold)));
            }
        }
        if left.spawns > 0 {
            let runs = |shard: usize| {
                self.present(world)
                    .any(|(_, process)| usize::from(process.shard) == shard && process.runs())
            };
            events.extend(
                (0..self.setting.shards)
                    .filter(|shard| !runs(*shard))
                    .map(Event::Spawn),
            );
        }
    }

    pub(super) fn next(&mut self, world: &World, event: Event) -> World {
        let mut next = *world;
        let World { left, .. } = &mut next;
        match event {
            Event::Tick => {
                left.delays -= u8::from(self.waits(world));
                (0..PROCESSES).for_each(|place| self.op(&mut next, place, Op::Tick));
            }
            Event::Wake(place) => self.op(&mut next, place, Op::Wake),
            Event::Write(place) => {
                self.serve_write(&mut next, place);
                // Earlier answers, if any, come first.
                self.op(&mut next, place, Op::AnswerWrite);
            }
            Event::ServeWrite(place) => {
                left.delays -= u8::from(!self.at(world, place).paused);
                self.serve_write(&mut next, place);
            }
            Event::LoseWrite(place) => {
                left.delays -= 1;
                let live = self.write_is_live(world, place);
                self.op(&mut next, place, Op::LoseWrite(live));
            }
            Event::FailWrite(place) => {
                left.delays -= 1;
                let live = self.write_is_live(world, place);
                self.op(&mut next, place, Op::FailWrite(live));
            }
            Event::AnswerWrite(place) => self.op(&mut next, place, Op::AnswerWrite),
            Event::List(place) => {
                self.serve_list(&mut next, place);
                self.op(&mut next, place, Op::AnswerList);
            }
            Event::ServeList(place) => {
                left.delays -= u8::from(!self.at(world, place).paused);
                self.serve_list(&mut next, place);
            }
            Event::LoseList(place) => {
                left.delays -= 1;
                self.op(&mut next, place, Op::LoseList);
            }
            Event::FailList(place) => {
                left.delays -= 1;
                self.op(&mut next, place, Op::FailList);
            }
            Event::AnswerList(place) => self.op(&mut next, place, Op::AnswerList),
            Event::Warmed(place) => self.op(&mut next, place, Op::Warmed),
            Event::Drained(place) => self.op(&mut next, place, Op::Drained),
            Event::Watch(place, shard) => {
                left.watches -= 1;
                let step = Step::Watch(shard, world.leases[shard]);
                next.processes[place] = self.step(world.processes[place], step);
            }
            Event::Late(place, which) => {
                let process = self.at(world, place);
                let (shard, record) = (process.shard, process.orphans[which].record.clone());
                self.op(&mut next, place, Op::Apply(which));
                self.renew(&mut next, shard, &record, place);
            }
            Event::Crash(place) => {
                left.crashes -= 1;
                self.op(&mut next, place, Op::Crash);
            }
            Event::Pause(place) => {
                left.pauses -= 1;
                self.op(&mut next, place, Op::Pause);
            }
            Event::Resume(place) => self.op(&mut next, place, Op::Resume),
            Event::Spawn(shard) => {
                left.spawns -= 1;
                self.spawn(&mut next, shard);
            }
            Event::Stop(place, how) => {
                left.stops -= 1;
                self.op(&mut next, place, Op::Stop(how));
            }
        }
        // The order of the processes means nothing.
        next.processes.sort_unstable();
        next
    }
}
