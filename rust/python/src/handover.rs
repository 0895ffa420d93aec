//! The hand-over as a Python object: seconds and texts in, actions out.

use std::sync::{Mutex, MutexGuard, PoisonError};

use openclaw_core::handover::{Action, Lease, Nanos, Rules, Stop, nanos, seconds};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::actions::actions;
use crate::errors::value_error;
use crate::report::Report;
use crate::ring::{Ring, SlotSet};

fn time(field: &str, value: f64) -> PyResult<Nanos> {
    nanos(value).ok_or_else(|| PyValueError::new_err(format!("{field}: {value} is no span of seconds")))
}

fn version(name: &str, text: &str) -> PyResult<u64> {
    text.parse().map_err(|_| {
        PyValueError::new_err(format!(
            "Lease of shard {name}: metadata.resourceVersion: {text:?} is no number"
        ))
    })
}

/// One shard's side of the hand-over.
#[pyclass(frozen, module = "openclaw._core")]
pub(crate) struct Handover(Mutex<openclaw_core::handover::Handover>);

impl Handover {
    fn lock(&self) -> MutexGuard<'_, openclaw_core::handover::Handover> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step<'py>(
        &self,
        py: Python<'py>,
        now: f64,
        step: impl FnOnce(&mut openclaw_core::handover::Handover, Nanos) -> Vec<Action>,
    ) -> PyResult<Bound<'py, PyList>> {
        let now = time("now", now)?;
        let todo = step(&mut self.lock(), now);
        actions(py, todo)
    }
}

#[pymethods]
impl Handover {
    #[new]
    #[pyo3(signature = (
        name, incarnation, *, slots = 256, duration = 15.0, renew = 5.0, fence = 10.0, relist = 5.0, retry = 0.5,
        timeout = 3.0, patience = 10.0, longest_hold = 120.0
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        name: String,
        incarnation: String,
        slots: u16,
        duration: f64,
        renew: f64,
        fence: f64,
        relist: f64,
        retry: f64,
        timeout: f64,
        patience: f64,
        longest_hold: f64,
    ) -> PyResult<Self> {
        let mut rules = Rules::new(name, incarnation);
        rules.slots = slots;
        rules.duration = time("duration", duration)?;
        rules.renew = time("renew", renew)?;
        rules.fence = time("fence", fence)?;
        rules.relist = time("relist", relist)?;
        rules.retry = time("retry", retry)?;
        rules.timeout = time("timeout", timeout)?;
        rules.patience = time("patience", patience)?;
        rules.longest_hold = time("longest_hold", longest_hold)?;
        openclaw_core::handover::Handover::new(rules)
            .map(|machine| Self(Mutex::new(machine)))
            .map_err(|error| value_error(&error))
    }

    fn tick<'py>(&self, py: Python<'py>, now: f64) -> PyResult<Bound<'py, PyList>> {
        self.step(py, now, openclaw_core::handover::Handover::tick)
    }

    fn written<'py>(
        &self,
        py: Python<'py>,
        now: f64,
        id: u64,
        resource_version: &str,
    ) -> PyResult<Bound<'py, PyList>> {
        let version = version("itself", resource_version)?;
        self.step(py, now, |machine, now| machine.written(now, id, version))
    }

    fn write_conflict<'py>(&self, py: Python<'py>, now: f64, id: u64) -> PyResult<Bound<'py, PyList>> {
        self.step(py, now, |machine, now| machine.write_conflict(now, id))
    }

    fn write_failed<'py>(&self, py: Python<'py>, now: f64, id: u64) -> PyResult<Bound<'py, PyList>> {
        self.step(py, now, |machine, now| machine.write_failed(now, id))
    }

    #[allow(clippy::needless_pass_by_value)]
    fn listed<'py>(
        &self,
        py: Python<'py>,
        now: f64,
        id: u64,
        leases: Vec<(String, String, Option<String>)>,
    ) -> PyResult<Bound<'py, PyList>> {
        let leases = leases
            .into_iter()
            .map(|(name, at, record)| {
                Ok(Lease::read(
                    name.as_str(),
                    version(&name, &at)?,
                    record.as_deref(),
                ))
            })
            .collect::<PyResult<Vec<Lease>>>()?;
        self.step(py, now, |machine, now| machine.listed(now, id, leases))
    }

    fn list_failed<'py>(&self, py: Python<'py>, now: f64, id: u64) -> PyResult<Bound<'py, PyList>> {
        self.step(py, now, |machine, now| machine.list_failed(now, id))
    }

    fn observed<'py>(
        &self,
        py: Python<'py>,
        now: f64,
        name: &str,
        resource_version: &str,
        record: Option<&str>,
    ) -> PyResult<Bound<'py, PyList>> {
        let lease = Lease::read(name, version(name, resource_version)?, record);
        self.step(py, now, |machine, now| machine.observed(now, lease))
    }

    fn hint<'py>(&self, py: Python<'py>, now: f64) -> PyResult<Bound<'py, PyList>> {
        self.step(py, now, openclaw_core::handover::Handover::hint)
    }

    fn warmed<'py>(
        &self,
        py: Python<'py>,
        now: f64,
        ticket: u64,
        slots: SlotSet,
    ) -> PyResult<Bound<'py, PyList>> {
        self.step(py, now, |machine, now| machine.warmed(now, ticket, slots.0))
    }

    fn drained<'py>(
        &self,
        py: Python<'py>,
        now: f64,
        ticket: u64,
        slots: SlotSet,
    ) -> PyResult<Bound<'py, PyList>> {
        self.step(py, now, |machine, now| machine.drained(now, ticket, slots.0))
    }

    #[pyo3(signature = (now, *, hold = None))]
    fn stop<'py>(&self, py: Python<'py>, now: f64, hold: Option<f64>) -> PyResult<Bound<'py, PyList>> {
        let how = match hold {
            None => Stop::Release,
            Some(hold) => Stop::Restart(time("hold", hold)?),
        };
        self.step(py, now, |machine, now| machine.stop(now, how))
    }

    #[getter]
    fn wake(&self) -> Option<f64> {
        self.lock().wake().map(seconds)
    }

    #[getter]
    fn fence(&self) -> Option<f64> {
        self.lock().fence().map(seconds)
    }

    #[getter]
    fn term(&self) -> u64 {
        self.lock().term()
    }

    #[getter]
    fn acting(&self) -> SlotSet {
        SlotSet(self.lock().acting())
    }

    #[getter]
    fn ring(&self) -> Ring {
        Ring(self.lock().ring().clone())
    }

    fn may_act(&self, now: f64, slot: u8) -> PyResult<bool> {
        let now = time("now", now)?;
        let machine = self.lock();
        Ok(machine.fence().is_some_and(|fence| now < fence) && machine.acting().contains(slot))
    }

    fn report(&self, py: Python<'_>) -> PyResult<Report> {
        let report = self.lock().report();
        Report::new(py, report)
    }
}
