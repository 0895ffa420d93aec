//! The times of the protocol, and who takes part.

use crate::error::SpecError;
use crate::handover::Nanos;
use crate::slotset::SlotSet;

const SECOND: Nanos = 1_000_000_000;

/// Who a shard is, and the times that all shards of a set must agree on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The shard's name: unique in its set, the same after a restart.
    pub name: String,
    /// The process' own mark: random, never used twice.
    pub incarnation: String,
    /// How many slots there are.
    pub slots: u16,
    /// For how long a Lease counts that is not renewed.
    pub duration: Nanos,
    /// How often it is renewed.
    pub renew: Nanos,
    /// For how long after the sending of its last successful renewal a shard may act.
    pub fence: Nanos,
    /// How often the Leases are listed when nothing else asks for it.
    pub relist: Nanos,
    /// The pause after a failed request.
    pub retry: Nanos,
    /// For how long an answer is waited for.
    pub timeout: Nanos,
    /// For how long a shard that leaves waits for its successors to be ready.
    pub patience: Nanos,
    /// The longest time that another shard's restart is waited for, whatever it asked for.
    pub longest_hold: Nanos,
    /// What a mutation test leaves out.
    #[cfg(test)]
    pub(crate) fault: Option<Fault>,
}

/// A rule left out on purpose, in tests only, to show that the model checker finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    /// The end of the fence is not noticed.
    Fence,
    /// A slot is started on without a list that was asked for after the publication.
    FreshList,
    /// A slot is started on before its publication is confirmed.
    Publication,
    /// A renewal whose answer came after the fence extends it all the same.
    Continuity,
    /// A successor of the same name starts at once.
    InheritedWait,
    /// A successor of the same name drops what its predecessor held.
    Inheritance,
    /// A slot is published as free as soon as the fence has ended, while writes may still arrive.
    Lingering,
    /// A slot is published as free before its runs have ended.
    Drain,
    /// A Lease that is not renewed any more is not noticed.
    Void,
}

impl Rules {
    /// The usual times: 15 s, renewed every 5 s, fence of 10 s.
    pub fn new(name: impl Into<String>, incarnation: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            incarnation: incarnation.into(),
            slots: SlotSet::CAPACITY,
            duration: 15 * SECOND,
            renew: 5 * SECOND,
            fence: 10 * SECOND,
            relist: 5 * SECOND,
            retry: SECOND / 2,
            timeout: 3 * SECOND,
            patience: 10 * SECOND,
            longest_hold: 120 * SECOND,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Whether the times can keep two shards apart when their clocks differ by a tenth.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let wrong = |text: String| Err(SpecError::new(text));
        if self.name.is_empty() || self.incarnation.is_empty() {
            return wrong("hand-over: name and incarnation must not be empty".into());
        }
        if !(1..=SlotSet::CAPACITY).contains(&self.slots) || !self.slots.is_power_of_two() {
            return wrong(format!(
                "hand-over: slots: {} is no power of two up to 256",
                self.slots
            ));
        }
        if self.fence.saturating_mul(5) > self.duration.saturating_mul(4) {
            return wrong(
                "hand-over: fence: must be at most four fifths of duration, for clocks that differ".into(),
            );
        }
        if self.renew == 0 || self.renew >= self.fence || self.timeout == 0 || self.relist == 0 {
            return wrong("hand-over: renew must be below fence; renew, relist and timeout above 0".into());
        }
        Ok(())
    }

    /// Whether a test leaves this rule out.
    #[cfg(test)]
    pub(crate) fn without(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self)]
    pub(crate) const fn without(&self, _: Fault) -> bool {
        false
    }
}
