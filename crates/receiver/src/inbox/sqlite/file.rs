//! Opens the database file.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::inbox_error;
use super::schema;
use crate::inbox::InboxError;

/// Longest wait for a transaction of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of cached statements, more than this crate has.
const CACHED_STATEMENTS: usize = 32;

/// Opens the file, creates it if it does not exist, and migrates its tables.
pub(super) fn open(path: &Path) -> Result<Connection, InboxError> {
    if path.as_os_str().is_empty() || path == Path::new(":memory:") {
        return Err(InboxError::config("the path must name a file; use `MemoryInbox` for memory"));
    }
    create_private(path).map_err(InboxError::config)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(inbox_error)?;
    configure(&connection).map_err(inbox_error)?;
    // Before the first change, so that a refused file stays as it was.
    schema::check_version(&connection)?;
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .map_err(inbox_error)?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(InboxError::config(format!("the journal mode is `{mode}`, and cannot be WAL")));
    }
    schema::migrate(&mut connection)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")
}

/// Creates an empty file that only its owner can read, because it will contain personal data. SQLite
/// gives the files beside it the same mode. Does not change an existing file.
fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
