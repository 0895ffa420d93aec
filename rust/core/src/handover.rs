//! The hand-over of slots between shards, and the fence: a state machine without IO.
//!
//! One [`Handover`] a shard process. What happened goes in, with the time; what to do comes out as [`Action`]s. It reads
//! no clock, draws no random number and does no IO, so a model checker runs this very code (`handover/check`).
//!
//! # The rules
//!
//! Each shard renews a Lease of its own by compare-and-swap and publishes in it the slots it *holds*: those it acts on
//! or claims. Then:
//!
//! - **Fence.** A shard may act until [`Rules::fence`] after it *sent* its last successful renewal, by its own clock. An
//!   answer that comes after the fence ended does not mend it: all slots have to be claimed anew.
//! - **Void.** A Lease that a shard has seen unchanged for longer than its duration, by its own clock, from when it
//!   first saw that version until it *asked* for the list that shows it unchanged, is void: its fence is surely over.
//! - **Claim.** A shard starts on a slot only after (1) a write that holds the slot was confirmed within the fence, and
//!   (2) a list asked for after that shows no other Lease, but void ones, that holds it. Of two that claim, at least
//!   one sees the other; the one that the ring does not name withdraws.
//! - **Release.** A shard acts on until the slot's new owner publishes that it is *ready*, then lets the runs in flight
//!   finish, then publishes without the slot.
//! - **Lingering.** When the fence ends, runs are cut off, and a write of theirs may still be on its way. What was acted on
//!   stays published as held for as long as others would have had to wait for a void Lease.
//! - **Succession.** A new process of the same name takes the Lease over, goes on holding what its predecessor held,
//!   and starts on it only when the duration has passed since: the predecessor's fence is over.
//!
//! So never do two shards act on a slot, as long as clocks run within a tenth of each other. The clock must go on
//! while the machine sleeps (`CLOCK_BOOTTIME` on Linux).

#[cfg(test)]
mod check;
mod decide;
mod own;
mod record;
mod report;
mod rules;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use record::{Record, State, nanos, seconds};
pub use report::{Report, SlotReport, SlotState};
pub use rules::Rules;
pub use view::Lease;

use crate::error::SpecError;
use crate::ring::Ring;
use crate::slotset::SlotSet;
use own::{Found, Known, Own};
use report::Since;
use view::View;

/// A moment of a monotonic clock, or a span of it, in nanoseconds.
pub type Nanos = u64;

/// What the host has to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Write the own Lease with this record: create it when `expect` is None, else replace it on condition of this
    /// resourceVersion. Answer with `written`, `write_conflict` or `write_failed`.
    Write {
        /// Goes with the answer.
        id: u64,
        /// The resourceVersion to replace.
        expect: Option<u64>,
        /// What to publish.
        record: Record,
    },
    /// List all Leases of the set, no cache between. Answer with `listed` or `list_failed`.
    List {
        /// Goes with the answer.
        id: u64,
    },
    /// List and watch these slots. Answer with `warmed`, at once or bit by bit.
    Warm {
        /// Goes with the answer.
        ticket: u64,
        /// Slots to warm.
        slots: SlotSet,
    },
    /// Forget these slots: nothing is acted on there, and they belong to others.
    Cool {
        /// Slots to forget.
        slots: SlotSet,
    },
    /// Act on these slots from now on.
    Start {
        /// Slots to act on.
        slots: SlotSet,
    },
    /// Take no more keys of these slots and let their runs finish, within a bound. Answer with `drained`.
    Drain {
        /// Goes with the answer.
        ticket: u64,
        /// Slots to stop acting on.
        slots: SlotSet,
    },
    /// The fence has ended: stop all runs at once. No answer is wanted; what is still owned comes with a new `Start`.
    Lost {
        /// The slots that were acted on.
        slots: SlotSet,
        /// Why, for people.
        reason: &'static str,
    },
    /// Nothing will come any more.
    Ended {
        /// Whether it was asked for.
        graceful: bool,
        /// Why, for people.
        reason: &'static str,
    },
}

/// How to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stop {
    /// For good: slots are handed over one by one as their new owners become ready.
    Release,
    /// To come back under the same name within this time: slots wait.
    Restart(Nanos),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Listing {
    id: u64,
    asked: Nanos,
    /// The slots that were surely published when it was asked for.
    eligible: SlotSet,
    /// It was asked for to learn the own Lease's version.
    learns: bool,
    /// The own Lease was ours when it was asked for.
    acquired: bool,
}

