//! Spools: private row stores of exports that are not finished.
//!
//! A spool is a database `NAME-N.sqlite` in a folder that only its owner can read, with a lock file
//! beside it. NAME is a hash of the service's address and the form's id. The lock belongs to the
//! kernel and ends with its process, however that ends.

mod description;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, params};
use serde_json::json;
use tempfile::TempDir;

pub use self::description::{SpoolContent, SpoolInfo};
use self::description::{describe, size_and_time};
use crate::blocking::Blocking;
use crate::error::{ExportError, Operation, StoreError};
#[cfg(unix)]
use crate::lock::is_link;
use crate::lock::{FileLock, beside};
use crate::sql::form_hash;
use crate::store::{RowRange, RowStore, SourceKey, SqliteForm, ViewChanges};

/// Unfinished spools are removed after this time without a write.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Most exports of one form that run at the same time.
const MAX_PARALLEL: u32 = 64;

/// Version of [`identity`].
const IDENTITY_VERSION: u32 = 1;

/// The folder of the spools.
#[derive(Clone, Debug)]
pub struct SpoolFolder {
    path: PathBuf,
    /// Removes the folder with the last clone.
    temporary: Option<Arc<TempDir>>,
}

/// The form and the range of an export.
#[derive(Clone, Debug)]
pub(crate) struct SpoolRequest<'a> {
    /// The address of the service.
    pub(crate) origin: &'a str,
    pub(crate) form_id: &'a str,
    pub(crate) title: Option<&'a str>,
    /// See [`identity`].
    pub(crate) identity: String,
    /// Start of the range, in microseconds since 1970.
    pub(crate) since: i64,
    /// The command that continues the export.
    pub(crate) command: Option<&'a str>,
    /// Discards the rows of an earlier run.
    pub(crate) fresh: bool,
}

/// Describes which submissions an export of a form selects, as JSON. An export completes the spool of an earlier
/// one with the same identity. `start_name` is the caller's name of a start that moves with the clock.
pub(crate) fn identity(range: RowRange, start_name: Option<&str>, limit: Option<u64>) -> String {
    let since = Some(range.since).filter(|since| *since > i64::MIN && start_name.is_none());
    let until = Some(range.until).filter(|until| *until < i64::MAX);
    let version = IDENTITY_VERSION;
    json!({ "version": version, "start_name": start_name, "since": since, "until": until, "limit": limit })
        .to_string()
}

/// A spool, locked by this process.
#[derive(Debug)]
pub(crate) struct Spool {
    pub(crate) form: Blocking<SqliteForm>,
    /// The database.
    pub(crate) path: PathBuf,
    /// A report about an earlier spool that was discarded.
    pub(crate) warning: Option<String>,
    identity: String,
}

impl SpoolFolder {
    /// Uses the folder `exports` of this state folder. Nothing is created before the first export.
    pub fn new(state: impl AsRef<Path>) -> Self {
        Self { path: state.as_ref().join("exports"), temporary: None }
    }

    /// Creates a private folder that is removed with the last clone, for exports that are not to be
    /// continued.
    pub fn temporary() -> Result<Self, ExportError> {
        let created = tempfile::Builder::new().prefix("formsvc-export-").tempdir();
        let folder = created.map_err(temporary_error)?;
        Ok(Self { path: folder.path().to_owned(), temporary: Some(Arc::new(folder)) })
    }

    /// Creates the folder, and returns an error if spools cannot be kept in it.
    pub fn create(&self) -> Result<(), StoreError> {
        create_private_folder(&self.path).map_err(|error| StoreError::new(&self.path, error))
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the folder is temporary.
    pub fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Opens the spool of a form; creates it if there is none. Skips spools that another process uses.
    /// Discards a damaged spool, and one of another release.
    pub(crate) fn open(&self, request: &SpoolRequest<'_>) -> Result<Spool, StoreError> {
        self.create()?;
        self.remove_expired();
        let (database, lock) = self.lock(&form_hash(request.origin, request.form_id)[..24])?;
        let mut warning = None;
        if request.fresh {
            remove_database(&database)?;
        }
        let (store, source) = match open_checked(&database, request) {
            Err(error) if error.is_of_the_file() => {
                warning = Some(format!("{error}; the saved submissions are discarded"));
                remove_database(&database)?;
                open_checked(&database, request)?
            }
            opened => opened?,
        };
        store.run(|connection| Ok(record(connection, request)?))?;
        let guards = (lock, self.temporary.clone());
        let changes = ViewChanges::default();
        let form = SqliteForm { store, source, view: None, changes, guards };
        let (form, identity) = (Blocking::new(form), request.identity.clone());
        Ok(Spool { form, path: database, warning, identity })
    }

    /// Locks the first existing spool that no other process uses, or else the first free name.
    fn lock(&self, name: &str) -> Result<(PathBuf, FileLock), StoreError> {
        let mut free = None;
        for number in 0..MAX_PARALLEL {
            let database = self.path.join(format!("{name}-{number}.sqlite"));
            let exists = database.exists();
            if !exists && free.is_some() {
                continue;
            }
            match lock_spool(&database)? {
                Some(lock) if exists => return Ok((database, lock)),
                Some(lock) => free = Some((database, lock)),
                None => {}
            }
        }
        free.ok_or_else(|| {
            let what = format!("{MAX_PARALLEL} exports of this form are running");
            StoreError::new(&self.path, io::Error::other(what))
        })
    }

    /// Returns the spools, last used first. Leaves out those without submissions that no process uses.
    pub fn list(&self) -> Result<Vec<SpoolInfo>, StoreError> {
        let databases = self.databases()?;
        let mut spools: Vec<_> = databases.iter().filter_map(|path| describe(path)).collect();
        spools.retain(|spool| spool.in_use || !spool.is_empty());
        spools.sort_by_key(|spool| std::cmp::Reverse(spool.modified.unix_nanos()));
        Ok(spools)
    }

    /// Removes every spool that no process uses. Returns how many of them [`list`](Self::list) includes: those
    /// without submissions are not counted.
    pub fn clean(&self) -> Result<u64, StoreError> {
        let mut removed = 0;
        for database in self.databases()? {
            // Read before the lock, because the description tries to lock the spool, too.
            let is_empty = describe(&database).is_none_or(|spool| spool.is_empty());
            if let Some(_lock) = lock_spool(&database)? {
                remove_database(&database)?;
                removed += u64::from(!is_empty);
            }
        }
        Ok(removed)
    }

    /// The databases; none if the folder does not exist.
    fn databases(&self) -> Result<Vec<PathBuf>, StoreError> {
        let read = || -> io::Result<Vec<PathBuf>> {
            make_private(&self.path)?;
            fs::read_dir(&self.path)?.map(|entry| Ok(entry?.path())).collect()
        };
        let mut paths = match read() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            paths => paths.map_err(|error| StoreError::new(&self.path, error))?,
        };
        paths.retain(|path| path.extension().is_some_and(|end| end == "sqlite"));
        Ok(paths)
    }

