//! Connections to the database, and its schema.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::{StoreError, private};

pub(super) const FILE_NAME: &str = "captures.db";
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

/// Opens the database for writing. Creates it and its folder if they do not exist.
pub(super) fn create(path: &Path) -> Result<Connection, StoreError> {
    private::create_folder(path.parent().unwrap_or(path))?;
    private::create_file(path)?;
    open_checked(path)
}

/// Opens the database for writing. Returns `None` if no listener has created it.
pub(super) fn open_existing(path: &Path) -> Result<Option<Connection>, StoreError> {
    let exists = private::folder_exists(path.parent().unwrap_or(path))?;
    if exists && private::file_exists(path)? { open_checked(path).map(Some) } else { Ok(None) }
}

/// Opens the database, which was checked before, for one read.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Opens a new database in memory.
pub(super) fn open_in_memory() -> Result<Connection, StoreError> {
    let mut db = Connection::open_in_memory()?;
    create_schema(&mut db, Path::new(""))?;
    Ok(db)
}

fn open_checked(path: &Path) -> Result<Connection, StoreError> {
    // They contain the same data as the database.
    for suffix in SUFFIXES {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        private::file_exists(Path::new(&beside))?;
    }
    let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Before the first write: a foreign file stays as it is.
    has_schema(&db, path)?;
    // Takes effect only in a new database.
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    // A file system without shared memory keeps the rollback journal, which is slower.
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // A commit is durable when it returns.
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES_MAX, |_| Ok(()))?;
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
    db.pragma_update(None, "foreign_keys", true)?;
    // Overwrites removed captures.
    db.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    if !has_schema(db, path)? {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have created it meanwhile.
        if !has_schema(&transaction, path)? {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// Returns false if the database is empty, and an error if another program or version wrote it.
fn has_schema(db: &Connection, path: &Path) -> Result<bool, StoreError> {
    let sql = "SELECT (SELECT application_id FROM pragma_application_id),
        (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)";
    match db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)?))) {
        Ok((APPLICATION_ID, SCHEMA_VERSION, _)) => Ok(true),
        Ok((0_i64, 0_i64, 0)) => Ok(false),
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::NotADatabase) => {
            Err(error.into())
        }
        _ => Err(StoreError::Foreign { path: path.to_owned() }),
    }
}
