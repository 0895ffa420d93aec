//! A shard's own Lease: writes by compare-and-swap, what is surely published, and the fence.

use crate::handover::Nanos;
use crate::handover::record::Record;
use crate::handover::rules::{Fault, Rules};
use crate::slotset::SlotSet;

/// Writes whose outcome never came and that are remembered to recognise them on the server.
const REMEMBERED: usize = 8;

/// A write that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Write {
    pub(crate) id: u64,
    pub(crate) sent: Nanos,
    pub(crate) record: Record,
}

/// What is known of the Lease on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Known {
    /// A list has to say.
    Unknown,
    Absent,
    /// Its resourceVersion.
    At(u64),
}

/// What a list said of the own Lease.
pub(crate) enum Found {
    Nothing,
    /// Ours, as written by the write of this number.
    Ours {
        version: u64,
        sequence: u64,
    },
    /// Another process of this name wrote it.
    Theirs {
        version: u64,
        record: Result<Record, String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Own {
    pub(crate) known: Known,
    /// The Lease is, or was when last seen, that of this process.
    pub(crate) acquired: bool,
    pub(crate) pending: Option<Write>,
    /// Writes that failed or never answered. Each may be applied as long as no other is.
    pub(super) unresolved: Vec<Write>,
    pub(crate) published: Option<Record>,
    /// The slots that every version which can be on the server holds, published within the unbroken fence.
    pub(crate) secured: SlotSet,
    /// Until when this shard may act.
    pub(crate) fence: Option<Nanos>,
    pub(crate) last_sent: Option<Nanos>,
    /// Slots that a former process of this name may still act on.
    pub(crate) inherited: SlotSet,
    /// Until when it may: None until the Lease is ours.
    pub(crate) inherited_until: Option<Nanos>,
    /// A former process' Lease that cannot be read: its version and when it was first seen.
    pub(super) unreadable: Option<(u64, Nanos)>,
}

impl Own {
    pub(crate) fn new() -> Self {
        Self {
            known: Known::Unknown,
            acquired: false,
            pending: None,
            unresolved: Vec::new(),
            published: None,
            secured: SlotSet::EMPTY,
            fence: None,
            last_sent: None,
            inherited: SlotSet::EMPTY,
            inherited_until: None,
            unreadable: None,
        }
    }

    pub(crate) fn fence_open(&self, now: Nanos) -> bool {
        self.fence.is_some_and(|fence| now < fence)
    }

    /// A write goes out: from now on only what it holds too is sure.
    pub(crate) fn send(&mut self, id: u64, record: Record, now: Nanos) {
        self.secured &= record.holds;
        self.last_sent = Some(now);
        self.pending = Some(Write {
            id,
            sent: now,
            record,
        });
    }

    /// The pending write was applied as this version.
    pub(crate) fn confirm(&mut self, write: Write, version: u64, now: Nanos, rules: &Rules) {
        self.known = Known::At(version);
        // A compare-and-swap that succeeded rules out all others that expected what it expected.
        self.unresolved.clear();
        if !self.acquired {
            self.acquired = true;
            self.unreadable = None;
            let wait = if rules.without(Fault::InheritedWait) {
                0
            } else {
                rules.duration
            };
            self.inherited_until.get_or_insert(now.saturating_add(wait));
        }
        let fence = write.sent.saturating_add(rules.fence);
        if now < fence {
            self.fence = Some(fence);
            self.secured = write.record.holds;
        }
        self.published = Some(write.record);
    }

    /// The write of this number, pending or given up, if it can still be on its way.
    pub(crate) fn take(&mut self, id: u64) -> Option<Write> {
        let pending = self.pending.take_if(|write| write.id == id);
        pending.or_else(|| {
            let place = self.unresolved.iter().position(|write| write.id == id)?;
            Some(self.unresolved.remove(place))
        })
    }

    /// Whether a write that was given up may still be applied.
    pub(crate) fn in_doubt(&self) -> bool {
        !self.unresolved.is_empty()
    }

    /// The pending write failed, or may have: the server has to be asked what is true.
    pub(crate) fn doubt(&mut self) {
        self.known = Known::Unknown;
        if let Some(write) = self.pending.take() {
            if self.unresolved.len() == REMEMBERED {
                self.unresolved.remove(0);
            }
            self.unresolved.push(write);
        }
    }

    /// The fence has ended: what was published counts no more for starting on a slot.
    pub(crate) fn lose(&mut self) {
        self.fence = None;
        self.secured = SlotSet::EMPTY;
    }

    /// Whether a write of this process may still be on its way.
    pub(crate) fn may_appear(&self) -> bool {
        self.acquired || self.pending.is_some() || self.in_doubt()
    }

    /// Learns from a list that was asked for at `asked`, after everything known here, while no write was on its way.
    pub(crate) fn learn(&mut self, found: Found, asked: Nanos, now: Nanos, rules: &Rules) {
        match found {
            Found::Nothing => self.known = Known::Absent,
            Found::Ours { version, sequence } => {
                if let Some(write) = self.take(sequence) {
                    self.confirm(write, version, now, rules);
                } else {
                    let last = self.published.as_ref().map(|record| record.sequence);
                    if last != Some(sequence) {
                        self.secured = SlotSet::EMPTY;
                        self.published = None;
                    }
                    self.known = Known::At(version);
                }
            }
            Found::Theirs {
                version,
                record: Ok(record),
            } => {
                self.known = Known::At(version);
                self.inherited |= record.holds;
                self.inherited_until = None;
                self.unreadable = None;
            }
            Found::Theirs {
                version,
                record: Err(_),
            } => {
                // What it holds cannot be known: it has to be left alone until its process surely acts no more.
                let first = match self.unreadable {
                    Some((same, first)) if same == version => first,
                    _ => now,
                };
                self.unreadable = Some((version, first));
                let over = asked.saturating_sub(first) > rules.duration;
                self.known = if over { Known::At(version) } else { Known::Unknown };
            }
        }
    }

    /// When a predecessor's unreadable Lease may be taken over.
    pub(crate) fn readable_at(&self, rules: &Rules) -> Option<Nanos> {
        self.unreadable
            .map(|(_, first)| first.saturating_add(rules.duration).saturating_add(1))
    }
}
