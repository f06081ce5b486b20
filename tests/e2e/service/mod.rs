//! The service, the SDK and the command line together.

mod contract;
mod durability;
mod error_codes;
mod faults;
mod rate_limit;
mod ties;
