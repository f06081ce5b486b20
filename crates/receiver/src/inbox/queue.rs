//! Deliveries that are acknowledged at once and handled later.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{ClaimToken, Inbox, InboxFuture, Recorded};

/// An inbox that keeps what was delivered until a worker has handled it.
///
/// A receiver [accepts](Self::accept) a delivery and answers 200; workers take
/// [what is next](Self::next), handle it, and [complete](Inbox::complete) it, or have it
/// [retried](Self::retry) later. Only stores that outlive the process are queues: what was answered with 200
/// is sent by nobody again.
///
/// Use a scope either with [`accept`](Self::accept) or with [`claim`](Inbox::claim). Where both are used on
/// one, a key that was accepted is a duplicate for `claim`, and one that is claimed is refused by `accept`
/// with [`InboxErrorKind::InFlight`](super::InboxErrorKind::InFlight).
pub trait Queue: Inbox {
    /// Keeps a delivery durably, unless the key was seen before; then answer 200 either way. The payload is
    /// kept byte for byte, and shared until it is written; it has at most [`PAYLOAD_MAX`](super::PAYLOAD_MAX).
    ///
    /// Only bytes that were verified should be kept: whoever reads them later has no signature.
    fn accept<'a>(&'a self, key: &'a str, payload: &'a Bytes) -> InboxFuture<'a, Recorded>;

    /// Takes what is due, oldest first, for a lease; `None` when nothing is. What is not completed in time is
    /// taken by the next who asks.
    fn next(&self, lease: Duration) -> InboxFuture<'_, Option<Pending>>;

    /// Gives back what was taken, to be due after a pause of at most [`LEASE_MAX`](super::LEASE_MAX).
    /// [`release`](Inbox::release) is the same without one.
    fn retry<'a>(&'a self, token: &'a ClaimToken, after: Duration) -> InboxFuture<'a, ()>;
}

impl<Q: Queue + ?Sized> Queue for Arc<Q> {
    fn accept<'a>(&'a self, key: &'a str, payload: &'a Bytes) -> InboxFuture<'a, Recorded> {
        (**self).accept(key, payload)
    }

    fn next(&self, lease: Duration) -> InboxFuture<'_, Option<Pending>> {
        (**self).next(lease)
    }

    fn retry<'a>(&'a self, token: &'a ClaimToken, after: Duration) -> InboxFuture<'a, ()> {
        (**self).retry(token, after)
    }
}

/// A delivery that a worker took. Its Debug shows no payload.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pending {
    /// What completes it, or gives it back.
    pub token: ClaimToken,
    /// What was accepted, byte for byte.
    pub payload: Vec<u8>,
    /// How often it was taken, this time included. A worker that died counts: something that kills its
    /// worker each time has many.
    pub attempts: u32,
}

impl Pending {
    /// A delivery for a queue of one's own.
    pub fn new(token: ClaimToken, payload: Vec<u8>, attempts: u32) -> Self {
        Self { token, payload, attempts }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("token", &self.token)
            .field("payload_bytes", &self.payload.len())
            .field("attempts", &self.attempts)
            .finish()
    }
}
