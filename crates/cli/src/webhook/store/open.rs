//! Connections to the file, and to a store in memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{StoreError, log, private, schema};

/// The file, in its folder.
const NAME: &str = "captures.db";
/// What SQLite puts beside it.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// How long another process that writes is waited for.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause between two tries; the pauses of SQLite's own timeout miss the time between two commits of
/// another process again and again.
pub(super) const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// Prepared statements kept per connection; more than there are.
const STATEMENTS: usize = 32;
/// Bytes of a page, twice what is usual: deliveries are of a kilobyte or two, and fewer of such pages are
/// written and moved for as many.
pub(super) const PAGE_SIZE: u16 = 8_192;
/// What stands for the path of a store in memory, in errors.
pub(super) const MEMORY: &str = "memory";

/// The path of the file in a folder.
pub(super) fn path_in(folder: &Path) -> PathBuf {
    // Without a slash at the end, which would follow a symbolic link.
    folder.components().collect::<PathBuf>().join(NAME)
}

/// A connection that writes; folder and file are made if they are not there.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    let folder = path.parent().unwrap_or(path);
    private::folder(folder, true)?;
    private::file(path, true)?;
    check_beside(path)?;
    let failed = |error| StoreError::database("keep", path, error);
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Before anything is set: a file that is refused is left as it was.
    schema::inspect(&db, path)?;
    shape(&db).map_err(failed)?;
    let mode = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
    if !mode.map_err(failed)?.eq_ignore_ascii_case("wal") {
        return Err(StoreError::NoWal { path: path.to_owned() });
    }
    db.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    // Another thread does it, and long before.
    db.pragma_update(None, "wal_autocheckpoint", log::FAR_TOO_MANY).map_err(failed)?;
    schema::migrate(&db, path)?;
    check_beside(path)?;
    Ok(db)
}

/// A connection beside that of [`writer`], which moves the log into the file.
pub(super) fn mover(path: &Path) -> Result<Connection, StoreError> {
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let set = db.pragma_update(None, "synchronous", "FULL");
    set.map_err(|error| StoreError::database("keep", path, error))?;
    Ok(db)
}

/// A connection that reads; none if there is no file.
pub(super) fn reader(path: &Path) -> Result<Option<Connection>, StoreError> {
    let folder = path.parent().unwrap_or(path);
    if !private::folder(folder, false)? || !private::file(path, false)? {
        return Ok(None);
    }
    check_beside(path)?;
    let db = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if schema::inspect(&db, path)? == 0 {
        // A listener is about to make it.
        return Ok(None);
    }
    Ok(Some(db))
}

/// A connection to a store of its own, in memory.
pub(super) fn memory() -> Result<Connection, StoreError> {
    let path = Path::new(MEMORY);
    let failed = |error| StoreError::database("set up", path, error);
    let db = Connection::open_in_memory().map_err(failed)?;
    shape(&db).map_err(failed)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    schema::migrate(&db, path)?;
    Ok(db)
}

/// How a file is laid out; takes effect in an empty one only.
fn shape(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "page_size", PAGE_SIZE)?;
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")
}

/// What stands beside the file holds the same as the file.
fn check_beside(path: &Path) -> Result<(), StoreError> {
    for name in BESIDE {
        let mut beside = path.as_os_str().to_owned();
        beside.push(name);
        private::file(Path::new(&beside), false)?;
    }
    Ok(())
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::database("open", path, error);
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(failed)?;
    db.busy_handler(Some(try_again)).map_err(failed)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.pragma_update(None, "trusted_schema", false).map_err(failed)?;
    Ok(db)
}

/// Waits for another writer, until that has taken too long.
fn try_again(tries: i32) -> bool {
    let waited = BUSY_PAUSE.saturating_mul(tries.unsigned_abs());
    if waited < BUSY_TIMEOUT {
        std::thread::sleep(BUSY_PAUSE);
    }
    waited < BUSY_TIMEOUT
}
