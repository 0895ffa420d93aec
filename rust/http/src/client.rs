//! The thread.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

use crate::call::Call;
use crate::exchange::exchange;
use crate::mailbox::{Mailbox, Outcome};
use crate::session::Session;
use crate::watch::{SharedCache, Watch};

/// Threads that look up host names, and how long they stay.
const RESOLVERS: usize = 2;
const RESOLVER_STAYS: Duration = Duration::from_secs(1);

/// Something under way.
#[derive(Debug, Clone, Default)]
pub struct Task(Arc<Mutex<Stage>>);

#[derive(Debug, Default)]
enum Stage {
    /// The thread has not begun with it.
    #[default]
    Asked,
    Begun(AbortHandle),
    Cancelled,
}

impl Task {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it up, and closes its connection; nothing is told of it any more, but what was told already.
    pub fn cancel(&self) {
        if let Stage::Begun(task) = std::mem::replace(&mut *self.stage(), Stage::Cancelled) {
            task.abort();
        }
    }

    fn begin(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut stage = self.stage();
        if matches!(*stage, Stage::Asked) {
            *stage = Stage::Begun(tokio::spawn(work).abort_handle());
        }
    }
}

/// What the thread is to begin with. Sent through a channel, since that wakes the thread once for all that is there;
/// to spawn from outside would wake it each time.
type Order = Box<dyn FnOnce() + Send>;

/// A thread that does what it is asked, and leaves what came of it in a mailbox.
#[derive(Debug)]
pub struct Client {
    mailbox: Arc<Mailbox>,
    asked: AtomicU64,
    thread: Mutex<Option<(UnboundedSender<Order>, JoinHandle<()>)>>,
}

impl Client {
    /// Starts the thread.
    pub fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(RESOLVERS)
            .thread_keep_alive(RESOLVER_STAYS)
            .build()?;
        let (orders, mut incoming) = unbounded_channel::<Order>();
        let thread = std::thread::Builder::new()
            .name("openclaw-http".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    while let Some(order) = incoming.recv().await {
                        order();
                    }
                });
                // A look-up that hangs must not hold up the end.
                runtime.shutdown_background();
            })?;
        Ok(Self {
            mailbox: Arc::new(Mailbox::new()?),
            asked: AtomicU64::new(0),
            thread: Mutex::new(Some((orders, thread))),
        })
    }

    /// Where answers are left.
    pub fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    fn number(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed)
    }

    /// Has the thread do it. After `close` nothing comes of it.
    fn order(&self, work: impl Future<Output = ()> + Send + 'static) -> Task {
        let task = Task::default();
        let begun = task.clone();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((orders, _)) = &*thread {
            // The thread ends after this sender only.
            let _ = orders.send(Box::new(move || begun.begin(work)));
        }
        task
    }

    /// Sends a request; its outcome comes under the number.
    pub fn request(&self, session: &Session, call: Call, timeout: Duration) -> (u64, Task) {
        let number = self.number();
        let session = Arc::clone(&session.0);
        let mailbox = Arc::clone(&self.mailbox);
        let task = self.order(async move {
            let outcome = match exchange(&session, &call, timeout).await {
                Ok(answer) => Outcome::Answered(answer),
                Err(failure) => Outcome::Failed(failure),
            };
            mailbox.put(number, outcome);
        });
        (number, task)
    }

    /// Opens a watch; the outcome of that comes under the number, as does news of it later. It counts as broken
    /// when nothing comes for `idle`.
    pub fn watch(
        &self,
        session: &Session,
        call: Call,
        idle: Duration,
        cache: Option<SharedCache>,
    ) -> (u64, Task, Arc<Watch>) {
        let number = self.number();
        let watch = Arc::new(Watch::new(number, cache, Arc::clone(&self.mailbox)));
        let session = Arc::clone(&session.0);
        let task = self.order({
            let watch = Arc::clone(&watch);
            async move { watch.run(session, call, idle).await }
        });
        (number, task, watch)
    }

    /// Ends the thread, and with it every connection and all that was asked. Waits for it.
    pub fn close(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((orders, thread)) = thread {
            drop(orders);
            // It does not panic; if it did, it would be gone all the same.
            let _ = thread.join();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
    }
}
