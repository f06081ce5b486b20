//! For tests of programs that use this crate: a service in memory, with forms, submissions and
//! failures as the test says. No socket, no port, no time of its own.
//!
//! ```
//! use formsvc_client::test_util::{Fault, MockService, form, generate};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let service = MockService::new().form(form("frm_1", "Survey")).submissions("frm_1", generate(250));
//! service.fail_next(Fault::Disconnected);
//!
//! let list = service.client().form("frm_1".parse().unwrap()).submissions();
//! assert_eq!(list.items().try_collect_max(1_000).await?.len(), 250);
//! // Three pages of at most 100, one of them asked for twice.
//! assert_eq!(service.requests().len(), 4);
//! # Ok::<(), formsvc_client::Error>(())
//! # }).unwrap();
//! ```
//!
//! It pages, limits and refuses as SPEC §4, §5, §7 and §8 say. What it says beyond that is the
//! reference service's: cursors are instants of the last row, and rows that share a time are told
//! apart by microseconds.

mod fault;
mod forms;
mod models;
mod respond;
mod service;

pub use fault::Fault;
pub use models::{form, generate, submission};
pub use service::{MockService, SeenRequest};
