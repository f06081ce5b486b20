//! Marks in a transaction of the caller.

use std::time::Duration;

use tokio_postgres::Transaction;
use tokio_postgres::types::Type;

use super::error::inbox_error;
use super::names::TableNames;
use super::schema;
use super::statements::{Param, Statements};
use super::take_result::{ATTEMPTS, TakeResult};
use crate::inbox::clock::to_millis;
use crate::inbox::limits::{check_ttl, stored_key};
use crate::inbox::scope::Scope;
use crate::inbox::{Claim, DEFAULT_TTL, DedupeResult, InboxError, InboxErrorKind};

/// Marks of handled submissions in your own PostgreSQL database: an effect there and its mark commit in
/// one transaction. Feature `postgres`.
///
/// Mark the key first, do nothing if it is a duplicate, and respond with 2xx after the commit. The commit
/// waits for the disk also if `synchronous_commit` is `off`. If two transactions mark the same key at
/// once, the second fails at once with [`InboxErrorKind::InFlight`] and does not occupy its connection.
/// Roll back after an error. A [`PostgresInbox`](super::PostgresInbox) with the same table names sees
/// these marks, and marks see its claims.
///
/// ```no_run
/// use formsvc_receiver::inbox::{DedupeResult, PostgresMarks};
/// # async fn example(mut client: tokio_postgres::Client, submission_id: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let marks = PostgresMarks::new();
/// let tx = client.transaction().await?;
/// marks.create_tables(&tx).await?; // once, as a migration
/// tx.commit().await?;
///
/// let tx = client.transaction().await?;
/// if marks.mark(&tx, submission_id).await? == DedupeResult::New {
///     tx.execute("INSERT INTO orders DEFAULT VALUES", &[]).await?;
/// }
/// tx.commit().await?;
/// # Ok(()) }
/// ```
///
/// The version of tokio-postgres (0.7) is part of this API. A transaction of deadpool-postgres
/// dereferences to one of tokio-postgres.
#[derive(Debug)]
pub struct PostgresMarks {
    names: TableNames,
    statements: Statements,
    scope: Scope,
    ttl: Duration,
}

impl PostgresMarks {
    /// Marks in the scope `default` with a time to live of [`DEFAULT_TTL`].
    pub fn new() -> Self {
        let names = TableNames::default();
        let statements = Statements::new(&names);
        Self { names, statements, scope: Scope::default(), ttl: DEFAULT_TTL }
    }

    /// Sets the [scope](crate::inbox#scopes).
    pub fn scope(self, name: &str) -> Result<Self, InboxError> {
        Ok(Self { scope: Scope::new(name)?, ..self })
    }

    /// Sets the time to live, at least [`TTL_MIN`](crate::inbox::TTL_MIN).
    pub fn ttl(self, ttl: Duration) -> Result<Self, InboxError> {
        check_ttl(ttl)?;
        Ok(Self { ttl, ..self })
    }

    /// Sets the schema: see [`PostgresInboxBuilder::schema`](super::PostgresInboxBuilder::schema).
    pub fn schema(self, schema: &str) -> Result<Self, InboxError> {
        let names = self.names.with_schema(schema)?;
        Ok(Self { statements: Statements::new(&names), names, ..self })
    }

    /// Sets the prefix of the table names: see
    /// [`PostgresInboxBuilder::table_prefix`](super::PostgresInboxBuilder::table_prefix).
    pub fn table_prefix(self, prefix: &str) -> Result<Self, InboxError> {
        let names = self.names.with_prefix(prefix)?;
        Ok(Self { statements: Statements::new(&names), names, ..self })
    }

    /// The SQL that creates the tables, unless they exist.
    pub fn create_tables_sql(&self) -> String {
        schema::create_tables_sql(&self.names)
    }

    /// The SQL that locks a key until the transaction ends, for
    /// [other drivers](crate::inbox#other-drivers). Parameters: 1 the scope as text, 2 the key as bytes. It
    /// returns false if another open transaction marks the key.
    pub fn lock_sql(&self) -> &str {
        &self.statements.lock_mark
    }

    /// The SQL that marks a locked key. Parameters: 1 the scope as text, 2 the key as bytes, 3 the time to
    /// live in milliseconds as `bigint`. It returns the columns `fence`, state and milliseconds: `fence` is
    /// set if the key is new; state 1 or 2 is a duplicate, and state 0 a claim of an inbox. Without a row,
    /// or if the milliseconds are not positive, run it again.
    pub fn mark_sql(&self) -> &str {
        &self.statements.mark
    }

    /// Creates the tables, unless they exist. Waits for concurrent calls. Fails with
    /// [`InboxErrorKind::InvalidConfig`] for tables of another version.
    pub async fn create_tables(&self, tx: &Transaction<'_>) -> Result<(), InboxError> {
        schema::migrate(tx, &self.names).await
    }

    /// Marks a key as handled if the transaction commits. Fails with [`InboxErrorKind::InFlight`] if an
    /// inbox has a claim on it, or another open transaction has marked it.
    pub async fn mark(&self, tx: &Transaction<'_>, key: &str) -> Result<DedupeResult, InboxError> {
        let key = stored_key(key)?;
        let (scope, key, ttl) = (self.scope.name(), key.as_bytes(), to_millis(self.ttl));
        let params: [Param<'_>; 3] =
            [(&scope, Type::TEXT), (&key, Type::BYTEA), (&ttl, Type::INT8)];
        // Held until the transaction ends, so the statement below never waits for a row lock.
        let lock = tx.query_typed_one(&self.statements.lock_mark, &params[..2]).await;
        let is_locked = lock.and_then(|row| row.try_get::<_, bool>(0)).map_err(inbox_error)?;
        if !is_locked {
            return Err(InboxErrorKind::InFlight.into());
        }
        for _ in 0..ATTEMPTS {
            let rows = tx.query_typed(&self.statements.mark, &params).await.map_err(inbox_error)?;
            match TakeResult::read(rows.first())? {
                TakeResult::Taken { .. } => return Ok(DedupeResult::New),
                TakeResult::Blocked(Claim::Duplicate) => return Ok(DedupeResult::Duplicate),
                TakeResult::Blocked(_) => return Err(InboxErrorKind::InFlight.into()),
                TakeResult::Changed => {}
            }
        }
        Err(InboxErrorKind::InFlight.into())
    }

    /// Deletes at most this number of expired marks of all scopes, and returns how many it deleted. Call
    /// it regularly: marks are not deleted otherwise, except by an inbox with the same tables.
    pub async fn prune(&self, tx: &Transaction<'_>, at_most: usize) -> Result<usize, InboxError> {
        let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
        let deleted = tx.query_typed(&self.statements.prune, &[(&at_most, Type::INT8)]).await;
        Ok(deleted.map_err(inbox_error)?.len())
    }
}

impl Default for PostgresMarks {
    fn default() -> Self {
        Self::new()
    }
}
