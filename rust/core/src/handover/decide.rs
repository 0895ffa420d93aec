//! What follows from what is known: the rules themselves.

use std::sync::Arc;

use super::rules::Fault;
use super::{Action, Found, Handover, Known, Lease, Listing, Nanos, Record, State, Stop};
use crate::ring::Ring;
use crate::slotset::SlotSet;

impl Handover {
    /// Lets time pass, takes the input in, and decides.
    pub(super) fn step(
        &mut self,
        now: Nanos,
        input: impl FnOnce(&mut Self, &mut Vec<Action>),
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.ended {
            return actions;
        }
        self.now = self.now.max(now);
        self.pass_time(&mut actions);
        input(self, &mut actions);
        if !self.ended {
            self.decide(&mut actions);
        }
        actions
    }

    fn pass_time(&mut self, actions: &mut Vec<Action>) {
        let now = self.now;
        let noticed = !self.rules.without(Fault::Fence) && !self.rules.without(Fault::Continuity);
        if noticed && self.own.fence.is_some_and(|fence| now >= fence) {
            self.lose("the Lease was not renewed in time", actions);
        }
        if self.own.inherited_until.is_some_and(|until| now > until) {
            self.own.inherited = SlotSet::EMPTY;
        }
        if now >= self.lingering.1 {
            self.lingering = (SlotSet::EMPTY, 0);
        }
        let late = |sent: Nanos| now >= sent.saturating_add(self.rules.timeout);
        let write = self.own.pending.as_ref().filter(|write| late(write.sent));
        let list = self.listing.as_ref().filter(|listing| late(listing.asked));
        // Time enough has gone by: no pause before the next try.
        if write.is_some() {
            self.own.doubt();
        }
        if list.is_some() {
            self.listing = None;
        }
    }

    fn lose(&mut self, reason: &'static str, actions: &mut Vec<Action>) {
        let slots = self.acting();
        let last = self.own.fence.map_or(self.now, |fence| fence.min(self.now));
        let gone = last.saturating_add(self.rules.duration.saturating_sub(self.rules.fence));
        if !slots.is_empty() && self.now < gone && !self.rules.without(Fault::Lingering) {
            self.lingering = (slots, gone);
        }
        self.own.lose();
        self.acting = SlotSet::EMPTY;
        self.draining.clear();
        self.term += 1;
        if let Some(listing) = &mut self.listing {
            listing.eligible = SlotSet::EMPTY;
        }
        self.since.mark(slots, self.now);
        if !slots.is_empty() {
            actions.push(Action::Lost { slots, reason });
        }
    }

    fn end(&mut self, graceful: bool, reason: &'static str, actions: &mut Vec<Action>) {
        self.lose(reason, actions);
        self.ended = true;
        actions.push(Action::Ended { graceful, reason });
    }

    pub(super) fn take_list(&mut self, listing: &Listing, leases: Vec<Lease>, actions: &mut Vec<Action>) {
        let (own, others): (Vec<Lease>, Vec<Lease>) = leases
            .into_iter()
            .partition(|lease| lease.name == self.rules.name);
        let asked = if self.rules.without(Fault::Void) {
            0
        } else {
            listing.asked
        };
        self.view.list(others, asked, self.now);
        self.informed = true;
        self.next_list = self.now.saturating_add(self.rules.relist);
        self.take_own(listing, own.into_iter().next(), actions);
        if self.ended {
            return;
        }
        self.follow();
        let mut start = self.candidates();
        if !self.rules.without(Fault::FreshList) {
            start &= listing.eligible;
        }
        if !start.is_empty() {
            self.acting |= start;
            self.since.mark(start, self.now);
            actions.push(Action::Start { slots: start });
        }
    }

    /// What the list says of the own Lease.
    fn take_own(&mut self, listing: &Listing, own: Option<Lease>, actions: &mut Vec<Action>) {
        let found = match own {
            None => Found::Nothing,
            Some(Lease {
                version,
                record: Ok(record),
                ..
            }) if record.incarnation == self.rules.incarnation => Found::Ours {
                version,
                sequence: record.sequence,
            },
            Some(Lease { version, record, .. }) => Found::Theirs {
                version,
                record: record.and_then(|record| {
                    let same = record.slots == self.rules.slots;
                    if same { Ok(record) } else { Err(String::new()) }
                }),
            },
        };
        if listing.acquired {
            match found {
                Found::Theirs { .. } => {
                    return self.end(false, "another process took this shard's name", actions);
                }
                Found::Nothing => {
                    self.lose("the Lease was deleted", actions);
                    self.own.known = Known::Unknown;
                    self.own.acquired = false;
                }
                Found::Ours { .. } => (),
            }
        }
        if listing.learns && self.own.known == Known::Unknown && self.own.pending.is_none() {
            self.own.learn(found, listing.asked, self.now, &self.rules);
            if self.rules.without(Fault::Inheritance) {
                self.own.inherited = SlotSet::EMPTY;
            }
        }
    }

    /// Follows the ring of the shards that are live now.
    fn follow(&mut self) {
        let mut live: Vec<&str> = self.view.live(self.now).collect();
        if !matches!(self.stopping, Some((Stop::Release, _))) {
            live.push(&self.rules.name);
            live.sort_unstable();
        }
        if !self.ring.names().eq(live.iter().copied()) {
            self.ring = Arc::new(Ring::new(self.rules.slots, live));
        }
    }

    /// The slots that this shard is to act on.
    pub(super) fn mine(&self) -> SlotSet {
        if self.stopping.is_some() || !self.informed {
            return SlotSet::EMPTY;
        }
        self.ring.share(&self.rules.name)
    }

