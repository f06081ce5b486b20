//! Marks in a transaction of the caller's.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, Transaction};

use super::tx::Tx;
use super::{schema, tables};
use crate::inbox::limits::{check_key, check_ttl};
use crate::inbox::{Clock, DEFAULT_TTL, InboxError, InboxErrorKind, Recorded, Scope};

/// `PRAGMA synchronous` as SQLite numbers it.
const FULL: i64 = 2;

/// Marks of what was handled in the caller's own SQLite database, so that an effect there and its mark
/// commit together: after a crash both are there, or neither. Feature `sqlite`.
///
/// Begin the transaction as `IMMEDIATE`, mark the key first, and do nothing when it is a duplicate. Of two
/// transactions on one key the second waits for the first, or fails as busy; it never sees the key as new
/// once the first has committed. Answer with 2xx after the commit. The connection's `synchronous` must be `FULL`
/// or `EXTRA`, so that the commit waits for the disk: `FULL` is what SQLite starts with.
///
/// ```
/// use formsvc_receiver::inbox::{Recorded, SqliteMarks};
/// use rusqlite::{Connection, TransactionBehavior};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let (submission_id, total) = ("sub_1", 12);
/// let mut db = Connection::open_in_memory()?;
/// let marks = SqliteMarks::new();
/// marks.create_table(&db)?; // once, as a migration
/// # db.execute_batch("CREATE TABLE orders (total INTEGER)")?;
/// let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
/// if marks.mark(&tx, submission_id)? == Recorded::New {
///     tx.execute("INSERT INTO orders VALUES (?1)", [total])?;
/// }
/// tx.commit()?;
/// # Ok(()) }
/// ```
///
/// The types of rusqlite 0.41 are part of this: a release of it that breaks them breaks this.
///
/// A [`SqliteInbox`](super::SqliteInbox) of the same database knows these marks. Use one of the two for a
/// scope: a mark does not look at claims.
#[derive(Clone, Debug)]
pub struct SqliteMarks {
    scope: Scope,
    ttl: Duration,
    clock: Clock,
}

impl SqliteMarks {
    /// What makes the table of marks, where there is none. It may be changed by later releases only so that
    /// running it again brings a table of this one up to date.
    pub const CREATE_TABLE: &'static str = schema::MARKS;

    /// Marks in the scope `default`, kept for [`DEFAULT_TTL`].
    pub fn new() -> Self {
        Self { scope: Scope::default(), ttl: DEFAULT_TTL, clock: Clock::default() }
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

    /// The time that marks go by; the system's unless set.
    #[must_use]
    pub fn clock(self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self { clock: Clock::new(now), ..self }
    }

    /// Makes the table of marks, where there is none, by [`CREATE_TABLE`](Self::CREATE_TABLE).
    pub fn create_table(&self, db: &Connection) -> Result<(), InboxError> {
        Ok(db.execute_batch(Self::CREATE_TABLE)?)
    }

    /// Marks a key as handled, if and when the transaction commits. For [`Recorded::Duplicate`] there is
    /// nothing to do. Fails with [`InboxErrorKind::Setup`] where the commit would not outlive a power cut: the
    /// database is a file and `synchronous` is `NORMAL` or `OFF`.
    pub fn mark(&self, tx: &Transaction<'_>, key: &str) -> Result<Recorded, InboxError> {
        check_key(key)?;
        check_durable(tx)?;
        let (now, ttl) = (self.clock.millis(), check_ttl(self.ttl)?);
        Ok(tables::mark(&Tx::on(tx), &self.scope, key, now, now.saturating_add(ttl))?)
    }

    /// Forgets marks of all scopes whose time has come, at most so many, and tells how many. Nothing else
    /// forgets any, so call it now and then.
    pub fn prune(&self, db: &Connection, at_most: usize) -> Result<usize, InboxError> {
        Ok(tables::prune_marks(&Tx::on(db), self.clock.millis(), at_most)?)
    }
}

/// Refuses a file whose commits do not wait for the disk.
fn check_durable(tx: &Transaction<'_>) -> Result<(), InboxError> {
    if tx.path().is_none_or(str::is_empty) {
        return Ok(());
    }
    // Not from the cache: SQLite looks while it prepares the statement, and not when it runs it.
    let synchronous: i64 = tx.query_row("PRAGMA synchronous", [], |row| row.get(0))?;
    if synchronous >= FULL {
        return Ok(());
    }
    let why =
        format!("`PRAGMA synchronous` is `{synchronous}`: a power cut takes marks. Set `FULL`");
    Err(InboxError::with_source(InboxErrorKind::Setup, why))
}

impl Default for SqliteMarks {
    fn default() -> Self {
        Self::new()
    }
}
