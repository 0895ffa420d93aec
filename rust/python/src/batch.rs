//! Results as Python objects.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

/// What a chunk of watch bytes, or a relist, came to.
#[pyclass(frozen, get_all, module = "openclaw._core")]
pub(crate) struct Batch {
    deltas: Py<PyList>,
    resource_version: Option<String>,
    error: Option<Py<PyBytes>>,
    initial_events_end: bool,
    events: u64,
}

impl Batch {
    pub(crate) fn new(py: Python<'_>, batch: openclaw_core::Batch) -> PyResult<Self> {
        let deltas = PyList::empty(py);
        for delta in batch.deltas {
            let reason = PyString::intern(py, delta.reason.name());
            let fields = (delta.subscription, delta.namespace, delta.name, reason, delta.uid);
            deltas.append(fields.into_pyobject(py)?)?;
        }
        Ok(Self {
            deltas: deltas.unbind(),
            resource_version: batch.resource_version,
            error: batch.error.map(|error| PyBytes::new(py, &error).unbind()),
            initial_events_end: batch.initial_events_end,
            events: batch.events,
        })
    }
}

#[pymethods]
impl Batch {
    fn __repr__(&self, py: Python<'_>) -> String {
        format!(
            "Batch(events={}, deltas={}, resource_version={:?})",
            self.events,
            self.deltas.bind(py).len(),
            self.resource_version
        )
    }
}

/// What a page of a list says besides its items.
#[pyclass(frozen, get_all, module = "openclaw._core")]
pub(crate) struct ListPage {
    resource_version: String,
    continue_token: String,
    remaining: Option<u64>,
    items: u64,
}

impl From<openclaw_core::ListPage> for ListPage {
    fn from(page: openclaw_core::ListPage) -> Self {
        Self {
            resource_version: page.resource_version,
            continue_token: page.continue_token,
            remaining: page.remaining,
            items: page.items,
        }
    }
}

#[pymethods]
impl ListPage {
    fn __repr__(&self) -> String {
        format!(
            "ListPage(items={}, remaining={:?}, resource_version={:?})",
            self.items, self.remaining, self.resource_version
        )
    }
}

/// Keys as a list of tuples.
pub(crate) fn keys(py: Python<'_>, keys: Vec<openclaw_core::Key>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for (namespace, name) in keys {
        list.append(PyTuple::new(py, [namespace, name])?)?;
    }
    Ok(list)
}
