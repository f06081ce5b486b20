//! Events that a client reports while it works, and the values in them.

use std::time::Duration;

use formsvc_protocol::FormId;
use http::StatusCode;

pub use crate::completeness::FallbackReason;
pub use crate::limiter::WaitReason;
pub use crate::retry::RetryReason;
pub use crate::skipped_item::SkippedItem;

use crate::ErrorKind;
use crate::completeness::TieOverflow;

/// A step of a call, for progress bars and logs. The client passes it to the function set with
/// [`on_event`](crate::ClientBuilder::on_event), on the task that makes the call; that function
/// should be quick.
///
/// With the cargo feature `tracing`, the client also logs events with the `tracing` crate: retries,
/// waits, fallbacks and tie overflows as warnings, attempts and pages at debug level. Each call has a
/// span `call`, and each list a span `list`, with the operation and the form, at debug level.
///
/// Contains no API key, no address and no body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ClientEvent {
    /// A request was answered, or failed.
    #[non_exhaustive]
    Attempt {
        /// The operation, such as `submissions.list`.
        operation: &'static str,
        /// Number of the call, from 1, among the calls of this client and its clones.
        call: u64,
        /// The form, if the call is about one.
        form: Option<FormId>,
        /// Number of the attempt in its call, from 1.
        attempt: u32,
        /// The response's `X-Request-Id`. Untrusted.
        request_id: Option<String>,
        /// The status, if there was a response.
        status: Option<StatusCode>,
        /// The kind of failure, if the attempt failed.
        failure: Option<ErrorKind>,
        /// Duration of the attempt.
        elapsed: Duration,
    },
    /// An attempt failed, and the call will retry.
    #[non_exhaustive]
    RetryScheduled {
        /// The operation.
        operation: &'static str,
        /// Number of the call, from 1, among the calls of this client and its clones.
        call: u64,
        /// The form, if the call is about one.
        form: Option<FormId>,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// Time until the next attempt.
        delay: Duration,
        /// Reason of the retry.
        reason: RetryReason,
    },
    /// The call waits for the rate limit before it sends a request.
    #[non_exhaustive]
    RateLimited {
        /// The operation.
        operation: &'static str,
        /// Number of the call, from 1, among the calls of this client and its clones.
        call: u64,
        /// The form, if the call is about one.
        form: Option<FormId>,
        /// Duration of the wait.
        wait: Duration,
        /// Reason of the wait.
        reason: WaitReason,
    },
    /// A page of submissions was received and decoded.
    #[non_exhaustive]
    PageFetched {
        /// The form.
        form: Option<FormId>,
        /// The request id of the response.
        request_id: Option<String>,
        /// Rows that are new to the list, without duplicates. Includes rows that the bounds of the
        /// list then exclude.
        rows: usize,
        /// Rows dropped because an earlier page contained them.
        duplicates: usize,
        /// Size of the body in bytes.
        bytes: usize,
        /// True if the service reports more rows.
        has_more: bool,
        /// Duration of the call, waits included.
        elapsed: Duration,
    },
    /// From now on the list is not proven complete: submissions that share a time could be missing.
    /// Once for each list.
    #[non_exhaustive]
    Fallback {
        /// The form; `None` for a list of [`RawPages`](crate::list::RawPages).
        form: Option<FormId>,
        /// Reason of the fallback.
        reason: FallbackReason,
    },
    /// Submissions of a unit of the cursor may be missing: see
    /// [`allow_incomplete`](crate::SubmissionQuery::allow_incomplete).
    #[non_exhaustive]
    TieOverflow {
        /// The form; `None` for a list of [`RawPages`](crate::list::RawPages).
        form: Option<FormId>,
        /// The unit.
        overflow: TieOverflow,
    },
    /// More than 10,000 submissions were younger than 5 minutes when they were read, so the sync point
    /// keeps the ids of a shorter time: it misses submissions that are committed later than that.
    #[non_exhaustive]
    SyncOverlapShortened {
        /// The form.
        form: Option<FormId>,
    },
    /// A [`Follow`](crate::list::Follow) waits for the service. Once for each outage.
    #[non_exhaustive]
    FollowInterrupted {
        /// The form.
        form: FormId,
        /// The kind of the first failure.
        kind: ErrorKind,
        /// The status, if there was a response.
        status: Option<StatusCode>,
        /// The text of the failure.
        error: String,
        /// Time until the next attempt. Later pauses are longer, up to one minute.
        delay: Duration,
    },
    /// The service of a [`Follow`](crate::list::Follow) answers again.
    #[non_exhaustive]
    FollowResumed {
        /// The form.
        form: FormId,
        /// Duration of the outage.
        elapsed: Duration,
    },
    /// A [`Follow`](crate::list::Follow) leaves out a submission that violates the API. Once for each of the
    /// first 1,000 ids.
    #[non_exhaustive]
    FollowSkipped {
        /// The form.
        form: FormId,
        /// The submission.
        item: SkippedItem,
    },
    /// A [`Follow`](crate::list::Follow) may miss submissions, because more of them share a unit of the cursor than
    /// a page can show. Once, for the first such unit.
    #[non_exhaustive]
    FollowIncomplete {
        /// The form.
        form: FormId,
        /// The unit.
        overflow: TieOverflow,
    },
}

