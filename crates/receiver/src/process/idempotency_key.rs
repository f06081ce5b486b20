//! Keys of deliveries.

use crate::{SubmissionCreated, SubmissionId, Verified};

/// A delivery with an idempotency key: deliveries with the same key are handled once.
///
/// The key of a [`Verified<SubmissionCreated>`](Verified) is its signed `submission_id` (SPEC §6).
pub trait IdempotencyKey {
    /// The key. It must not be empty.
    fn idempotency_key(&self) -> &str;
}

impl IdempotencyKey for Verified<SubmissionCreated> {
    fn idempotency_key(&self) -> &str {
        self.submission_id.as_str()
    }
}

impl IdempotencyKey for SubmissionId {
    fn idempotency_key(&self) -> &str {
        self.as_str()
    }
}

impl IdempotencyKey for &str {
    fn idempotency_key(&self) -> &str {
        self
    }
}

impl IdempotencyKey for String {
    fn idempotency_key(&self) -> &str {
        self
    }
}
