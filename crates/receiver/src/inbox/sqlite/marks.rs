//! Marks in a transaction of the caller.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, Transaction};

use super::error::inbox_error;
use super::{schema, tables};
use crate::inbox::clock::{Clock, to_millis};
use crate::inbox::limits::{check_ttl, stored_key};
use crate::inbox::scope::Scope;
use crate::inbox::{DEFAULT_TTL, DedupeResult, InboxError};

/// Marks of handled submissions in your own SQLite database: an effect there and its mark commit in one
/// transaction. Feature `sqlite`.
///
/// Begin the transaction as `IMMEDIATE`, mark the key first, do nothing if it is a duplicate, and respond
/// with 2xx after the commit. `PRAGMA synchronous` must be `FULL` (SQLite's default) or `EXTRA`. A
/// [`SqliteInbox`](super::SqliteInbox) of the same database sees these marks, but marks do not see its
/// claims: use one of the two in a scope.
///
/// ```
/// use formsvc_receiver::inbox::{DedupeResult, SqliteMarks};
/// use rusqlite::{Connection, TransactionBehavior};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (submission_id, total) = ("sub_1", 12);
/// let mut db = Connection::open_in_memory()?;
/// let marks = SqliteMarks::new();
/// marks.create_table(&db)?; // once, as a migration
/// # db.execute_batch("CREATE TABLE orders (total INTEGER)")?;
/// let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
/// if marks.mark(&tx, submission_id)? == DedupeResult::New {
///     tx.execute("INSERT INTO orders VALUES (?1)", [total])?;
/// }
/// tx.commit()?;
/// # Ok(()) }
/// ```
///
/// A version of rusqlite from 0.39 to 0.43 is part of this API: the one that your program uses. The choice
/// is Cargo's, because a program can contain SQLite only once.
#[derive(Clone, Debug)]
pub struct SqliteMarks {
    scope: Scope,
    ttl: Duration,
    clock: Clock,
}

impl SqliteMarks {
    /// The SQL that creates the table of marks, unless it exists.
    pub const CREATE_TABLE: &'static str = schema::MARKS;

    /// The SQL that marks a key, for [other drivers](crate::inbox#other-drivers). Parameters: 1 the scope as
    /// text, 2 the key as bytes, 3 the end of the mark, and 4 the current time, both in milliseconds since
    /// 1970. It changes one row if the key is new, and none if it is a duplicate.
    pub const MARK: &'static str = tables::MARK;

    /// Marks in the scope `default` with a time to live of [`DEFAULT_TTL`].
    pub fn new() -> Self {
        Self { scope: Scope::default(), ttl: DEFAULT_TTL, clock: Clock::default() }
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

    /// Sets the clock: the system's by default.
    #[must_use]
    pub fn clock(self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self { clock: Clock::new(now), ..self }
    }

    /// Creates the table with [`CREATE_TABLE`](Self::CREATE_TABLE).
    pub fn create_table(&self, db: &Connection) -> Result<(), InboxError> {
        db.execute_batch(Self::CREATE_TABLE).map_err(inbox_error)
    }

    /// Marks a key as handled if the transaction commits. Fails with
    /// [`InvalidConfig`](crate::inbox::InboxErrorKind::InvalidConfig) if `PRAGMA synchronous` is `NORMAL`
    /// or `OFF`, because the mark could be lost in a power failure.
    pub fn mark(&self, tx: &Transaction<'_>, key: &str) -> Result<DedupeResult, InboxError> {
        let key = stored_key(key)?;
        check_durable(tx)?;
        let now = self.clock.now_millis();
        let until = now.saturating_add(to_millis(self.ttl));
        tables::mark(tx, &self.scope, &key, now, until).map_err(inbox_error)
    }

    /// Deletes at most this number of expired marks of all scopes, and returns how many it deleted. Call
    /// it regularly: marks are not deleted otherwise.
    pub fn prune(&self, db: &Connection, at_most: usize) -> Result<usize, InboxError> {
        tables::prune_marks(db, self.clock.now_millis(), at_most).map_err(inbox_error)
    }
}

/// Refuses a file database without synchronous commits.
fn check_durable(tx: &Transaction<'_>) -> Result<(), InboxError> {
    /// The number of `FULL` in `PRAGMA synchronous`.
    const FULL: i64 = 2;
    if tx.path().is_none_or(str::is_empty) {
        return Ok(());
    }
    // Not cached: SQLite reads the setting when it prepares the statement.
    let synchronous: i64 =
        tx.query_row("PRAGMA synchronous", [], |row| row.get(0)).map_err(inbox_error)?;
    if synchronous < FULL {
        let problem = format!("`PRAGMA synchronous` is `{synchronous}`; set it to `FULL`");
        return Err(InboxError::config(problem));
    }
    Ok(())
}

impl Default for SqliteMarks {
    fn default() -> Self {
        Self::new()
    }
}
