//! The core's errors as Python's.

use openclaw_core::{Error, SpecError, StateError};
use pyo3::PyErr;
use pyo3::exceptions::{PyRuntimeError, PyValueError};

pub(crate) fn value_error(error: &SpecError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
pub(crate) fn state_error(error: StateError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

pub(crate) fn py_error(error: Error) -> PyErr {
    match error {
        Error::Spec(error) => value_error(&error),
        Error::State(error) => state_error(error),
    }
}
