//! Handles each delivery once, although it may arrive twice (SPEC §6).
//!
//! The service repeats a delivery if it does not receive the response. The same submission then
//! arrives while it is being handled, a moment later, or, resent by hand, days later. An inbox
//! remembers the handled submissions by their idempotency key, the `submission_id`.
//!
//! | Task | Use |
//! |---|---|
//! | handle a delivery, then respond | [`process_once`](crate::process_once) with any [`Inbox`] |
//! | respond at once, handle the delivery later | [`Queue::accept`] and [`process_next`](crate::process_next) |
//! | write to the database that contains the inbox | `SqliteMarks` or `PostgresMarks`: effect and mark in one transaction |
//!
//! | Store | Receivers | After a restart |
//! |---|---|---|
//! | [`MemoryInbox`] | one process | empty |
//! | `SqliteInbox`, feature `sqlite` | processes of one machine | complete, also after a power failure |
//! | `PostgresInbox`, feature `postgres` | any number | as durable as the database |
//!
//! # Guarantees
//!
//! A delivery is handled at least once, and only once unless a process dies or a lease is too short.
//! A process can die between the effect of a handler and the mark; the next delivery is then handled
//! again. An effect that commits in one transaction with its mark does not have this gap. Other effects
//! should be idempotent.
//!
//! A claim is a lease. While it is valid, another delivery of the same key is
//! [in flight](Claim::InFlight). After it ended, because the process died or was too slow, the next
//! delivery takes the key over with a greater [fencing token](ClaimToken::fence). The former holder
//! gets [`ClaimLost`](InboxErrorKind::ClaimLost) and changes nothing.
//!
//! # Scopes
//!
//! A scope keeps two handlers of the same submission apart, such as two endpoints of one form: the same
//! key in two scopes is two keys. Give each endpoint its own scope if they share a store. A scope is a
//! name of 1 to 64 letters, digits, `.`, `_` and `-`; the default is `default`.
//!
//! # Other drivers
//!
//! `SqliteMarks` needs a transaction of rusqlite, and `PostgresMarks` one of tokio-postgres. A program that
//! uses sqlx, diesel or sea-orm runs the same SQL in a transaction of its own:
//!
//! | | SQLite | PostgreSQL |
//! |---|---|---|
//! | once, as a migration | `SqliteMarks::CREATE_TABLE` | `PostgresMarks::create_tables_sql` |
//! | first in the transaction | `SqliteMarks::MARK` | `PostgresMarks::lock_sql`, then `mark_sql` |
//! | a duplicate | no row is changed | see `mark_sql` |
//! | beforehand | `BEGIN IMMEDIATE`, `PRAGMA synchronous = FULL` | nothing |
//!
//! The scope is `default` unless you have several, the key is the `submission_id`, of at most [`KEY_MAX`]
//! bytes, and the time to live is [`DEFAULT_TTL`]. Delete old marks regularly:
//! `DELETE FROM formsvc_inbox_marks WHERE until_ms <= ?` in SQLite, and
//! `DELETE FROM formsvc_inbox WHERE state = 2 AND until <= now()` in PostgreSQL.

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

pub use self::claim::{Claim, ClaimToken, DedupeResult};
pub use self::error::{InboxError, InboxErrorKind};
pub use self::limits::{
    DEFAULT_LEASE, DEFAULT_TTL, KEY_MAX, LEASE_MAX, LEASE_MIN, PAYLOAD_MAX, PROCESS_LEASE_MAX,
    TTL_MAX, TTL_MIN,
};
pub use self::memory::{Eviction, MemoryInbox, MemoryInboxBuilder};
#[cfg(feature = "postgres")]
pub use self::postgres::{PostgresInbox, PostgresInboxBuilder, PostgresMarks};
pub use self::queue::{Queue, QueuedDelivery};
#[cfg(feature = "sqlite")]
pub use self::sqlite::{SqliteInbox, SqliteInboxBuilder, SqliteMarks};

/// The future of an inbox method. Boxed, so that `dyn Inbox` is possible.
pub type InboxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, InboxError>> + Send + 'a>>;

/// Remembers which deliveries were handled; see the [module](self).
///
/// All methods can be called concurrently. If a future is dropped, its operation is complete or has no
/// effect; a claim that it acquired blocks its key until the lease ends.
pub trait Inbox: Send + Sync + 'static {
    /// Claims a key for a lease of [`LEASE_MIN`] to [`LEASE_MAX`]. The lease should be longer than the
    /// handler takes, and [end before the sender's last retry](DEFAULT_LEASE).
    ///
    /// Only one of several concurrent callers acquires the claim. Any text is a key, of any length; an
    /// empty one is [`InboxErrorKind::InvalidKey`].
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim>;

    /// Sets the end of a claim's lease to `lease` from now, also to an earlier time.
    ///
    /// Fails with [`InboxErrorKind::ClaimLost`] if the claim was taken over, completed or released.
    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()>;

    /// Marks a claimed key as handled for the store's time to live. The mark is durable when this
    /// returns: respond with 2xx only then.
    ///
    /// A failed call can be repeated. After the lease ended, a claim can be completed until another
    /// caller takes it over. Fails with [`InboxErrorKind::ClaimLost`] after a takeover or a release.
    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()>;

    /// Releases a claim: the next delivery of the key is handled.
    ///
    /// Fails with [`InboxErrorKind::ClaimLost`] if the claim was taken over, completed or released.
    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()>;

    /// Deletes at most this number of expired marks, and returns how many it deleted. The stores of
    /// this crate also do this regularly by themselves.
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

    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize> {
        (**self).prune(at_most)
    }
}
