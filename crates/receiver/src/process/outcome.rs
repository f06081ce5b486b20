//! What handling a delivery comes to, and how it is answered.

use std::any::Any;
use std::fmt;
use std::time::Duration;

use crate::inbox::InboxError;

/// What [`process_once`](crate::process_once) comes to.
///
/// | Outcome | Status | The sender |
/// |---|---|---|
/// | `Done`, `Duplicate` | 200 | is done |
/// | `InFlight` | 503 and `Retry-After` | sends it again |
/// | `Failed`, `Panicked` | 500 | sends it again, and it is handled again |
/// | `Lost`, `NotCompleted` | 503 | sends it again, which may be handled again |
/// | `NotClaimed` | [`InboxError::status`]: 503, or 400 for a key that nobody can keep | sends it again |
#[derive(Debug)]
#[non_exhaustive]
#[must_use = "the delivery is to be answered with its status"]
pub enum Outcome<T, E> {
    /// It was handled, and is marked as handled, as durably as the inbox is.
    Done(T),
    /// It was handled before, and was not handled now.
    Duplicate,
    /// It is being handled.
    InFlight {
        /// When the lease that holds it runs out.
        retry_after: Duration,
    },
    /// The handler failed; its claim was released.
    Failed(E),
    /// The handler panicked; its claim was released.
    Panicked(Panic),
    /// The handler succeeded after its lease had run out, and somebody else had taken over: it was, or is
    /// being, handled twice. The lease is too short for the handler.
    Lost(T),
    /// The handler succeeded and the inbox failed to say so. It is handled again unless the inbox has the
    /// mark nevertheless.
    NotCompleted {
        /// What the handler gave.
        value: T,
        /// Why there is no mark.
        error: InboxError,
    },
    /// The inbox failed before the handler ran; or the runtime was shut down, while a handler of
    /// `process_once_detached` may have run.
    NotClaimed(InboxError),
}

impl<T, E> Outcome<T, E> {
    /// The HTTP status to answer with.
    pub fn status(&self) -> u16 {
        match self {
            Self::Done(_) | Self::Duplicate => 200,
            Self::Failed(_) | Self::Panicked(_) => 500,
            Self::InFlight { .. } | Self::Lost(_) | Self::NotCompleted { .. } => 503,
            Self::NotClaimed(error) => error.status(),
        }
    }

    /// The value of a `Retry-After` header in whole seconds, at least 1, where there is one to send.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::InFlight { retry_after } => {
                let begun = u64::from(retry_after.subsec_nanos() > 0);
                Some((retry_after.as_secs() + begun).max(1))
            }
            _ => None,
        }
    }

    /// Whether the sender is told that it need not send it again.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Duplicate)
    }
}

/// What a handler panicked with. Its Debug shows nothing of it: it may hold anything.
pub struct Panic(Box<dyn Any + Send>);

impl Panic {
    pub(super) fn new(payload: Box<dyn Any + Send>) -> Self {
        Self(payload)
    }

    /// The message, when it is text, which it nearly always is. It may quote what was delivered.
    pub fn message(&self) -> Option<&str> {
        let owned = || self.0.downcast_ref::<String>().map(String::as_str);
        self.0.downcast_ref::<&str>().copied().or_else(owned)
    }

    /// Goes on panicking.
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(self.0)
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Panic(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::InboxErrorKind;

    type Any = Outcome<(), ()>;

    #[test]
    fn only_what_is_marked_is_answered_with_success() {
        let error = || InboxError::new(InboxErrorKind::Unavailable);
        let rows = [
            (Any::Done(()), 200),
            (Any::Duplicate, 200),
            (Any::InFlight { retry_after: Duration::ZERO }, 503),
            (Any::Failed(()), 500),
            (Any::Panicked(Panic::new(Box::new(1))), 500),
            (Any::Lost(()), 503),
            (Any::NotCompleted { value: (), error: error() }, 503),
            (Any::NotClaimed(error()), 503),
            (Any::NotClaimed(InboxErrorKind::Key.into()), 400),
        ];
        for (outcome, status) in rows {
            assert_eq!(outcome.status(), status, "{outcome:?}");
            assert_eq!(outcome.is_success(), status == 200, "{outcome:?}");
        }
    }

    #[test]
    fn retry_after_is_rounded_up_to_whole_seconds() {
        let of =
            |millis| Any::InFlight { retry_after: Duration::from_millis(millis) }.retry_after();
        assert_eq!([of(0), of(1), of(1_000), of(1_001)], [Some(1), Some(1), Some(1), Some(2)]);
        assert_eq!(Any::Duplicate.retry_after(), None);
    }

    #[test]
    fn a_panic_tells_its_message_when_asked_and_not_in_debug() {
        let panic = Panic::new(Box::new("secret".to_owned()));
        assert_eq!(panic.message(), Some("secret"));
        assert_eq!(format!("{panic:?}"), "Panic(..)");
        assert_eq!(Panic::new(Box::new(7)).message(), None);
    }
}
