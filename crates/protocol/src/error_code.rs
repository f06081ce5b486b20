//! The error codes of the REST API: one table, from which the statuses of the server, the codes of
//! the client and docs/ERRORS.md follow. The body of every error contains one.

use serde::{Deserialize, Serialize};

use crate::open_enum::open_enum;

/// Status and meaning of an error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorCodeInfo {
    /// HTTP status of the answer.
    pub status: u16,
    /// Meaning, as a sentence.
    pub meaning: &'static str,
    /// True if the specification lists the code (SPEC §7). The reference service sends the other
    /// codes for conditions that the specification leaves open.
    pub specified: bool,
}

macro_rules! error_codes {
    ($( $variant:ident = $text:literal, $status:literal, $spec:literal, $meaning:literal; )+) => {
        open_enum! {
            /// A stable error code (SPEC §7). Match on the code, never on a message.
            ///
            /// ```
            /// use formsvc_protocol::ErrorCode;
            /// assert_eq!(ErrorCode::from("key_revoked"), ErrorCode::KeyRevoked);
            /// let later = ErrorCode::from("quota_exhausted");
            /// assert_eq!(later.as_str(), "quota_exhausted");
            /// assert!(later.info().is_none());
            /// ```
            pub enum ErrorCode / UnknownErrorCode {
                $( #[doc = $meaning] $variant = $text, )+
            }
        }

        impl ErrorCode {
            /// Returns status and meaning, or `None` for a code that this release does not know.
            pub fn info(&self) -> Option<ErrorCodeInfo> {
                match self {
                    $( Self::$variant => Some(ErrorCodeInfo {
                        status: $status,
                        meaning: $meaning,
                        specified: $spec,
                    }), )+
                    Self::Other(_) => None,
                }
            }
        }
    };
}

error_codes! {
    BadRequest           = "bad_request",           400, true, "Malformed request.";
    MissingAuthorization = "missing_authorization", 401, true, "No Authorization header.";
    InvalidKey           = "invalid_key",           401, true, "Key does not exist or does not match.";
    KeyRevoked           = "key_revoked",           401, true, "Key was revoked.";
    FormNotFound         = "form_not_found",        404, true, "Form does not exist or is not the caller's.";
    RateLimited          = "rate_limited",          429, true, "Rate limit exceeded; `Retry-After` gives seconds to wait.";
    OriginNotAllowed     = "origin_not_allowed",    403, false, "The form does not accept submissions from pages of this origin.";
    NotFound             = "not_found",             404, false, "No such path.";
    MethodNotAllowed     = "method_not_allowed",    405, false, "The path exists, the method does not.";
    RequestTimeout       = "request_timeout",       408, false, "The request body did not arrive in time.";
    FormClosed           = "form_closed",           410, false, "The form no longer accepts submissions.";
    PayloadTooLarge      = "payload_too_large",     413, false, "The request body is too large.";
    UnsupportedMediaType = "unsupported_media_type", 415, false, "The body, or a part of it, has an unsupported type, such as a file.";
    InvalidAnswers       = "invalid_answers",       422, false, "The answers break rules of the form; `fields` lists them.";
    IdempotencyKeyReused = "idempotency_key_reused", 422, false, "The idempotency key was used before with other answers.";
    InternalError        = "internal_error",        500, false, "The service failed; the request id finds the cause in its log.";
    Unavailable          = "unavailable",           503, false, "The service cannot answer now; `Retry-After` gives seconds to wait.";
}

/// The body of every REST error (SPEC §7): `{"error":{"code":…,"message":…}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// A stable code and a message for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDetail {
    /// Stable across releases.
    pub code: ErrorCode,
    /// Human-readable; may change at any time.
    pub message: String,
}

impl ErrorBody {
    /// Creates the body for a code and a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { error: ErrorDetail { code, message: message.into() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specified_codes_have_their_statuses() {
        let specified: Vec<_> = ErrorCode::KNOWN
            .iter()
            .filter_map(|code| {
                code.info().filter(|info| info.specified).map(|info| (info.status, code.as_str()))
            })
            .collect();
        assert_eq!(
            specified,
            [
                (400, "bad_request"),
                (401, "missing_authorization"),
                (401, "invalid_key"),
                (401, "key_revoked"),
                (404, "form_not_found"),
                (429, "rate_limited"),
            ]
        );
    }

    #[test]
    fn known_code_parses_to_itself() {
        for code in ErrorCode::KNOWN {
            assert_eq!(&ErrorCode::from(code.as_str()), code);
        }
    }
}
