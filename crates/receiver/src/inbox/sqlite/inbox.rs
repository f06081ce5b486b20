//! The inbox that callers hold.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;

use super::fault::closed;
use super::file;
use super::op::{Answer, MayClaim, Others, op};
use super::tables::{self, Claimed};
use super::tx::Tx;
use super::writer::{Durability, Writer};
use crate::inbox::clock::{millis, until};
use crate::inbox::limits::{check_key, check_lease, check_payload, check_ttl};
use crate::inbox::{
    Claim, ClaimToken, Clock, DEFAULT_TTL, Inbox, InboxError, InboxErrorKind, InboxFuture,
    LEASE_MAX, Pending, Queue, Recorded, Scope,
};

/// An inbox, and a queue, in a SQLite file: durable before it answers, for any number of processes of one
/// machine. Feature `sqlite`.
///
/// The file is made, for its owner only, in a directory that exists; it may be the application's own
/// database, whose other tables it leaves alone. It is in WAL mode, and must be on a local disk. What
/// [`complete`](Inbox::complete) and [`accept`](Queue::accept) answered survives a power cut, as far as the disk
/// keeps its word; a claim survives its process and ends with its lease. Operations that wait at the same
/// time share a commit; the payloads that wait have at most 64 MiB in all, and more of them wait for room.
///
/// Clones share one thread, which ends with the last of them. Futures can be awaited on any executor.
///
/// ```no_run
/// # fn main() -> Result<(), formsvc_receiver::inbox::InboxError> {
/// use formsvc_receiver::inbox::SqliteInbox;
/// let inbox = SqliteInbox::open("/var/lib/orders/inbox.db")?;
/// let letters = inbox.scope("letters")?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct SqliteInbox {
    writer: Writer,
    scope: Scope,
    ttl: i64,
}

/// Settings of a [`SqliteInbox`].
#[derive(Clone, Debug)]
pub struct SqliteInboxBuilder {
    ttl: Duration,
    clock: Clock,
}

impl SqliteInboxBuilder {
    /// How long a mark is kept, from [`TTL_MIN`](crate::inbox::TTL_MIN) on; [`DEFAULT_TTL`] unless set.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// The time that leases and marks go by; the system's unless set. Processes that share a file should
    /// share a clock. When it is put back, leases last longer by as much.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Clock::new(now);
        self
    }

    /// Opens the file. Blocks while it does; for the start of a process.
    ///
    /// Fails with [`InboxErrorKind::Setup`] where the directory is missing, the file is no database or its
    /// tables are of a later release, and with [`InboxErrorKind::Unavailable`] when another process holds it
    /// for more than 5 s.
    pub fn open(self, path: impl AsRef<Path>) -> Result<SqliteInbox, InboxError> {
        let ttl = check_ttl(self.ttl)?;
        let connection = file::open(path.as_ref())?;
        let writer = Writer::start(connection, self.clock)
            .map_err(|error| InboxError::with_source(InboxErrorKind::Unavailable, error))?;
        Ok(SqliteInbox { writer, scope: Scope::default(), ttl })
    }
}

impl SqliteInbox {
    /// Opens a file with the settings that are usual; see [`SqliteInboxBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, InboxError> {
        Self::builder().open(path)
    }

    /// Settings to begin with.
    pub fn builder() -> SqliteInboxBuilder {
        SqliteInboxBuilder { ttl: DEFAULT_TTL, clock: Clock::default() }
    }

    /// The same inbox for another [scope](crate::inbox#scopes).
    pub fn scope(&self, name: &str) -> Result<Self, InboxError> {
        Ok(Self { scope: Scope::new(name)?, ..self.clone() })
    }

    /// Has the writer do something and waits for its answer. A claim whose future is dropped is given back.
    async fn ask<T, F>(&self, durability: Durability, work: F) -> Result<T, InboxError>
    where
        T: MayClaim + Send + 'static,
        F: FnMut(&Tx<'_>, i64) -> rusqlite::Result<T> + Send + 'static,
    {
        let (op, answer) = op(work);
        self.writer.send(op, durability).await?;
        Waiting { inbox: self, answer }.answer().await
    }

    fn give_back(&self, held: ClaimToken) {
        let (op, _) = op(move |tx, now| Ok(Did(tables::give_back(tx, &held, now)?)));
        self.writer.try_send(op, Durability::UntilPowerCut);
    }

    async fn release_after(&self, token: &ClaimToken, pause: i64) -> Result<(), InboxError> {
        let held = token.clone();
        let work = move |tx: &Tx<'_>, now: i64| {
            Ok(Did(tables::release(tx, &held, now.saturating_add(pause))?))
        };
        self.ask(Durability::UntilPowerCut, work).await?.or_lost()
    }
}

/// Somebody who waits for an answer, and may go.
struct Waiting<'a, T: MayClaim> {
    inbox: &'a SqliteInbox,
    answer: Answer<T>,
}

impl<T: MayClaim> Waiting<'_, T> {
    /// Tells the others in its commit.
    fn tell(&self, others: Option<&Others>) {
        for held in others.into_iter().flat_map(Others::tell) {
            self.inbox.give_back(held);
        }
    }

    async fn answer(mut self) -> Result<T, InboxError> {
        let Ok(told) = (&mut self.answer).await else { return Err(closed()) };
        self.tell(told.others.as_deref());
        told.own
    }
}