/// One shard's side of the hand-over.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Handover {
    rules: Arc<Rules>,
    now: Nanos,
    own: Own,
    view: View,
    ring: Arc<Ring>,
    listing: Option<Listing>,
    /// A list has come: the ring is worth something.
    informed: bool,
    hinted: bool,
    next_list: Nanos,
    /// No list before this, and no write: the pause after a failure.
    retry_list: Nanos,
    retry_write: Nanos,
    /// The last number given to a request or ticket.
    last_id: u64,
    warming: BTreeMap<u64, SlotSet>,
    draining: BTreeMap<u64, SlotSet>,
    /// All that is warmed: what is acted on and drained is among it.
    warm: SlotSet,
    acting: SlotSet,
    /// Slots that were acted on when the fence ended, and until when writes sent before may still arrive.
    lingering: (SlotSet, Nanos),
    stopping: Option<(Stop, Nanos)>,
    ended: bool,
    term: u64,
    since: Since,
}

impl Handover {
    /// A shard that has not yet done anything; call `tick` to begin.
    pub fn new(rules: Rules) -> Result<Self, SpecError> {
        rules.check()?;
        Ok(Self {
            now: 0,
            own: Own::new(),
            view: View::new(rules.slots, rules.duration, rules.longest_hold),
            ring: Arc::new(Ring::new(rules.slots, Vec::<String>::new())),
            listing: None,
            informed: false,
            hinted: false,
            next_list: 0,
            retry_list: 0,
            retry_write: 0,
            last_id: 0,
            warming: BTreeMap::new(),
            draining: BTreeMap::new(),
            warm: SlotSet::EMPTY,
            acting: SlotSet::EMPTY,
            lingering: (SlotSet::EMPTY, 0),
            stopping: None,
            ended: false,
            term: 0,
            since: Since::default(),
            rules: Arc::new(rules),
        })
    }

    /// Time has passed: to be called at [`Self::wake`] at the latest.
    pub fn tick(&mut self, now: Nanos) -> Vec<Action> {
        self.step(now, |_, _| ())
    }

    /// The write was applied, as this resourceVersion.
    pub fn written(&mut self, now: Nanos, id: u64, version: u64) -> Vec<Action> {
        self.step(now, |this, _| {
            if let Some(write) = this.own.take(id) {
                this.own.confirm(write, version, this.now, &this.rules);
            }
        })
    }

    /// The write was refused: the Lease has another version, exists already, or is gone (409, 404).
    pub fn write_conflict(&mut self, now: Nanos, id: u64) -> Vec<Action> {
        self.step(now, |this, _| {
            if this.own.pending.as_ref().is_some_and(|write| write.id == id) {
                this.own.doubt();
            }
        })
    }

    /// The write failed, or its outcome is not known.
    pub fn write_failed(&mut self, now: Nanos, id: u64) -> Vec<Action> {
        self.step(now, |this, _| this.fail_write(id))
    }

    /// All Leases of the set, from a list that was sent after its `List` action.
    pub fn listed(&mut self, now: Nanos, id: u64, leases: Vec<Lease>) -> Vec<Action> {
        self.step(now, |this, actions| {
            if let Some(listing) = this.listing.take_if(|listing| listing.id == id) {
                this.take_list(&listing, leases, actions);
            }
        })
    }

    /// The list failed.
    pub fn list_failed(&mut self, now: Nanos, id: u64) -> Vec<Action> {
        self.step(now, |this, _| this.fail_list(id))
    }

    /// A watch showed a Lease of the set, new or changed. Events may come late, twice or never.
    pub fn observed(&mut self, now: Nanos, lease: Lease) -> Vec<Action> {
        self.step(now, |this, _| {
            if lease.name != this.rules.name {
                this.view.observe(lease, this.now);
            } else if let (Known::At(known), Ok(record)) = (this.own.known, &lease.record) {
                // Somebody took our name: a list has to say so.
                let other = record.incarnation != this.rules.incarnation;
                this.hinted |= other && this.own.pending.is_none() && lease.version > known;
            }
        })
    }

