//! What tells that two deliveries are the same.

use crate::{SubmissionCreated, SubmissionId, Verified};

/// What has an idempotency key: two deliveries with one key are the same.
///
/// Give [`process_once`](crate::process_once) the [`Verified<SubmissionCreated>`](Verified) itself: its key is
/// the `submission_id` that was signed (SPEC §6), and nothing that stands elsewhere in the request can take
/// its place. A text is a key too, for what is keyed otherwise. Events of kinds that this release does not
/// know have no key that it could tell.
pub trait IdempotencyKey {
    /// The key, of 1 to [`KEY_MAX`](crate::inbox::KEY_MAX) bytes.
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

impl IdempotencyKey for str {
    fn idempotency_key(&self) -> &str {
        self
    }
}

impl IdempotencyKey for String {
    fn idempotency_key(&self) -> &str {
        self
    }
}

impl<K: IdempotencyKey + ?Sized> IdempotencyKey for &K {
    fn idempotency_key(&self) -> &str {
        (**self).idempotency_key()
    }
}
