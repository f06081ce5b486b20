//! Errors as people see them: what failed, why, and what to do about it.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::exit::Exit;
use crate::admin::AdminError;
use crate::causes::causes;
use crate::printable::Escaped;
use crate::store::StoreError;

/// A command that failed.
#[derive(Debug)]
pub(super) struct CommandError {
    exit: Exit,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl CommandError {
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), causes: Vec::new(), hint: None }
    }

    /// A wrong value on the command line or in the environment.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// An error with what caused it.
    pub(super) fn of(exit: Exit, error: &(dyn Error + 'static)) -> Self {
        let mut chain = causes(error);
        let mut failed = Self::new(exit, chain.next().unwrap_or_default());
        failed.causes.extend(chain);
        failed
    }

    /// A file that somebody named cannot be read.
    pub(super) fn unread(path: &Path, error: &io::Error) -> Self {
        let exit = match error.kind() {
            ErrorKind::NotFound => Exit::NotFound,
            ErrorKind::InvalidData => Exit::Usage,
            _ => Exit::LocalIo,
        };
        Self::of(exit, error).about(&path.display().to_string())
    }

    #[must_use]
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the file that the message is about.
    #[must_use]
    pub(super) fn about(mut self, path: &str) -> Self {
        self.message = format!("`{path}`: {}", self.message);
        self
    }

    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    /// Prints `error:`, `cause:` and `hint:` lines to standard error.
    pub(super) fn report(&self) {
        let mut stderr = io::stderr().lock();
        let causes = self.causes.iter().map(|cause| ("cause", cause));
        let lines = std::iter::once(("error", &self.message))
            .chain(causes)
            .chain(self.hint.iter().map(|hint| ("hint", hint)));
        for (label, text) in lines {
            // There is nowhere left to report that standard error cannot be written.
            let _ = writeln!(stderr, "{label}: {}", Escaped(text));
        }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        let exit = match &error {
            StoreError::Exists { .. }
            | StoreError::Closed { .. }
            | StoreError::Changed { .. }
            | StoreError::KeyReused
            | StoreError::Invalid { .. } => Exit::Usage,
            StoreError::NotFound { .. } => Exit::NotFound,
            StoreError::Unavailable(_) => Exit::LocalIo,
            StoreError::Internal(_) => Exit::Failed,
        };
        Self::of(exit, &error)
    }
}

impl From<AdminError> for CommandError {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Store(error) => error.into(),
            AdminError::Randomness(_) => Self::of(Exit::LocalIo, &error),
            AdminError::Invalid { .. }
            | AdminError::Answers(_)
            | AdminError::Url(_)
            | AdminError::Denied(_) => Self::of(Exit::Usage, &error),
        }
    }
}
