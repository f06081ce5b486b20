//! Retries of failed attempts. Every call is a GET and may be repeated.

mod budget;
mod decision;
mod policy;
mod retry_after;

pub(crate) use budget::Budget;
pub use decision::RetryReason;
pub(crate) use decision::{Decision, FailureCause, Limits, decide};
pub use policy::RetryPolicy;
pub(crate) use retry_after::{RETRY_AFTER_MAX, retry_after};
