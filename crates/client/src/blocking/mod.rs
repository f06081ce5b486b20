//! The client for programs that are not async: the same calls, which block the thread they are
//! made on until the answer is there, and lists that are iterators.
//!
//! A blocking client has a thread of its own that does the work, so it can be used on any thread:
//! in `main`, and also inside an async runtime, where it does not panic but holds up the task and
//! its thread. An async program does better with the async [`Client`](crate::Client). The thread
//! ends when the last clone and the last list of the client are dropped.
//!
//! ```no_run
//! use formsvc_client::Client;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder()
//!     .base_url("https://forms.example")
//!     .api_key("fsk_example".into())
//!     .build_blocking()?;
//! println!("{}", client.me()?.email);
//! for submission in client.form("frm_1").submissions().items() {
//!     println!("{}", submission?.data.as_json());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The functions given to the client ([`on_event`](crate::ClientBuilder::on_event),
//! [`stop_when`](SubmissionQuery::stop_when)) run on its thread. When one of them panics, so does
//! the call that was waiting; when one of them makes a call of the same client, that call fails
//! with [`ErrorKind::Config`](crate::ErrorKind::Config), because it would wait for itself.

mod client;
mod list;
mod lists;
mod runtime;

pub use client::{Client, FormHandle};
pub use list::SubmissionQuery;
pub use lists::{SubmissionPages, Submissions};
