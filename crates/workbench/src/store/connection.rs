//! Opens connections to the database, and creates and checks its schema.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::{StoreError, private};

pub(super) const FILE_NAME: &str = "captures.db";
/// Suffixes of the files that SQLite creates beside the database.
const SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];
/// SQLite's application id, which marks the file as a capture store: "fswb" in ASCII.
const APPLICATION_ID: i64 = 0x6673_7762;
const SCHEMA_VERSION: i64 = 2;
const SCHEMA: &str = include_str!("schema.sql");
/// Longest wait for a write transaction of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Size to which SQLite truncates the write-ahead log after a checkpoint.
const MAX_LOG_BYTES: i64 = 16 << 20;

/// Opens the database for writing. Creates the database and its folder if they are missing.
pub(super) fn create(path: &Path) -> Result<Connection, StoreError> {
    private::create_folder(path.parent().unwrap_or(path))?;
    private::create_file(path)?;
    open_checked(path)
}

/// Opens the database for writing. Returns `None` if the database does not exist.
pub(super) fn open_existing(path: &Path) -> Result<Option<Connection>, StoreError> {
    let exists = private::folder_exists(path.parent().unwrap_or(path))?;
    if exists && private::file_exists(path)? { open_checked(path).map(Some) } else { Ok(None) }
}

/// Opens the database for one read. The owner and mode were checked when the store was opened.
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
    // The WAL and journal files contain delivery data, so they must be private too.
    for suffix in SUFFIXES {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        private::file_exists(Path::new(&beside))?;
    }
    let mut db = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Check the schema before the first write, so that a foreign file is not modified.
    has_schema(&db, path)?;
    // This setting takes effect only in a new database.
    db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    // On a file system without shared memory, SQLite keeps the slower rollback journal.
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    // Makes a commit durable before it returns.
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update_and_check(None, "journal_size_limit", MAX_LOG_BYTES, |_| Ok(()))?;
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
    // Overwrite removed captures with zeros.
    db.pragma_update_and_check(None, "secure_delete", true, |_| Ok(()))?;
    if !has_schema(db, path)? {
        let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have created the schema before this transaction began.
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
