//! A service in memory, for tests of programs that use this crate: forms, submissions and failures
//! as the test sets them, without a socket.
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
//! Pages, limits and errors follow SPEC §4, §5, §7 and §8. Where the specification is open, the mock
//! behaves like the reference service: a cursor is the time of the last row, and rows that share a
//! time differ by microseconds.
//!
//! # Time
//!
//! Waits, pauses and time limits use tokio's clock. A test that pauses it takes no real time: tokio
//! then moves the clock to the next timer whenever every task waits. Pausing requires tokio's
//! feature `test-util` and a runtime with one thread, as in `#[tokio::test(start_paused = true)]`.
//!
//! The wall clock is separate: the client reads it only for a `Retry-After` date in an answer without
//! `Date` and for the newest time of a sync, and
//! [`ClientBuilder::clock`](crate::ClientBuilder::clock) replaces it.
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

mod fault;
mod forms;
mod models;
mod respond;
mod service;

pub use fault::Fault;
pub use models::{form, generate, submission};
pub use service::{MockService, SeenRequest};
