//! When a call tries again. Every call is a GET, so all of them may.

mod after;
mod budget;
mod decision;
mod policy;

pub(crate) use after::{RETRY_AFTER_MAX, retry_after};
pub(crate) use budget::Budget;
pub(crate) use decision::{Decision, Failed, Limits, decide};
pub use policy::RetryPolicy;