    /// The slots that our Lease is known to hold, whatever becomes of the writes on their way.
    fn surely_published(&self) -> SlotSet {
        if self.rules.without(Fault::Publication) {
            return SlotSet::ALL;
        }
        self.own.secured
    }

    /// The slots that could be started on, if a fresh list says so.
    fn candidates(&self) -> SlotSet {
        if !self.own.fence_open(self.now) {
            return SlotSet::EMPTY;
        }
        let published = self.surely_published();
        let waiting = (published & self.warm & self.mine()) - self.acting();
        waiting - self.own.inherited - self.view.blocked()
    }

    fn decide(&mut self, actions: &mut Vec<Action>) {
        self.follow();
        self.gain(actions);
        self.give(actions);
        self.write(actions);
        self.list(actions);
    }

    /// Warms what is gained, forgets what is not wanted any more.
    fn gain(&mut self, actions: &mut Vec<Action>) {
        let mine = self.mine();
        let mut unwanted = self.warm - self.acting() - mine;
        self.warm -= unwanted;
        let mut warming = SlotSet::EMPTY;
        self.warming.retain(|_, slots| {
            unwanted |= *slots - mine;
            *slots &= mine;
            warming |= *slots;
            !slots.is_empty()
        });
        if !unwanted.is_empty() {
            self.since.mark(unwanted, self.now);
            actions.push(Action::Cool { slots: unwanted });
        }
        let slots = mine - self.warm - warming;
        if !slots.is_empty() {
            let ticket = self.next_id();
            self.warming.insert(ticket, slots);
            self.since.mark(slots, self.now);
            actions.push(Action::Warm { ticket, slots });
        }
    }

    /// Gives away what belongs to others, once they are ready for it.
    fn give(&mut self, actions: &mut Vec<Action>) {
        let foreign = self.acting - self.mine();
        let slots = match self.stopping {
            Some((Stop::Restart(_), _)) => foreign,
            Some((Stop::Release, patience)) if self.now >= patience || self.ring.owners().is_empty() => {
                foreign
            }
            _ => self.ring.names().fold(SlotSet::EMPTY, |ready, name| {
                ready | (foreign & self.ring.share(name) & self.view.ready(name))
            }),
        };
        if !slots.is_empty() {
            let ticket = self.next_id();
            self.acting -= slots;
            self.draining.insert(ticket, slots);
            self.since.mark(slots, self.now);
            actions.push(Action::Drain { ticket, slots });
        }
    }

    /// What the Lease should say now.
    fn wanted(&self) -> Record {
        let claims = (self.warm & self.mine()) - self.acting();
        // Writes may still arrive where the fence has ended: for others it is as if they were acted on.
        let acting = self.acting() | self.lingering.0;
        let mut holds = acting | claims | self.own.inherited;
        if self.rules.without(Fault::Drain) {
            holds -= self.drains();
        }
        Record {
            incarnation: self.rules.incarnation.clone(),
            sequence: 0,
            slots: self.rules.slots,
            duration: self.rules.duration,
            state: match self.stopping {
                Some((Stop::Restart(hold), _)) if acting.is_empty() => State::Restarting(hold),
                None | Some((Stop::Restart(_), _)) => State::Active,
                Some((Stop::Release, _)) if acting.is_empty() => State::Released,
                Some((Stop::Release, _)) => State::Leaving,
            },
            ring: if self.informed {
                self.ring.id()
            } else {
                String::new()
            },
            holds,
            // What a predecessor may still act on is not to be waited for yet.
            ready: claims - self.own.inherited,
            acts: acting,
        }
    }

    fn write(&mut self, actions: &mut Vec<Action>) {
        let wanted = self.wanted();
        let last = self.own.published.as_ref();
        let same = last.is_some_and(|last| {
            Record {
                sequence: 0,
                ..last.clone()
            } == wanted
        }) && !self.own.in_doubt();
        let last_word = matches!(wanted.state, State::Restarting(_) | State::Released);
        let clear = self.own.pending.is_none();
        if last_word && clear && (same && self.own.known != Known::Unknown || !self.own.may_appear()) {
            return self.end(true, "stopped as asked", actions);
        }
        let due = self
            .own
            .last_sent
            .is_none_or(|sent| self.now >= sent.saturating_add(self.rules.renew));
        let expect = match self.own.known {
            Known::Unknown => return,
            Known::Absent => None,
            Known::At(version) => Some(version),
        };
        if !clear || self.now < self.retry_write || (same && !due) {
            return;
        }
        let id = self.next_id();
        let record = Record {
            sequence: id,
            ..wanted
        };
        if let Some(listing) = &mut self.listing {
            listing.eligible &= record.holds;
        }
        self.own.send(id, record.clone(), self.now);
        actions.push(Action::Write { id, expect, record });
    }

    fn list(&mut self, actions: &mut Vec<Action>) {
        let unknown = self.own.known == Known::Unknown && self.own.pending.is_none();
        let held = self.own.readable_at(&self.rules).is_some_and(|at| self.now < at);
        let wanted = (unknown && !held)
            || self.hinted
            || self.now >= self.next_list
            || self.view.overdue(self.now)
            || !self.candidates().is_empty();
        if self.ended || self.listing.is_some() || self.now < self.retry_list || !wanted {
            return;
        }
        let id = self.next_id();
        self.hinted = false;
        let eligible = self.surely_published();
        self.listing = Some(Listing {
            id,
            asked: self.now,
            eligible,
            learns: unknown,
            acquired: self.own.acquired,
        });
        actions.push(Action::List { id });
    }
}
