//! Why a delivery is refused.

use std::fmt;

use bytes::Bytes;
use formsvc_protocol::signature::SignatureError;
use http::{Response, StatusCode};

use crate::EventError;
use crate::refusal::Refusal;

/// Why a delivery is refused. Contains no header value, secret, expected signature or text of the
/// body, so it can be logged.
///
/// | Variant | Status | Code |
/// |---|---|---|
/// | [`MissingHeader`](Self::MissingHeader) | 401 | `missing_signature` |
/// | [`Malformed`](Self::Malformed) | 401 | `malformed_signature` |
/// | [`NoMatch`](Self::NoMatch) | 401 | `signature_mismatch` |
/// | [`TooOld`](Self::TooOld) | 401 | `signature_too_old` |
/// | [`InFuture`](Self::InFuture) | 401 | `signature_in_future` |
/// | [`TooLarge`](Self::TooLarge) | 413 | `payload_too_large` |
/// | [`InvalidEvent`](Self::InvalidEvent) | 400 | `bad_event` |
/// | [`EventMismatch`](Self::EventMismatch) | 400 | `event_mismatch` |
///
/// For the service every status except 2xx is a failed attempt (SPEC §6).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyError {
    /// The request has no `X-Service-Signature` header.
    MissingHeader,
    /// The header is not `t=<digits>,v1=<64 lower-case hex digits>[,…]`, or occurs more than once.
    Malformed,
    /// No signature of the header matches the body and one of the secrets.
    NoMatch,
    /// The signature is older than the tolerance.
    TooOld,
    /// The time of the signature is further in the future than the tolerance.
    InFuture,
    /// The body is larger than [`max_body`](crate::VerifierBuilder::max_body).
    TooLarge,
    /// The signature is valid, but the body is not an event (SPEC §6).
    InvalidEvent(EventError),
    /// `X-Service-Event` names another kind of event than the body. Only the body is signed.
    EventMismatch,
}

impl VerifyError {
    pub(crate) fn refusal(&self) -> Refusal {
        let (status, code, message) = match self {
            Self::MissingHeader => (401, "missing_signature", "the signature header is missing"),
            Self::Malformed => (401, "malformed_signature", "the signature header is malformed"),
            Self::NoMatch => (401, "signature_mismatch", "no signature matches"),
            Self::TooOld => (401, "signature_too_old", "the signature is too old"),
            Self::InFuture => (401, "signature_in_future", "the signature is in the future"),
            Self::TooLarge => (413, "payload_too_large", "the body is too large"),
            Self::InvalidEvent(_) => (400, "bad_event", "the body is not a valid event"),
            Self::EventMismatch => {
                (400, "event_mismatch", "the event header does not match the body")
            }
        };
        let status = StatusCode::from_u16(status).expect("the table contains HTTP statuses only");
        Refusal::new(status, code, message)
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
        self.refusal().to_response()
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.refusal().message)
    }
}

impl std::error::Error for VerifyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::InvalidEvent(error) => Some(error),
            _ => None,
        }
    }
}

impl From<SignatureError> for VerifyError {
    fn from(error: SignatureError) -> Self {
        match error {
            SignatureError::NoMatch => Self::NoMatch,
            SignatureError::TooOld => Self::TooOld,
            SignatureError::InFuture => Self::InFuture,
            // Reasons that a later release adds are refusals as well.
            _ => Self::Malformed,
        }
    }
}

impl From<EventError> for VerifyError {
    fn from(error: EventError) -> Self {
        Self::InvalidEvent(error)
    }
}
