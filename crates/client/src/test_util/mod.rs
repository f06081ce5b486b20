//! A service in memory, for tests of programs that use this crate. The test sets forms, submissions
//! and failures. No socket is used.
//!
//! ```
//! use formsvc_client::test_util::{Fault, MockService, form, generate};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let service = MockService::new().form(form("frm_1", "Survey")).submissions("frm_1", generate(250));
//! service.fail_next(Fault::Disconnected);
//!
//! let list = service.client().form("frm_1").submissions();
//! assert_eq!(list.items().try_collect_max(1_000).await?.len(), 250);
//! // Three pages of at most 100 rows, one of them requested twice.
//! assert_eq!(service.requests().len(), 4);
//! # Ok::<(), formsvc_client::Error>(())
//! # }).unwrap();
//! ```
//!
//! Pages, authorization, errors and size limits follow SPEC §4, §5, §7 and §8. There is no rate limit;
//! [`Fault::RateLimited`] simulates one. Where the specification is open, the mock behaves like the
//! reference service: a cursor is the position of the last row in microseconds, and rows with equal
//! `created_at` get positions one microsecond apart.
//!
//! # Time
//!
//! Waits, pauses and time limits use tokio's clock. A test that pauses it takes no real time: tokio
//! then moves the clock to the next timer whenever every task waits. Pausing requires tokio's
//! feature `test-util` and a runtime with one thread, as in `#[tokio::test(start_paused = true)]`.
//!
//! The wall clock is separate. The client reads it for a response without `Date`: to interpret a
//! `Retry-After` date, and as the time at which a sync read its first page. The mock sends no `Date`,
//! unless [`MockService::set_date`] sets one. [`ClientBuilder::clock`](crate::ClientBuilder::clock) replaces the
//! wall clock.
//!
//! ```
//! use std::time::Duration;
//! use formsvc_client::test_util::{Fault, MockService};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! tokio::time::pause();
//! let started = tokio::time::Instant::now();
//! let service = MockService::new();
//! service.fail_next(Fault::RateLimited(Duration::from_secs(60)));
//! assert_eq!(service.client().me().await?.attempts(), 2);
//! assert!(started.elapsed() >= Duration::from_secs(60));
//! # Ok::<(), formsvc_client::Error>(())
//! # }).unwrap();
//! ```

mod respond;
mod service;

use std::time::Duration;

use formsvc_protocol::{Answers, ErrorCode, Form, FormStatus, Submission, Timestamp};
use http::StatusCode;

use crate::error::{Error, ErrorKind, Parts};
use crate::operation::ME;
use crate::retry::RetryReason;

pub use service::{MockService, SeenRequest};

/// A failure or delay of one request; see [`fail_next`](MockService::fail_next).
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
    /// The connection breaks before the response.
    Disconnected,
    /// The body of the response is truncated.
    Truncated,
    /// No response arrives.
    Silent,
    /// A success after this delay.
    Slow(Duration),
}

/// 2026-01-01T00:00:00Z.
const NEW_YEAR_NANOS: i128 = 1_767_225_600_000_000_000;

/// Creates a submission from an id, the JSON text of an object and a time. Panics if one of them is
/// invalid.
pub fn submission(id: &str, answers: &str, created_at: &str) -> Submission {
    Submission::new(
        id.parse().unwrap_or_else(|error| panic!("`{id}`: {error}")),
        Answers::parse(answers).unwrap_or_else(|error| panic!("`{answers}`: {error}")),
        created_at.parse().unwrap_or_else(|error| panic!("`{created_at}`: {error}")),
    )
}

/// Creates `rows` submissions, newest first and one second apart, the newest on 2026-01-01: `sub_1`
/// is the oldest. The answer `Number` of each is its number.
pub fn generate(rows: u32) -> Vec<Submission> {
    let one = |n: u32| {
        let age = i128::from(rows - n) * 1_000_000_000;
        let time = Timestamp::from_unix_nanos(NEW_YEAR_NANOS - age).expect("within 137 years");
        submission(&format!("sub_{n}"), &format!(r#"{{"Number":{n}}}"#), time.as_str())
    };
    (1..=rows).rev().map(one).collect()
}

/// Creates a form published on 2026-01-01. Panics if the id is invalid.
pub fn form(id: &str, title: &str) -> Form {
    let time = Timestamp::from_unix_nanos(NEW_YEAR_NANOS).expect("within the years 0 to 9999");
    Form::new(
        id.parse().unwrap_or_else(|error| panic!("`{id}`: {error}")),
        format!("p-{id}").parse().unwrap_or_else(|error| panic!("`p-{id}`: {error}")),
        title,
        FormStatus::Published,
        time.clone(),
        time,
    )
}

impl Error {
    /// Creates an error of this kind, with the status and the code of a response (SPEC §7) if there was one, to
    /// test the error handling of a program.
    pub fn for_test(kind: ErrorKind, status: Option<StatusCode>, code: Option<ErrorCode>) -> Self {
        let what = format!("an error of kind `{kind}` for a test");
        let is_lost =
            matches!(kind, ErrorKind::Connect | ErrorKind::Timeout | ErrorKind::Transport);
        let retryable = is_lost || status.and_then(RetryReason::of_status).is_some();
        let parts = Self::parts(kind, ME, what);
        Parts { attempts: 1, status, code, retryable, ..parts }.into()
    }
}
