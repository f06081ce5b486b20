//! Deliveries that are stored first and handled later.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::{ClaimToken, DedupeResult, Inbox, InboxFuture};

/// A durable inbox that stores deliveries until a worker has handled them.
///
/// A receiver [accepts](Self::accept) a delivery and responds with 200. Workers take the
/// [next](Self::next) delivery, handle it, and [complete](Inbox::complete) or [retry](Self::retry) it.
///
/// Use either [`accept`](Self::accept) or [`claim`](Inbox::claim) in a scope. If both are used, an
/// accepted key is a duplicate for `claim`, and `accept` refuses a claimed key with
/// [`InboxErrorKind::InFlight`](super::InboxErrorKind::InFlight).
pub trait Queue: Inbox {
    /// Stores a delivery, unless its key is known. It is durable when this returns: respond with 200 in
    /// both cases. The payload is stored byte for byte and has at most
    /// [`PAYLOAD_MAX`](super::PAYLOAD_MAX) bytes.
    ///
    /// Accept only verified bytes: the worker cannot verify them again.
    fn accept<'a>(&'a self, key: &'a str, payload: &'a Bytes) -> InboxFuture<'a, DedupeResult>;

    /// Claims the oldest due delivery for a lease; `None` if no delivery is due. If it is not completed
    /// before the lease ends, another worker gets it.
    fn next(&self, lease: Duration) -> InboxFuture<'_, Option<QueuedDelivery>>;

    /// Returns a delivery to the queue. It is due after the pause, which is limited to
    /// [`LEASE_MAX`](super::LEASE_MAX). [`release`](Inbox::release) is the same without a pause.
    fn retry<'a>(&'a self, token: &'a ClaimToken, pause: Duration) -> InboxFuture<'a, ()>;
}

impl<Q: Queue + ?Sized> Queue for Arc<Q> {
    fn accept<'a>(&'a self, key: &'a str, payload: &'a Bytes) -> InboxFuture<'a, DedupeResult> {
        (**self).accept(key, payload)
    }

    fn next(&self, lease: Duration) -> InboxFuture<'_, Option<QueuedDelivery>> {
        (**self).next(lease)
    }

    fn retry<'a>(&'a self, token: &'a ClaimToken, pause: Duration) -> InboxFuture<'a, ()> {
        (**self).retry(token, pause)
    }
}

/// A delivery that a worker claimed from a queue. Debug does not show the payload.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedDelivery {
    /// Completes the delivery, or returns it to the queue.
    pub token: ClaimToken,
    /// The accepted bytes.
    pub payload: Bytes,
    /// Number of claims of this delivery, including this one and those of workers that died.
    pub attempts: u32,
}

impl QueuedDelivery {
    /// Creates a delivery for your own implementation of [`Queue`].
    pub fn new(token: ClaimToken, payload: impl Into<Bytes>, attempts: u32) -> Self {
        Self { token, payload: payload.into(), attempts }
    }
}

impl fmt::Debug for QueuedDelivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuedDelivery")
            .field("token", &self.token)
            .field("payload_bytes", &self.payload.len())
            .field("attempts", &self.attempts)
            .finish()
    }
}
