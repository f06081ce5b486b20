//! What a client tells while it works.

use std::time::Duration;

use http::StatusCode;

use crate::{ErrorKind, FallbackReason, TieOverflow, TransportErrorKind};

/// Something that happened during a call, for progress bars and logs. Given to the function set
/// with [`on_event`](crate::ClientBuilder::on_event) as it happens, on the task that makes the
/// call; that function should be quick.
///
/// Holds no key, no address, no body.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A request was answered, or failed.
    #[non_exhaustive]
    Attempt {
        /// The operation, such as `submissions.list`.
        operation: &'static str,
        /// Which attempt of the call, from 1.
        attempt: u32,
        /// The status, when there was an answer.
        status: Option<StatusCode>,
        /// The kind of failure, when it is one.
        failure: Option<ErrorKind>,
        /// Time the attempt took.
        elapsed: Duration,
    },
    /// The call will try again.
    #[non_exhaustive]
    RetryScheduled {
        /// The operation.
        operation: &'static str,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// Time until the next attempt.
        delay: Duration,
        /// Why the attempt failed.
        why: RetryReason,
    },
    /// The call waits for the rate limit before it sends anything.
    #[non_exhaustive]
    RateLimited {
        /// The operation.
        operation: &'static str,
        /// How long.
        wait: Duration,
        /// What asks for the wait.
        why: WaitReason,
    },
    /// A page of submissions arrived and was understood.
    #[non_exhaustive]
    PageFetched {
        /// Rows that are new to the list, duplicates not counted; those that the list's bounds then
        /// leave out are among them.
        rows: usize,
        /// Rows dropped because an earlier page had them.
        duplicates: usize,
        /// Size of the body in bytes.
        bytes: usize,
        /// Whether the service says there is more.
        has_more: bool,
        /// Time the call took, waits included.
        elapsed: Duration,
    },
    /// From now on a list is not proven complete: submissions that share a time could be missing. Once
    /// for each list.
    #[non_exhaustive]
    Fallback {
        /// Why.
        why: FallbackReason,
    },
    /// Submissions of a unit of the cursor may be missing: see
    /// [`SubmissionQuery::allow_incomplete`](crate::SubmissionQuery::allow_incomplete).
    TieOverflow(TieOverflow),
}

/// Why an attempt failed in a way worth another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryReason {
    /// The service answered with this status.
    Status(StatusCode),
    /// No whole answer arrived.
    Transport(TransportErrorKind),
    /// A success whose body ends too early.
    Truncated,
}

/// What asks a call to wait before it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitReason {
    /// The client's own limiter: one more request now would exceed the limit (SPEC §8).
    Limit,
    /// A 429 that this client, or a clone of it, was given.
    CoolDown,
}
