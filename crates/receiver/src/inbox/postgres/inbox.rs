//! `PostgresInbox` and its settings.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::{Client, Pool};
use tokio_postgres::types::Type;
use tokio_postgres::{Row, SimpleQueryMessage};

use super::error::{inbox_error, pool_error};
use super::names::TableNames;
use super::schema;
use super::statements::{Param, Statements};
use super::take_result::{ATTEMPTS, BUSY_RETRY_AFTER, TakeResult};
use crate::inbox::clock::to_millis;
use crate::inbox::limits::{check_lease, check_payload, check_ttl, stored_key};
use crate::inbox::scope::Scope;
use crate::inbox::{
    Claim, ClaimToken, DEFAULT_TTL, DedupeResult, Inbox, InboxError, InboxErrorKind, InboxFuture,
    LEASE_MAX, Queue, QueuedDelivery,
};

/// Claims between two deletions of expired rows, and the number of rows that one deletes.
const PRUNE_INTERVAL: i64 = 128;
const PRUNED_ROWS: usize = 512;

/// An inbox and a queue in PostgreSQL (12 or later), for any number of receivers. Feature `postgres`.
///
/// Leases and marks use the database's clock. Each operation is one statement without a prepared
/// statement, so poolers such as PgBouncer can be used. Claims, marks and accepted deliveries are
/// durable also if `synchronous_commit` is `off`.
///
/// **The pool** must have timeouts, and must not hand out connections with an open transaction: the
/// inbox's changes would be rolled back with it. Recycle connections with
/// `RecyclingMethod::Custom("ROLLBACK".into())`, or with `Verified` if no code of yours sends `BEGIN`
/// itself. [`open`](PostgresInboxBuilder::open) checks the connection that it uses.
///
/// ```no_run
/// # async fn example(pool: deadpool_postgres::Pool) -> Result<(), formsvc_receiver::inbox::InboxError> {
/// use formsvc_receiver::inbox::PostgresInbox;
/// let inbox = PostgresInbox::builder(pool).schema("orders")?.open().await?;
/// let newsletter = inbox.scope("newsletter")?;
/// # Ok(()) }
/// ```
///
/// The version of deadpool-postgres (0.14) is part of this API.
#[derive(Clone, Debug)]
pub struct PostgresInbox {
    shared: Arc<Shared>,
    scope: Scope,
}

struct Shared {
    pool: Pool,
    statements: Statements,
    ttl: i64,
}

impl fmt::Debug for Shared {
    /// Without the pool, which shows the user and the address of the database.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

/// Settings of a [`PostgresInbox`].
#[must_use]
pub struct PostgresInboxBuilder {
    pool: Pool,
    names: TableNames,
    ttl: Duration,
    creates_tables: bool,
}

impl fmt::Debug for PostgresInboxBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresInboxBuilder").field("names", &self.names).finish_non_exhaustive()
    }
}

impl PostgresInboxBuilder {
    /// Sets the schema of the tables, which must exist: the first of the search path by default. It has at
    /// most 63 lower-case letters, digits and `_`.
    pub fn schema(self, schema: &str) -> Result<Self, InboxError> {
        Ok(Self { names: self.names.with_schema(schema)?, ..self })
    }

    /// Sets the prefix of the table names: `formsvc_inbox` by default. It has at most 40 lower-case
    /// letters, digits and `_`.
    pub fn table_prefix(self, prefix: &str) -> Result<Self, InboxError> {
        Ok(Self { names: self.names.with_prefix(prefix)?, ..self })
    }

    /// Sets the time to live of marks: [`DEFAULT_TTL`] by default, at least
    /// [`TTL_MIN`](crate::inbox::TTL_MIN).
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Sets whether [`open`](Self::open) creates missing tables: true by default. If the database user may
    /// not create tables, run [`create_tables_sql`](Self::create_tables_sql) as another user, and grant
    /// access to the tables and the sequence.
    pub fn creates_tables(self, creates_tables: bool) -> Self {
        Self { creates_tables, ..self }
    }

    /// The SQL that creates the tables, unless they exist.
    pub fn create_tables_sql(&self) -> String {
        schema::create_tables_sql(&self.names)
    }

