//! Why there is no answer, in words for people.

use std::error::Error;
use std::fmt;

use tokio_rustls::rustls;

/// No complete answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A failure while a connection was made.
    pub(crate) fn connecting(to: &str, error: &(dyn Error + 'static)) -> Self {
        match certificate(error) {
            Some(reason) => Self(format!(
                "cannot connect to {to}: certificate verify failed: {reason}"
            )),
            None => Self(format!("cannot connect to {to}: {}", chain(error))),
        }
    }

    /// A failure on a connection that was there.
    pub(crate) fn broken(error: &(dyn Error + 'static)) -> Self {
        Self(chain(error))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Error for Failure {}

/// What a server, its TLS material or its proxy was described with cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessError(String);

impl AccessError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl Error for AccessError {}

/// An error with its causes, each said once.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        next = cause.source();
    }
    text
}

/// Why the server's certificate was refused, when that is what happened.
fn certificate(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
            .and_then(|inner| inner.downcast_ref::<rustls::Error>());
        if let Some(rustls::Error::InvalidCertificate(reason)) = inner.or_else(|| error.downcast_ref()) {
            return Some(reason.to_string());
        }
        next = error.source();
    }
    None
}
