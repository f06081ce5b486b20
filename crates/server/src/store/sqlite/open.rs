//! Opening a database: where it is, what is refused, and how its connections are set up.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::readers::CACHE_MIN;
use super::{OpenError, schema};
use crate::store::SchemaPolicy;

/// The first SQLite without the WAL-reset bug that could corrupt a database under load.
const SQLITE_MIN: i32 = 3_051_003;
/// How long another process that writes is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause of a writer between two tries. A server under load is done for less than a millisecond
/// between two commits; the pauses of SQLite's own timeout, of up to 100 ms, miss that time and again.
const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// The same for a reader of a file. In WAL mode readers wait for no writer; what is left are moments
/// of opening and recovery, and reads run on the caller's thread, where no deadline ends them.
const READER_BUSY_TIMEOUT: Duration = Duration::from_secs(1);
/// Size of a page of a new file, in bytes: what is read and written is in rows that follow each other,
/// and takes half as many calls as with the usual 4 KiB.
const PAGE_SIZE: i64 = 8_192;
/// What SQLite takes for a database in memory, whatever file has that name.
const IN_MEMORY: &str = ":memory:";
/// Prepared statements kept per connection; more than there are.
const STATEMENTS: usize = 64;

/// Where a database lives.
#[derive(Clone, Debug)]
pub(super) enum Place {
    File(PathBuf),
    /// A name no other database in this process has.
    Memory(String),
}

/// What there is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Empty,
    Database,
}

impl Place {
    /// A file by the one name it has, links followed; made when there is none. What stands beside it,
    /// the lock and the log, must not have two names either.
    pub(super) fn file(path: &Path) -> Result<Self, OpenError> {
        if path == Path::new(IN_MEMORY) {
            return Err(OpenError::InMemory);
        }
        create_private(path)?;
        // Fails for a link to nowhere, where SQLite would make a file.
        Ok(Self::File(path.canonicalize()?))
    }

    pub(super) fn memory() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        // The leading slash lets several connections share the database.
        Self::Memory(format!("file:/formsvc-{number}?vfs=memdb"))
    }

    pub(super) fn is_memory(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    /// Where the file is; none for a database in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Memory(_) => None,
        }
    }

    fn connect(&self, access: OpenFlags) -> rusqlite::Result<Connection> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = match self {
            Self::File(path) => Connection::open_with_flags(path, flags)?,
            Self::Memory(uri) => {
                Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?
            }
        };
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Plans must not depend on bound values: else SQLite prepares a join again on every run,
        // and finding a key takes 10 µs where 2 do.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "trusted_schema", false)?;
        Ok(connection)
    }

    /// A connection that writes; makes the database in an empty file. Refuses what the policy refuses.
    pub(super) fn connect_writer(&self, policy: SchemaPolicy) -> Result<Connection, OpenError> {
        if rusqlite::version_number() < SQLITE_MIN {
            return Err(OpenError::OldSqlite { found: rusqlite::version() });
        }
        let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = self.connect(access)?;
        // Before anything is set: a file that is refused is left as it was.
        schema::check(&connection, policy)?;
        if !self.is_memory() {
            // Of a file that has pages, it changes nothing.
            connection.pragma_update(None, "page_size", PAGE_SIZE)?;
            let mode: String =
                connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
            if !mode.eq_ignore_ascii_case("wal") {
                return Err(OpenError::NoWal { mode });
            }
            connection.pragma_update(None, "synchronous", "FULL")?;
            // The checkpointer does it, off this thread.
            connection.pragma_update(None, "wal_autocheckpoint", 0)?;
            // What a savepoint would undo is a few pages; a file for it costs each write some 10 µs,
            // and room where there may be none.
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            connection.busy_handler(Some(try_again))?;
        }
        Ok(connection)
    }

    /// A connection that reads, to a database that this release can read and serve, or to an empty file.
    /// Changes nothing in it.
    pub(super) fn inspect(path: &Path) -> Result<(Connection, Found), OpenError> {
        if path == Path::new(IN_MEMORY) {
            return Err(OpenError::InMemory);
        }
        let connection = Self::File(path.canonicalize()?).connect_reader(CACHE_MIN)?;
        let found = match schema::check(&connection, SchemaPolicy::Create)? {
            None => Found::Empty,
            Some(_) => Found::Database,
        };
        schema::refuse_unfinished(&connection)?;
        Ok((connection, found))
    }

    /// A connection that cannot write, and keeps so many KiB of pages in memory.
    pub(super) fn connect_reader(&self, cache: u32) -> rusqlite::Result<Connection> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        if !self.is_memory() {
            connection.busy_timeout(READER_BUSY_TIMEOUT)?;
        }
        connection.pragma_update(None, "query_only", true)?;
        // Negative is how SQLite tells KiB from pages.
        connection.pragma_update(None, "cache_size", -i64::from(cache))?;
        Ok(connection)
    }
}

