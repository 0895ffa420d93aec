//! What callers can get wrong.

use std::fmt;

/// A spec (predicate, mapping, path), a document or a page says something that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError(String);

impl SpecError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// A call that the cache's present state does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateError(pub(crate) &'static str);

impl fmt::Display for StateError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

impl std::error::Error for StateError {}

/// Either kind of mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// What was given cannot be used.
    Spec(SpecError),
    /// The call came at the wrong time.
    State(StateError),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spec(error) => error.fmt(out),
            Self::State(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for Error {}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Self::Spec(error)
    }
}

impl From<StateError> for Error {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}
