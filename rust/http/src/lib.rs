//! HTTP/1.1 to the API server, on one thread of its own.
//!
//! A [`Client`] is that thread, with a [`Mailbox`] in which it leaves what came of what was asked. A [`Session`] is one
//! server with the credentials and TLS material to speak to it, and the connections that are open there. A watch
//! can feed a cache right from the socket, so that only what matters is told. Nothing here knows Python.

mod access;
mod call;
mod client;
mod connect;
mod exchange;
mod failure;
mod lease;
mod mailbox;
mod session;
mod tls;
mod watch;

pub use access::Access;
pub use call::{Answer, Call};
pub use client::{Client, Task};
pub use failure::{AccessError, Failure};
pub use mailbox::{Mailbox, News, Outcome};
pub use session::Session;
pub use tls::Material;
pub use watch::{Item, SharedCache, Taken, Watch};
