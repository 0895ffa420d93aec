//! Scopes and slots as Python values.

use openclaw_core::Scope;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The scope of this name.
pub(crate) fn scope(name: &str) -> PyResult<Scope> {
    match name {
        "everything" => Ok(Scope::Everything),
        "roots" => Ok(Scope::Roots),
        "children" => Ok(Scope::Children),
        _ => Err(PyValueError::new_err(format!(
            "scope {name:?} is unknown; there are \"everything\", \"roots\" and \"children\""
        ))),
    }
}

/// Slots out of anything that yields numbers.
pub(crate) struct Slots(pub(crate) Vec<u8>);

impl<'py> FromPyObject<'_, 'py> for Slots {
    type Error = PyErr;

    fn extract(slots: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let slot = |item: PyResult<Bound<'py, PyAny>>| {
            let number: i64 = item?.extract()?;
            u8::try_from(number)
                .map_err(|_| PyValueError::new_err(format!("slot {number}: must be from 0 to 255")))
        };
        slots.try_iter()?.map(slot).collect::<PyResult<_>>().map(Self)
    }
}
