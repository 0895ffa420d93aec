//! What the hand-over asks its host to do, as Python objects.

use openclaw_core::handover::Action;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::ring::SlotSet;

/// Defines the frozen classes, with a repr and what `match` needs.
macro_rules! action {
    ($(#[$doc:meta] $name:ident { $($field:ident: $kind:ty),* })*) => {$(
        #[$doc]
        #[pyclass(frozen, get_all, module = "openclaw._core")]
        pub(crate) struct $name {
            $($field: $kind,)*
        }

        #[pymethods]
        impl $name {
            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
                PyTuple::new(py, [$(stringify!($field)),*])
            }

            fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
                let mut fields = Vec::new();
                $(
                    let value = self.$field.clone().into_pyobject(py)?;
                    fields.push(format!("{}={}", stringify!($field), value.repr()?));
                )*
                Ok(format!("{}({})", stringify!($name), fields.join(", ")))
            }
        }
    )*};
}

action! {
    /// Write the own Lease.
    WriteLease { id: u64, resource_version: Option<String>, record: String }
    /// List all Leases of the set.
    ListLeases { id: u64 }
    /// List and watch these slots.
    Warm { ticket: u64, slots: SlotSet }
    /// Forget these slots.
    Cool { slots: SlotSet }
    /// Act on these slots from now on.
    Start { slots: SlotSet }
    /// Let the runs of these slots finish.
    Drain { ticket: u64, slots: SlotSet }
    /// Stop all runs.
    Lost { slots: SlotSet, reason: String }
    /// Nothing will come any more.
    Ended { graceful: bool, reason: String }
}

/// Actions as a list of Python objects, in their order.
pub(crate) fn actions(py: Python<'_>, actions: Vec<Action>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for action in actions {
        match action {
            Action::Write { id, expect, record } => {
                let resource_version = expect.map(|version| version.to_string());
                let record = record.encode();
                list.append(
                    WriteLease {
                        id,
                        resource_version,
                        record,
                    }
                    .into_pyobject(py)?,
                )?;
            }
            Action::List { id } => list.append(ListLeases { id }.into_pyobject(py)?)?,
            Action::Warm { ticket, slots } => {
                list.append(
                    Warm {
                        ticket,
                        slots: SlotSet(slots),
                    }
                    .into_pyobject(py)?,
                )?;
            }
            Action::Cool { slots } => list.append(
                Cool {
                    slots: SlotSet(slots),
                }
                .into_pyobject(py)?,
            )?,
            Action::Start { slots } => list.append(
                Start {
                    slots: SlotSet(slots),
                }
                .into_pyobject(py)?,
            )?,
            Action::Drain { ticket, slots } => {
                list.append(
                    Drain {
                        ticket,
                        slots: SlotSet(slots),
                    }
                    .into_pyobject(py)?,
                )?;
            }
            Action::Lost { slots, reason } => {
                let reason = reason.into();
                list.append(
                    Lost {
                        slots: SlotSet(slots),
                        reason,
                    }
                    .into_pyobject(py)?,
                )?;
            }
            Action::Ended { graceful, reason } => {
                let reason = reason.into();
                list.append(Ended { graceful, reason }.into_pyobject(py)?)?;
            }
        }
    }
    Ok(list)
}
