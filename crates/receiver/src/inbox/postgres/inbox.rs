//! The inbox that callers hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::Pool;
use tokio::runtime::Handle;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::alone::query_alone;
use super::answer::{Answer, BUSY_PAUSE, TRIES};
use super::names::Names;
use super::schema;
use super::sql::Sql;
use super::task::in_task;
use crate::inbox::clock::millis;
use crate::inbox::limits::{check_key, check_lease, check_payload, check_ttl};
use crate::inbox::{
    Claim, ClaimToken, DEFAULT_TTL, Inbox, InboxError, InboxErrorKind, InboxFuture, LEASE_MAX,
    Pending, Queue, Recorded, Scope,
};

/// Completions between two times that old keys are forgotten, and how many then are at most.
const PRUNE_EVERY: u32 = 128;
const PRUNED: usize = 512;

/// A parameter of a statement, with its type.
pub(super) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// An inbox, and a queue, in PostgreSQL (12 or later): for any number of receivers on any number of machines.
/// Feature `postgres`.
///
/// Leases and marks go by the database's clock, and each operation is one statement on a connection of the
/// caller's pool, prepared by nobody, so that poolers between do no harm. What was claimed, completed or
/// accepted is committed durably, even where `synchronous_commit` is `off`; the other values of it are left
/// as they are. A connection on which somebody left a transaction open is closed, and the operation fails with
/// [`InboxErrorKind::Unavailable`].
///
/// A claim, or what is next, whose future is dropped is given back, and a completion goes on, in a task of the
/// tokio runtime that they are polled in. [`abandon`](Inbox::abandon) releases in a task of the tokio runtime it is called in. A pool without
/// time limits waits for ever: give it some.
///
/// The types of deadpool-postgres 0.14 are part of this: a release of it that breaks them breaks this.
///
/// ```no_run
/// # async fn example(pool: deadpool_postgres::Pool) -> Result<(), formsvc_receiver::inbox::InboxError> {
/// use formsvc_receiver::inbox::PostgresInbox;
/// let inbox = PostgresInbox::builder(pool).schema("orders")?.open().await?;
/// let letters = inbox.scope("letters")?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct PostgresInbox {
    shared: Arc<Shared>,
    scope: Scope,
}

struct Shared {
    pool: Pool,
    sql: Sql,
    ttl: i64,
    completions: AtomicU32,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A pool shows who it connects as, and where.
        f.debug_struct("Shared").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

/// Settings of a [`PostgresInbox`].
pub struct PostgresInboxBuilder {
    pool: Pool,
    names: Names,
    ttl: Duration,
    creates_tables: bool,
}

impl std::fmt::Debug for PostgresInboxBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresInboxBuilder")
            .field("names", &self.names)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

impl PostgresInboxBuilder {
    /// The schema that the tables are in, which must exist; the first of the connection's search path unless
    /// set. It has at most 63 lower-case letters, digits and `_`, and begins with no digit.
    pub fn schema(self, schema: &str) -> Result<Self, InboxError> {
        Ok(Self { names: self.names.in_schema(schema)?, ..self })
    }

    /// What the names of the tables begin with; `formsvc_inbox` unless set. Of such a form too, with at most
    /// 40 characters.
    pub fn table_prefix(self, prefix: &str) -> Result<Self, InboxError> {
        Ok(Self { names: self.names.with_prefix(prefix)?, ..self })
    }

    /// How long a mark is kept, from [`TTL_MIN`](crate::inbox::TTL_MIN) on; [`DEFAULT_TTL`] unless set.
    #[must_use]
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Whether [`open`](Self::open) makes tables that are missing; it does unless told otherwise, for which
    /// the database's user must be allowed to. Where it is not, have
    /// [`create_tables_sql`](Self::create_tables_sql) run by who is, and the user allowed to read and write
    /// the tables and to use the sequence.
    #[must_use]
    pub fn creates_tables(self, creates_tables: bool) -> Self {
        Self { creates_tables, ..self }
    }

    /// The SQL that makes the tables.
    pub fn create_tables_sql(&self) -> String {
        schema::tables(&self.names)
    }

