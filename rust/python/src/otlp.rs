//! Spans of `openclaw.telemetry.spans` as a request of OTLP.

use openclaw_core::otlp::{Head, Request, Value};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

const SCOPE: &str = "openclaw";
/// Bytes of a span with its attributes, so that the buffer seldom grows.
const USUAL: usize = 768;

/// An `ExportTraceServiceRequest` of ended spans, in JSON.
#[pyfunction]
pub(crate) fn encode_spans<'py>(
    py: Python<'py>,
    spans: &Bound<'py, PyList>,
    resource: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut request = Request::new(USUAL * (spans.len() + 1));
    attributes(&mut request, resource)?;
    request.begin_spans(SCOPE);
    let mut trace = None;
    for span in spans.iter() {
        let of = span.getattr(intern!(py, "trace"))?;
        // The spans of a trace come one after the other.
        let known = match trace {
            Some((ref last, known)) if of.is(last) => known,
            _ => Trace {
                id: of.getattr(intern!(py, "trace_id"))?.extract()?,
                sampled: of.getattr(intern!(py, "sampled"))?.extract()?,
            },
        };
        trace = Some((of, known));
        encode(&mut request, &span, known)?;
    }
    Ok(PyBytes::new(py, &request.finish()))
}

#[derive(Clone, Copy)]
struct Trace {
    id: u128,
    sampled: bool,
}

fn encode(request: &mut Request, span: &Bound<'_, PyAny>, trace: Trace) -> PyResult<()> {
    let py = span.py();
    let name = span.getattr(intern!(py, "name"))?;
    request.begin_span(&Head {
        trace_id: trace.id,
        span_id: span.getattr(intern!(py, "span_id"))?.extract()?,
        parent_id: span.getattr(intern!(py, "parent_id"))?.extract()?,
        name: &text(&name)?,
        kind: span.getattr(intern!(py, "kind"))?.extract()?,
        start: span.getattr(intern!(py, "start"))?.extract()?,
        end: span.getattr(intern!(py, "end"))?.extract()?,
        sampled: trace.sampled,
    });
    let own = span.getattr(intern!(py, "attributes"))?;
    if !own.is_none() {
        request.begin_attributes();
        attributes(request, own.cast()?)?;
        request.end_list();
    }
    let events = span.getattr(intern!(py, "events"))?;
    if !events.is_none() {
        request.begin_events();
        for event in events.cast::<PyList>()?.iter() {
            let (time, name, told): (u64, Bound<'_, PyAny>, Bound<'_, PyDict>) = event.extract()?;
            request.begin_event(time, &text(&name)?);
            request.begin_attributes();
            attributes(request, &told)?;
            request.end_list();
            request.end_object();
        }
        request.end_list();
    }
    let links = span.getattr(intern!(py, "links"))?;
    if !links.is_none() {
        request.begin_links();
        for link in links.cast::<PyList>()?.iter() {
            let (context, cause): (Bound<'_, PyAny>, Bound<'_, PyAny>) = link.extract()?;
            let (trace_id, span_id, _): (u128, u64, bool) = context.extract()?;
            request.begin_link(trace_id, span_id);
            request.begin_attributes();
            request.attribute("openclaw.cause", Value::Text(&text(&cause)?));
            request.end_list();
            request.end_object();
        }
        request.end_list();
    }
    if !span.getattr(intern!(py, "error"))?.is_none() {
        request.failed(&text(&span.getattr(intern!(py, "message"))?)?);
    }
    request.end_object();
    Ok(())
}

fn attributes(request: &mut Request, given: &Bound<'_, PyDict>) -> PyResult<()> {
    for (key, value) in given.iter() {
        let key = text(&key)?;
        if let Ok(value) = value.cast::<PyString>() {
            request.attribute(&key, Value::Text(&text(value)?));
        } else if let Ok(value) = value.cast::<PyBool>() {
            request.attribute(&key, Value::Flag(value.is_true()));
        } else if let Ok(value) = value.cast::<PyFloat>() {
            request.attribute(&key, Value::Real(value.value()));
        } else if let Some(whole) = whole(&value) {
            request.attribute(&key, Value::Whole(whole));
        } else if value.is_instance_of::<PyTuple>() || value.is_instance_of::<PyList>() {
            request.begin_texts(&key);
            for item in value.try_iter()? {
                request.listed(&text(&item?)?);
            }
            request.end_texts();
        } else {
            request.attribute(&key, Value::Text(&text(&value)?));
        }
    }
    Ok(())
}

/// A number that OTLP has room for.
fn whole(value: &Bound<'_, PyAny>) -> Option<i64> {
    value.cast::<PyInt>().ok()?.extract().ok()
}

/// The text of anything.
fn text(value: &Bound<'_, PyAny>) -> PyResult<PyBackedStr> {
    let text = match value.cast::<PyString>() {
        Ok(text) => text.clone(),
        Err(_) => value.str()?,
    };
    if let Ok(valid) = text.clone().try_into() {
        return Ok(valid);
    }
    // What is no valid Unicode would cost the whole batch.
    let py = value.py();
    let bytes = text.call_method1(intern!(py, "encode"), ("utf-8", "replace"))?;
    bytes.call_method0(intern!(py, "decode"))?.extract()
}
