//! Tables of the SQLite inbox and their migration.

use rusqlite::{Connection, TransactionBehavior};

use super::error::inbox_error;
use crate::inbox::InboxError;

/// The table of marks, which an inbox and `SqliteMarks` share.
pub(super) const MARKS: &str = "
CREATE TABLE IF NOT EXISTS formsvc_inbox_marks (
    scope TEXT NOT NULL,
    key BLOB NOT NULL,
    fence INTEGER NOT NULL,
    -- Milliseconds since 1970; the largest integer for a queued delivery.
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS formsvc_inbox_marks_end ON formsvc_inbox_marks (until_ms);
";

/// The tables of an inbox beside the marks.
const INBOX: &str = "
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
    -- For a delivery that a worker has claimed, the end of the lease.
    due_ms INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT;
CREATE INDEX formsvc_inbox_queue_due ON formsvc_inbox_queue (scope, due_ms, place);
CREATE TABLE formsvc_inbox (
    version INTEGER NOT NULL,
    -- The last fencing token.
    fence INTEGER NOT NULL
) STRICT;
INSERT INTO formsvc_inbox VALUES (1, 0);
";

/// The version that this release writes.
const VERSION: i64 = 1;

/// Returns true if the tables exist. Refuses tables of a later release. Changes nothing.
pub(super) fn check_version(connection: &Connection) -> Result<bool, InboxError> {
    let exists = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'formsvc_inbox')";
    let exists: bool = connection.query_row(exists, [], |row| row.get(0)).map_err(inbox_error)?;
    if !exists {
        return Ok(false);
    }
    let version = "SELECT version FROM formsvc_inbox";
    let version: i64 = connection.query_row(version, [], |row| row.get(0)).map_err(inbox_error)?;
    if version != VERSION {
        let problem = format!("the tables have version `{version}`; this release uses {VERSION}");
        return Err(InboxError::config(problem));
    }
    Ok(true)
}

/// Creates the tables in one transaction, unless they exist.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), InboxError> {
    let tx = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(inbox_error)?;
    if !check_version(&tx)? {
        tx.execute_batch(MARKS).and_then(|()| tx.execute_batch(INBOX)).map_err(inbox_error)?;
    }
    tx.commit().map_err(inbox_error)
}
