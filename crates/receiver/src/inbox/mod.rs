//! Handles each delivery once, though it may arrive twice (SPEC §6).
//!
//! A sender repeats a delivery whose answer it did not get, so the same submission arrives again while
//! it is being handled, a moment after, or, sent by hand, days later. An inbox remembers what was
//! handled, by the idempotency key: the `submission_id`.
//!
//! | What you do with a delivery | Use |
//! |---|---|
//! | handle it, then answer | `process_once_detached` (feature `rt`) or [`process_once`](crate::process_once), on any [`Inbox`] |
//! | keep it and answer at once, handle it later | [`Queue::accept`], [`process_next`](crate::process_next) |
//! | write to the database that the inbox is in | `SqliteMarks`, `PostgresMarks`: effect and mark commit together |
//!
//! | Store | Receivers | Outlives the process |
//! |---|---|---|
//! | [`MemoryInbox`] | one process | no |
//! | `SqliteInbox`, feature `sqlite` | processes of one machine | yes, and a power cut |
//! | `PostgresInbox`, feature `postgres` | any number | as the database does |
//!
//! # What is promised
//!
//! At least once, and once as far as that is possible: between a handler's effect and the mark there is a
//! moment in which a process can die, and then the next delivery is handled again. An effect that
//! commits together with its mark has no such moment; any other should bear being repeated.
//!
//! A claim is a lease. While it holds, the same delivery that arrives meanwhile is
//! [`InFlight`](Claim::InFlight). When it runs out, because a process died or was too slow, the next
//! delivery takes the claim over and gets a greater [fencing number](ClaimToken::fence); who comes late
//! with the old one is told that the [claim is lost](InboxErrorKind::ClaimLost), and changes nothing.
//!
//! # Scopes
//!
//! Two handlers of one submission, such as those of two endpoints of one form, must not hide it from each
//! other. Each has a scope, a name of 1 to 64 letters, digits, `.`, `_` and `-`; the same key in two scopes
//! is two keys. Give each endpoint that shares a store with others a scope of its own.

mod claim;
mod clock;
mod error;
mod limits;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod queue;
mod scope;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use claim::{Claim, ClaimToken, Recorded};
pub(crate) use clock::Clock;
pub use error::{InboxError, InboxErrorKind};
pub use limits::{
    DEFAULT_LEASE, DEFAULT_TTL, KEY_MAX, LEASE_MAX, LEASE_MIN, PAYLOAD_MAX, PROCESS_LEASE_MAX,
    TTL_MAX, TTL_MIN,
};
pub use memory::{MemoryInbox, MemoryInboxBuilder, WhenFull};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresInbox, PostgresInboxBuilder, PostgresMarks};
pub use queue::{Pending, Queue};
pub(crate) use scope::Scope;
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteInbox, SqliteInboxBuilder, SqliteMarks};

/// The future of an inbox's answer; on the heap, so that the trait is object-safe.
pub type InboxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, InboxError>> + Send + 'a>>;

/// Remembers which deliveries were handled; see the [module](self).
///
/// Handles are cheap to clone where a store has clones, and every method may be called by any number of
/// tasks at once. A future that is dropped leaves its operation done or not done, never half done.
pub trait Inbox: Send + Sync + 'static {
    /// Claims a key for a lease, which is [`LEASE_MIN`] to [`LEASE_MAX`] long: longer than the handler takes
    /// at worst, since whoever takes over runs it again, and [not so long](DEFAULT_LEASE) that the sender gives
    /// up before it ends.
    ///
    /// Of any number of callers at once one gets the claim. Fails with [`InboxErrorKind::Key`] for a key that
    /// is empty or has more than [`KEY_MAX`] bytes; any other text is a key, whatever is in it.
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim>;

    /// Has a lease run so long from now on, of which it can be shorter than before.
    ///
    /// Fails with [`InboxErrorKind::ClaimLost`] when the claim was taken over, completed or released.
    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()>;

    /// Marks the key as handled for the store's time to live. Once this returns, the mark is as durable as
    /// the store is: only now may a delivery be answered with a 2xx.
    ///
    /// Repeating it with the same token does no harm, so a call that failed may be repeated. A lease that ran
    /// out is completed nevertheless as long as nobody took it over. Fails with
    /// [`InboxErrorKind::ClaimLost`] when somebody did, or when the claim was released.
    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()>;

    /// Gives the claim up: the next delivery of the key is handled.
    ///
    /// Fails with [`InboxErrorKind::ClaimLost`] when it was taken over, completed or released before.
    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()>;

    /// [`release`](Self::release) for a place that cannot wait, such as a destructor: does not block, and
    /// does what it can. When it does nothing, or fails, the lease runs out by itself.
    fn abandon(&self, token: &ClaimToken);

    /// Forgets at most so many keys whose time has come, and tells how many. The stores here do this by
    /// themselves, a little with each delivery; a receiver that has become idle can call it.
    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize>;
}

impl<I: Inbox + ?Sized> Inbox for Arc<I> {
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim> {
        (**self).claim(key, lease)
    }

    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()> {
        (**self).extend(token, lease)
    }

    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        (**self).complete(token)
    }

    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        (**self).release(token)
    }

    fn abandon(&self, token: &ClaimToken) {
        (**self).abandon(token);
    }

    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize> {
        (**self).prune(at_most)
    }
}
