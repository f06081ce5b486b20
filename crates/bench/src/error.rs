//! Error of a comparison that cannot run.

use std::error::Error;
use std::fmt::{self, Display};

/// A message for the user, causes included.
#[derive(Debug)]
pub(crate) struct BenchError(String);

impl BenchError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for BenchError {}

/// Puts the failed action in front of an error and its causes.
pub(crate) trait Context<T> {
    fn context(self, action: impl Display) -> Result<T, BenchError>;
}

impl<T, E: Error> Context<T> for Result<T, E> {
    fn context(self, action: impl Display) -> Result<T, BenchError> {
        self.map_err(|error| {
            let mut message = format!("{action}: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                message.push_str(": ");
                message.push_str(&cause.to_string());
                source = cause.source();
            }
            BenchError(message)
        })
    }
}
