//! Results of handling a delivery, and the responses to them.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};

use crate::inbox::InboxError;
use crate::refusal::Refusal;

/// The result of [`process_once`](crate::process_once).
///
/// | Outcome | Status | Effect at the sender |
/// |---|---|---|
/// | `Done`, `Duplicate` | 200 | delivered |
/// | `InFlight` | 503 and `Retry-After` | repeats the delivery |
/// | `Failed`, `Panicked` | 500 | repeats the delivery, which is handled again |
/// | `Lost`, `NotCompleted` | 503 | repeats the delivery, which may be handled again |
/// | `NotClaimed` | [`InboxError::status`] | repeats the delivery |
///
/// Display describes a failure for a log, with the handler's error.
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "respond to the sender with its status"]
pub enum ProcessOutcome<T, E> {
    /// The handler succeeded, and the delivery is marked as handled.
    Done(T),
    /// The delivery was handled before. The handler did not run.
    Duplicate,
    /// The same delivery is being handled. The handler did not run.
    #[non_exhaustive]
    InFlight {
        /// Time until the lease of the other claim ends.
        retry_after: Duration,
    },
    /// The handler returned an error. The claim was released.
    Failed(E),
    /// The handler panicked. The claim was released.
    Panicked,
    /// The handler succeeded, but its lease had ended and another delivery took the claim over: the
    /// submission is handled twice. Use a longer lease.
    Lost(T),
    /// The handler succeeded, but the store failed to mark the delivery. It is handled again, unless the
    /// store saved the mark.
    #[non_exhaustive]
    NotCompleted {
        /// The value of the handler.
        value: T,
        /// The error of the store.
        error: InboxError,
    },
    /// The store failed before the handler ran. Also returned if the runtime was shut down, possibly while
    /// the handler ran.
    NotClaimed(InboxError),
}

impl<T, E> ProcessOutcome<T, E> {
    fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Done(_) | Self::Duplicate => None,
            Self::InFlight { .. } => Some(Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "in_flight",
                "the submission is being handled",
            )),
            Self::Failed(_) | Self::Panicked => Some(Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal_error",
                "the receiver failed",
            )),
            Self::Lost(_) | Self::NotCompleted { .. } => Some(InboxError::UNAVAILABLE),
            Self::NotClaimed(error) => Some(error.refusal()),
        }
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.refusal().map_or(StatusCode::OK, |refusal| refusal.status)
    }

    /// The value of the response's `Retry-After` header, in seconds.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::InFlight { retry_after } => {
                let rounded_up = retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0);
                Some(rounded_up.max(1))
            }
            _ => None,
        }
    }

    /// True if the response is a success: `Done` or `Duplicate`.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Duplicate)
    }

    /// True if handling the delivery failed: neither a success nor `InFlight`.
    pub fn is_failure(&self) -> bool {
        !self.is_success() && !matches!(self, Self::InFlight { .. })
    }

    /// True if the handler had no effect to protect, so that the claim can be released.
    pub(super) fn releases_claim(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Panicked)
    }

    /// The response for the sender: the status, `Retry-After`, and for an error
    /// `{"error":{"code":…,"message":…}}` (SPEC §7). It contains nothing of the handler's value or error.
    pub fn to_response(&self) -> Response<Bytes> {
        let response = self.refusal().map(Refusal::to_response);
        let mut response = response.unwrap_or_else(|| Response::new(Bytes::new()));
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl<T, E: fmt::Display> fmt::Display for ProcessOutcome<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(_) => f.write_str("the delivery was handled"),
            Self::Duplicate => f.write_str("the delivery was handled before"),
            Self::InFlight { .. } => f.write_str("the delivery is being handled"),
            Self::Failed(error) => write!(f, "the handler failed: {error}"),
            Self::Panicked => f.write_str("the handler panicked"),
            Self::Lost(_) => f.write_str("the lease ended before the handler, which ran twice"),
            Self::NotCompleted { error, .. } => {
                write!(f, "the handled delivery could not be marked: {}", WithCauses(error))
            }
            Self::NotClaimed(error) => {
                write!(f, "the delivery could not be claimed: {}", WithCauses(error))
            }
        }
    }
}

/// An error with its causes.
struct WithCauses<'a>(&'a InboxError);

impl fmt::Display for WithCauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)?;
        let mut causes =
            std::iter::successors(std::error::Error::source(self.0), |error| (*error).source());
        causes.try_for_each(|cause| write!(f, ": {cause}"))
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::ErrorBody;

    use super::*;
    use crate::inbox::InboxErrorKind;

    type Outcome = ProcessOutcome<&'static str, &'static str>;

    #[test]
    fn outcome_has_status_retry_after_and_code() {
        let error = || InboxError::new(InboxErrorKind::Unavailable);
        for (outcome, status, retry_after, code) in [
            (Outcome::Done("hunter2"), 200, None, ""),
            (Outcome::Duplicate, 200, None, ""),
            (
                Outcome::InFlight { retry_after: Duration::from_millis(1_001) },
                503,
                Some("2"),
                "in_flight",
            ),
            (Outcome::InFlight { retry_after: Duration::ZERO }, 503, Some("1"), "in_flight"),
            (Outcome::Failed("hunter2"), 500, None, "internal_error"),
            (Outcome::Panicked, 500, None, "internal_error"),
            (Outcome::Lost("hunter2"), 503, None, "unavailable"),
            (Outcome::NotCompleted { value: "hunter2", error: error() }, 503, None, "unavailable"),
            (Outcome::NotClaimed(error()), 503, None, "unavailable"),
            (Outcome::NotClaimed(InboxErrorKind::InvalidKey.into()), 400, None, "bad_event"),
        ] {
            assert_eq!(outcome.is_success(), status == 200, "{outcome:?}");
            let response = outcome.to_response();
            assert_eq!(response.status().as_u16(), status, "{outcome:?}");
            let header = response.headers().get("retry-after");
            assert_eq!(header.map(|value| value.to_str().unwrap()), retry_after, "{outcome:?}");
            let body: Option<ErrorBody> = serde_json::from_slice(response.body()).ok();
            let found = body.map_or(String::new(), |body| body.error.code.as_str().to_owned());
            assert_eq!(found, code, "{outcome:?}");
        }
    }

    #[test]
    fn failure_display_contains_the_cause() {
        assert_eq!(Outcome::Failed("disk full").to_string(), "the handler failed: disk full");
        let error = InboxError::with_source(InboxErrorKind::Unavailable, "connection refused");
        let outcome = Outcome::NotClaimed(error).to_string();
        assert!(outcome.ends_with("the inbox is not available: connection refused"), "{outcome}");
    }
}
