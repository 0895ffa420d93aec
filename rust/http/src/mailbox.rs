//! What came of what was asked, for another thread to fetch. One wake-up stands for all that is there.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call::Answer;
use crate::failure::Failure;

/// How a request ended.
#[derive(Debug)]
pub enum Outcome {
    /// The server answered, whatever it said. Of a watch: it was refused.
    Answered(Answer),
    /// The watch is open.
    Opened,
    /// There is no complete answer.
    Failed(Failure),
}

/// What has happened since it was last asked.
#[derive(Debug, Default)]
pub struct News {
    /// Watches that have something. They come before the answers: see `openclaw.kube.wire`.
    pub watches: Vec<u64>,
    /// Requests that ended.
    pub outcomes: Vec<(u64, Outcome)>,
}

#[derive(Debug, Default)]
struct Inner {
    news: News,
    signalled: bool,
}

/// Holds news, and makes a file descriptor readable while there are some.
#[derive(Debug)]
pub struct Mailbox {
    inner: Mutex<Inner>,
    readable: UnixStream,
    writable: UnixStream,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<Self> {
        let (readable, writable) = UnixStream::pair()?;
        readable.set_nonblocking(true)?;
        writable.set_nonblocking(true)?;
        Ok(Self {
            inner: Mutex::default(),
            readable,
            writable,
        })
    }

    /// What to wait on until it is readable.
    pub fn descriptor(&self) -> RawFd {
        self.readable.as_raw_fd()
    }

    /// All news since the last call.
    pub fn take(&self) -> News {
        // A byte that comes after this is one wake-up too many, at worst.
        let _ = (&self.readable).read(&mut [0; 16]);
        let mut inner = self.lock();
        inner.signalled = false;
        std::mem::take(&mut inner.news)
    }

    pub(crate) fn put(&self, number: u64, outcome: Outcome) {
        self.add(|news| news.outcomes.push((number, outcome)));
    }

    pub(crate) fn stir(&self, number: u64) {
        self.add(|news| news.watches.push(number));
    }

    fn add(&self, add: impl FnOnce(&mut News)) {
        let mut inner = self.lock();
        add(&mut inner.news);
        if !std::mem::replace(&mut inner.signalled, true) {
            drop(inner);
            // It cannot be full: there is one byte in it at most for each time it was fetched.
            let _ = (&self.writable).write(&[1]);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
