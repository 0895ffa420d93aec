//! One form for all states of a process that have the same future.
//!
//! Times count back from [`NOW`], and those that no rule can tell apart any more are one; numbers of requests and
//! versions of Leases keep their order and nothing else; what a rule never reads is left out.

use std::collections::{BTreeMap, BTreeSet};

use super::process::Process;
use crate::handover::{Handover, Nanos, Record, State};
use crate::slotset::SlotSet;

/// The present, on every clock.
pub(super) const NOW: Nanos = 1_000;
/// The version of a Lease that the server has now; older ones are below.
pub(super) const CURRENT: u64 = 1_000;

/// What others read of a record: not the writer's mark, and not what is published for people.
pub(super) fn content(record: &Record) -> Record {
    Record {
        incarnation: "0".into(),
        sequence: 0,
        ring: String::new(),
        acts: SlotSet::EMPTY,
        ..record.clone()
    }
}

impl Process {
    /// Moves all times back: the clock stands still instead.
    pub(super) fn shift(&mut self, by: Nanos) {
        let machine = &mut self.machine;
        let own = &mut machine.own;
        let writes = own.pending.iter_mut().chain(&mut own.unresolved);
        let asked = machine.listing.iter_mut().map(|listing| &mut listing.asked);
        let seen = machine.view.seen.values_mut().map(|seen| &mut seen.first);
        let times = writes.map(|write| &mut write.sent).chain(asked).chain(seen);
        let own_times = [&mut own.fence, &mut own.last_sent, &mut own.inherited_until];
        let times = times.chain(own_times.into_iter().flatten());
        let retries = [
            &mut machine.next_list,
            &mut machine.retry_list,
            &mut machine.retry_write,
        ];
        let retries = retries.into_iter().chain([&mut machine.lingering.1]);
        let patience = machine.stopping.iter_mut().map(|(_, end)| end);
        for time in times.chain(retries).chain(patience) {
            *time = time.saturating_sub(by);
        }
        machine.now = NOW;
        self.left.1 = self.left.1.saturating_sub(by);
    }

    pub(super) fn canonical(&mut self) {
        self.drop_stale();
        self.forget_left();
        self.forget_times();
        self.forget_views();
        self.rank_ids();
        self.rank_versions();
    }

    /// Answers that nobody waits for are dropped, when to take them in would change nothing.
    fn drop_stale(&mut self) {
        let mut probe = self.machine.clone();
        self.dozy = !probe.tick(NOW).is_empty() || probe != self.machine;
        if self.dozy {
            return;
        }
        let machine = &self.machine;
        let listing = machine.listing.as_ref().map(|listing| listing.id);
        self.list = self.list.filter(|id| listing == Some(*id));
        self.snapshots.retain(|(id, _)| {
            let awaited = listing == Some(*id);
            assert!(awaited || is_idle(machine, |machine| machine.listed(NOW, *id, Vec::new())));
            awaited
        });
        let own = &machine.own;
        self.answers.retain(|(id, version)| {
            let pending = own.pending.as_ref().is_some_and(|write| write.id == *id);
            let awaited = pending || version.is_some() && own.unresolved.iter().any(|write| write.id == *id);
            assert!(awaited || is_idle(machine, |machine| machine.write_conflict(NOW, *id)));
            awaited
        });
    }

    pub(super) fn forget_left(&mut self) {
        if self.reaches() == SlotSet::EMPTY || NOW >= self.left.1 {
            self.left = (SlotSet::EMPTY, 0);
        }
    }

    /// Times that are so long ago, or over, that more of it makes no difference.
    fn forget_times(&mut self) {
        let machine = &mut self.machine;
        let rules = machine.rules.clone();
        let own = &mut machine.own;
        let at_least = |time: &mut Nanos, age: Nanos| *time = (*time).max(NOW - age);
        for write in own.pending.iter_mut().chain(&mut own.unresolved) {
            at_least(&mut write.sent, rules.timeout.max(rules.fence));
        }
        if let Some(time) = &mut own.last_sent {
            at_least(time, rules.renew);
        }
        if let Some(fence) = &mut own.fence {
            at_least(fence, self.flight);
        }
        if let Some(until) = &mut own.inherited_until {
            at_least(until, 1);
            if own.inherited.is_empty() {
                *until = 0;
            }
        }
        if let Some(listing) = &mut machine.listing {
            at_least(&mut listing.asked, rules.timeout);
        }
        let retries = [
            &mut machine.next_list,
            &mut machine.retry_list,
            &mut machine.retry_write,
        ];
        let patience = machine.stopping.iter_mut().map(|(_, end)| end);
        let retries = retries.into_iter().chain([&mut machine.lingering.1]);
        for time in retries.chain(patience) {
            if *time <= NOW {
                *time = 0;
            }
        }
        machine.term = 0;
    }

