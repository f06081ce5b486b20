//! What the sender of a delivery that goes no further is answered.

use std::fmt;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;

use crate::VerifyError;
use crate::answer::refusal;

/// Why a request goes no further than the layer or the extractor, and what its sender is answered.
///
/// | Variant | Status | Code |
/// |---|---|---|
/// | [`Refused`](Self::Refused) | that of the [`VerifyError`] | that of the [`VerifyError`] |
/// | [`Unreadable`](Self::Unreadable) | 400 | `unreadable_body` |
/// | [`TooSlow`](Self::TooSlow) | 408 | `body_timeout` |
/// | [`EventMismatch`](Self::EventMismatch) | 400 | `event_mismatch` |
/// | [`Ignored`](Self::Ignored) | 200 | `event_ignored` |
///
/// The answer of a refusal is `{"error":{"code":…,"message":…}}`, the service's error shape (SPEC §7),
/// in fixed words: nothing of the request, no secret, and not the right signature.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// The delivery is not one of the service's, or not a right one.
    Refused(VerifyError),
    /// The body could not be read to its end: the connection broke, or whatever limits the reading
    /// gave up.
    Unreadable,
    /// The body took longer than the verifier's
    /// [`read_timeout`](crate::VerifierBuilder::read_timeout).
    TooSlow,
    /// `X-Service-Event` names another kind than the body, which alone is signed.
    EventMismatch,
    /// The delivery is the service's, and tells of something this handler does not take. The answer
    /// is 200 without a body: anything but 2xx would make the service send it three times more, for
    /// nothing (SPEC §6).
    Ignored {
        /// The kind of the event, any text.
        kind: Box<str>,
    },
}

impl Rejection {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Refused(error) => {
                StatusCode::from_u16(error.status()).expect("the table has statuses of HTTP")
            }
            Self::Unreadable | Self::EventMismatch => StatusCode::BAD_REQUEST,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Ignored { .. } => StatusCode::OK,
        }
    }

    /// The stable code of the answer, also for metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(error) => error.code(),
            Self::Unreadable => "unreadable_body",
            Self::TooSlow => "body_timeout",
            Self::EventMismatch => "event_mismatch",
            Self::Ignored { .. } => "event_ignored",
        }
    }

    fn message(&self) -> &'static str {
        match self {
            Self::Refused(error) => error.message(),
            Self::Unreadable => "the body could not be read",
            Self::TooSlow => "the body took too long",
            Self::EventMismatch => "the event is of another kind than its header says",
            Self::Ignored { .. } => "this receiver takes no events of this kind",
        }
    }

    /// The answer.
    pub fn to_response(&self) -> Response<Full<Bytes>> {
        if let Self::Ignored { .. } = self {
            let mut response = Response::new(Full::default());
            *response.status_mut() = self.status();
            return response;
        }
        refusal(self.status(), self.code(), self.message())
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            // The kind is a stranger's text, so it stays in its field.
            _ => f.write_str(self.message()),
        }
    }
}

impl std::error::Error for Rejection {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Refused(error) => error.source(),
            _ => None,
        }
    }
}

impl From<VerifyError> for Rejection {
    fn from(error: VerifyError) -> Self {
        Self::Refused(error)
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::ErrorBody;
    use http_body::Body;

    use super::*;
    use crate::Event;

    /// Every way to be refused, with its status and code.
    fn table() -> Vec<(Rejection, u16, &'static str)> {
        let bad_json = Event::from_json("").unwrap_err();
        vec![
            (VerifyError::MissingHeader.into(), 401, "missing_signature"),
            (VerifyError::Malformed.into(), 401, "malformed_signature"),
            (VerifyError::NoMatch.into(), 401, "signature_mismatch"),
            (VerifyError::TooOld.into(), 401, "signature_too_old"),
            (VerifyError::InFuture.into(), 401, "signature_in_future"),
            (VerifyError::TooLarge.into(), 413, "payload_too_large"),
            (VerifyError::BadJson(bad_json).into(), 400, "bad_event"),
            (Rejection::Unreadable, 400, "unreadable_body"),
            (Rejection::TooSlow, 408, "body_timeout"),
            (Rejection::EventMismatch, 400, "event_mismatch"),
        ]
    }

    #[test]
    fn the_table_of_answers() {
        for (rejection, status, code) in table() {
            let response = rejection.to_response();
            assert_eq!((response.status().as_u16(), rejection.code()), (status, code));
            assert_eq!(response.headers()["content-type"], "application/json");
            let body = crate::tower::read_now(response.into_body());
            assert!(body.len() < 120);
            let body: ErrorBody = serde_json::from_slice(&body).unwrap();
            assert_eq!(body.error.code.as_str(), code);
        }
    }

    #[test]
    fn the_readme_tells_every_status_and_code() {
        for (_, status, code) in table() {
            let row = include_str!("../README.md").lines().find(|line| {
                line.starts_with(&format!("| {status} ")) && line.contains(&format!("`{code}`"))
            });
            assert!(row.is_some(), "{status} {code}");
        }
    }

    #[test]
    fn an_event_that_is_ignored_is_no_failure_to_its_sender() {
        let rejection = Rejection::Ignored { kind: "form.\u{1b}[2J".into() };
        let response = rejection.to_response();
        assert_eq!(response.status(), 200);
        assert!(response.body().is_end_stream());
        assert!(!rejection.to_string().contains('\u{1b}'));
    }
}
