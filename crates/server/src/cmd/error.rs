//! Errors as people see them: what failed, why, and what to do about it.

use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::exit::Exit;
use crate::admin::AdminError;
use crate::causes::causes;
use crate::egress::AddressClass;
use crate::printable::Escaped;
use crate::store::{ENDPOINT_URL, StoreError};

/// A command that failed.
#[derive(Debug)]
pub(super) struct CommandError {
    exit: Exit,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
    /// The setting whose value it is about.
    flag: Option<String>,
}

impl CommandError {
    pub(super) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), causes: Vec::new(), hint: None, flag: None }
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

    /// Names what it was caused by.
    #[must_use]
    pub(super) fn because(mut self, error: &(dyn Error + 'static)) -> Self {
        self.causes.extend(causes(error));
        self
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

    /// A hint, unless there is one.
    #[must_use]
    pub(super) fn hint_unless(mut self, hint: impl FnOnce() -> String) -> Self {
        self.hint.get_or_insert_with(hint);
        self
    }

    /// Says which setting has the value that it is about, unless that is known.
    #[must_use]
    pub(super) fn of_flag(mut self, flag: &str) -> Self {
        self.flag.get_or_insert_with(|| flag.to_owned());
        self
    }

    /// The flag of the setting whose value it is about.
    pub(super) fn flag(&self) -> Option<&str> {
        self.flag.as_deref()
    }

    /// Calls the setting by the name it has in a file.
    #[must_use]
    pub(super) fn renamed(mut self, key: &str) -> Self {
        if let Some(flag) = &self.flag {
            self.message = self.message.replace(&format!("`{flag}`"), &format!("`{key}`"));
        }
        self
    }

    /// Says where what is wrong stands. After that no other setting is to blame.
    #[must_use]
    pub(super) fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self.flag = None;
        self
    }

    /// The same, with another exit status.
    #[must_use]
    pub(super) fn exiting(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    pub(super) fn exit(&self) -> Exit {
        self.exit
    }

    /// What it says.
    #[cfg(test)]
    pub(super) fn told(&self) -> String {
        self.message.clone()
    }

    /// What it advises.
    #[cfg(test)]
    pub(super) fn hinted(&self) -> Option<String> {
        self.hint.clone()
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
        match &error {
            StoreError::Exists { what: ENDPOINT_URL, value } => {
                let what = format!("this form has an endpoint with this URL already: `{value}`");
                let hint = format!("`formsvc-server webhook rotate {value}` gives it a new secret");
                Self::new(exit, what).hint(hint)
            }
            StoreError::NotFound { what, .. } => {
                let mut failed = Self::of(exit, &error);
                failed.hint = listed_by(what).map(|by| format!("`formsvc-server {by}` lists them"));
                failed
            }
            _ => Self::of(exit, &error),
        }
    }
}

/// The command that lists what was not found.
fn listed_by(what: &str) -> Option<&'static str> {
    Some(match what {
        "user" => "user list",
        "key" => "key list --user EMAIL",
        "form" => "form list --user EMAIL",
        "endpoint" => "webhook list FORM",
        "delivery" => "deliveries list FORM",
        _ => return None,
    })
}

impl From<AdminError> for CommandError {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::Store(error) => error.into(),
            AdminError::Randomness(_) => Self::of(Exit::LocalIo, &error),
            AdminError::Denied(denied) => {
                let told = match denied.class() {
                    AddressClass::Loopback => "`--profile dev`, or `FORMSVC_SERVER_PROFILE=dev`",
                    _ => "`--egress-allow`, or `FORMSVC_SERVER_EGRESS_ALLOW`",
                };
                Self::of(Exit::Usage, &error)
                    .hint(format!("`serve` and `webhook add` must both be told: {told}"))
            }
            AdminError::Invalid { .. }
            | AdminError::UnfitNumber { .. }
            | AdminError::Answers(_)
            | AdminError::Url(_) => Self::of(Exit::Usage, &error),
        }
    }
}
