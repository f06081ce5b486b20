//! How deliveries tell whoever watches of their attempts, one by one.

use formsvc_protocol::FormId;

use super::code::AttemptCode;
use crate::store::Verdict;

/// Told of every attempt once it is over. Called by the task that made it: it must be quick, and must
/// not wait.
pub trait AttemptObserver: Send + Sync + 'static {
    /// An attempt is over; its outcome is about to be recorded.
    fn is_over(&self, attempt: &AttemptOver<'_>);
}

/// An attempt that is over.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AttemptOver<'a> {
    /// The form of the submission.
    pub form: &'a FormId,
    /// Where it was sent. Whoever added the endpoint chose it.
    pub url: &'a str,
    /// Status of the answer, if there was one.
    pub status: Option<u16>,
    /// Why it did not deliver; none when it did.
    pub code: Option<AttemptCode>,
    /// What becomes of the delivery.
    pub verdict: Verdict,
}
