//! The hot path of openclaw, in plain Rust: bytes of a watch stream in, keys to enqueue out.
//!
//! [`Cache`] holds one watched collection. [`diff`] compares an intent with a live object. [`otlp`] writes spans. Nothing here panics on input,
//! knows Python, or does IO.

mod cache;
mod delta;
mod dictionary;
mod diff;
mod digest;
mod displaced;
mod entry;
mod error;
mod event;
mod fieldset;
mod filter;
pub mod handover;
mod heap;
mod index;
mod list;
mod live;
mod mapping;
mod names;
mod node;
pub mod otlp;
mod owners;
mod packer;
mod path;
mod plain;
mod probe;
mod prune;
mod quantity;
mod relist;
mod ring;
mod rules;
mod same;
mod scan;
mod secret;
mod share;
mod skim;
mod skip;
mod slots;
mod slotset;
mod stats;
mod store;
mod tend;
mod trail;
mod version;
mod writes;

pub use cache::{Cache, Key};
pub use delta::{Batch, Delta, Reason};
pub use diff::diff;
pub use error::{Error, SpecError, StateError};
pub use event::MAX_LINE;
pub use list::ListPage;
pub use ring::Ring;
pub use share::Scope;
pub use slots::{fnv1a64, slot};
pub use slotset::SlotSet;
pub use version::Version;
