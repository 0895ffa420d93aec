//! The cache as a Python object.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use openclaw_core::Scope;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyList};

use crate::batch::{Batch, ListPage, keys};
use crate::errors::{py_error, state_error, value_error};
use crate::memory;
use crate::scope::{Slots, scope};

/// One watched collection of one kind.
#[pyclass(frozen, module = "openclaw._core")]
pub(crate) struct Cache(Arc<Mutex<openclaw_core::Cache>>);

impl Cache {
    /// The cache itself, for a thread that feeds it.
    pub(crate) fn shared(&self) -> openclaw_http::SharedCache {
        Arc::clone(&self.0)
    }

    fn lock(&self) -> MutexGuard<'_, openclaw_core::Cache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs long work without the GIL. The lock is taken and given back in there, so nobody waits for both.
    fn work<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut openclaw_core::Cache) -> T + Send) -> T {
        py.detach(|| work(&mut self.lock()))
    }

    /// Runs short work: at once when nobody is in the cache, else as long work.
    fn glance<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut openclaw_core::Cache) -> T + Send) -> T {
        match self.0.try_lock() {
            Ok(mut cache) => work(&mut cache),
            Err(TryLockError::Poisoned(poisoned)) => work(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => self.work(py, work),
        }
    }
}

#[pymethods]
impl Cache {
    #[new]
    #[pyo3(signature = (*, manager = None, scope = None))]
    fn new(manager: Option<String>, scope: Option<&str>) -> PyResult<Self> {
        let scope = scope.map_or(Ok(Scope::Everything), self::scope)?;
        Ok(Self(Arc::new(Mutex::new(openclaw_core::Cache::scoped(
            manager, scope,
        )))))
    }

    fn subscribe(&self, py: Python<'_>, predicate: &[u8], mapping: &[u8]) -> PyResult<usize> {
        self.glance(py, |cache| cache.subscribe(predicate, mapping))
            .map_err(py_error)
    }

    fn add_index(&self, py: Python<'_>, name: &str, path: &str) -> PyResult<()> {
        self.glance(py, |cache| cache.add_index(name, path))
            .map_err(py_error)
    }

    fn feed(&self, py: Python<'_>, chunk: &[u8]) -> PyResult<Batch> {
        Batch::new(py, self.work(py, |cache| cache.feed(chunk)))
    }

    fn reset_stream(&self, py: Python<'_>) -> usize {
        self.glance(py, openclaw_core::Cache::reset_stream)
    }

    #[pyo3(signature = (slots = None))]
    fn begin_relist(&self, py: Python<'_>, slots: Option<Slots>) -> PyResult<()> {
        let Some(Slots(slots)) = slots else {
            self.work(py, openclaw_core::Cache::begin_relist);
            return Ok(());
        };
        self.work(py, |cache| cache.begin_relist_of(&slots))
            .map_err(state_error)
    }

    fn begin_gain(&self, py: Python<'_>, slots: Slots) -> PyResult<()> {
        self.work(py, move |cache| cache.begin_gain(&slots.0))
            .map_err(state_error)
    }

    fn feed_list(&self, py: Python<'_>, page: &[u8]) -> PyResult<ListPage> {
        self.work(py, |cache| cache.feed_list(page))
            .map(ListPage::from)
            .map_err(py_error)
    }

    fn commit_relist(&self, py: Python<'_>) -> PyResult<Batch> {
        let batch = self
            .work(py, openclaw_core::Cache::commit_relist)
            .map_err(py_error)?;
        let batch = Batch::new(py, batch)?;
        py.detach(memory::give_back);
        Ok(batch)
    }

    fn abort_relist(&self, py: Python<'_>) {
        self.work(py, openclaw_core::Cache::abort_relist);
    }

    fn start(&self, py: Python<'_>, slots: Slots) -> PyResult<Batch> {
        let batch = self
            .work(py, move |cache| cache.start_slots(&slots.0))
            .map_err(state_error)?;
        Batch::new(py, batch)
    }

    fn stop(&self, py: Python<'_>, slots: Slots) -> PyResult<()> {
        self.glance(py, move |cache| cache.stop_slots(&slots.0))
            .map_err(state_error)
    }

    fn drop(&self, py: Python<'_>, slots: Slots) -> PyResult<()> {
        self.work(py, move |cache| cache.drop_slots(&slots.0))
            .map_err(state_error)?;
        py.detach(memory::give_back);
        Ok(())
    }

    #[getter]
    fn kept<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, self.glance(py, |cache| cache.kept()))
    }

    #[getter]
    fn active<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, self.glance(py, |cache| cache.active()))
    }

    fn keys_in<'py>(&self, py: Python<'py>, slots: Slots) -> PyResult<Bound<'py, PyList>> {
        let found = self
            .work(py, move |cache| cache.keys_in(&slots.0))
            .map_err(state_error)?;
        keys(py, found)
    }

    fn slot_of(&self, py: Python<'_>, namespace: &str, name: &str) -> Option<u8> {
        self.glance(py, |cache| cache.slot_of(namespace, name))
    }

    fn put(&self, py: Python<'_>, body: &[u8]) -> PyResult<bool> {
        self.work(py, |cache| cache.put(body)).map_err(py_error)
    }

    fn get<'py>(&self, py: Python<'py>, namespace: &str, name: &str) -> Option<Bound<'py, PyBytes>> {
        let stored = self.glance(py, |cache| cache.get(namespace, name).map(<[u8]>::to_vec));
        stored.map(|bytes| PyBytes::new(py, &bytes))
    }

    fn diff(
        &self,
        py: Python<'_>,
        namespace: &str,
        name: &str,
        intent: &[u8],
    ) -> PyResult<Option<Vec<String>>> {
        self.work(py, |cache| cache.diff(namespace, name, intent))
            .map_err(py_error)
    }

    fn resource_version(&self, py: Python<'_>, namespace: &str, name: &str) -> Option<String> {
        self.glance(py, |cache| cache.resource_version(namespace, name))
    }

    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        keys(py, self.work(py, |cache| cache.keys()))
    }

    fn lookup<'py>(&self, py: Python<'py>, index: &str, value: &str) -> PyResult<Bound<'py, PyList>> {
        let found = self
            .work(py, |cache| cache.lookup(index, value))
            .map_err(|error| value_error(&error))?;
        keys(py, found)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.glance(py, |cache| cache.len())
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.glance(py, |cache| cache.stats());
        let dict = PyDict::new(py);
        for (name, value) in stats {
            dict.set_item(name, value)?;
        }
        Ok(dict)
    }
}
