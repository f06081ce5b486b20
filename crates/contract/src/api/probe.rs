//! The requests of the checks, and their answers.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, StatusCode};
use serde_json::Value;

use crate::report::redirect_target;
use crate::send::{Answer, SendError};

/// A request that is sent once for all checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Probe {
    /// `me` with the key.
    Me,
    /// `me` without a key.
    MeWithoutKey,
    /// `forms` without a key.
    FormsWithoutKey,
    /// The submissions without a key.
    RowsWithoutKey,
    /// `me` with a key that does not exist.
    MeWrongKey,
    /// `me` with the revoked key.
    MeRevokedKey,
    /// The list of forms.
    Forms,
    /// The submissions, without parameters.
    Rows,
    /// One submission.
    OneRow,
    /// The newest four submissions on one page.
    FourRows,
    /// The newest four submissions on two pages.
    TwoPages,
    /// The largest page.
    LargestPage,
    /// All pages, from the first to the last.
    AllPages,
    /// The same list with another `limit`, if it is short.
    OtherPages,
    /// A `limit` above the maximum.
    OverMax,
    /// A `limit` that is not a number.
    BadLimit,
    /// A `cursor` that is not a time.
    BadCursor,
    /// A cursor that the service did not issue.
    ForeignCursor,
    /// The submissions of a form that does not exist.
    UnknownForm,
    /// The submissions of another user's form.
    ForeignForm,
    /// As many requests as the rate limit refuses: the last one that passed, and the first refused one.
    Overload,
    /// A request after the time in `Retry-After`.
    AfterWait,
    /// `me`, with all encodings accepted.
    Compressed,
}

/// A request and its answer.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// Method and path.
    pub(super) request: String,
    /// The body is cut.
    pub(super) outcome: Result<Answer, SendError>,
    /// Length of the whole body.
    pub(super) size: usize,
    /// The body, if it is JSON.
    pub(super) json: Option<Arc<Value>>,
    /// Requests of the key in the minute before.
    pub(super) recent: usize,
    pub(super) took: Duration,
}

impl Exchange {
    pub(super) fn status(&self) -> Option<u16> {
        self.outcome.as_ref().ok().map(|answer| answer.status.as_u16())
    }

    pub(super) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.outcome.as_ref().ok()?.headers.get(name)?.to_str().ok()
    }

    /// The `code` of an error answer.
    pub(super) fn code(&self) -> Option<&str> {
        self.json.as_ref()?.pointer("/error/code")?.as_str()
    }

    /// Describes the answer in a few words.
    pub(super) fn describe(&self) -> String {
        let answer = match &self.outcome {
            Ok(answer) => answer,
            Err(error) => return error.to_string(),
        };
        let kind = match (self.code(), self.header(&http::header::CONTENT_TYPE)) {
            (Some(code), _) => format!(" `{code}`"),
            (None, Some(kind)) if self.json.is_none() => format!(" with {kind}"),
            (None, None) if self.json.is_none() => " without a Content-Type".to_owned(),
            _ => String::new(),
        };
        let to = match self.header(&http::header::LOCATION) {
            Some(to) if answer.status.is_redirection() => {
                format!(", a redirect to {}", redirect_target(to))
            }
            _ => String::new(),
        };
        format!("answered {}{kind}{to}", answer.status.as_u16())
    }

    pub(super) fn is_refused_by_rate_limit(&self) -> bool {
        self.status() == Some(StatusCode::TOO_MANY_REQUESTS.as_u16())
    }
}
