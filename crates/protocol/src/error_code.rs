//! The error codes of the REST API: one table, from which the server's statuses, the client's
//! matching, the command line's exit codes and docs/ERRORS.md follow.

use crate::open_enum::open_enum;

/// What a row of the table says about a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorCodeRow {
    /// The HTTP status it is sent with.
    pub status: u16,
    /// What happened, for a person.
    pub meaning: &'static str,
    /// Whether the service's specification (SPEC §7) lists it. The others are sent by the reference
    /// service for conditions the specification is silent on; other deployments may not send them.
    pub specified: bool,
}

macro_rules! error_codes {
    ($( $variant:ident = $text:literal, $status:literal, $spec:ident, $meaning:literal; )+) => {
        open_enum! {
            /// A stable error code (SPEC §7): match on this, never on a message.
            ///
            /// ```
            /// use formsvc_protocol::ErrorCode;
            /// assert_eq!(ErrorCode::from("key_revoked"), ErrorCode::KeyRevoked);
            /// let later = ErrorCode::from("quota_exhausted");
            /// assert_eq!(later.as_str(), "quota_exhausted");
            /// assert!(later.row().is_none());
            /// ```
            pub enum ErrorCode / UnknownErrorCode {
                $( #[doc = $meaning] $variant = $text, )+
            }
        }

        impl ErrorCode {
            /// The row of the table, or `None` for a code this release does not know.
            pub fn row(&self) -> Option<ErrorCodeRow> {
                match self {
                    $( Self::$variant => Some(ErrorCodeRow {
                        status: $status,
                        meaning: $meaning,
                        specified: error_codes!(@$spec),
                    }), )+
                    Self::Other(_) => None,
                }
            }
        }
    };
    (@spec) => { true };
    (@ours) => { false };
}

error_codes! {
    BadRequest           = "bad_request",           400, spec, "Malformed request.";
    MissingAuthorization = "missing_authorization", 401, spec, "No Authorization header.";
    InvalidKey           = "invalid_key",           401, spec, "Key does not exist or does not match.";
    KeyRevoked           = "key_revoked",           401, spec, "Key was revoked.";
    FormNotFound         = "form_not_found",        404, spec, "Form does not exist or is not the caller's.";
    RateLimited          = "rate_limited",          429, spec, "Rate limit exceeded; `Retry-After` gives seconds to wait.";
    OriginNotAllowed     = "origin_not_allowed",    403, ours, "Nothing is taken from pages of this origin.";
    NotFound             = "not_found",             404, ours, "No such path.";
    MethodNotAllowed     = "method_not_allowed",    405, ours, "The path exists, the method does not.";
    RequestTimeout       = "request_timeout",       408, ours, "The request body did not arrive in time.";
    FormClosed           = "form_closed",           410, ours, "The form takes no submissions any more.";
    PayloadTooLarge      = "payload_too_large",     413, ours, "The request body is too large.";
    UnsupportedMediaType = "unsupported_media_type", 415, ours, "The body, or a part of it, is of a type that is not read, such as a file.";
    InvalidAnswers       = "invalid_answers",       422, ours, "The answers break rules of the form; `fields` says which.";
    IdempotencyKeyReused = "idempotency_key_reused", 422, ours, "The idempotency key came with other answers before.";
    InternalError        = "internal_error",        500, ours, "The service failed; the request id finds the cause in its log.";
    Unavailable          = "unavailable",           503, ours, "The service cannot answer now; `Retry-After` gives seconds to wait.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_six_codes_of_the_specification_carry_its_statuses() {
        let specified: Vec<_> = ErrorCode::KNOWN
            .iter()
            .filter_map(|code| {
                code.row().filter(|row| row.specified).map(|row| (row.status, code.as_str()))
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
    fn every_known_code_parses_back_to_itself() {
        for code in ErrorCode::KNOWN {
            assert_eq!(&ErrorCode::from(code.as_str()), code);
        }
    }
}
