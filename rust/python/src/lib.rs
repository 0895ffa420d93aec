//! `openclaw._core`: the Python face of `openclaw-core`. It converts values and releases the GIL, and decides nothing.

mod actions;
mod batch;
mod cache;
mod errors;
mod handover;
mod http;
mod memory;
mod otlp;
mod report;
mod ring;
mod scope;

use pyo3::prelude::*;

use crate::errors::value_error;

/// The hot path of openclaw, in Rust.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::actions::{Cool, Drain, Ended, ListLeases, Lost, Start, Warm, WriteLease};
    #[pymodule_export]
    use crate::batch::{Batch, ListPage};
    #[pymodule_export]
    use crate::cache::Cache;
    #[pymodule_export]
    use crate::handover::Handover;
    #[pymodule_export]
    use crate::http::{HttpAnswer, HttpCall, HttpClient, HttpSession, HttpWatch};
    #[pymodule_export]
    use crate::otlp::encode_spans;
    #[pymodule_export]
    use crate::report::{Report, ShardRecord, ShardReport, SlotReport};
    #[pymodule_export]
    use crate::ring::{Ring, SlotSet};
    #[pymodule_export]
    use crate::{diff, fnv1a64, keep_less_memory, slot};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let profile = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        module.add("build_profile", profile)
    }
}

/// The FNV-1a hash (64 bits) of a text's UTF-8 form.
#[pyfunction]
fn fnv1a64(text: &str) -> u64 {
    openclaw_core::fnv1a64(text.as_bytes())
}

/// The slot (0 to 255) of a root object's uid.
#[pyfunction]
fn slot(uid: &str) -> u8 {
    openclaw_core::slot(uid)
}

/// Has the allocator give back what is freed, as far as it can.
#[pyfunction]
fn keep_less_memory() {
    memory::keep_less();
}

/// What an apply of the intent by the manager would change.
#[pyfunction]
fn diff(py: Python<'_>, intent: &[u8], live: &[u8], manager: &str) -> PyResult<Vec<String>> {
    py.detach(|| openclaw_core::diff(intent, live, manager))
        .map_err(|error| value_error(&error))
}
