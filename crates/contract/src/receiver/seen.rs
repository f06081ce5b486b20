//! What was seen of a receiver, and what was found of it.

use std::time::Duration;

use crate::send::{Answer, SendError, SendErrorKind};

/// Whether a receiver does what a check asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It does.
    Ok,
    /// It does, in a way that may cost its owner something.
    Warn,
    /// It does not.
    Fail,
    /// That cannot be told.
    Skip,
}

impl Outcome {
    /// Every outcome, best first.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Warn, Self::Fail, Self::Skip];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Skip => "skip",
        }
    }
}

/// What a judge says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) outcome: Outcome,
    /// In a sentence; may hold what the receiver wrote.
    pub(super) what: String,
}

impl Found {
    pub(super) fn new(outcome: Outcome, what: impl Into<String>) -> Self {
        Self { outcome, what: what.into() }
    }
}

/// A request of a check, and what came of it.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// Which of the check's requests it was.
    pub(super) label: &'static str,
    /// Whether it was sent again, as the receiver had asked.
    pub(super) is_repeat: bool,
    pub(super) reply: Reply,
    pub(super) took: Duration,
    /// Seconds that the receiver's clock is surely ahead of this machine's.
    pub(super) ahead: i64,
    /// What the answer gives away.
    pub(super) leak: Option<&'static str>,
}

/// What came back.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Answer(Answer),
    Nothing(SendErrorKind, String),
}

impl From<Result<Answer, SendError>> for Reply {
    fn from(outcome: Result<Answer, SendError>) -> Self {
        match outcome {
            Ok(answer) => Self::Answer(answer),
            Err(error) => Self::Nothing(error.kind, error.to_string()),
        }
    }
}

impl Exchange {
    /// The status, if there was an answer.
    pub(super) fn status(&self) -> Option<u16> {
        match &self.reply {
            Reply::Answer(answer) => Some(answer.status.as_u16()),
            Reply::Nothing(..) => None,
        }
    }

    pub(super) fn is_accepted(&self) -> bool {
        matches!(self.status(), Some(200..=299))
    }

    /// The value of a header of the answer, if it is text.
    pub(super) fn header(&self, name: &http::HeaderName) -> Option<&str> {
        match &self.reply {
            Reply::Answer(answer) => answer.headers.get(name)?.to_str().ok(),
            Reply::Nothing(..) => None,
        }
    }
}

/// What a judge looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// The requests of the check, in the order they were sent.
    pub(super) exchanges: &'a [Exchange],
    /// What was given away in the run so far, and by the answer to what.
    pub(super) leaks: &'a [(&'static str, &'static str)],
    /// How long an answer may take.
    pub(super) limit: Duration,
}
