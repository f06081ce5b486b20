//! Marks in a transaction of the caller's.

use std::time::Duration;

use tokio_postgres::Transaction;
use tokio_postgres::types::{ToSql, Type};

use super::answer::{Answer, TRIES};
use super::names::Names;
use super::schema;
use super::sql::Sql;
use crate::inbox::limits::{check_key, check_ttl};
use crate::inbox::{DEFAULT_TTL, InboxError, InboxErrorKind, Recorded, Scope};

/// Marks of what was handled in the caller's own PostgreSQL database, so that an effect there and its mark
/// commit together: after a crash both are there, or neither. Feature `postgres`.
///
/// Mark the key first, and do nothing when it is a duplicate. Of two transactions on one key at once the second
/// fails at once with [`InboxErrorKind::InFlight`], so that strangers who send one delivery many times do not
/// have connections wait for each other. Above the level `READ COMMITTED`, one that began before another
/// committed fails with [`InboxErrorKind::Unavailable`]. After an error the transaction is to be rolled back.
///
/// Answer with 2xx after the commit, which then waits for the disk: where `synchronous_commit` is `off`, a mark
/// turns it on for its transaction.
///
/// ```no_run
/// use formsvc_receiver::inbox::{PostgresMarks, Recorded};
/// # async fn example(mut client: tokio_postgres::Client, submission_id: &str) -> Result<(), Box<dyn std::error::Error>> {
/// let marks = PostgresMarks::new();
/// let tx = client.transaction().await?;
/// marks.create_tables(&tx).await?; // once, as a migration
/// tx.commit().await?;
///
/// let tx = client.transaction().await?;
/// if marks.mark(&tx, submission_id).await? == Recorded::New {
///     tx.execute("INSERT INTO orders DEFAULT VALUES", &[]).await?;
/// }
/// tx.commit().await?;
/// # Ok(()) }
/// ```
///
/// A transaction of deadpool-postgres derefs to one of these. The types of tokio-postgres 0.7 are part of
/// this: a release of it that breaks them breaks this.
///
/// A [`PostgresInbox`](super::PostgresInbox) with the same names knows these marks, and these know its
/// claims.
#[derive(Debug)]
pub struct PostgresMarks {
    names: Names,
    scope: Scope,
    ttl: Duration,
    sql: Sql,
}

impl PostgresMarks {
    /// Marks in the scope `default`, kept for [`DEFAULT_TTL`], in tables along the search path.
    pub fn new() -> Self {
        let names = Names::default();
        let sql = Sql::new(&names);
        Self { names, scope: Scope::default(), ttl: DEFAULT_TTL, sql }
    }

    /// Marks of another [scope](crate::inbox#scopes).
    pub fn scope(self, name: &str) -> Result<Self, InboxError> {
        Ok(Self { scope: Scope::new(name)?, ..self })
    }

    /// Marks that are kept for so long, from [`TTL_MIN`](crate::inbox::TTL_MIN) on.
    pub fn ttl(self, ttl: Duration) -> Result<Self, InboxError> {
        check_ttl(ttl)?;
        Ok(Self { ttl, ..self })
    }

    /// The schema that the tables are in; see
    /// [`PostgresInboxBuilder::schema`](super::PostgresInboxBuilder::schema).
    pub fn schema(self, schema: &str) -> Result<Self, InboxError> {
        let names = self.names.in_schema(schema)?;
        Ok(Self { sql: Sql::new(&names), names, ..self })
    }

    /// What the names of the tables begin with; see
    /// [`PostgresInboxBuilder::table_prefix`](super::PostgresInboxBuilder::table_prefix).
    pub fn table_prefix(self, prefix: &str) -> Result<Self, InboxError> {
        let names = self.names.with_prefix(prefix)?;
        Ok(Self { sql: Sql::new(&names), names, ..self })
    }

    /// The SQL that makes the tables, those of a [`PostgresInbox`](super::PostgresInbox).
    pub fn create_tables_sql(&self) -> String {
        schema::tables(&self.names)
    }

    /// Makes the tables where there are none; others who do the same are waited for. Fails with
    /// [`InboxErrorKind::Setup`] for tables of a later release.
    pub async fn create_tables(&self, tx: &Transaction<'_>) -> Result<(), InboxError> {
        schema::create(tx, &self.names).await
    }

    /// Marks a key as handled, if and when the transaction commits. For [`Recorded::Duplicate`] there is
    /// nothing to do. Fails with [`InboxErrorKind::InFlight`] when an inbox has a claim on it, or another
    /// transaction has marked it and not ended.
    pub async fn mark(&self, tx: &Transaction<'_>, key: &str) -> Result<Recorded, InboxError> {
        check_key(key)?;
        let (scope, key, ttl) = (self.scope.name(), key.as_bytes(), check_ttl(self.ttl)?);
        let params: [(&(dyn ToSql + Sync), Type); 3] =
            [(&scope, Type::TEXT), (&key, Type::BYTEA), (&ttl, Type::INT8)];
        // Until the transaction ends. Nobody waits for a lock here.
        let begins = tx.query_typed_one(&self.sql.mark_begins, &params[..2]).await?;
        if !begins.try_get::<_, bool>(0)? {
            return Err(InboxErrorKind::InFlight.into());
        }
        for _ in 0..TRIES {
            let rows = tx.query_typed(&self.sql.mark, &params).await?;
            return match Answer::read(rows.first())? {
                Answer::Taken { .. } => Ok(Recorded::New),
                Answer::Known => Ok(Recorded::Duplicate),
                Answer::Claimed { .. } => Err(InboxErrorKind::InFlight.into()),
                Answer::Changed => continue,
            };
        }
        Err(InboxErrorKind::InFlight.into())
    }

    /// Forgets marks of all scopes whose time has come, at most so many, and tells how many. Nothing else
    /// forgets any, unless an inbox uses the same tables, so call it now and then.
    pub async fn prune(&self, tx: &Transaction<'_>, at_most: usize) -> Result<usize, InboxError> {
        let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
        Ok(tx.query_typed(&self.sql.prune, &[(&at_most, Type::INT8)]).await?.len())
    }
}

impl Default for PostgresMarks {
    fn default() -> Self {
        Self::new()
    }
}