    /// Makes it, with its tables.
    ///
    /// Fails with [`InboxErrorKind::Setup`] for a time to live out of range, for tables of a later
    /// release, and for none where none are made; and with [`InboxErrorKind::Unavailable`] when the database cannot be reached.
    pub async fn open(self) -> Result<PostgresInbox, InboxError> {
        let ttl = check_ttl(self.ttl)?;
        if self.creates_tables {
            schema::migrate(&self.pool, &self.names).await?;
        } else {
            schema::inspect(&self.pool, &self.names).await?;
        }
        let (sql, pool) = (Sql::new(&self.names), self.pool);
        let shared = Shared { pool, sql, ttl, completions: AtomicU32::new(0) };
        Ok(PostgresInbox { shared: Arc::new(shared), scope: Scope::default() })
    }
}

impl PostgresInbox {
    /// Settings to begin with, and connections to use.
    pub fn builder(pool: Pool) -> PostgresInboxBuilder {
        let names = Names::default();
        PostgresInboxBuilder { pool, names, ttl: DEFAULT_TTL, creates_tables: true }
    }

    /// The same inbox for another [scope](crate::inbox#scopes).
    pub fn scope(&self, name: &str) -> Result<Self, InboxError> {
        Ok(Self { shared: Arc::clone(&self.shared), scope: Scope::new(name)? })
    }

