//! How a request can go wrong.

use std::time::Duration;

use formsvc_protocol::ErrorCode;
use http::StatusCode;

/// What one request meets instead of a good answer; see
/// [`fail_next`](super::MockService::fail_next).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An error of the service (SPEC §7) with the status that belongs to the code; 400 for a code
    /// that this release does not know.
    Error(ErrorCode),
    /// 429 `rate_limited` with this `Retry-After`, in whole seconds.
    RateLimited(Duration),
    /// Any status and body, such as a gateway's page.
    Status(StatusCode, String),
    /// Nobody can be reached.
    Unreachable,
    /// The connection breaks before the answer.
    Disconnected,
    /// The answer breaks off in the middle.
    Truncated,
    /// No answer, ever.
    Silent,
    /// A good answer, but only after this long.
    Slow(Duration),
    /// A page without rows that says there is more, and leads on to the page that was asked for.
    EmptyPage,
    /// A page that says there is more, and leads back to itself.
    StuckCursor,
    /// A page that begins with the last row of the page before; a page of one row has no room for
    /// it.
    RepeatedRow,
}
