//! Slots and the ring as Python objects.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use crate::errors::value_error;

/// An immutable set of slots.
#[pyclass(frozen, eq, from_py_object, module = "openclaw._core")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotSet(pub(crate) openclaw_core::SlotSet);

#[pymethods]
impl SlotSet {
    #[new]
    #[pyo3(signature = (slots = None))]
    fn new(slots: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let Some(slots) = slots else {
            return Ok(Self(openclaw_core::SlotSet::EMPTY));
        };
        slots
            .try_iter()?
            .map(|slot| slot?.extract::<u8>())
            .collect::<PyResult<_>>()
            .map(Self)
    }

    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        text.parse().map(Self).map_err(|error| value_error(&error))
    }

    #[staticmethod]
    fn from_hex(text: &str) -> PyResult<Self> {
        openclaw_core::SlotSet::from_hex(text)
            .map(Self)
            .map_err(|error| value_error(&error))
    }

    #[staticmethod]
    #[pyo3(signature = (slots = 256))]
    fn all(slots: u16) -> Self {
        Self(openclaw_core::SlotSet::first(slots))
    }

    fn hex(&self) -> String {
        self.0.hex()
    }

    fn runs(&self) -> Vec<(u8, u8)> {
        self.0.runs()
    }

    #[pyo3(signature = (*, slots = 256, longest = 7168))]
    fn shard_selector(&self, slots: u16, longest: usize) -> Option<String> {
        self.0.shard_selector(slots, longest)
    }

    #[pyo3(signature = (key = "openclaw.dev/slot"))]
    fn label_selector(&self, key: &str) -> Option<String> {
        self.0.label_selector(key)
    }

    fn __contains__(&self, slot: i64) -> bool {
        u8::try_from(slot).is_ok_and(|slot| self.0.contains(slot))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.0.iter().map(u16::from).collect::<Vec<u16>>())?.try_iter()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __or__(&self, other: &Self) -> Self {
        Self(self.0 | other.0)
    }

    fn __and__(&self, other: &Self) -> Self {
        Self(self.0 & other.0)
    }

    fn __sub__(&self, other: &Self) -> Self {
        Self(self.0 - other.0)
    }

    fn issubset(&self, other: &Self) -> bool {
        self.0.is_subset(&other.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("SlotSet.parse('{}')", self.0)
    }
}

/// The assignment of slots to shards.
#[pyclass(frozen, eq, module = "openclaw._core")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Ring(pub(crate) openclaw_core::Ring);

#[pymethods]
impl Ring {
    #[new]
    #[pyo3(signature = (names, *, slots = 256))]
    fn new(names: &Bound<'_, PyAny>, slots: u16) -> PyResult<Self> {
        let names: Vec<String> = names
            .try_iter()?
            .map(|name| name?.extract())
            .collect::<PyResult<_>>()?;
        Ok(Self(openclaw_core::Ring::new(slots, names)))
    }

    #[getter]
    fn id(&self) -> String {
        self.0.id()
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names().map(Into::into).collect()
    }

    #[getter]
    fn owners(&self) -> Vec<String> {
        self.0.owners().to_vec()
    }

    fn owner(&self, slot: u8) -> Option<&str> {
        self.0.owner(slot)
    }

    fn share(&self, name: &str) -> SlotSet {
        SlotSet(self.0.share(name))
    }

    fn __repr__(&self) -> String {
        format!("Ring(id={:?}, shards={})", self.0.id(), self.0.names().count())
    }
}
