//! What is asked, and what is answered.

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, HeaderValue, RETRY_AFTER, WARNING};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Request, Response, Uri};

use crate::failure::Failure;
use crate::session::Shared;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A request.
#[derive(Clone)]
pub struct Call {
    /// `GET`, `PATCH`, …
    pub method: String,
    /// Path and query, encoded.
    pub target: String,
    /// What is sent.
    pub body: Bytes,
    /// Its media type.
    pub content_type: Option<String>,
    /// Who asks.
    pub authorization: Option<String>,
    /// The trace that it belongs to.
    pub traceparent: Option<String>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Call({} {})", self.method, self.target)
    }
}

impl Call {
    /// Whether asking twice is as good as asking once.
    pub(crate) fn is_read(&self) -> bool {
        self.method == "GET"
    }

    /// The message for it.
    pub(crate) fn request(&self, session: &Shared) -> Result<Request<Full<Bytes>>, Failure> {
        let bad = |what: &str| Failure::new(format!("the {what} cannot be sent"));
        let mut request = Request::new(Full::new(self.body.clone()));
        *request.method_mut() = Method::from_bytes(self.method.as_bytes()).map_err(|_| bad("method"))?;
        *request.uri_mut() = self.uri(session).ok_or_else(|| bad("path"))?;
        let value = |text: &str, what: &str| HeaderValue::from_str(text).map_err(|_| bad(what));
        let headers = request.headers_mut();
        headers.reserve(session.headers.len() + 4);
        headers.insert(HOST, session.connector.origin.host_header.clone());
        for (name, value) in &session.headers {
            headers.insert(name, value.clone());
        }
        if let Some(text) = &self.content_type {
            headers.insert(CONTENT_TYPE, value(text, "content type")?);
        }
        if let Some(text) = &self.authorization {
            let mut text = value(text, "authorization")?;
            text.set_sensitive(true);
            headers.insert(AUTHORIZATION, text);
        }
        if let Some(text) = &self.traceparent {
            headers.insert(TRACEPARENT, value(text, "traceparent")?);
        }
        Ok(request)
    }

    fn uri(&self, session: &Shared) -> Option<Uri> {
        let prefix = &session.connector.origin.prefix;
        let target: PathAndQuery = if prefix.is_empty() {
            self.target.parse().ok()?
        } else {
            format!("{prefix}{}", self.target).parse().ok()?
        };
        if session.connector.is_forwarded() {
            // A proxy is told the whole address.
            let mut parts = session.connector.origin.uri.clone().into_parts();
            parts.path_and_query = Some(target);
            return Uri::from_parts(parts).ok();
        }
        Some(target.into())
    }
}

/// What the server said, whatever its status.
#[derive(Debug)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The whole body.
    pub body: Bytes,
    /// The `Warning` headers.
    pub warnings: Vec<String>,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
}

impl Answer {
    /// Everything but the body.
    pub(crate) fn head(response: &Response<Incoming>) -> Self {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.headers();
        Self {
            status: response.status().as_u16(),
            body: Bytes::new(),
            warnings: headers.get_all(WARNING).iter().map(text).collect(),
            retry_after: headers.get(RETRY_AFTER).map(text),
        }
    }
}
