//! Why a delivery is refused, and what its sender is told.

use std::fmt;

use formsvc_protocol::signature::SignatureError;

use crate::BadJson;

/// Why a delivery is refused.
///
/// `Display` is a fixed sentence for each variant, and for [`BadJson`](Self::BadJson) names a member
/// of the event and a place. None holds the header, a secret, the right signature, or any part of
/// the body: it can be logged.
///
/// | Variant | Status | Code |
/// |---|---|---|
/// | [`MissingHeader`](Self::MissingHeader) | 401 | `missing_signature` |
/// | [`Malformed`](Self::Malformed) | 401 | `malformed_signature` |
/// | [`NoMatch`](Self::NoMatch) | 401 | `signature_mismatch` |
/// | [`TooOld`](Self::TooOld) | 401 | `signature_too_old` |
/// | [`InFuture`](Self::InFuture) | 401 | `signature_in_future` |
/// | [`TooLarge`](Self::TooLarge) | 413 | `payload_too_large` |
/// | [`BadJson`](Self::BadJson) | 400 | `bad_event` |
///
/// Statuses and codes are this crate's choice: to the sender every answer but 2xx is a failed attempt
/// (SPEC §6, §7).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerifyError {
    /// The request has no `X-Service-Signature`.
    MissingHeader,
    /// The header is not `t=<digits>,v1=<64 lower-case hex digits>[,…]`, or stands in the request
    /// more than once (SPEC §5).
    Malformed,
    /// No signature matches any secret.
    NoMatch,
    /// The signature is older than the tolerance (SPEC §8). It is right, unless
    /// [`admit`](crate::Verifier::admit) says so, as the layer and the extractor ask before they read.
    TooOld,
    /// Its time lies further ahead than the tolerance (SPEC §8); otherwise as [`TooOld`](Self::TooOld).
    InFuture,
    /// The body is longer than [`max_body`](crate::VerifierBuilder::max_body).
    TooLarge,
    /// The signature is right, but the body is no event (SPEC §6).
    BadJson(BadJson),
}

/// A row of the table: what the sender of a refused delivery is told.
#[derive(Clone, Copy)]
struct Row {
    status: u16,
    code: &'static str,
    message: &'static str,
}

impl VerifyError {
    fn row(&self) -> Row {
        let (status, code, message) = match self {
            Self::MissingHeader => (401, "missing_signature", "the signature header is missing"),
            Self::Malformed => (401, "malformed_signature", "the signature header is malformed"),
            Self::NoMatch => (401, "signature_mismatch", "no signature matches"),
            Self::TooOld => (401, "signature_too_old", "the signature is too old"),
            Self::InFuture => (401, "signature_in_future", "the signature lies in the future"),
            Self::TooLarge => (413, "payload_too_large", "the body is too large"),
            Self::BadJson(_) => (400, "bad_event", "the body is no event"),
        };
        Row { status, code, message }
    }

    /// The HTTP status to refuse the delivery with.
    pub fn status(&self) -> u16 {
        self.row().status
    }

    /// A stable code for the answer, in the service's error shape (SPEC §7).
    pub fn code(&self) -> &'static str {
        self.row().code
    }

    /// A fixed sentence for the sender. Less than `Display`, which is for the receiver's own log.
    pub fn message(&self) -> &'static str {
        self.row().message
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for VerifyError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::BadJson(error) => Some(error),
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
            // A reason that a later release may add is at least no acceptance.
            _ => Self::Malformed,
        }
    }
}

impl From<BadJson> for VerifyError {
    fn from(error: BadJson) -> Self {
        Self::BadJson(error)
    }
}
