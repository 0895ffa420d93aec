//! A watch: its bytes go to a cache right from the socket, or are handed on as they come.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::{Body, Bytes, Incoming};
use openclaw_core::Batch;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::call::{Answer, Call};
use crate::exchange::{next, send};
use crate::failure::Failure;
use crate::mailbox::{Mailbox, Outcome};
use crate::session::Shared;

/// While more than this waits to be fetched, nothing more is read from the socket.
const MOST_DELTAS: usize = 8192;
const MOST_BYTES: usize = 1 << 20;
/// Of the body of a refusal.
const REFUSAL: Duration = Duration::from_secs(10);

/// A cache that the thread feeds while others read it.
pub type SharedCache = Arc<Mutex<openclaw_core::Cache>>;

/// Something that came.
#[derive(Debug)]
pub enum Item {
    /// Bytes, cut anywhere.
    Chunk(Bytes),
    /// What they came to in the cache; only where somebody has to know.
    Batch(Batch),
}

impl Item {
    fn weight(&self) -> usize {
        match self {
            Self::Chunk(bytes) => bytes.len(),
            Self::Batch(batch) => (batch.deltas.len() + 1) * (MOST_BYTES / MOST_DELTAS),
        }
    }
}

/// What was fetched from a watch.
#[derive(Debug, Default)]
pub struct Taken {
    /// What came, in order.
    pub items: Vec<Item>,
    /// Whether nothing more comes.
    pub ended: bool,
    /// Why it ended, if not because the server ended it.
    pub failure: Option<Failure>,
}

#[derive(Debug, Default)]
struct State {
    taken: Taken,
    weight: usize,
    stirred: bool,
    position: Option<String>,
    chunks: u64,
    last: Option<Instant>,
}

/// One watch under way.
#[derive(Debug)]
pub struct Watch {
    number: u64,
    cache: Option<SharedCache>,
    mailbox: Arc<Mailbox>,
    /// Held while bytes go into the cache; true when no more may.
    closed: Mutex<bool>,
    state: Mutex<State>,
    room: Notify,
    begun: Notify,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    pub(crate) fn new(number: u64, cache: Option<SharedCache>, mailbox: Arc<Mailbox>) -> Self {
        Self {
            number,
            cache,
            mailbox,
            closed: Mutex::default(),
            state: Mutex::default(),
            room: Notify::new(),
            begun: Notify::new(),
        }
    }

    /// Lets an open watch be read; until then nothing of it is.
    pub fn begin(&self) {
        self.begun.notify_one();
    }

    /// What came since the last call.
    pub fn take(&self) -> Taken {
        let mut state = lock(&self.state);
        state.stirred = false;
        let full = state.weight > MOST_BYTES;
        state.weight = 0;
        let taken = Taken {
            items: std::mem::take(&mut state.taken.items),
            ended: state.taken.ended,
            failure: state.taken.failure.clone(),
        };
        drop(state);
        if full {
            self.room.notify_one();
        }
        taken
    }

    /// Lets nothing more into the cache. What came before can still be fetched, and the failure where there is one
    /// to be told. May wait for a chunk under way.
    pub fn close(&self, failure: Option<&str>) {
        *lock(&self.closed) = true;
        let mut state = lock(&self.state);
        if let (Some(text), false) = (failure, state.taken.ended) {
            state.taken.ended = true;
            state.taken.failure = Some(Failure::new(text));
        }
    }

    /// The newest position that was seen.
    pub fn position(&self) -> Option<String> {
        lock(&self.state).position.clone()
    }

    /// How many chunks came.
    pub fn chunks(&self) -> u64 {
        lock(&self.state).chunks
    }

    /// How long ago the last chunk came.
    pub fn silence(&self) -> Option<Duration> {
        lock(&self.state).last.map(|last| last.elapsed())
    }

    /// Opens the watch and reads it to its end.
    pub(crate) async fn run(&self, session: Arc<Shared>, call: Call, idle: Duration) {
        let opened = async {
            let (response, lease) = send(&session, &call).await?;
            if response.status() == StatusCode::OK {
                return Ok((Outcome::Opened, Some((response.into_body(), lease))));
            }
            let mut answer = Answer::head(&response);
            let mut body = response.into_body();
            let refusal = tokio::time::timeout(REFUSAL, whole(&mut body)).await;
            answer.body = refusal.unwrap_or_default();
            Ok((Outcome::Answered(answer), None))
        };
        let opened = match tokio::time::timeout(idle, opened).await {
            Ok(opened) => opened,
            Err(_) => Err(silent()),
        };
        let (outcome, stream) = opened.unwrap_or_else(|failure| (Outcome::Failed(failure), None));
        self.mailbox.put(self.number, outcome);
        if let Some((mut body, _lease)) = stream {
            self.begun.notified().await;
            let ended = self.read(&mut body, idle).await;
            let mut state = lock(&self.state);
            state.taken.ended = true;
            state.taken.failure = ended.err();
            self.stir(state);
        }
    }

    async fn read(&self, body: &mut Incoming, idle: Duration) -> Result<(), Failure> {
        loop {
            let Ok(chunk) = tokio::time::timeout(idle, next(body)).await else {
                return Err(silent());
            };
            let Some(chunk) = chunk? else { return Ok(()) };
            if !self.accept(chunk) {
                return Ok(());
            }
            self.wait_for_room().await;
        }
    }

    /// Takes a chunk; false when it was the last one that matters.
    fn accept(&self, chunk: Bytes) -> bool {
        let closed = lock(&self.closed);
        if *closed {
            return false;
        }
        let (item, position, more) = match &self.cache {
            None => (Some(Item::Chunk(chunk)), None, true),
            Some(cache) => {
                let mut batch = lock(cache).feed(&chunk);
                let position = batch.resource_version.take();
                let more = batch.error.is_none();
                let told = !more || !batch.deltas.is_empty();
                (told.then_some(Item::Batch(batch)), position, more)
            }
        };
        let mut state = lock(&self.state);
        state.chunks += 1;
        state.last = Some(Instant::now());
        if position.is_some() {
            state.position = position;
        }
        if let Some(item) = item {
            state.weight += item.weight();
            state.taken.items.push(item);
            self.stir(state);
        }
        drop(closed);
        more
    }

    fn stir(&self, mut state: MutexGuard<'_, State>) {
        if !std::mem::replace(&mut state.stirred, true) {
            drop(state);
            self.mailbox.stir(self.number);
        }
    }

    async fn wait_for_room(&self) {
        while lock(&self.state).weight > MOST_BYTES {
            self.room.notified().await;
        }
    }
}

fn silent() -> Failure {
    Failure::new("nothing was received for too long")
}

async fn whole(body: &mut Incoming) -> Bytes {
    let mut all = Vec::new();
    while let Ok(Some(data)) = next(body).await {
        all.extend_from_slice(&data);
        if body.is_end_stream() {
            break;
        }
    }
    all.into()
}
