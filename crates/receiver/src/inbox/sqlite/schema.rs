//! The tables, and how older ones become current ones.

use rusqlite::{Connection, TransactionBehavior};

use crate::inbox::{InboxError, InboxErrorKind};

/// Marks, which durable stores and callers' own databases share.
pub(super) const MARKS: &str = "
CREATE TABLE IF NOT EXISTS formsvc_inbox_marks (
    scope TEXT NOT NULL,
    key BLOB NOT NULL,
    fence INTEGER NOT NULL,
    -- Milliseconds since 1970; of a delivery that is queued, the end of time.
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS formsvc_inbox_marks_end ON formsvc_inbox_marks (until_ms);
";

/// The rest. Claims stand apart from marks: they are few, so that a claim writes the same pages again
/// however many marks there are.
const REST: &str = "
CREATE TABLE formsvc_inbox_claims (
    scope TEXT NOT NULL,
    key BLOB NOT NULL,
    fence INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE formsvc_inbox_queue (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    scope TEXT NOT NULL,
    key BLOB NOT NULL,
    fence INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    -- Of what a worker has, the end of its lease.
    due_ms INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT;
CREATE INDEX formsvc_inbox_queue_due ON formsvc_inbox_queue (scope, due_ms, place);
CREATE TABLE formsvc_inbox (
    version INTEGER NOT NULL,
    fence INTEGER NOT NULL
) STRICT;
INSERT INTO formsvc_inbox VALUES (0, 0);
";

/// The version this release writes.
const VERSION: i64 = 1;
/// Fencing numbers that are skipped each time the file is opened: a power cut can take the last claims, and
/// with them the knowledge of their numbers.
const SKIPPED: i64 = 1 << 20;

/// Refuses a database whose tables are of a later release. Changes nothing.
pub(super) fn inspect(connection: &Connection) -> Result<i64, InboxError> {
    let exists = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'formsvc_inbox')";
    let exists: bool = connection.query_row(exists, [], |row| row.get(0)).map_err(unreadable)?;
    if !exists {
        return Ok(0);
    }
    let found = "SELECT version FROM formsvc_inbox";
    let found: i64 = connection.query_row(found, [], |row| row.get(0))?;
    if (0..=VERSION).contains(&found) {
        return Ok(found);
    }
    let why = format!("the tables have version `{found}`, and this release knows `{VERSION}`");
    Err(InboxError::with_source(InboxErrorKind::Setup, why))
}

/// A file that is no database is a mistake in the settings.
fn unreadable(error: rusqlite::Error) -> InboxError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            InboxError::with_source(InboxErrorKind::Setup, error)
        }
        _ => error.into(),
    }
}

/// Brings the tables to the current version, in one transaction; another process doing the same at the same
/// time is waited for.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), InboxError> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if inspect(&tx)? == 0 {
        tx.execute_batch(MARKS)?;
        tx.execute_batch(REST)?;
    }
    let set = "UPDATE formsvc_inbox SET version = ?1, fence = fence + ?2";
    tx.execute(set, [VERSION, SKIPPED])?;
    tx.commit()?;
    Ok(())
}
