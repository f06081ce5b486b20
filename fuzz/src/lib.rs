//! What the targets share: a service in memory, and second readings to compare with.

mod members;
mod rules;
mod service;

pub use members::{Member, members};
pub use rules::{is_id, nanos};
pub use service::{Service, block_on};

/// A signing secret.
pub const SECRET: &str = "whsec_of the fuzzer";
/// An hour that does not pass, in Unix seconds.
pub const NOW: u64 = 1_767_225_600;
