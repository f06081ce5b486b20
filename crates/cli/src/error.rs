//! Errors as people see them: what failed, why, and what to do about it.

use std::fmt::Display;
use std::io::{self, Write};

use formsvc_client::{ErrorCode, ErrorKind};
use formsvc_export::ExportError;

use crate::exit::Exit;
use crate::sanitize::one_line;

/// A run that failed.
#[derive(Debug)]
pub(crate) struct CliError {
    /// The exit code.
    pub(crate) exit: Exit,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl CliError {
    /// What failed, and how the run ends.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), causes: Vec::new(), hint: None }
    }

    /// A wrong flag, argument or setting.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// Why it failed: the error and whatever caused it.
    #[must_use]
    pub(crate) fn because(mut self, cause: &dyn std::error::Error) -> Self {
        self.causes.push(cause.to_string());
        self.because_of(cause)
    }

    /// Why it failed, when the message already says what the error says.
    #[must_use]
    pub(crate) fn because_of(mut self, error: &dyn std::error::Error) -> Self {
        let mut next = error.source();
        while let Some(cause) = next {
            self.causes.push(cause.to_string());
            next = cause.source();
        }
        self
    }

    /// Why it failed, in words.
    #[must_use]
    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.causes.push(cause.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do about it, unless something better is known.
    #[must_use]
    pub(crate) fn hint_if_none(mut self, hint: &str) -> Self {
        if self.exit != Exit::Done {
            self.hint.get_or_insert_with(|| hint.to_owned());
        }
        self
    }

    /// A run that ends as it was meant to, without a word.
    pub(crate) fn silent(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    /// Standard output could not be written. A reader that closed it has what it wanted.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::silent(Exit::Done);
        }
        Self::new(Exit::LocalIo, "cannot write to standard output").because(error)
    }

    /// The error on one line.
    pub(crate) fn brief(&self) -> String {
        let causes = self.causes.iter().map(|cause| format!(": {cause}"));
        causes.fold(self.message.clone(), |brief, cause| brief + &cause)
    }

    /// Writes the error for a person; nothing when there is nothing to say.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.message.is_empty() {
            return Ok(());
        }
        let mut line = |word: &str, text: &dyn Display| {
            writeln!(out, "{word}: {}", one_line(&text.to_string()))
        };
        line("error", &self.message)?;
        for cause in &self.causes {
            line("cause", cause)?;
        }
        self.hint.as_ref().map_or(Ok(()), |hint| line("hint", hint))
    }
}

impl From<formsvc_client::Error> for CliError {
    fn from(error: formsvc_client::Error) -> Self {
        let (exit, hint) = match error.kind() {
            ErrorKind::Api => of_code(&error),
            ErrorKind::Config => (
                Exit::Usage,
                Some("an address is https://…, or http://… on this machine, without /api/v1"),
            ),
            ErrorKind::Connect => {
                (Exit::Network, Some("is the address right and the service running?"))
            }
            ErrorKind::Timeout => (Exit::Network, Some("allow more time with `--timeout`")),
            ErrorKind::Transport => (Exit::Network, None),
            ErrorKind::RateLimitWait => {
                (Exit::RateLimited, Some("wait longer with `--max-wait`, or try again later"))
            }
            ErrorKind::Decode => (Exit::Service, Some("is this the address of the service?")),
            _ => (Exit::Service, None),
        };
        let text = error.to_string();
        // Settings are of the command line, not of an operation on the service.
        let operation = format!("{}: ", error.operation());
        let setting = (error.kind() == ErrorKind::Config).then(|| text.strip_prefix(&operation));
        let message = setting.flatten().unwrap_or(&text);
        let mut shown = Self::new(exit, message).because_of(&error);
        if matches!(error.kind(), ErrorKind::Connect | ErrorKind::Transport) {
            // What the system said; the causes above it only say where in the libraries that was.
            shown.causes.drain(..shown.causes.len().saturating_sub(1));
        }
        shown.hint = hint.map(str::to_owned);
        shown
    }
}

/// What to do about a 429 that came at the last attempt as well.
const STILL_LIMITED: &str =
    "try again later, or ask for less at a time with `--max-rate`: others may use this key";

/// What an answer of the service means for the run.
fn of_code(error: &formsvc_client::Error) -> (Exit, Option<&'static str>) {
    match error.code() {
        Some(ErrorCode::BadRequest) => (Exit::Usage, None),
        Some(ErrorCode::MissingAuthorization | ErrorCode::InvalidKey) => {
            (Exit::Auth, Some("check the key: copy it again, or create a new one"))
        }
        Some(ErrorCode::KeyRevoked) => {
            (Exit::Auth, Some("create a new key; a revoked one never works again"))
        }
        Some(ErrorCode::FormNotFound) => {
            (Exit::NotFound, Some("`formsvc forms list` shows the forms this key can read"))
        }
        Some(ErrorCode::NotFound) => {
            (Exit::Usage, Some("the service has no such path: the address goes without /api/v1"))
        }
        Some(ErrorCode::RateLimited) => (Exit::RateLimited, Some(STILL_LIMITED)),
        _ => match error.status().map(|status| status.as_u16()) {
            Some(401) => (Exit::Auth, None),
            Some(404) => (Exit::NotFound, Some("is this the address of the service?")),
            Some(429) => (Exit::RateLimited, Some(STILL_LIMITED)),
            _ => (Exit::Service, None),
        },
    }
}

impl From<ExportError> for CliError {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Service(error) => error.into(),
            ExportError::ReaderClosed => Self::silent(Exit::Done),
            _ => Self::new(Exit::LocalIo, error.to_string()).because_of(&error),
        }
    }
}