    fn remove_expired(&self) {
        // A spool that cannot be removed now is removed by a later export.
        for database in self.databases().unwrap_or_default() {
            let age = size_and_time(&database).and_then(|(_, modified)| modified.elapsed().ok());
            if age.is_some_and(|age| age > MAX_AGE)
                && let Ok(Some(_lock)) = lock_spool(&database)
            {
                let _ = remove_database(&database);
            }
        }
    }
}

impl Spool {
    /// Ends a complete export: removes the spool, unless it was begun for a larger range.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        // A call that still runs belongs to an export that was dropped, which is not complete.
        let Some(SqliteForm { store, source, guards, .. }) = self.form.into_inner() else {
            return Ok(());
        };
        let select = "SELECT identity, since FROM spool";
        let (identity, since): (String, i64) = store.run(|connection| {
            Ok(connection.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
        })?;
        let is_larger = identity != self.identity && !store.coverage(source)?.reaches(since);
        drop(store);
        if !is_larger {
            remove_database(&self.path)?;
        }
        drop(guards);
        Ok(())
    }
}

/// Keeps the identity and the command. Those of an earlier, unfinished export stay recorded.
fn record(connection: &Connection, request: &SpoolRequest<'_>) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS spool (identity TEXT NOT NULL, since INTEGER NOT NULL, command TEXT)",
    )?;
    let values = params![request.identity, request.since, request.command];
    let insert = "INSERT INTO spool SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM spool)";
    connection.execute(insert, values)?;
    let update = "UPDATE spool SET since = ?2, command = ?3 WHERE identity = ?1";
    connection.execute(update, values).map(drop)
}

/// The error of a temporary spool.
pub(crate) fn temporary_error(source: io::Error) -> ExportError {
    ExportError::output(Operation::Spool, Some(&std::env::temp_dir()), source)
}

fn open_checked(
    path: &Path,
    request: &SpoolRequest<'_>,
) -> Result<(RowStore, SourceKey), StoreError> {
    let mut store = RowStore::open(path, None)?;
    store.check_pages()?;
    let source = store.source(request.origin, request.form_id, request.title)?;
    store.coverage(source)?;
    Ok((store, source))
}

/// Locks a spool by a file beside its database; `None` if another process uses it.
fn lock_spool(database: &Path) -> Result<Option<FileLock>, StoreError> {
    let path = beside(database, ".lock");
    FileLock::take(&path).map_err(|error| StoreError::new(&path, error))
}

/// Removes the database of a locked spool and the files that SQLite puts beside it.
fn remove_database(database: &Path) -> Result<(), StoreError> {
    for ending in ["-wal", "-shm", "-journal", ""] {
        let path = beside(database, ending);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            removed => removed.map_err(|error| StoreError::new(&path, error))?,
        }
    }
    Ok(())
}

/// Creates a folder that only this user can use, and those above it.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    make_private(folder)
}

/// Takes the rights of others from a folder. Refuses a link, and a folder of another user.
#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use rustix::fs::{Mode, OFlags};

    let invalid = |reason| Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = match rustix::fs::open(folder, flags, Mode::empty()) {
        Err(_) if folder.is_symlink() => return Err(is_link()),
        opened => fs::File::from(opened?),
    };
    if open.metadata()?.uid() != rustix::process::geteuid().as_raw() {
        return invalid("the folder belongs to another user");
    }
    if open.metadata()?.mode() & 0o077 != 0 {
        open.set_permissions(fs::Permissions::from_mode(0o700))?;
    }
    if open.metadata()?.mode() & 0o022 != 0 {
        return invalid("others can write to the folder, and its file system cannot change that");
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(_folder: &Path) -> io::Result<()> {
    Ok(())
}
