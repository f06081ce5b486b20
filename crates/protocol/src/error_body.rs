//! The body of every REST error (SPEC §7).

use crate::ErrorCode;
use crate::wire_object::wire_object;

wire_object! {
    /// `{"error":{"code":…,"message":…}}`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ErrorBody {
        /// The error.
        error: ErrorDetail,
    }
}

wire_object! {
    /// A stable code and a message for people.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ErrorDetail {
        /// Stable across releases.
        code: ErrorCode,
        /// Human-readable; may change at any time.
        message: String,
    }
}

impl ErrorBody {
    /// Creates the body for a code and a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { error: ErrorDetail { code, message: message.into() } }
    }
}
