//! Opens and creates the database of a row store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
#[cfg(feature = "postgres")]
use tempfile::TempPath;
use tokio::time::Instant;

use super::RowStore;
use super::objects::{check_objects, has_meta};
use super::schema::{VERSION, sqlite_schema};
use crate::error::{StoreError, StoreProblem};
use crate::lock::beside;

/// Longest wait for the lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// Longest wait for readers that prevent a checkpoint.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(500);

/// Bytes of a row at most: 4 times the largest response that a client accepts by default. Its answers occur
/// twice in a row, in the cells with escapes.
const ROW_BYTES_MAX: i32 = 128 << 20;

/// Instructions of SQLite between two checks of the time limit: less than a millisecond.
const INSTRUCTIONS_PER_CHECK: i32 = 1_000;

impl RowStore {
    /// Opens a row store; creates it if there is no file, or an empty one. The folder must exist. A
    /// new file can be read by its owner only, and so can the files that SQLite puts beside it.
    ///
    /// A database of another program, of another version or with damaged pages is refused, and stays
    /// as it is.
    ///
    /// Every use of the store after the deadline fails.
    pub(crate) fn open(path: &Path, deadline: Option<Instant>) -> Result<Self, StoreError> {
        create_private(path).map_err(|error| StoreError::new(path, error))?;
        let store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, deadline)?;
        let prepared = store.prepare();
        prepared.map(|()| store)
    }

    /// Opens an existing row store to read it until a deadline.
    pub(crate) fn open_read_only(
        path: &Path,
        deadline: Option<Instant>,
    ) -> Result<Self, StoreError> {
        std::fs::metadata(path).map_err(|error| StoreError::new(path, error))?;
        let store = Self::open_existing(path, deadline)?;
        store.ok_or_else(|| StoreError::new(path, StoreProblem::Foreign))
    }

    /// Opens a row store to read it; `None` if there is no file, or one without tables, as a run that was
    /// interrupted at its start leaves it.
    pub(crate) fn open_existing(
        path: &Path,
        deadline: Option<Instant>,
    ) -> Result<Option<Self>, StoreError> {
        if !std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
            return Ok(None);
        }
        let store = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, deadline)?;
        Ok(store.check_version()?.then_some(store))
    }

    /// Creates a store in a private file that disappears with this process. Elsewhere than on Unix the
    /// file is removed with the returned path.
    #[cfg(feature = "postgres")]
    pub(crate) fn temporary(folder: &Path) -> Result<(Self, Option<TempPath>), StoreError> {
        let failed = |error| StoreError::new(folder, error);
        let file = tempfile::Builder::new().prefix("copy-").tempfile_in(folder);
        let file = file.map_err(failed)?.into_temp_path();
        let path = file.to_path_buf();
        let connection = create_unjournaled(&path);
        let connection = connection.map_err(|error| StoreError::new(&path, error))?;
        let store = Self { connection, path };
        // Without a journal SQLite needs no name of the file.
        if cfg!(unix) {
            file.close().map_err(failed)?;
            return Ok((store, None));
        }
        Ok((store, Some(file)))
    }

    /// Returns true if the database was filled from a service, and not rendered by an export.
    pub(crate) fn has_coverage(&self) -> bool {
        let select = "SELECT EXISTS (SELECT 1 FROM coverage)";
        self.connection.query_row(select, [], |row| row.get(0)).unwrap_or(false)
    }

    /// Begins to read: all reads from now on see the same rows.
    pub(crate) fn begin_read(&self) -> Result<(), StoreError> {
        // The first read takes the snapshot.
        self.run(|connection| Ok(connection.execute_batch("BEGIN; SELECT count(*) FROM meta;")?))
    }

    fn connect(
        path: &Path,
        flags: OpenFlags,
        deadline: Option<Instant>,
    ) -> Result<Self, StoreError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags);
        let connection = connection.and_then(|connection| limit(connection, deadline));
        let connection = connection.map_err(|error| StoreError::new(path, error))?;
        Ok(Self { connection, path: path.to_owned() })
    }

    fn prepare(&self) -> Result<(), StoreError> {
        let is_ours = self.check_version()?;
        // The write-ahead log needs memory that is shared between processes, which network file
        // systems do not have.
        let journal = if is_on_network(&self.path) { "TRUNCATE" } else { "WAL" };
        self.run(|connection| {
            connection.query_row(&format!("PRAGMA journal_mode={journal}"), [], |_| Ok(()))?;
            connection.execute_batch("PRAGMA synchronous=NORMAL;")?;
            if !is_ours {
                // Another process may create the tables at the same time.
                let create = format!("BEGIN IMMEDIATE;{}COMMIT;", sqlite_schema());
                connection.execute_batch(&create)?;
            }
            Ok(())
        })
    }

    /// Checks the version and the tables; returns false for an empty database.
    fn check_version(&self) -> Result<bool, StoreError> {
        self.run(|connection| {
            let is_empty = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
            if connection.query_row(is_empty, [], |row| row.get(0))? {
                return Ok(false);
            }
            if !has_meta(connection)? {
                return Err(StoreProblem::Foreign);
            }
            let version = connection.query_row("SELECT version FROM meta", [], |row| row.get(0));
            match version.optional()? {
                Some(VERSION) => check_objects(connection).map(|()| true),
                Some(found) => Err(StoreProblem::Version { found, expected: VERSION }),
                None => Err(StoreProblem::Foreign),
            }
        })
    }

    /// Checks every page of the database. Takes time in proportion to its size.
    pub(crate) fn check_pages(&self) -> Result<(), StoreError> {
        self.run(|connection| {
            let check = "PRAGMA quick_check(1)";
            let result: String = connection.query_row(check, [], |row| row.get(0))?;
            if result == "ok" { Ok(()) } else { Err(StoreProblem::Damaged(result)) }
        })
    }

    /// Moves the write-ahead log into the database file. Returns the log's path if another program prevents
    /// that.
    pub(crate) fn checkpoint(&self) -> Result<Option<PathBuf>, StoreError> {
        self.run(|connection| {
            connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
            let pragma = "PRAGMA wal_checkpoint(TRUNCATE)";
            let is_busy = connection.query_row(pragma, [], |row| row.get(0))?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            Ok(if is_busy { Some(beside(&self.path, "-wal")) } else { None })
        })
    }
}

