//! The use of one connection, for one request.

use std::sync::Arc;

use http_body_util::Full;
use hyper::Request;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::session::Shared;

/// An open connection. It is closed when this is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    task: AbortHandle,
    /// When it was last used.
    pub(crate) since: Instant,
}

impl Connection {
    pub(crate) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Also in the middle of an answer: nobody is to read the rest of it.
        self.task.abort();
    }
}

/// The right to use a connection. Unless it is given back, the connection is closed.
#[derive(Debug)]
pub(crate) struct Lease {
    connection: Connection,
    /// Whether it had been used before: the server may have closed it meanwhile.
    pub(crate) reused: bool,
    _slot: OwnedSemaphorePermit,
}

impl Lease {
    /// Waits for one of the session's connections, or for room for a new one.
    pub(crate) async fn take(session: &Arc<Shared>, fresh: bool) -> Result<Self, Failure> {
        let slot = Arc::clone(&session.slots)
            .acquire_owned()
            .await
            .map_err(|_| Failure::new("the session is closed"))?;
        while let (false, Some(mut connection)) = (fresh, session.pick()) {
            if connection.sender.ready().await.is_ok() {
                return Ok(Self {
                    connection,
                    reused: true,
                    _slot: slot,
                });
            }
        }
        let stream = session.connector.connect().await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Failure::broken(&error))?;
        // What goes wrong on it is told to who waits for an answer.
        let task = tokio::spawn(async move { drop(connection.await) });
        Ok(Self {
            connection: Connection {
                sender,
                task: task.abort_handle(),
                since: Instant::now(),
            },
            reused: false,
            _slot: slot,
        })
    }

    pub(crate) fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> impl Future<Output = Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>>> {
        self.connection.sender.try_send_request(request)
    }

    /// Keeps the connection for the next request, when an answer was read to its end.
    pub(crate) fn give_back(self, session: &Arc<Shared>) {
        let mut connection = self.connection;
        connection.since = Instant::now();
        session.keep(connection);
    }
}
