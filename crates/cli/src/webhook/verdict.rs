//! What verification finds of a request.

use std::sync::Arc;

use bytes::Bytes;
use formsvc_protocol::signature::{HEADER, SignatureHeader};
use formsvc_receiver::{Verifier, VerifyError, signature_header};
use http::HeaderMap;
use jiff::Timestamp;

/// What verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) code: VerdictCode,
    /// The name of the secret that signed it.
    pub(crate) secret: Option<Arc<str>>,
    /// Seconds from the signature's time to now; negative when it lies ahead. A stranger's word unless
    /// the signature is right.
    pub(crate) age: Option<i64>,
}

/// What verification found, of a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerdictCode {
    /// The signature is right, of now, and the body is an event.
    Valid,
    /// There was no secret to verify with.
    Unchecked,
    MissingHeader,
    Malformed,
    NoMatch,
    TooOld,
    InFuture,
    TooLarge,
    /// The signature is right; the body is no event.
    BadEvent,
}

/// A row of the table of verdicts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VerdictRow {
    pub(crate) code: VerdictCode,
    /// The name, in stores and JSON; it never changes.
    pub(crate) name: &'static str,
    /// In a line on a terminal.
    pub(crate) short: &'static str,
    /// In a sentence.
    pub(crate) meaning: &'static str,
}

const fn row(
    code: VerdictCode,
    name: &'static str,
    short: &'static str,
    meaning: &'static str,
) -> VerdictRow {
    VerdictRow { code, name, short, meaning }
}

/// Every verdict there is. Names of refusals are those of the receiver's answers.
pub(crate) const VERDICTS: &[VerdictRow] = &[
    row(VerdictCode::Valid, "valid", "✓ signed", "the signature is right and of now"),
    row(VerdictCode::Unchecked, "unchecked", "? unchecked", "there was no secret to verify with"),
    row(
        VerdictCode::MissingHeader,
        "missing_signature",
        "✗ unsigned",
        "the request has no X-Service-Signature",
    ),
    row(
        VerdictCode::Malformed,
        "malformed_signature",
        "✗ malformed",
        "X-Service-Signature is not t=<digits>,v1=<64 lower-case hex digits>, or came twice",
    ),
    row(
        VerdictCode::NoMatch,
        "signature_mismatch",
        "✗ mismatch",
        "no signature of the header was made with a secret given here over this body",
    ),
    row(
        VerdictCode::TooOld,
        "signature_too_old",
        "✗ stale",
        "the signature is right, and older than 300 seconds",
    ),
    row(
        VerdictCode::InFuture,
        "signature_in_future",
        "✗ future",
        "the signature is right, and more than 300 seconds ahead of this machine's clock",
    ),
    row(VerdictCode::TooLarge, "payload_too_large", "✗ too large", "the body is over the cap"),
    row(
        VerdictCode::BadEvent,
        "bad_event",
        "✗ no event",
        "the signature is right, and the body is no event",
    ),
];

impl VerdictCode {
    /// Its row.
    pub(crate) fn row(self) -> &'static VerdictRow {
        VERDICTS.iter().find(|row| row.code == self).expect("every verdict has a row")
    }

    /// Whether a receiver refuses what has it.
    pub(crate) fn is_refusal(self) -> bool {
        !matches!(self, Self::Valid | Self::Unchecked)
    }

    /// Whether the service sent it, as far as anybody can know here. What else comes anybody can send; what
    /// is too old was signed once.
    pub(crate) fn is_proven(self) -> bool {
        match self {
            Self::Valid | Self::Unchecked | Self::TooOld | Self::InFuture | Self::BadEvent => true,
            Self::MissingHeader | Self::Malformed | Self::NoMatch | Self::TooLarge => false,
        }
    }

    /// The verdict of a name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        VERDICTS.iter().find(|row| row.name == name).map(|row| row.code)
    }
}

impl From<&VerifyError> for VerdictCode {
    fn from(error: &VerifyError) -> Self {
        match error {
            VerifyError::MissingHeader => Self::MissingHeader,
            VerifyError::NoMatch => Self::NoMatch,
            VerifyError::TooOld => Self::TooOld,
            VerifyError::InFuture => Self::InFuture,
            VerifyError::TooLarge => Self::TooLarge,
            VerifyError::BadJson(_) => Self::BadEvent,
            // A reason that a later release of the receiver may add is at least no acceptance.
            _ => Self::Malformed,
        }
    }
}

/// Judges a request by its raw body, as it was when it came.
pub(crate) fn judge(
    verifier: Option<&Verifier>,
    headers: &HeaderMap,
    body: &Bytes,
    came: Timestamp,
) -> Verdict {
    let header = signature_header(headers.get_all(HEADER));
    let claimed =
        header.as_ref().ok().and_then(|header| SignatureHeader::parse(header.as_bytes()).ok());
    let age = claimed
        .and_then(|header| i64::try_from(header.unix_seconds()).ok())
        .map(|signed| came.as_second().saturating_sub(signed));
    let Some(verifier) = verifier else {
        return Verdict { code: VerdictCode::Unchecked, secret: None, age };
    };
    let found = header
        .and_then(|header| verifier.verify_event_at(header.as_bytes(), body.clone(), came.into()));
    match found {
        Ok(event) => Verdict { code: VerdictCode::Valid, secret: Some(event.secret().into()), age },
        Err(error) => Verdict { code: (&error).into(), secret: None, age },
    }
}
