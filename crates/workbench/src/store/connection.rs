//! Connections to the database, and its schema.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::{StoreError, private};

const FILE_NAME: &str = "captures.db";
/// Suffixes of the files that SQLite creates beside the database.
const SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];
/// Marks the file as a capture store ("fswb"); the tool `file` shows it.
const APPLICATION_ID: i64 = 0x6673_7762;
const SCHEMA_VERSION: i64 = 1;
const SCHEMA: &str = include_str!("schema.sql");
/// Longest wait for a write of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Size to which SQLite cuts the write-ahead log after a checkpoint.
const LOG_BYTES_MAX: i64 = 16 << 20;

/// Returns the path of the database in a folder.
pub(super) fn path_in(folder: &Path) -> PathBuf {
    // Without a trailing slash, which would follow a symbolic link.
    folder.components().collect::<PathBuf>().join(FILE_NAME)
}

/// Opens the database for writing. Creates it and its folder if they do not exist.
pub(super) fn create(path: &Path) -> Result<Connection, StoreError> {
    private::create_folder(path.parent().unwrap_or(path))?;
    private::create_file(path)?;
    open_checked(path)
}

/// Opens the database for writing. Returns `None` if no listener has created it.
pub(super) fn open_existing(path: &Path) -> Result<Option<Connection>, StoreError> {
    let folder = path.parent().unwrap_or(path);
    if !private::folder_exists(folder)? || !private::file_exists(path)? {
        return Ok(None);
    }
    open_checked(path).map(Some)
}

/// Opens the database, which was checked before, for one read.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
        .map_err(|error| StoreError::database("read", path, error))
}

/// Opens a new database in memory.
pub(super) fn open_in_memory(path: &Path) -> Result<Connection, StoreError> {
    let db = Connection::open_in_memory();
    let mut db = db.map_err(|error| StoreError::database("store", path, error))?;
    create_schema(&mut db, path)?;
    Ok(db)
}

fn open_checked(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error| StoreError::database("store", path, error);
    // They contain the same data as the database.
    for suffix in SUFFIXES {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        private::file_exists(Path::new(&beside))?;
    }
    let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    // Before the first write: a foreign file stays as it is.
    has_schema(&db, path)?;
    // Takes effect only in a new database.
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    let mode = db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
    if mode.map_err(failed)? != "wal" {
        return Err(StoreError::NoWriteAheadLog { path: path.to_owned() });
    }
    // A commit is durable when it returns.
    db.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    db.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX).map_err(failed)?;
    create_schema(&mut db, path)?;
    Ok(db)
}

fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "trusted_schema", false)?;
    Ok(db)
}

fn create_schema(db: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::database("store", path, error);
    db.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    if has_schema(db, path)? {
        return Ok(());
    }
    let transaction =
        db.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have created it meanwhile.
    if !has_schema(&transaction, path)? {
        transaction.execute_batch(SCHEMA).map_err(failed)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

/// Returns false if the database is empty, and an error if another program or version wrote it.
fn has_schema(db: &Connection, path: &Path) -> Result<bool, StoreError> {
    let read = |sql| {
        let value = db.query_row(sql, [], |row| row.get::<_, i64>(0));
        value.map_err(|error| StoreError::database("read", path, error))
    };
    match (
        read("PRAGMA application_id")?,
        read("PRAGMA user_version")?,
        read("SELECT count(*) FROM sqlite_schema")?,
    ) {
        (APPLICATION_ID, SCHEMA_VERSION, _) => Ok(true),
        (0, 0, 0) => Ok(false),
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}
