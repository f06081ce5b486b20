//! `SqliteInbox` and its settings.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rusqlite::Connection;

use super::writer::Writer;
use super::{file, tables};
use crate::inbox::clock::{Clock, to_millis};
use crate::inbox::limits::{check_lease, check_payload, check_ttl, stored_key};
use crate::inbox::scope::Scope;
use crate::inbox::{
    Claim, ClaimToken, DEFAULT_TTL, DedupeResult, Inbox, InboxError, InboxErrorKind, InboxFuture,
    LEASE_MAX, Queue, QueuedDelivery,
};

/// Claims between two deletions of expired rows, and the number of rows that one deletes.
const PRUNE_INTERVAL: i64 = 128;
const PRUNED_ROWS: usize = 512;

/// An inbox and a queue in a SQLite file, for any number of processes on one machine. Feature `sqlite`.
///
/// The file is created for its owner only, in a directory that must exist. It can be the database of
/// your application; its other tables are not touched. It uses WAL mode, so it must be on a local disk.
/// Each operation is durable when it returns, also after a power failure. Operations that wait for the
/// disk at the same time share a commit, on a thread that ends with the last clone.
///
/// ```no_run
/// # fn main() -> Result<(), formsvc_receiver::inbox::InboxError> {
/// use formsvc_receiver::inbox::SqliteInbox;
/// let inbox = SqliteInbox::open("/var/lib/orders/inbox.db")?;
/// let newsletter = inbox.scope("newsletter")?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SqliteInbox {
    writer: Writer,
    clock: Clock,
    ttl: i64,
    scope: Scope,
}

/// Settings of a [`SqliteInbox`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteInboxBuilder {
    ttl: Duration,
    clock: Clock,
}

impl SqliteInboxBuilder {
    /// Sets the time to live of marks: [`DEFAULT_TTL`] by default, at least
    /// [`TTL_MIN`](crate::inbox::TTL_MIN).
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Sets the clock: the system's by default. Processes that share a file need the same clock.
    pub fn clock(self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self { clock: Clock::new(now), ..self }
    }

    /// Opens or creates the file. Blocks the thread.
    ///
    /// Fails with [`InboxErrorKind::InvalidConfig`] if the directory does not exist, the file is not a
    /// database, or its tables are of a later release; with [`InboxErrorKind::Unavailable`] if another
    /// process locks the file for more than 5 s, or no thread can be started.
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteInbox, InboxError> {
        let ttl = check_ttl(self.ttl)?;
        let writer = Writer::start(file::open(path.as_ref())?)
            .map_err(|error| InboxError::with_source(InboxErrorKind::Unavailable, error))?;
        Ok(SqliteInbox { writer, clock: self.clock, ttl, scope: Scope::default() })
    }
}

impl SqliteInbox {
    /// Opens or creates a file with default settings: see [`SqliteInboxBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, InboxError> {
        Self::builder().open(path)
    }

    /// Starts an inbox with other settings.
    pub fn builder() -> SqliteInboxBuilder {
        SqliteInboxBuilder { ttl: DEFAULT_TTL, clock: Clock::default() }
    }

    /// The same inbox with another [scope](crate::inbox#scopes).
    pub fn scope(&self, name: &str) -> Result<Self, InboxError> {
        Ok(Self { scope: Scope::new(name)?, ..self.clone() })
    }

    /// Runs work in a transaction at the current time, and commits it.
    async fn transact<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, i64) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, InboxError> {
        let clock = self.clock.clone();
        self.writer.run(move |transaction| work(transaction, clock.now_millis())).await
    }

    /// Runs work that returns false if the claim is lost.
    async fn update(
        &self,
        work: impl FnOnce(&Connection, i64) -> rusqlite::Result<bool> + Send + 'static,
    ) -> Result<(), InboxError> {
        let is_held = self.transact(work).await?;
        if is_held { Ok(()) } else { Err(InboxErrorKind::ClaimLost.into()) }
    }
}

impl Inbox for SqliteInbox {
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim> {
        Box::pin(async move {
            let (key, lease) = (stored_key(key)?.into_owned(), check_lease(lease)?);
            let scope = self.scope.clone();
            self.transact(move |tx, now| tables::claim(tx, &scope, &key, now, lease)).await
        })
    }

    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()> {
        Box::pin(async move {
            let (lease, token) = (check_lease(lease)?, token.clone());
            self.update(move |tx, now| tables::extend(tx, &token, now.saturating_add(lease))).await
        })
    }

    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        let (ttl, token) = (self.ttl, token.clone());
        Box::pin(self.update(move |tx, now| {
            if token.fence_number() % PRUNE_INTERVAL == 0 {
                tables::prune_claims(tx, now)?;
                tables::prune_marks(tx, now, PRUNED_ROWS)?;
            }
            tables::complete(tx, &token, now.saturating_add(ttl))
        }))
    }

    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        let token = token.clone();
        Box::pin(self.update(move |tx, now| tables::release(tx, &token, now)))
    }

    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize> {
        Box::pin(self.transact(move |tx, now| {
            tables::prune_claims(tx, now)?;
            tables::prune_marks(tx, now, at_most)
        }))
    }
}

impl Queue for SqliteInbox {
    fn accept<'a>(&'a self, key: &'a str, payload: &'a Bytes) -> InboxFuture<'a, DedupeResult> {
        Box::pin(async move {
            let key = stored_key(key)?.into_owned();
            check_payload(payload)?;
            let (scope, payload) = (self.scope.clone(), payload.clone());
            let work = move |tx: &Connection, now| tables::accept(tx, &scope, &key, &payload, now);
            self.transact(work).await?.ok_or(InboxErrorKind::InFlight.into())
        })
    }

    fn next(&self, lease: Duration) -> InboxFuture<'_, Option<QueuedDelivery>> {
        Box::pin(async move {
            let (scope, lease) = (self.scope.clone(), check_lease(lease)?);
            self.transact(move |tx, now| tables::next(tx, &scope, now, lease)).await
        })
    }

    fn retry<'a>(&'a self, token: &'a ClaimToken, pause: Duration) -> InboxFuture<'a, ()> {
        let (token, pause) = (token.clone(), to_millis(pause.min(LEASE_MAX)));
        Box::pin(self.update(move |tx, now| tables::release(tx, &token, now.saturating_add(pause))))
    }
}