/// Protects against a file of unknown origin: its triggers and views are not run, its values have a maximum
/// size, and statements end at the deadline.
fn limit(mut connection: Connection, deadline: Option<Instant>) -> rusqlite::Result<Connection> {
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX)?;
    for (setting, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(setting, is_on)?;
    }
    if let Some(deadline) = deadline {
        let is_over = move || Instant::now() >= deadline;
        connection.progress_handler(INSTRUCTIONS_PER_CHECK, Some(is_over))?;
    }
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Creates the tables in an empty file and begins a transaction. A file that is incomplete when its
/// process ends is never used, and needs no journal.
pub(crate) fn create_unjournaled(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    let begin = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;";
    connection.execute_batch(begin)?;
    connection.execute_batch(&sqlite_schema())?;
    Ok(connection)
}

/// Creates the file with mode 0600, or checks an existing one. SQLite gives its mode to the files beside it.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => check_private(path),
        created => created.map(drop),
    }
}

/// Returns an error for a file of another user, one that others can write to, and an empty one that others
/// can read: another user may have put it there to get the submissions.
#[cfg(unix)]
fn check_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let file = std::fs::metadata(path)?;
    let forbidden = if file.len() == 0 { 0o077 } else { 0o022 };
    let reason = if file.uid() != rustix::process::geteuid().as_raw() {
        "the file belongs to another user"
    } else if file.mode() & forbidden != 0 {
        "others can use the file; `chmod 600` makes it private"
    } else {
        return Ok(());
    };
    Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, reason))
}

#[cfg(not(unix))]
fn check_private(_path: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Returns true if the file is on a network file system, as far as the system reports it.
#[cfg(target_os = "linux")]
fn is_on_network(path: &Path) -> bool {
    // NFS, SMB, CIFS, SMB2, 9p, AFS, Ceph, Lustre, FUSE (sshfs and others).
    const NETWORK: [u32; 9] = [
        0x6969,
        0x517B,
        0xFF53_4D42,
        0xFE53_4D42,
        0x0102_1997,
        0x5346_414F,
        0x00C3_6400,
        0x0BD0_0BD0,
        0x6573_5546,
    ];
    // The type has another width on each architecture; its lower half is the number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "lower half")]
    rustix::fs::statfs(path).is_ok_and(|system| NETWORK.contains(&(system.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
fn is_on_network(_path: &Path) -> bool {
    false
}