    /// Something happened to the Leases that `observed` cannot say: one was deleted, or the watch broke off.
    pub fn hint(&mut self, now: Nanos) -> Vec<Action> {
        self.step(now, |this, _| this.hinted = true)
    }

    /// These slots of a `Warm` are listed and watched.
    pub fn warmed(&mut self, now: Nanos, ticket: u64, slots: SlotSet) -> Vec<Action> {
        self.step(now, |this, _| {
            let done = take(&mut this.warming, ticket, slots);
            this.warm |= done;
            this.since.mark(done, this.now);
        })
    }

    /// No run of these slots of a `Drain` is left.
    pub fn drained(&mut self, now: Nanos, ticket: u64, slots: SlotSet) -> Vec<Action> {
        self.step(now, |this, _| {
            let done = take(&mut this.draining, ticket, slots);
            this.since.mark(done, this.now);
        })
    }

    /// Stop: drain everything, publish, then `Ended`. A later call may change the way, as long as it has not ended.
    pub fn stop(&mut self, now: Nanos, how: Stop) -> Vec<Action> {
        self.step(now, |this, _| {
            let patience = this
                .stopping
                .map_or(this.now.saturating_add(this.rules.patience), |(_, end)| end);
            this.stopping = Some((how, patience));
        })
    }

    /// When `tick` has to be called at the latest; None after the end.
    pub fn wake(&self) -> Option<Nanos> {
        if self.ended {
            return None;
        }
        let own = &self.own;
        let request = |sent: Nanos| sent.saturating_add(self.rules.timeout);
        let write = own.pending.as_ref().map(|write| request(write.sent));
        let renewal = own
            .last_sent
            .filter(|_| own.pending.is_none() && own.known != Known::Unknown);
        let retry = self.retry_write.gt(&self.now).then_some(self.retry_write);
        let renewal = renewal.map(|sent| sent.saturating_add(self.rules.renew).max(self.retry_write));
        let list = match &self.listing {
            Some(listing) => request(listing.asked),
            None => self
                .next_list
                .min(self.view.next(self.now).unwrap_or(Nanos::MAX))
                .max(self.retry_list),
        };
        let inherited = own.inherited_until.filter(|_| !own.inherited.is_empty());
        let (lingering, gone) = self.lingering;
        let patience = self.stopping.map(|(_, end)| end).filter(|end| *end > self.now);
        let held = own.readable_at(&self.rules).filter(|at| *at > self.now);
        [
            own.fence,
            write,
            renewal,
            retry,
            Some(list),
            inherited.map(|until| until.saturating_add(1)),
            (!lingering.is_empty()).then_some(gone),
            patience,
            held,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Until when this shard may act, whatever it acts on. Look at it before each write.
    pub fn fence(&self) -> Option<Nanos> {
        self.own.fence
    }

    /// The slots that may be acted on until the fence ends: those started and those whose runs are finishing.
    pub fn acting(&self) -> SlotSet {
        self.acting | self.drains()
    }

    /// Counts the ends of the fence: what began in an earlier term must not write in a later one.
    pub fn term(&self) -> u64 {
        self.term
    }

    /// The ring that this shard follows.
    pub fn ring(&self) -> &Ring {
        &self.ring
    }

    fn drains(&self) -> SlotSet {
        self.draining
            .values()
            .fold(SlotSet::EMPTY, |all, slots| all | *slots)
    }

    fn fail_write(&mut self, id: u64) {
        if self.own.pending.as_ref().is_some_and(|write| write.id == id) {
            self.own.doubt();
            self.retry_write = self.now.saturating_add(self.rules.retry);
        }
    }

    fn fail_list(&mut self, id: u64) {
        if self.listing.take_if(|listing| listing.id == id).is_some() {
            self.retry_list = self.now.saturating_add(self.rules.retry);
        }
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

/// Takes slots out of a ticket; those that it had.
fn take(tickets: &mut BTreeMap<u64, SlotSet>, ticket: u64, slots: SlotSet) -> SlotSet {
    let Some(waiting) = tickets.get_mut(&ticket) else {
        return SlotSet::EMPTY;
    };
    let done = *waiting & slots;
    *waiting -= done;
    if waiting.is_empty() {
        tickets.remove(&ticket);
    }
    done
}