    /// Opens the inbox and creates its tables.
    ///
    /// Fails with [`InboxErrorKind::InvalidConfig`] for an invalid time to live, a pool that hands out a
    /// connection with an open transaction, tables of another version, or missing tables if none are
    /// created; with [`InboxErrorKind::Unavailable`] if the database is not reachable.
    pub async fn open(self) -> Result<PostgresInbox, InboxError> {
        let Self { pool, names, ttl, creates_tables } = self;
        let ttl = check_ttl(ttl)?;
        let mut client = pool.get().await.map_err(pool_error)?;
        check_no_open_transaction(&client).await?;
        if creates_tables {
            let tx = client.transaction().await.map_err(inbox_error)?;
            schema::migrate(&tx, &names).await?;
            tx.commit().await.map_err(inbox_error)?;
        } else if !schema::check_version(&**client, &names).await? {
            let table = names.table("_schema");
            return Err(InboxError::config(format!("table {table} does not exist")));
        }
        drop(client);
        let shared = Shared { pool, statements: Statements::new(&names), ttl };
        Ok(PostgresInbox { shared: Arc::new(shared), scope: Scope::default() })
    }
}

async fn check_no_open_transaction(client: &Client) -> Result<(), InboxError> {
    // Equal only if this statement began the transaction. The simple protocol is required: in the
    // extended protocol the transaction begins with an earlier message.
    let sql = "SELECT transaction_timestamp() = statement_timestamp()";
    let messages = client.simple_query(sql).await.map_err(inbox_error)?;
    let is_true = |message: &SimpleQueryMessage| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("t"));
    if messages.iter().any(is_true) {
        return Ok(());
    }
    Err(InboxError::config(
        "the pool handed out a connection with an open transaction; \
         recycle connections with `RecyclingMethod::Custom(\"ROLLBACK\".into())`",
    ))
}

impl PostgresInbox {
    /// Starts an inbox that uses the connections of a pool.
    pub fn builder(pool: Pool) -> PostgresInboxBuilder {
        let names = TableNames::default();
        PostgresInboxBuilder { pool, names, ttl: DEFAULT_TTL, creates_tables: true }
    }

    /// The same inbox with another [scope](crate::inbox#scopes).
    pub fn scope(&self, name: &str) -> Result<Self, InboxError> {
        Ok(Self { shared: Arc::clone(&self.shared), scope: Scope::new(name)? })
    }