/// Waits for another writer, until that has taken too long.
fn try_again(tries: i32) -> bool {
    let waited = BUSY_PAUSE.saturating_mul(tries.unsigned_abs());
    if waited < BUSY_TIMEOUT {
        std::thread::sleep(BUSY_PAUSE);
    }
    waited < BUSY_TIMEOUT
}

/// Makes an empty file that only its owner can read, where there is none: it will hold e-mail
/// addresses and answers. SQLite gives its companion files the same mode.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            tighten_empty(path);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Takes an empty file from others than its owner: it becomes a database, as if it were made here. One that
/// is somebody else's stays as it is, and is reported by who serves it.
#[cfg(unix)]
fn tighten_empty(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let is_empty = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0);
    if is_empty && loose_mode(path).is_some() {
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600));
    }
}

#[cfg(not(unix))]
fn tighten_empty(_path: &Path) {}

/// Tells whoever runs a server that others may read or write its database.
pub(super) fn report_loose_mode(database: &Path) {
    if let Some(mode) = loose_mode(database) {
        let (path, mode) = (database.display(), format_args!("{mode:04o}"));
        tracing::warn!(%path, %mode, "others than its owner have access to the database: \
            `chmod 600` it, and the files beside it, unless they should");
    }
}

/// The permissions of a file that not only its owner has.
#[cfg(unix)]
fn loose_mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o7777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
fn loose_mode(_path: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_writer_tries_every_millisecond_for_five_seconds() {
        let began = Instant::now();
        assert!((0..20).all(try_again));
        assert!(began.elapsed() < Duration::from_secs(1));
        assert!(try_again(4_999));
        assert!(!try_again(5_000));
    }

    #[test]
    fn a_reader_of_a_locked_file_gives_up_long_before_a_deadline() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        // Whoever has the file in this mode shares it with nobody.
        let alone = Connection::open(&path).unwrap();
        alone.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL").unwrap();
        alone.execute_batch("CREATE TABLE t (x)").unwrap();
        let began = Instant::now();
        let refused = Place::File(path).connect_reader(CACHE_MIN).and_then(|reader| {
            reader.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0))
        });
        let error = refused.unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy), "{error}");
        assert!(began.elapsed() < BUSY_TIMEOUT, "{:?}", began.elapsed());
    }

    #[cfg(unix)]
    #[test]
    fn a_database_that_others_can_read_is_loose_and_one_that_was_made_here_is_not() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        assert_eq!(loose_mode(&path), None, "there is none");
        create_private(&path).unwrap();
        assert_eq!(loose_mode(&path), None);
        for mode in [0o640, 0o604, 0o602, 0o666] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(loose_mode(&path), Some(mode));
        }
        create_private(&path).unwrap();
        assert_eq!(loose_mode(&path), None, "nothing is in it yet");
        std::fs::write(&path, "something").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        create_private(&path).unwrap();
        assert_eq!(loose_mode(&path), Some(0o640), "somebody chose that");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nowhere_in_place_of_a_database_makes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("a.db"), dir.path().join("other"));
        std::os::unix::fs::symlink(&other, &path).unwrap();
        assert!(Place::file(&path).is_err());
        assert!(!other.exists());
    }

    #[test]
    fn an_old_sqlite_is_told_the_version_it_should_have() {
        let (major, rest) = (SQLITE_MIN / 1_000_000, SQLITE_MIN % 1_000_000);
        let needed = format!("{major}.{}.{} or later", rest / 1_000, rest % 1_000);
        let told = OpenError::OldSqlite { found: "3.0.0" }.to_string();
        assert!(told.contains(&needed), "{told}");
    }
}