/// Logs an event.
#[cfg(feature = "tracing")]
pub(crate) fn log(event: &ClientEvent) {
    use tracing::{debug, info, warn};

    match event {
        ClientEvent::Attempt { call, request_id, attempt, status, failure, elapsed, .. } => {
            let status = status.map(|status| status.as_u16());
            let failure = failure.map(ErrorKind::as_str);
            debug!(call, request_id, attempt, status, failure, ?elapsed, "attempt completed");
        }
        ClientEvent::RetryScheduled { operation, call, form, attempt, delay, reason } => {
            let form = form.as_ref().map(FormId::as_str);
            warn!(operation, call, form, attempt, ?delay, %reason, "attempt failed, retry scheduled");
        }
        ClientEvent::RateLimited { operation, call, form, wait, reason } => {
            let form = form.as_ref().map(FormId::as_str);
            warn!(operation, call, form, ?wait, %reason, "waiting for the rate limit");
        }
        ClientEvent::PageFetched {
            form,
            request_id,
            rows,
            duplicates,
            bytes,
            has_more,
            elapsed,
        } => {
            let form = form.as_ref().map(FormId::as_str);
            debug!(form, request_id, rows, duplicates, bytes, has_more, ?elapsed, "page fetched");
        }
        ClientEvent::Fallback { form, reason } => {
            let form = form.as_ref().map(FormId::as_str);
            warn!(form, ?reason, "the list is not proven complete");
        }
        // The unit itself is a value of the cursor, which is not logged.
        ClientEvent::TieOverflow { form, overflow } => {
            let form = form.as_ref().map(FormId::as_str);
            warn!(form, rows = overflow.rows(), "more rows share a time than a page can show");
        }
        ClientEvent::SyncOverlapShortened { form } => {
            let form = form.as_ref().map(FormId::as_str);
            warn!(form, "the sync point keeps the ids of less than 5 minutes");
        }
        ClientEvent::FollowInterrupted { form, error, delay, .. } => {
            warn!(form = form.as_str(), error, ?delay, "waiting for the service");
        }
        ClientEvent::FollowResumed { form, elapsed } => {
            info!(form = form.as_str(), ?elapsed, "the service answers again");
        }
        ClientEvent::FollowSkipped { form, .. } => {
            warn!(form = form.as_str(), "a submission violates the API");
        }
        ClientEvent::FollowIncomplete { form, .. } => {
            warn!(form = form.as_str(), "more rows share a time than a page can show");
        }
    }
}
