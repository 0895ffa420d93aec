//! What a shard publishes and what it knows of the set, as Python objects.

use openclaw_core::handover::{self, State, seconds};
use pyo3::prelude::*;

use crate::errors::value_error;
use crate::ring::SlotSet;

fn hold(state: State) -> Option<f64> {
    match state {
        State::Restarting(hold) => Some(seconds(hold)),
        _ => None,
    }
}

/// What a shard publishes in its Lease.
#[pyclass(frozen, get_all, module = "openclaw._core")]
pub(crate) struct ShardRecord {
    incarnation: String,
    sequence: u64,
    slots: u16,
    duration: f64,
    state: &'static str,
    hold: Option<f64>,
    ring: String,
    holds: SlotSet,
    ready: SlotSet,
    acts: SlotSet,
}

#[pymethods]
impl ShardRecord {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let record = handover::Record::decode(text).map_err(|error| value_error(&error))?;
        Ok(Self {
            incarnation: record.incarnation,
            sequence: record.sequence,
            slots: record.slots,
            duration: seconds(record.duration),
            state: record.state.name(),
            hold: hold(record.state),
            ring: record.ring,
            holds: SlotSet(record.holds),
            ready: SlotSet(record.ready),
            acts: SlotSet(record.acts),
        })
    }

    fn __repr__(&self) -> String {
        format!(
            "ShardRecord(state={:?}, ring={:?}, holds='{}')",
            self.state, self.ring, self.holds.0
        )
    }
}

/// One shard in a report.
#[pyclass(frozen, get_all, module = "openclaw._core")]
pub(crate) struct ShardReport {
    name: String,
    state: Option<&'static str>,
    void: bool,
    live: bool,
    ring: String,
    holds: SlotSet,
    acts: SlotSet,
    seen: f64,
}

/// One slot in a report.
#[pyclass(frozen, get_all, module = "openclaw._core")]
pub(crate) struct SlotReport {
    slot: u8,
    owner: Option<String>,
    holders: Vec<String>,
    state: &'static str,
    since: f64,
}

/// What a shard knows of the set.
#[pyclass(frozen, get_all, module = "openclaw._core")]
pub(crate) struct Report {
    ring: String,
    shards: Vec<Py<ShardReport>>,
    slots: Vec<Py<SlotReport>>,
    problems: Vec<String>,
    unowned: usize,
    contested: usize,
}

impl Report {
    pub(crate) fn new(py: Python<'_>, report: handover::Report) -> PyResult<Self> {
        let unowned = report.idle();
        let contested = report.count(handover::SlotState::Contested);
        let shards = report.shards.into_iter().map(|shard| {
            let shard = ShardReport {
                name: shard.name,
                state: shard.state.map(State::name),
                void: shard.void,
                live: shard.live,
                ring: shard.ring,
                holds: SlotSet(shard.holds),
                acts: SlotSet(shard.acts),
                seen: seconds(shard.seen),
            };
            Py::new(py, shard)
        });
        let slots = report.slots.into_iter().map(|slot| {
            let slot = SlotReport {
                slot: slot.slot,
                owner: slot.owner,
                holders: slot.holders,
                state: slot.state.name(),
                since: seconds(slot.since),
            };
            Py::new(py, slot)
        });
        Ok(Self {
            ring: report.ring,
            shards: shards.collect::<PyResult<_>>()?,
            slots: slots.collect::<PyResult<_>>()?,
            problems: report.problems,
            unowned,
            contested,
        })
    }
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        format!(
            "Report(ring={:?}, shards={}, unowned={}, contested={})",
            self.ring,
            self.shards.len(),
            self.unowned,
            self.contested
        )
    }
}
