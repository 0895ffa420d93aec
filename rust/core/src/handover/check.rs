//! The hand-over under a model checker and in simulation: the production code, run against a world with faults.
//!
//! # What the model covers
//!
//! [`faults`] explores *all* states that a few shard processes and an API server can come to, in all orders of what
//! happens, for ever: there is no bound but on how often something goes wrong. Within each scenario's budget:
//!
//! - a process crashes; starts anew under its name, with another clock, also while its predecessor is paused; is paused
//!   and resumed, or not;
//! - a write or list is answered late (any later time, also after it was given up), never, or with a failure; a write that
//!   was given up is applied late or never;
//! - a shard is stopped for good or for a restart, a shard joins; hosts warm and drain late; a watch tells news or
//!   does not;
//! - clocks run at nine, ten and eleven tenths of the true time; writes to objects go on arriving until the fence
//!   of a shard that has crashed or is paused, and in some scenarios after it.
//!
//! Time goes in steps of one renewal interval, or of half a one: renewal 1, fence 2, duration 3, and clocks that differ by a
//! tenth make that matter. Requests are served within the step unless the budget of delays is spent on them.
//!
//! # How that is finite
//!
//! Two states of a process that have the same future are one ([`canonical`]): times count back from the present, and
//! what lies so far back that no rule can tell is equally old; versions and numbers of requests keep their order only. Processes
//! are kept once each and states name them by number ([`world`]), so states are compared as they are, with no hash that could
//! make two of them one.
//!
//! # What is shown
//!
//! - In no state do two act on a slot, or does anybody act on what its Lease does not hold.
//! - From every state, once nothing goes wrong any more, all slots come to be acted on by their owners and stay so, whatever
//!   the order of events: no cycle of the graph of states has a state in which that is not so ([`graph`]).
//!
//! A search that does not come to its end fails. With a rule left out, the same search finds what breaks.
//!
//! # What it does not cover
//!
//! The API server is taken to be linearizable: compare-and-swap and quorum lists are what etcd makes them. Leases are
//! deleted by nobody. A write to an object that arrives later than the margin between fence and duration, less the drift, is not
//! seen. Clocks that jump, or stop while the machine sleeps, break the assumption. Names are not
//! interchangeable (the ring depends on them), so shards are not treated as symmetric. [`simulate`] covers sizes and times that
//! the model does not: many shards, 256 slots, real times.

mod canonical;
mod events;
mod faults;
mod graph;
mod model;
mod process;
mod records;
mod simulate;
mod world;
