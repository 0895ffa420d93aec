//! HTTP to the API server as Python objects. No thread but Python's own ever takes the GIL here.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use openclaw_http::{Access, Answer, Call, Client, Item, Material, News, Outcome, Session, Task, Watch};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::batch::Batch;
use crate::cache::Cache;

/// A server, and the connections to it.
#[pyclass(frozen, module = "openclaw._core")]
pub(crate) struct HttpSession(Session);

#[pymethods]
impl HttpSession {
    #[new]
    #[pyo3(signature = (
        server, *, user_agent, connections,
        authority = None, certificate = None, key = None, verify = true, server_name = None, proxy = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments, as Python has them")]
    fn new(
        py: Python<'_>,
        server: String,
        user_agent: String,
        connections: usize,
        authority: Option<Vec<u8>>,
        certificate: Option<Vec<u8>>,
        key: Option<Vec<u8>>,
        verify: bool,
        server_name: Option<String>,
        proxy: Option<String>,
    ) -> PyResult<Self> {
        let access = Access {
            server,
            tls: Material {
                authority,
                certificate,
                key,
                verify,
            },
            server_name,
            proxy,
            user_agent,
            connections,
        };
        py.detach(|| Session::new(&access))
            .map(Self)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn retire(&self) {
        self.0.retire();
    }
}

/// What the server said.
#[pyclass(frozen, get_all, module = "openclaw._core")]
pub(crate) struct HttpAnswer {
    status: u16,
    body: Py<PyBytes>,
    warnings: Vec<String>,
    retry_after: Option<String>,
}

impl HttpAnswer {
    fn new(py: Python<'_>, answer: Answer) -> Self {
        Self {
            status: answer.status,
            body: PyBytes::new(py, &answer.body).unbind(),
            warnings: answer.warnings,
            retry_after: answer.retry_after,
        }
    }
}

/// A request under way.
#[pyclass(frozen, module = "openclaw._core")]
pub(crate) struct HttpCall {
    #[pyo3(get)]
    number: u64,
    task: Task,
}

#[pymethods]
impl HttpCall {
    fn cancel(&self) {
        self.task.cancel();
    }
}

/// A watch under way.
#[pyclass(frozen, module = "openclaw._core")]
pub(crate) struct HttpWatch {
    #[pyo3(get)]
    number: u64,
    task: Task,
    watch: Arc<Watch>,
}

#[pymethods]
impl HttpWatch {
    fn begin(&self) {
        self.watch.begin();
    }

    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let taken = self.watch.take();
        let items = PyList::empty(py);
        for item in taken.items {
            match item {
                Item::Chunk(bytes) => items.append(PyBytes::new(py, &bytes))?,
                Item::Batch(batch) => items.append(Batch::new(py, batch)?)?,
            }
        }
        let failure = taken.failure.map(|failure| failure.to_string());
        (items, taken.ended, failure).into_pyobject(py)
    }

    #[pyo3(signature = (failure = None))]
    fn close(&self, py: Python<'_>, failure: Option<&str>) {
        self.task.cancel();
        py.detach(|| self.watch.close(failure));
    }

    #[getter]
    fn position(&self) -> Option<String> {
        self.watch.position()
    }

    #[getter]
    fn chunks(&self) -> u64 {
        self.watch.chunks()
    }

    #[getter]
    fn silence(&self) -> Option<f64> {
        self.watch.silence().map(|silence| silence.as_secs_f64())
    }
}

/// The thread that speaks HTTP.
#[pyclass(frozen, module = "openclaw._core")]
pub(crate) struct HttpClient(Client);

#[pymethods]
impl HttpClient {
    #[new]
    fn new() -> PyResult<Self> {
        Client::start().map(Self).map_err(PyOSError::new_err)
    }

    fn fileno(&self) -> RawFd {
        self.0.mailbox().descriptor()
    }

    fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let News { watches, outcomes } = self.0.mailbox().take();
        let news = PyList::empty(py);
        for number in watches {
            news.append((number, py.None()))?;
        }
        for (number, outcome) in outcomes {
            let outcome = match outcome {
                Outcome::Opened => py.None(),
                Outcome::Answered(answer) => Py::new(py, HttpAnswer::new(py, answer))?.into_any(),
                Outcome::Failed(failure) => failure.to_string().into_pyobject(py)?.into_any().unbind(),
            };
            news.append((number, outcome))?;
        }
        Ok(news)
    }

    #[pyo3(signature = (
        session, method, target, *, timeout,
        body = None, content_type = None, authorization = None, traceparent = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments, as Python has them")]
    fn request(
        &self,
        session: &HttpSession,
        method: String,
        target: String,
        timeout: f64,
        body: Option<&[u8]>,
        content_type: Option<String>,
        authorization: Option<String>,
        traceparent: Option<String>,
    ) -> HttpCall {
        let call = Call {
            method,
            target,
            body: body.unwrap_or_default().to_vec().into(),
            content_type,
            authorization,
            traceparent,
        };
        let (number, task) = self.0.request(&session.0, call, seconds(timeout));
        HttpCall { number, task }
    }

    #[pyo3(signature = (session, target, *, idle_timeout, authorization = None, cache = None))]
    fn watch(
        &self,
        session: &HttpSession,
        target: String,
        idle_timeout: f64,
        authorization: Option<String>,
        cache: Option<&Cache>,
    ) -> HttpWatch {
        let call = Call {
            method: "GET".to_owned(),
            target,
            body: Vec::new().into(),
            content_type: None,
            authorization,
            traceparent: None,
        };
        let cache = cache.map(Cache::shared);
        let (number, task, watch) = self.0.watch(&session.0, call, seconds(idle_timeout), cache);
        HttpWatch { number, task, watch }
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }
}

/// A time that somebody is willing to wait; without end when it is too long to be told.
fn seconds(time: f64) -> Duration {
    Duration::try_from_secs_f64(time.max(0.0)).unwrap_or(Duration::from_secs(u64::from(u32::MAX)))
}