impl<T: MayClaim> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        // From here on the writer sees that nobody is there; what it answered before is here.
        self.answer.close();
        let Ok(told) = self.answer.try_recv() else { return };
        self.tell(told.others.as_deref());
        if let Some(held) = told.own.ok().and_then(|done| done.claimed()) {
            self.inbox.give_back(held);
        }
    }
}

/// Whether a claim was held, and so what was asked of it was done.
struct Did(bool);

impl Did {
    fn or_lost(self) -> Result<(), InboxError> {
        if self.0 { Ok(()) } else { Err(InboxErrorKind::ClaimLost.into()) }
    }
}

impl MayClaim for Did {
    fn claimed(&self) -> Option<ClaimToken> {
        None
    }
}

impl MayClaim for usize {
    fn claimed(&self) -> Option<ClaimToken> {
        None
    }
}

impl MayClaim for Recorded {
    fn claimed(&self) -> Option<ClaimToken> {
        None
    }
}

impl MayClaim for Option<Recorded> {
    fn claimed(&self) -> Option<ClaimToken> {
        None
    }
}

impl MayClaim for Claim {
    fn claimed(&self) -> Option<ClaimToken> {
        match self {
            Self::Acquired(token) => Some(token.clone()),
            Self::Duplicate | Self::InFlight { .. } => None,
        }
    }
}

impl MayClaim for Option<Pending> {
    fn claimed(&self) -> Option<ClaimToken> {
        self.as_ref().map(|pending| pending.token.clone())
    }
}

/// Claims a key within a transaction.
pub(super) fn claimed(
    tx: &Tx<'_>,
    scope: &Scope,
    key: &str,
    now: i64,
    lease: i64,
) -> rusqlite::Result<Claim> {
    Ok(match tables::claim(tx, scope, key, now, lease)? {
        Claimed::Acquired { fence } => Claim::Acquired(ClaimToken::new(scope.clone(), key, fence)),
        Claimed::Duplicate => Claim::Duplicate,
        Claimed::InFlight { until: end } => Claim::InFlight { retry_after: until(end, now) },
    })
}

impl Inbox for SqliteInbox {
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim> {
        Box::pin(async move {
            check_key(key)?;
            let lease = check_lease(lease)?;
            let (scope, key) = (self.scope.clone(), Box::<str>::from(key));
            let work = move |tx: &Tx<'_>, now| claimed(tx, &scope, &key, now, lease);
            self.ask(Durability::UntilPowerCut, work).await
        })
    }

    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()> {
        Box::pin(async move {
            let (held, lease) = (token.clone(), check_lease(lease)?);
            let work = move |tx: &Tx<'_>, now: i64| {
                Ok(Did(tables::extend(tx, &held, now.saturating_add(lease))?))
            };
            self.ask(Durability::UntilPowerCut, work).await?.or_lost()
        })
    }

    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        Box::pin(async move {
            let (held, ttl) = (token.clone(), self.ttl);
            let work = move |tx: &Tx<'_>, now: i64| {
                Ok(Did(tables::complete(tx, &held, now.saturating_add(ttl))?))
            };
            self.ask(Durability::Kept, work).await?.or_lost()
        })
    }

    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        Box::pin(self.release_after(token, 0))
    }

    fn abandon(&self, token: &ClaimToken) {
        let held = token.clone();
        let (op, _) = op(move |tx, now| Ok(Did(tables::release(tx, &held, now)?)));
        self.writer.try_send(op, Durability::UntilPowerCut);
    }

    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize> {
        Box::pin(self.ask(Durability::UntilPowerCut, move |tx, now| {
            tables::prune_claims(tx, now)?;
            tables::prune_marks(tx, now, at_most)
        }))
    }
}

impl Queue for SqliteInbox {
    fn accept<'a>(&'a self, key: &'a str, payload: &'a Bytes) -> InboxFuture<'a, Recorded> {
        Box::pin(async move {
            check_key(key)?;
            check_payload(payload)?;
            let (scope, key) = (self.scope.clone(), Box::<str>::from(key));
            // It is shared once there is room for it, which it has until it is written.
            let room = self.writer.room_for(payload.len()).await?;
            let payload = payload.clone();
            let work = move |tx: &Tx<'_>, now| {
                let _taken = &room;
                tables::accept(tx, &scope, &key, &payload, now)
            };
            self.ask(Durability::Kept, work).await?.ok_or(InboxErrorKind::InFlight.into())
        })
    }

    fn next(&self, lease: Duration) -> InboxFuture<'_, Option<Pending>> {
        Box::pin(async move {
            let (scope, lease) = (self.scope.clone(), check_lease(lease)?);
            let work = move |tx: &Tx<'_>, now| tables::next(tx, &scope, now, lease);
            self.ask(Durability::UntilPowerCut, work).await
        })
    }

    fn retry<'a>(&'a self, token: &'a ClaimToken, after: Duration) -> InboxFuture<'a, ()> {
        Box::pin(self.release_after(token, millis(after.min(LEASE_MAX))))
    }
}
