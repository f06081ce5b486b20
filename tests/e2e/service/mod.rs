//! The service, the SDK and the command line together.

mod durability;
mod error_codes;
mod rate_limit;
mod ties;