    async fn query(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, InboxError> {
        query_alone(self.shared.pool.get().await?, sql, params).await
    }

    /// Runs a statement that gives a row when the claim is held.
    async fn held(&self, sql: &str, params: &[Param<'_>]) -> Result<(), InboxError> {
        let rows = self.query(sql, params).await?;
        if rows.is_empty() { Err(InboxErrorKind::ClaimLost.into()) } else { Ok(()) }
    }

    async fn claim_now(&self, key: &str, lease: i64) -> Result<Claim, InboxError> {
        let (scope, bytes) = (self.scope.name(), key.as_bytes());
        let params: &[Param<'_>] =
            &[(&scope, Type::TEXT), (&bytes, Type::BYTEA), (&lease, Type::INT8)];
        for _ in 0..TRIES {
            let rows = self.query(&self.shared.sql.claim, params).await?;
            return Ok(match Answer::read(rows.first())? {
                Answer::Taken { fence } => {
                    Claim::Acquired(ClaimToken::new(self.scope.clone(), key, fence))
                }
                Answer::Known => Claim::Duplicate,
                Answer::Claimed { left } => Claim::InFlight { retry_after: left },
                Answer::Changed => continue,
            });
        }
        Ok(Claim::InFlight { retry_after: BUSY_PAUSE })
    }

    async fn complete_now(&self, token: &ClaimToken) -> Result<(), InboxError> {
        let (sql, named) = (&self.shared.sql, Named::of(token));
        let [scope, key, fence] = named.params();
        let ttl: Param<'_> = (&self.shared.ttl, Type::INT8);
        match token.place() {
            None => self.held(&sql.complete, &[scope, key, fence, ttl]).await?,
            Some(place) => {
                let place: Param<'_> = (&place, Type::INT8);
                self.held(&sql.complete_queued, &[scope, key, fence, ttl, place]).await?;
            }
        }
        self.prune_beside();
        Ok(())
    }

    async fn next_now(&self, lease: i64) -> Result<Option<Pending>, InboxError> {
        let scope = self.scope.name();
        let params: &[Param<'_>] = &[(&scope, Type::TEXT), (&lease, Type::INT8)];
        let rows = self.query(&self.shared.sql.next, params).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let key = String::from_utf8_lossy(row.try_get(1)?);
        let (place, fence, attempts) =
            (row.try_get(0)?, row.try_get(2)?, row.try_get::<_, i32>(3)?);
        let token = ClaimToken::queued(self.scope.clone(), &key, fence, place);
        Ok(Some(Pending::new(token, row.try_get(4)?, attempts.unsigned_abs())))
    }

    /// Gives back what was claimed for somebody who had gone, and so was no attempt. When it fails, the lease
    /// runs out.
    pub(super) async fn give_back(&self, token: &ClaimToken) {
        let _ = self.release_as(token, 0, 1).await;
    }

    async fn release_after(&self, token: &ClaimToken, pause: i64) -> Result<(), InboxError> {
        self.release_as(token, pause, 0).await
    }

    /// Releases, taking back so many attempts.
    async fn release_as(
        &self,
        token: &ClaimToken,
        pause: i64,
        taken_back: i32,
    ) -> Result<(), InboxError> {
        let sql = &self.shared.sql;
        match token.place() {
            None => self.held(&sql.release, &Named::of(token).params()).await,
            Some(place) => {
                let params: &[Param<'_>] = &[
                    (&place, Type::INT8),
                    (&token.number(), Type::INT8),
                    (&pause, Type::INT8),
                    (&taken_back, Type::INT4),
                ];
                self.held(&sql.release_queued, params).await
            }
        }
    }

    /// Forgets old keys now and then, beside everything else.
    fn prune_beside(&self) {
        let done = self.shared.completions.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        if done.is_multiple_of(PRUNE_EVERY)
            && let Ok(runtime) = Handle::try_current()
        {
            let inbox = self.clone();
            // When it fails, the next time does it.
            runtime.spawn(async move { inbox.prune(PRUNED).await });
        }
    }
}

/// What names a claim in SQL.
struct Named<'a> {
    scope: &'a str,
    key: &'a [u8],
    fence: i64,
}

impl<'a> Named<'a> {
    fn of(token: &'a ClaimToken) -> Self {
        Self { scope: token.scope(), key: token.key().as_bytes(), fence: token.number() }
    }

    fn params(&self) -> [Param<'_>; 3] {
        [(&self.scope, Type::TEXT), (&self.key, Type::BYTEA), (&self.fence, Type::INT8)]
    }
}

impl Inbox for PostgresInbox {
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim> {
        Box::pin(async move {
            check_key(key)?;
            let (inbox, key, lease) = (self.clone(), Box::<str>::from(key), check_lease(lease)?);
            in_task(self, async move { inbox.claim_now(&key, lease).await }).await
        })
    }

    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()> {
        Box::pin(async move {
            let (sql, lease) = (&self.shared.sql, check_lease(lease)?);
            let (named, lease): (_, Param<'_>) = (Named::of(token), (&lease, Type::INT8));
            let [scope, key, fence] = named.params();
            match token.place() {
                None => self.held(&sql.extend, &[scope, key, fence, lease]).await,
                Some(place) => {
                    self.held(&sql.extend_queued, &[(&place, Type::INT8), fence, lease]).await
                }
            }
        })
    }

    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        let (inbox, token) = (self.clone(), token.clone());
        // Whoever asks has the effect already: a mark must follow.
        Box::pin(in_task(self, async move { inbox.complete_now(&token).await }))
    }

    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        Box::pin(self.release_after(token, 0))
    }

    fn abandon(&self, token: &ClaimToken) {
        if let Ok(runtime) = Handle::try_current() {
            let (inbox, token) = (self.clone(), token.clone());
            // When it fails, the lease runs out.
            runtime.spawn(async move { inbox.release(&token).await });
        }
    }

    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize> {
        Box::pin(async move {
            let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
            Ok(self.query(&self.shared.sql.prune, &[(&at_most, Type::INT8)]).await?.len())
        })
    }
}

impl Queue for PostgresInbox {
    fn accept<'a>(&'a self, key: &'a str, payload: &'a Bytes) -> InboxFuture<'a, Recorded> {
        Box::pin(async move {
            check_key(key)?;
            check_payload(payload)?;
            let (scope, key, payload) = (self.scope.name(), key.as_bytes(), &payload[..]);
            let params: &[Param<'_>] =
                &[(&scope, Type::TEXT), (&key, Type::BYTEA), (&payload, Type::BYTEA)];
            for _ in 0..TRIES {
                let rows = self.query(&self.shared.sql.accept, params).await?;
                return match Answer::read(rows.first())? {
                    Answer::Taken { .. } => Ok(Recorded::New),
                    Answer::Known => Ok(Recorded::Duplicate),
                    Answer::Claimed { .. } => Err(InboxErrorKind::InFlight.into()),
                    Answer::Changed => continue,
                };
            }
            Err(InboxErrorKind::InFlight.into())
        })
    }

    fn next(&self, lease: Duration) -> InboxFuture<'_, Option<Pending>> {
        Box::pin(async move {
            let (inbox, lease) = (self.clone(), check_lease(lease)?);
            in_task(self, async move { inbox.next_now(lease).await }).await
        })
    }

    fn retry<'a>(&'a self, token: &'a ClaimToken, after: Duration) -> InboxFuture<'a, ()> {
        Box::pin(self.release_after(token, millis(after.min(LEASE_MAX))))
    }
}
