//! A client for programs that are not async: its calls block the thread, and its lists are
//! iterators.
//!
//! ```no_run
//! use formsvc_client::blocking::Client;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder()
//!     .base_url("https://forms.example")
//!     .api_key("fsk_example")
//!     .build()?;
//! println!("{}", client.me()?.email);
//! for submission in client.form("frm_1").submissions().items() {
//!     println!("{}", submission?.data.as_json());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A blocking client owns a tokio runtime with one thread, which ends when the last clone and the
//! last list of the client are dropped. Calls can be made from any thread that is not part of an
//! async runtime. On a thread of one (`spawn_blocking` included), and in the functions passed to the
//! client ([`on_event`](ClientBuilder::on_event), [`stop_when`](SubmissionQuery::stop_when)), they
//! fail with [`ErrorKind::Config`](crate::ErrorKind::Config): use the async
//! [`Client`](crate::Client) there.

/// Setters that forward to the same setters of an async type.
macro_rules! same_setters {
    ($type:ident $field:tt: $( $(#[$attribute:meta])* $name:ident($($argument:ident: $kind:ty),*); )+) => {
        $(
            $(#[$attribute])*
            #[doc = concat!("See [`", stringify!($type), "::", stringify!($name), "`](crate::",
                stringify!($type), "::", stringify!($name), ").")]
            pub fn $name(mut self $(, $argument: $kind)*) -> Self {
                self.$field = self.$field.$name($($argument),*);
                self
            }
        )+
    };
}

mod client;
mod runtime;
mod submissions;

pub use client::{Client, ClientBuilder, FormHandle};
pub use submissions::{NewSubmissions, SubmissionPages, SubmissionQuery, Submissions};
