//! Verification in front of any tower service, and what it shares with the extractor.

mod admission;
mod layer;
mod read;

pub(crate) use admission::admit;
pub use layer::{VerifyFuture, VerifyLayer, VerifyResponseBody, VerifyService};
pub(crate) use read::ReadBody;
#[cfg(test)]
pub(crate) use read::read_now;
