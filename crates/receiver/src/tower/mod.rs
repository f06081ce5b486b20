//! Verification in front of any tower service, and what it shares with the extractor.

mod admission;
mod layer;
mod limit;
mod read;

pub(crate) use admission::{admit, check_event};
pub use layer::{VerifyFuture, VerifyLayer, VerifyResponseBody, VerifyService};
pub(crate) use limit::ReadLimit;
pub(crate) use read::ReadBody;
#[cfg(test)]
pub(crate) use read::read_now;
