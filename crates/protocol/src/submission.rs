//! The submission (SPEC §2).

use serde::{Deserialize, Serialize};

use crate::{Answers, SubmissionId, Timestamp};

/// One submission of a form, owned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Submission {
    /// Identifier.
    pub id: SubmissionId,
    /// The answers by field label, as the exact JSON text that was accepted.
    pub data: Answers,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Submission {
    /// A submission from its parts.
    pub fn new(id: SubmissionId, data: Answers, created_at: Timestamp) -> Self {
        Self { id, data, created_at }
    }
}
