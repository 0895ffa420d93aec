//! A server with what it takes to speak to it, and the connections that are open there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{ACCEPT, HeaderValue, PROXY_AUTHORIZATION, USER_AGENT};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::access::Access;
use crate::connect::Connector;
use crate::failure::AccessError;
use crate::lease::Connection;

/// How long a connection is kept that nobody uses.
const IDLE: Duration = Duration::from_secs(60);

/// One server, and the connections to it.
#[derive(Debug, Clone)]
pub struct Session(pub(crate) Arc<Shared>);

/// What the tasks of a session share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) connector: Connector,
    pub(crate) headers: HeaderMap,
    pub(crate) slots: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    reaping: AtomicBool,
    retired: AtomicBool,
}

impl Session {
    /// A session; connects nowhere yet.
    pub fn new(access: &Access) -> Result<Self, AccessError> {
        let connector = Connector::new(access)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let agent = HeaderValue::from_str(&access.user_agent).map_err(|_| {
            AccessError::new(format!("the user agent {:?} cannot be sent", access.user_agent))
        })?;
        headers.insert(USER_AGENT, agent);
        if let (true, Some(proxy)) = (connector.is_forwarded(), &connector.proxy) {
            if let Some(authorization) = &proxy.authorization {
                headers.insert(PROXY_AUTHORIZATION, authorization.clone());
            }
        }
        Ok(Self(Arc::new(Shared {
            connector,
            headers,
            slots: Arc::new(Semaphore::new(access.connections.max(1))),
            idle: Mutex::default(),
            reaping: AtomicBool::new(false),
            retired: AtomicBool::new(false),
        })))
    }

    /// Keep no connection from now on; what is under way goes on to its end.
    pub fn retire(&self) {
        self.0.retired.store(true, Ordering::Release);
        self.0.with_idle(Vec::clear);
    }
}

impl Shared {
    fn with_idle<T>(&self, act: impl FnOnce(&mut Vec<Connection>) -> T) -> T {
        act(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The connection that was used last, of those that nobody uses.
    pub(crate) fn pick(&self) -> Option<Connection> {
        self.with_idle(|idle| {
            while let Some(connection) = idle.pop() {
                if !connection.is_closed() {
                    return Some(connection);
                }
            }
            None
        })
    }

    /// Keeps a connection for the next request.
    pub(crate) fn keep(self: &Arc<Self>, connection: Connection) {
        if connection.is_closed() || self.retired.load(Ordering::Acquire) {
            return;
        }
        self.with_idle(|idle| idle.push(connection));
        if !self.reaping.swap(true, Ordering::AcqRel) {
            let weak = Arc::downgrade(self);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(IDLE / 2).await;
                    let Some(shared) = weak.upgrade() else { return };
                    if shared.reap() {
                        return;
                    }
                }
            });
        }
    }

    /// Closes what was not used for long; whether nothing is left.
    fn reap(&self) -> bool {
        let now = Instant::now();
        self.with_idle(|idle| {
            idle.retain(|connection| !connection.is_closed() && now - connection.since < IDLE);
            if idle.is_empty() {
                self.reaping.store(false, Ordering::Release);
            }
            idle.is_empty()
        })
    }
}
