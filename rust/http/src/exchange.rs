//! A request and its answer.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Bytes, Incoming};

use crate::call::{Answer, Call};
use crate::failure::Failure;
use crate::lease::Lease;
use crate::session::Shared;

/// Sends the request and reads the whole answer, all within `timeout`.
pub(crate) async fn exchange(
    session: &Arc<Shared>,
    call: &Call,
    timeout: Duration,
) -> Result<Answer, Failure> {
    let done = async {
        let (response, lease) = send(session, call).await?;
        let mut answer = Answer::head(&response);
        answer.body = read(response.into_body()).await?;
        lease.give_back(session);
        Ok(answer)
    };
    match tokio::time::timeout(timeout, done).await {
        Ok(done) => done,
        Err(_) => Err(Failure::new(format!(
            "no answer within {} s",
            timeout.as_secs_f64()
        ))),
    }
}

/// Sends the request, and waits for the head of the answer.
///
/// A kept connection may be one that the server is just closing. A request that was not yet written on it goes out on
/// another, and so does a read; a write may have had its effect.
pub(crate) async fn send(session: &Arc<Shared>, call: &Call) -> Result<(Response<Incoming>, Lease), Failure> {
    let mut fresh = false;
    loop {
        let mut lease = Lease::take(session, fresh).await?;
        match lease.send(call.request(session)?).await {
            Ok(response) => return Ok((response, lease)),
            Err(error) => {
                if !lease.reused || (error.message().is_none() && !call.is_read()) {
                    return Err(Failure::broken(error.error()));
                }
                fresh = true;
            }
        }
    }
}

async fn read(mut body: Incoming) -> Result<Bytes, Failure> {
    let first = match next(&mut body).await? {
        Some(first) if body.is_end_stream() => return Ok(first),
        Some(first) => first,
        None => return Ok(Bytes::new()),
    };
    let rest = usize::try_from(body.size_hint().lower()).unwrap_or_default();
    let mut whole = Vec::with_capacity(first.len() + rest.min(MOST_RESERVED));
    whole.extend_from_slice(&first);
    while let Some(data) = next(&mut body).await? {
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
}

/// A server's word for the length is not taken for more than this.
const MOST_RESERVED: usize = 16 << 20;

/// The next bytes of a body; `None` at its end.
pub(crate) async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(error)) => return Err(Failure::broken(&error)),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
