//! Failures of the mock.

use std::time::Duration;

use formsvc_protocol::ErrorCode;
use http::StatusCode;

/// A failure of one request; see [`fail_next`](super::MockService::fail_next).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An error of the service (SPEC §7) with the status of the code; 400 for an unknown code.
    Error(ErrorCode),
    /// 429 `rate_limited` with this `Retry-After`, in whole seconds.
    RateLimited(Duration),
    /// Any status and body, such as a gateway's page.
    Status(StatusCode, String),
    /// No connection can be made.
    Unreachable,
    /// The connection breaks before the answer.
    Disconnected,
    /// The answer is cut short.
    Truncated,
    /// No answer arrives.
    Silent,
    /// A success after this delay.
    Slow(Duration),
    /// A page without rows that reports more rows, with a cursor that leads to the requested page.
    EmptyPage,
    /// A page that reports more rows, with a cursor that leads to the same page.
    StuckCursor,
    /// A page that begins with the last row of the page before; not possible for a page of one row.
    RepeatedRow,
}
