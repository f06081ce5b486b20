//! Why an inbox operation failed.

use std::error::Error;
use std::fmt;

use bytes::Bytes;
use http::{Response, StatusCode};

use super::limits::{LEASE_MAX, LEASE_MIN, PAYLOAD_MAX};
use crate::refusal::Refusal;

/// A failed inbox operation. Contains no key, payload or secret.
#[derive(Debug)]
pub struct InboxError {
    kind: InboxErrorKind,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of an [`InboxError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InboxErrorKind {
    /// The key is empty.
    InvalidKey,
    /// The payload is larger than [`PAYLOAD_MAX`] bytes.
    PayloadTooLarge,
    /// The lease is not within [`LEASE_MIN`] and [`LEASE_MAX`].
    InvalidLease,
    /// A setting is invalid, or the store's tables cannot be used by this release; see the source.
    InvalidConfig,
    /// The claim was taken over, completed or released before. Nothing was changed.
    ClaimLost,
    /// Another caller has a claim on the key.
    InFlight,
    /// The memory inbox is full.
    Full,
    /// The store is busy, not reachable, or out of disk space. A retry may succeed.
    Unavailable,
    /// The store reported an unexpected error: it is damaged, or this crate has a bug.
    Internal,
}

impl InboxError {
    /// Creates an error for your own implementation of [`Inbox`](super::Inbox).
    pub fn new(kind: InboxErrorKind) -> Self {
        Self { kind, source: None }
    }

    /// Like [`new`](Self::new), with the cause, which must not contain a payload.
    pub fn with_source(
        kind: InboxErrorKind,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { kind, source: Some(source.into()) }
    }

    pub(super) fn config(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::with_source(InboxErrorKind::InvalidConfig, source)
    }

    /// The kind of the failure.
    pub fn kind(&self) -> InboxErrorKind {
        self.kind
    }

    /// True if a retry of the same call may succeed.
    pub fn is_transient(&self) -> bool {
        use InboxErrorKind::{Full, InFlight, Unavailable};
        matches!(self.kind, InFlight | Full | Unavailable)
    }

    pub(crate) fn refusal(&self) -> Refusal {
        let (status, code, message) = match self.kind {
            InboxErrorKind::InvalidKey => {
                (StatusCode::BAD_REQUEST, "bad_event", "the submission id is invalid")
            }
            InboxErrorKind::PayloadTooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "payload_too_large", "the body is too large")
            }
            _ => return Self::UNAVAILABLE,
        };
        Refusal::new(status, code, message)
    }

    pub(crate) const UNAVAILABLE: Refusal = Refusal::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "unavailable",
        "the receiver cannot store deliveries",
    );

    /// The status of the response: 400 or 413 if no retry can succeed, otherwise 503.
    pub fn status(&self) -> StatusCode {
        self.refusal().status
    }

    /// The response for the sender, never a success: `{"error":{"code":…,"message":…}}` (SPEC §7).
    pub fn to_response(&self) -> Response<Bytes> {
        self.refusal().to_response()
    }
}

impl fmt::Display for InboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            InboxErrorKind::InvalidKey => f.write_str("a key cannot be empty"),
            InboxErrorKind::PayloadTooLarge => {
                write!(f, "a payload must have at most {PAYLOAD_MAX} bytes")
            }
            InboxErrorKind::InvalidLease => {
                write!(f, "a lease must be within {LEASE_MIN:?} and {LEASE_MAX:?}")
            }
            InboxErrorKind::InvalidConfig => f.write_str("the inbox cannot be opened"),
            InboxErrorKind::ClaimLost => {
                f.write_str("the claim was taken over, completed or released")
            }
            InboxErrorKind::InFlight => f.write_str("the key is claimed by another caller"),
            InboxErrorKind::Full => f.write_str("the inbox is full"),
            InboxErrorKind::Unavailable => f.write_str("the inbox is not available"),
            InboxErrorKind::Internal => f.write_str("the inbox reported an unexpected error"),
        }
    }
}

impl Error for InboxError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<InboxErrorKind> for InboxError {
    fn from(kind: InboxErrorKind) -> Self {
        Self::new(kind)
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::ErrorBody;

    use super::*;

    #[test]
    fn inbox_error_is_never_answered_with_success() {
        use InboxErrorKind::*;
        for (kind, status, code) in [
            (InvalidKey, 400, "bad_event"),
            (PayloadTooLarge, 413, "payload_too_large"),
            (InvalidLease, 503, "unavailable"),
            (InvalidConfig, 503, "unavailable"),
            (ClaimLost, 503, "unavailable"),
            (InFlight, 503, "unavailable"),
            (Full, 503, "unavailable"),
            (Unavailable, 503, "unavailable"),
            (Internal, 503, "unavailable"),
        ] {
            let response = InboxError::new(kind).to_response();
            assert_eq!(response.status().as_u16(), status, "{kind:?}");
            let body: ErrorBody = serde_json::from_slice(response.body()).unwrap();
            assert_eq!(body.error.code.as_str(), code, "{kind:?}");
        }
    }
}
