//! The file: who may read it, and how a connection to it is set up.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::schema;
use crate::inbox::{InboxError, InboxErrorKind};

/// How long another process that writes is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two tries. A process under load is done for less than a millisecond between two commits;
/// the pauses of SQLite's own timeout, of up to 100 ms, miss that time and again.
const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// Prepared statements kept; more than there are.
const STATEMENTS: usize = 64;

/// Opens the file, makes it when there is none, and brings its tables to what this release uses.
pub(super) fn open(path: &Path) -> Result<Connection, InboxError> {
    let setup = |why: String| InboxError::with_source(InboxErrorKind::Setup, why);
    if path.as_os_str().is_empty() || path == Path::new(":memory:") {
        return Err(setup("an inbox of SQLite is a file; use `MemoryInbox` for memory".into()));
    }
    create_private(path).map_err(|error| InboxError::with_source(InboxErrorKind::Setup, error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(try_again))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // Before anything is changed: a file that is refused is left as it was.
    schema::inspect(&connection)?;
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if !mode.eq_ignore_ascii_case("wal") {
        return Err(setup(format!("the file has no write-ahead log but `{mode}`")));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    schema::migrate(&mut connection)?;
    Ok(connection)
}

/// Waits for another writer, until that has taken too long.
fn try_again(tries: i32) -> bool {
    let waits = BUSY_PAUSE.saturating_mul(tries.unsigned_abs()) < BUSY_TIMEOUT;
    if waits {
        std::thread::sleep(BUSY_PAUSE);
    }
    waits
}

/// Makes an empty file that only its owner can read, where there is none: it will hold what people filled
/// in. SQLite gives the files beside it the same mode. Whatever stands there already is left as it is.
fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_writer_is_waited_for_five_seconds_and_not_longer() {
        assert!((0..3).all(try_again));
        assert!(try_again(4_999));
        assert!(!try_again(5_000));
        assert!(!try_again(i32::MAX));
    }
}
