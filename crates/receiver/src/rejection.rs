//! Requests that the layer or the extractor does not forward.

use std::fmt;

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::VerifyError;
use crate::refusal::Refusal;

/// Why the layer or the axum extractor did not forward a request, and the response to it.
///
/// | Variant | Status | Code |
/// |---|---|---|
/// | [`Verify`](Self::Verify) | see [`VerifyError`] | see [`VerifyError`] |
/// | [`UnreadableBody`](Self::UnreadableBody) | 400 | `unreadable_body` |
/// | [`BodyTimeout`](Self::BodyTimeout) | 408 | `body_timeout` |
/// | [`IgnoredEvent`](Self::IgnoredEvent) | 200 | none, the body is empty |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// The delivery was refused.
    Verify(VerifyError),
    /// The connection or the server ended the body early.
    UnreadableBody,
    /// The body took longer than the verifier's
    /// [`read_timeout`](crate::VerifierBuilder::read_timeout).
    BodyTimeout,
    /// The delivery is valid, but the handler takes only submissions. The response is 200, because
    /// the service would repeat the delivery after any other status.
    #[non_exhaustive]
    IgnoredEvent {
        /// The kind of the event: any text.
        kind: Box<str>,
    },
}

impl Rejection {
    fn refusal(&self) -> Refusal {
        match self {
            Self::Verify(error) => error.refusal(),
            Self::UnreadableBody => Refusal::new(
                StatusCode::BAD_REQUEST,
                "unreadable_body",
                "the body could not be read",
            ),
            Self::BodyTimeout => {
                Refusal::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", "the body took too long")
            }
            Self::IgnoredEvent { .. } => Refusal::new(
                StatusCode::OK,
                "event_ignored",
                "this receiver ignores events of this kind",
            ),
        }
    }

    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.refusal().status
    }

    /// The code in the response: stable, also for metrics.
    pub fn code(&self) -> &'static str {
        self.refusal().code
    }

    /// The response for the sender: `{"error":{"code":…,"message":…}}` (SPEC §7).
    pub fn to_response(&self) -> Response<Bytes> {
        match self {
            Self::IgnoredEvent { .. } => Response::new(Bytes::new()),
            _ => self.refusal().to_response(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.refusal().message)
    }
}

impl std::error::Error for Rejection {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Verify(error) => error.source(),
            _ => None,
        }
    }
}

impl From<VerifyError> for Rejection {
    fn from(error: VerifyError) -> Self {
        Self::Verify(error)
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::ErrorBody;

    use super::*;
    use crate::WebhookEvent;

    /// All refusals with their status and code.
    fn refusals() -> Vec<(Rejection, u16, &'static str)> {
        let event_error = WebhookEvent::from_json("").unwrap_err();
        vec![
            (VerifyError::MissingHeader.into(), 401, "missing_signature"),
            (VerifyError::Malformed.into(), 401, "malformed_signature"),
            (VerifyError::NoMatch.into(), 401, "signature_mismatch"),
            (VerifyError::TooOld.into(), 401, "signature_too_old"),
            (VerifyError::InFuture.into(), 401, "signature_in_future"),
            (VerifyError::TooLarge.into(), 413, "payload_too_large"),
            (VerifyError::InvalidEvent(event_error).into(), 400, "bad_event"),
            (VerifyError::EventMismatch.into(), 400, "event_mismatch"),
            (Rejection::UnreadableBody, 400, "unreadable_body"),
            (Rejection::BodyTimeout, 408, "body_timeout"),
        ]
    }

    #[test]
    fn refusal_has_status_code_and_message() {
        for (rejection, status, code) in refusals() {
            let response = rejection.to_response();
            assert_eq!((response.status().as_u16(), rejection.code()), (status, code));
            assert_eq!(response.headers()["content-type"], "application/json");
            let body: ErrorBody = serde_json::from_slice(response.body()).unwrap();
            assert_eq!(body.error.code.as_str(), code);
            assert_eq!(body.error.message, rejection.to_string());
        }
    }

    #[test]
    fn readme_lists_every_status_and_code() {
        for (_, status, code) in refusals() {
            let row = include_str!("../README.md").lines().find(|line| {
                line.starts_with(&format!("| {status} ")) && line.contains(&format!("`{code}`"))
            });
            assert!(row.is_some(), "{status} {code}");
        }
    }

    #[test]
    fn ignored_event_is_answered_with_empty_200() {
        let rejection = Rejection::IgnoredEvent { kind: "form.\u{1b}[2J".into() };
        let response = rejection.to_response();
        assert_eq!((response.status().as_u16(), response.body().len()), (200, 0));
        assert!(!rejection.to_string().contains('\u{1b}'));
    }
}