    async fn query(&self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, InboxError> {
        let client = self.shared.pool.get().await.map_err(pool_error)?;
        client.query_typed(sql, params).await.map_err(inbox_error)
    }

    /// Runs a statement that returns a row if the claim is held.
    async fn update(&self, sql: &str, params: &[Param<'_>]) -> Result<(), InboxError> {
        if self.query(sql, params).await?.is_empty() {
            return Err(InboxErrorKind::ClaimLost.into());
        }
        Ok(())
    }

    /// Runs a statement that takes a stored key, again if the row changed meanwhile.
    async fn take(&self, sql: &str, key: &str, third: Param<'_>) -> Result<TakeResult, InboxError> {
        let (scope, key) = (self.scope.name(), key.as_bytes());
        let params: &[Param<'_>] = &[(&scope, Type::TEXT), (&key, Type::BYTEA), third];
        for _ in 0..ATTEMPTS {
            let rows = self.query(sql, params).await?;
            let result = TakeResult::read(rows.first())?;
            if result != TakeResult::Changed {
                return Ok(result);
            }
        }
        Ok(TakeResult::Blocked(Claim::InFlight { retry_after: BUSY_RETRY_AFTER }))
    }

    async fn release_after(&self, token: &ClaimToken, pause: i64) -> Result<(), InboxError> {
        let statements = &self.shared.statements;
        let claim = ClaimParams::new(token);
        match token.queue_row() {
            None => self.update(&statements.release, &claim.params()).await,
            Some(row) => {
                let [_, _, fence] = claim.params();
                let params = &[(&row as _, Type::INT8), fence, (&pause as _, Type::INT8)];
                self.update(&statements.release_queued, params).await
            }
        }
    }
}

/// The columns that identify a claim.
struct ClaimParams<'a> {
    scope: &'a str,
    key: &'a [u8],
    fence: i64,
}

impl<'a> ClaimParams<'a> {
    fn new(token: &'a ClaimToken) -> Self {
        let (scope, key) = (token.scope(), token.key().as_bytes());
        Self { scope, key, fence: token.fence_number() }
    }

    fn params(&self) -> [Param<'_>; 3] {
        [(&self.scope, Type::TEXT), (&self.key, Type::BYTEA), (&self.fence, Type::INT8)]
    }
}

impl Inbox for PostgresInbox {
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim> {
        Box::pin(async move {
            let (key, lease) = (stored_key(key)?, check_lease(lease)?);
            let sql = &self.shared.statements.claim;
            Ok(match self.take(sql, &key, (&lease, Type::INT8)).await? {
                TakeResult::Taken { fence } => {
                    Claim::Acquired(ClaimToken::issue(&self.scope, &key, fence))
                }
                TakeResult::Blocked(claim) => claim,
                TakeResult::Changed => Claim::InFlight { retry_after: BUSY_RETRY_AFTER },
            })
        })
    }

    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()> {
        Box::pin(async move {
            let (statements, lease) = (&self.shared.statements, check_lease(lease)?);
            let claim = ClaimParams::new(token);
            let [scope, key, fence] = claim.params();
            let lease: Param<'_> = (&lease, Type::INT8);
            match token.queue_row() {
                None => self.update(&statements.extend, &[scope, key, fence, lease]).await,
                Some(row) => {
                    let params = &[(&row as _, Type::INT8), fence, lease];
                    self.update(&statements.extend_queued, params).await
                }
            }
        })
    }

    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        Box::pin(async move {
            let statements = &self.shared.statements;
            let claim = ClaimParams::new(token);
            let [scope, key, fence] = claim.params();
            let ttl: Param<'_> = (&self.shared.ttl, Type::INT8);
            match token.queue_row() {
                None => self.update(&statements.complete, &[scope, key, fence, ttl]).await?,
                Some(row) => {
                    let params = &[scope, key, fence, ttl, (&row as _, Type::INT8)];
                    self.update(&statements.complete_queued, params).await?;
                }
            }
            if token.fence_number() % PRUNE_INTERVAL == 0 {
                // If this fails, a later call deletes the rows.
                let _ = self.prune(PRUNED_ROWS).await;
            }
            Ok(())
        })
    }

    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        Box::pin(self.release_after(token, 0))
    }

    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize> {
        Box::pin(async move {
            let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
            let sql = &self.shared.statements.prune;
            Ok(self.query(sql, &[(&at_most, Type::INT8)]).await?.len())
        })
    }
}

impl Queue for PostgresInbox {
    fn accept<'a>(&'a self, key: &'a str, payload: &'a Bytes) -> InboxFuture<'a, DedupeResult> {
        Box::pin(async move {
            let key = stored_key(key)?;
            check_payload(payload)?;
            let (sql, payload) = (&self.shared.statements.accept, &payload[..]);
            match self.take(sql, &key, (&payload, Type::BYTEA)).await? {
                TakeResult::Taken { .. } => Ok(DedupeResult::New),
                TakeResult::Blocked(Claim::Duplicate) => Ok(DedupeResult::Duplicate),
                TakeResult::Blocked(_) | TakeResult::Changed => {
                    Err(InboxErrorKind::InFlight.into())
                }
            }
        })
    }

    fn next(&self, lease: Duration) -> InboxFuture<'_, Option<QueuedDelivery>> {
        Box::pin(async move {
            let (scope, lease) = (self.scope.name(), check_lease(lease)?);
            let params: &[Param<'_>] = &[(&scope, Type::TEXT), (&lease, Type::INT8)];
            let rows = self.query(&self.shared.statements.next, params).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            self.queued_delivery(row).map(Some).map_err(inbox_error)
        })
    }

    fn retry<'a>(&'a self, token: &'a ClaimToken, pause: Duration) -> InboxFuture<'a, ()> {
        Box::pin(self.release_after(token, to_millis(pause.min(LEASE_MAX))))
    }
}

impl PostgresInbox {
    fn queued_delivery(&self, row: &Row) -> Result<QueuedDelivery, tokio_postgres::Error> {
        let key = String::from_utf8_lossy(row.try_get(1)?);
        let token = ClaimToken::issue(&self.scope, &key, row.try_get(2)?);
        let (attempts, payload): (i32, Vec<u8>) = (row.try_get(3)?, row.try_get(4)?);
        let token = token.with_queue_row(row.try_get(0)?);
        Ok(QueuedDelivery::new(token, payload, attempts.unsigned_abs()))
    }
}