    /// What was seen of other shards, as far as it still counts.
    fn forget_views(&mut self) {
        let rules = self.machine.rules.clone();
        for seen in self.machine.view.seen.values_mut() {
            // A list that was asked for a timeout ago may still tell that it was unchanged then.
            let longest = rules.duration.max(rules.longest_hold) + rules.timeout + 1;
            seen.first = seen.first.max(NOW - longest);
            if let (true, Ok(record)) = (seen.void, &mut seen.record) {
                (record.holds, record.ready) = (SlotSet::EMPTY, SlotSet::EMPTY);
                let held = matches!(record.state, State::Restarting(_));
                if !held || NOW - seen.first > rules.longest_hold {
                    seen.first = 0;
                }
            }
        }
    }

    fn rank_ids(&mut self) {
        let mut ids = BTreeSet::new();
        self.each_id(&mut |id| {
            ids.insert(*id);
        });
        ids.remove(&0);
        let ranks: BTreeMap<u64, u64> = ids.into_iter().zip(1..).collect();
        self.machine.last_id = ranks.len() as u64;
        self.each_id(&mut |id| *id = ranks.get(id).copied().unwrap_or_default());
    }

    fn rank_versions(&mut self) {
        let mut versions: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        self.each_version(&mut |name, version| {
            if *version < CURRENT {
                versions.entry(name.into()).or_default().insert(*version);
            }
        });
        self.each_version(&mut |name, version| {
            if let Some(older) = versions.get(name).filter(|_| *version < CURRENT) {
                *version = CURRENT - older.range(*version..).count() as u64;
            }
        });
    }

    /// All numbers of requests, tickets and writes.
    fn each_id(&mut self, visit: &mut dyn FnMut(&mut u64)) {
        let machine = &mut self.machine;
        let own = &mut machine.own;
        for write in own.pending.iter_mut().chain(&mut own.unresolved) {
            visit(&mut write.id);
            visit(&mut write.record.sequence);
        }
        if let Some(record) = &mut own.published {
            visit(&mut record.sequence);
        }
        if let Some(listing) = &mut machine.listing {
            visit(&mut listing.id);
        }
        for tickets in [&mut machine.warming, &mut machine.draining] {
            let old = std::mem::take(tickets);
            tickets.extend(old.into_iter().map(|(mut ticket, slots)| {
                visit(&mut ticket);
                (ticket, slots)
            }));
        }
        for request in self.write.iter_mut().chain(&mut self.orphans) {
            visit(&mut request.id);
        }
        let tickets = self.warms.iter_mut().chain(&mut self.drains);
        tickets.for_each(|(ticket, _)| visit(ticket));
        self.answers.iter_mut().for_each(|(id, _)| visit(id));
        self.list
            .iter_mut()
            .chain(&mut self.written)
            .for_each(&mut *visit);
        for (id, leases) in &mut self.snapshots {
            visit(id);
            let records = leases.iter_mut().filter_map(|lease| lease.record.as_mut().ok());
            records.for_each(|record| visit(&mut record.sequence));
        }
    }

    /// All versions of Leases, with the Lease's name.
    pub(super) fn each_version(&mut self, visit: &mut dyn FnMut(&str, &mut u64)) {
        let Handover { rules, own, view, .. } = &mut self.machine;
        let name = rules.name.as_str();
        if let crate::handover::Known::At(version) = &mut own.known {
            visit(name, version);
        }
        for (other, seen) in &mut view.seen {
            visit(other, &mut seen.version);
        }
        let answered = self
            .answers
            .iter_mut()
            .filter_map(|(_, version)| version.as_mut());
        let requests = self.write.iter_mut().chain(&mut self.orphans);
        let expected = requests.filter_map(|request| request.expect.as_mut());
        answered.chain(expected).for_each(|version| visit(name, version));
        for lease in self.snapshots.iter_mut().flat_map(|(_, leases)| leases) {
            visit(&lease.name, &mut lease.version);
        }
    }
}

/// Whether an input changes nothing and asks for nothing.
fn is_idle(machine: &Handover, input: impl FnOnce(&mut Handover) -> Vec<crate::handover::Action>) -> bool {
    let mut probe = machine.clone();
    input(&mut probe).is_empty() && probe == *machine
}
