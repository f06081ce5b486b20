//! The body of every REST error (SPEC §7).

use serde::{Deserialize, Serialize};

use crate::ErrorCode;

/// `{"error":{"code":…,"message":…}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// The one member.
    pub error: ErrorDetail,
}

/// What went wrong: a stable code, and a sentence for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorDetail {
    /// Stable across releases.
    pub code: ErrorCode,
    /// Human-readable; may change at any time.
    pub message: String,
}

impl ErrorBody {
    /// The body for a code and a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { error: ErrorDetail { code, message: message.into() } }
    }
}
