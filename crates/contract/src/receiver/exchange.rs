//! The requests of a check with their answers, and the result of the check.

use std::time::Duration;

use crate::report::Outcome;
use crate::send::{Answer, SendError, SendErrorKind};

/// The result of a check, and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) outcome: Outcome,
    /// May quote the receiver.
    pub(super) reason: String,
}

impl Finding {
    pub(super) fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        Self { outcome, reason: reason.into() }
    }
}

/// A request of a check, and its answer.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// The name of the request within its check.
    pub(super) label: &'static str,
    /// True if the request was repeated because the receiver answered 503.
    pub(super) is_repeat: bool,
    pub(super) outcome: Result<Answer, SendError>,
    /// Seconds by which the receiver's clock is certainly ahead of this machine's.
    pub(super) clock_lead: i64,
    /// The secret that the answer contains.
    pub(super) leak: Option<&'static str>,
}

impl Exchange {
    /// Returns the status, if there is an answer.
    pub(super) fn status(&self) -> Option<u16> {
        self.outcome.as_ref().ok().map(|answer| answer.status.as_u16())
    }

    pub(super) fn error_kind(&self) -> Option<SendErrorKind> {
        self.outcome.as_ref().err().map(|error| error.kind)
    }

    pub(super) fn is_accepted(&self) -> bool {
        matches!(self.status(), Some(200..=299))
    }

    /// Returns a header of the answer, if it is text.
    pub(super) fn header(&self, name: &http::HeaderName) -> Option<&str> {
        self.outcome.as_ref().ok()?.headers.get(name)?.to_str().ok()
    }
}

/// The exchanges that a check is judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<'a> {
    /// The exchanges of the check, in the order of the requests.
    pub(super) exchanges: &'a [Exchange],
    /// Secrets in answers of the run so far: the id of the check, and the name of the secret.
    pub(super) leaks: &'a [(&'static str, &'static str)],
    /// Time limit of an answer.
    pub(super) timeout: Duration,
}
