//! Code that the fuzz targets share: a service in memory, and reference parsers to compare with.

mod members;
mod rules;
mod service;

pub use members::{Member, members};
pub use rules::{is_id, nanos};
pub use service::{Service, block_on};

pub const SECRET: &str = "whsec_of the fuzzer";
/// The fixed current time, in Unix seconds.
pub const NOW: u64 = 1_767_225_600;
