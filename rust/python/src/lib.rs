//! `openclaw._core`: the Python face of `openclaw-core`.

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _core {}
