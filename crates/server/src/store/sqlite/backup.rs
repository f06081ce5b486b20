//! A copy of a database file, made while a server writes to it.
//!
//! `VACUUM INTO` reads everything in one transaction: the copy is the database as it was at one moment,
//! and writers go on meanwhile. The log cannot start over until it is done, and grows. The copy gets its
//! name once it is whole, checked and on the disk; before that moment there is the old file, or none.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{OpenError, schema};
use crate::same_file::is_same_file;
use crate::store::SchemaPolicy;

/// How long a server that opens or recovers the database is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// What a database file has beside it, now or at times; a copy in their place would be taken for them,
/// and a journal for one to play back and delete.
const COMPANIONS: [&str; 6] = ["", "-wal", "-shm", "-journal", ".lock", ".key"];

/// What is in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupReport {
    /// Length of the file.
    pub bytes: u64,
    /// Users.
    pub users: u64,
    /// Forms, without those under import.
    pub forms: u64,
    /// Submissions.
    pub submissions: u64,
    /// Deliveries.
    pub deliveries: u64,
}

/// No copy was made; what was there before is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The database cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is something under the name of the copy.
    #[error("`{}` exists already", .0.display())]
    Exists(PathBuf),
    /// The copy would replace the database, or what stands beside it.
    #[error("`{}` is the database itself, or a file beside it that belongs to it", .0.display())]
    Itself(PathBuf),
    /// What is under the name of the copy is no file.
    #[error("`{}` is no file", .0.display())]
    NotAFile(PathBuf),
    /// The copy was made and is not what it should be.
    #[error("the copy is damaged, and so may be the database: {0}")]
    Damaged(String),
    /// The copy cannot be written.
    #[error("the copy cannot be written")]
    Io(#[from] io::Error),
    /// SQLite failed.
    #[error("the copy cannot be made")]
    Sqlite(#[from] rusqlite::Error),
}

/// Copies a database file to another, in a folder that is there. What has the name already is refused,
/// or replaced if that is asked for.
pub fn backup(database: &Path, copy: &Path, replace: bool) -> Result<BackupReport, BackupError> {
    let source = open(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::check(&source, SchemaPolicy::Require)?;
    // A copy of it could not be finished: that is noted by the rows of this one.
    schema::refuse_unfinished(&source)?;
    let folder = copy.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    judge(database, folder, copy, replace)?;
    // Its owner's only, and gone when this fails.
    let file = tempfile::Builder::new().prefix(".formsvc-backup-").tempfile_in(folder)?;
    let path = file.path().to_str().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "the path of a copy must be UTF-8")
    })?;
    source.execute("VACUUM INTO ?1", [path])?;
    drop(source);
    let report = check(file.path())?;
    file.as_file().sync_all()?;
    let persisted = if replace { file.persist(copy) } else { file.persist_noclobber(copy) };
    persisted.map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(copy.to_owned()),
        _ => error.error.into(),
    })?;
    sync_folder(folder)?;
    Ok(report)
}

fn open(path: &Path, access: OpenFlags) -> Result<Connection, OpenError> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Whether the copy may have its name. Told before the work is done; a file that appears meanwhile is
/// found when it is named.
fn judge(database: &Path, folder: &Path, copy: &Path, replace: bool) -> Result<(), BackupError> {
    let Some(name) = copy.file_name() else { return Err(BackupError::NotAFile(copy.to_owned())) };
    let database = database.canonicalize()?;
    let place = folder.canonicalize()?.join(name);
    // Also where nothing is yet, and by way of a link.
    let there = copy.canonicalize();
    let belongs = COMPANIONS.iter().any(|suffix| {
        let mut own = database.clone().into_os_string();
        own.push(suffix);
        place.as_os_str() == own
            || there.as_ref().is_ok_and(|there| there.as_os_str() == own)
            || is_same_file(copy, Path::new(&own))
    });
    if belongs {
        return Err(BackupError::Itself(copy.to_owned()));
    }
    let Ok(found) = std::fs::symlink_metadata(copy) else { return Ok(()) };
    if there.is_err() {
        return Err(BackupError::NotAFile(copy.to_owned()));
    }
    if !replace {
        return Err(BackupError::Exists(copy.to_owned()));
    }
    if found.is_file() { Ok(()) } else { Err(BackupError::NotAFile(copy.to_owned())) }
}

/// Reads all of a copy, as a file that nobody else has, and counts what is in it.
fn check(path: &Path) -> Result<BackupReport, BackupError> {
    let copy = open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    schema::check(&copy, SchemaPolicy::Require)?;
    let said: String = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if said != "ok" {
        return Err(BackupError::Damaged(said));
    }
    // Each form says how many it has, and each delivery whose it is. An import that is being removed has
    // fewer than it says.
    let wrong: i64 = copy.query_row(
        "SELECT (SELECT count(*) FROM forms f WHERE ready AND last_seq - pruned <>
                (SELECT count(*) FROM submissions s WHERE s.form_no = f.form_no))
            + (SELECT count(*) FROM deliveries d WHERE NOT EXISTS
                (SELECT 1 FROM submissions s WHERE s.key = d.submission))",
        [],
        |row| row.get(0),
    )?;
    if wrong != 0 {
        let told = format!("{wrong} forms or deliveries have not the submissions they say");
        return Err(BackupError::Damaged(told));
    }
    let count = |sql| copy.query_row(sql, [], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs);
    Ok(BackupReport {
        bytes: std::fs::metadata(path)?.len(),
        users: count("SELECT count(*) FROM users")?,
        forms: count("SELECT count(*) FROM forms WHERE ready")?,
        submissions: count("SELECT count(*) FROM submissions")?,
        deliveries: count("SELECT count(*) FROM deliveries")?,
    })
}

/// So that the name survives a loss of power, too.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    std::fs::File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
