//! Spools: private row stores of exports that are not finished.
//!
//! A spool is a database `NAME-N.sqlite` in a folder that only its owner can read, with a lock file
//! beside it. NAME is a hash of the service's address and the form's id. The lock belongs to the
//! kernel and ends with its process, however that ends.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rusqlite::{OptionalExtension, params};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::error::{ExportError, Operation};
use crate::lock::FileLock;
use crate::store::{RowRange, RowStore, SourceKey, StoreError};

/// Unfinished spools are removed after this time without a write.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Most exports of one form that run at the same time.
const MAX_PARALLEL: u32 = 64;

/// The folder of the spools.
#[derive(Clone, Debug)]
pub struct SpoolFolder {
    path: PathBuf,
    /// Removes the folder with the last clone.
    temporary: Option<Arc<TempDir>>,
}

/// The form and the range of an export.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpoolRequest<'a> {
    /// The address of the service.
    pub(crate) origin: &'a str,
    pub(crate) form_id: &'a str,
    pub(crate) title: Option<&'a str>,
    /// Text of the range, equal for equal commands. A relative start such as `7d` moves with the clock.
    pub(crate) range: &'a str,
    /// Start of the range, in microseconds since 1970.
    pub(crate) since: i64,
    /// The command that continues the export.
    pub(crate) command: Option<&'a str>,
    /// Discards the rows of an earlier run.
    pub(crate) fresh: bool,
}

/// A spool, locked by this process.
#[derive(Debug)]
pub(crate) struct Spool {
    pub(crate) store: RowStore,
    pub(crate) source: SourceKey,
    /// Reports about an earlier spool that was discarded.
    pub(crate) warnings: Vec<String>,
    range: String,
    lock: SpoolLock,
}

/// A spool of an export that is not finished.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpoolInfo {
    /// The database.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The time of the last write.
    pub modified: SystemTime,
    /// Whether a process uses it now.
    pub in_use: bool,
    /// The content; an error if the database cannot be read.
    pub content: Result<SpoolContent, String>,
}

/// The content of a spool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpoolContent {
    /// The address of the service.
    pub origin: String,
    /// The form.
    pub form_id: String,
    /// Its title.
    pub title: Option<String>,
    /// Number of submissions.
    pub rows: u64,
    /// Times of the newest and of the oldest submission.
    pub newest_and_oldest: Option<(String, String)>,
    /// The command that continues the export.
    pub command: Option<String>,
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
        create_private_folder(&self.path).map_err(|error| StoreError::io(&self.path, error))
    }

    /// Returns the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the folder is temporary.
    pub fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// Opens the spool of a form; creates it if there is none. A spool that another process uses is left
    /// to it. A damaged spool and one of another release is discarded.
    pub(crate) fn open(&self, request: &SpoolRequest<'_>) -> Result<Spool, StoreError> {
        self.create()?;
        self.remove_expired();
        let lock = self.lock(&file_name(request.origin, request.form_id))?;
        let mut warnings = Vec::new();
        if request.fresh {
            lock.remove_database().map_err(|error| StoreError::io(&lock.database, error))?;
        }
        let (store, source) = match open_checked(&lock.database, request) {
            Err(error) if error.is_of_the_file() => {
                warnings.push(format!("{error}; the saved submissions are discarded"));
                lock.remove_database().map_err(|error| StoreError::io(&lock.database, error))?;
                open_checked(&lock.database, request)?
            }
            opened => opened?,
        };
        let spool = Spool { store, source, warnings, range: request.range.to_owned(), lock };
        spool.record(request).map_err(|error| spool.store.failed(error))?;
        Ok(spool)
    }

    /// Locks the first existing spool that no other process uses, or else the first free name.
    fn lock(&self, name: &str) -> Result<SpoolLock, StoreError> {
        let mut free = None;
        for number in 0..MAX_PARALLEL {
            let database = self.path.join(format!("{name}-{number}.sqlite"));
            let exists = database.exists();
            if !exists && free.is_some() {
                continue;
            }
            let lock = SpoolLock::take(&database);
            match lock.map_err(|error| StoreError::io(&lock_path(&database), error))? {
                Some(lock) if exists => return Ok(lock),
                Some(lock) => free = Some(lock),
                None => {}
            }
        }
        free.ok_or_else(|| {
            let what = format!("{MAX_PARALLEL} exports of this form are running");
            StoreError::io(&self.path, io::Error::other(what))
        })
    }

    /// Returns the spools, last used first.
    pub fn list(&self) -> Result<Vec<SpoolInfo>, StoreError> {
        let databases = self.databases().map_err(|error| StoreError::io(&self.path, error))?;
        let mut spools: Vec<_> = databases.iter().filter_map(|path| describe(path)).collect();
        spools.sort_by_key(|spool| std::cmp::Reverse(spool.modified));
        Ok(spools)
    }

    /// Removes every spool that no process uses. Returns how many were removed.
    pub fn clean(&self) -> Result<u64, StoreError> {
        let databases = self.databases().map_err(|error| StoreError::io(&self.path, error))?;
        let mut removed = 0;
        for database in databases {
            let failed = |error| StoreError::io(&database, error);
            if let Some(lock) = SpoolLock::take(&database).map_err(failed)? {
                lock.remove().map_err(failed)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// The databases; none if the folder does not exist.
    fn databases(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let paths: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
        let is_database = |path: &PathBuf| path.extension().is_some_and(|end| end == "sqlite");
        Ok(paths?.into_iter().filter(is_database).collect())
    }

    fn remove_expired(&self) {
        // A spool that cannot be removed now is removed by a later export.
        for database in self.databases().unwrap_or_default() {
            let age = size_and_time(&database).and_then(|(_, modified)| modified.elapsed().ok());
            if age.is_some_and(|age| age > MAX_AGE)
                && let Ok(Some(lock)) = SpoolLock::take(&database)
            {
                let _ = lock.remove();
            }
        }
    }
}

impl Spool {
    /// Keeps the range and the command. The range of an earlier, unfinished export stays recorded.
    fn record(&self, request: &SpoolRequest<'_>) -> rusqlite::Result<()> {
        let connection = self.store.connection();
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS spool (range TEXT NOT NULL, since INTEGER NOT NULL, command TEXT)",
        )?;
        let recorded: Option<String> =
            connection.query_row("SELECT range FROM spool", [], |row| row.get(0)).optional()?;
        if recorded.is_some_and(|range| range != request.range) {
            return Ok(());
        }
        connection.execute("DELETE FROM spool", [])?;
        let values = params![request.range, request.since, request.command];
        connection.execute("INSERT INTO spool VALUES (?1, ?2, ?3)", values).map(drop)
    }

    /// Ends a complete export: removes the spool, unless it was begun for a larger range.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        let recorded: (String, i64) = self
            .store
            .connection()
            .query_row("SELECT range, since FROM spool", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .map_err(|error| self.store.failed(error))?;
        let is_larger =
            recorded.0 != self.range && !self.store.coverage(self.source)?.reaches(recorded.1);
        if is_larger {
            return Ok(());
        }
        let Self { store, lock, .. } = self;
        drop(store);
        let path = lock.database.clone();
        lock.remove().map_err(|error| StoreError::io(&path, error))
    }
}

/// The error of a temporary spool.
pub(crate) fn temporary_error(source: io::Error) -> ExportError {
    let path = Some(std::env::temp_dir());
    ExportError::Output { operation: Operation::Spool, path, source }
}

/// The lock of a spool.
#[derive(Debug)]
struct SpoolLock {
    database: PathBuf,
    _lock: FileLock,
}

impl SpoolLock {
    /// Takes the lock; `None` if another process holds it.
    fn take(database: &Path) -> io::Result<Option<Self>> {
        let lock = FileLock::take(&lock_path(database))?;
        Ok(lock.map(|lock| Self { database: database.to_owned(), _lock: lock }))
    }

    fn remove_database(&self) -> io::Result<()> {
        for path in [beside(&self.database, "-wal"), beside(&self.database, "-shm")] {
            remove_if_there(&path)?;
        }
        remove_if_there(&self.database)
    }

    /// Removes the spool and its lock file.
    fn remove(self) -> io::Result<()> {
        self.remove_database()
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn open_checked(
    path: &Path,
    request: &SpoolRequest<'_>,
) -> Result<(RowStore, SourceKey), StoreError> {
    let mut store = RowStore::open(path)?;
    store.check_pages()?;
    let source = store.source(request.origin, request.form_id, request.title)?;
    store.coverage(source)?;
    Ok((store, source))
}

/// Describes a spool; `None` if it was removed meanwhile.
fn describe(path: &Path) -> Option<SpoolInfo> {
    let (size, modified) = size_and_time(path)?;
    let in_use = matches!(SpoolLock::take(path), Ok(None));
    let content = read_content(path).map_err(|error| error.to_string());
    Some(SpoolInfo { path: path.to_owned(), size, modified, in_use, content })
}

fn read_content(path: &Path) -> Result<SpoolContent, StoreError> {
    let store = RowStore::open_read_only(path)?;
    let read = || -> rusqlite::Result<SpoolContent> {
        let connection = store.connection();
        let (key, origin, form_id, title): (i64, _, _, _) =
            connection.query_row("SELECT key, origin, form_id, title FROM sources", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
        let end = |order: &str| {
            let select = format!(
                "SELECT created_at FROM submissions WHERE source = ?1 ORDER BY instant {order} LIMIT 1"
            );
            connection.query_row(&select, [key], |row| row.get(0)).optional()
        };
        let newest_and_oldest = end("DESC")?.zip(end("ASC")?);
        let command =
            connection.query_row("SELECT command FROM spool", [], |row| row.get(0)).optional()?;
        let command = command.flatten();
        Ok(SpoolContent { origin, form_id, title, rows: 0, newest_and_oldest, command })
    };
    let mut content = read().map_err(|error| store.failed(error))?;
    let source = store.connection().query_row("SELECT key FROM sources", [], |row| row.get(0));
    let source = SourceKey::from_key(source.map_err(|error| store.failed(error))?);
    content.rows = store.count(source, RowRange::default(), u64::MAX)?;
    Ok(content)
}

fn size_and_time(database: &Path) -> Option<(u64, SystemTime)> {
    let main = fs::metadata(database).ok()?;
    let log = fs::metadata(beside(database, "-wal")).ok();
    let size = main.len() + log.as_ref().map_or(0, fs::Metadata::len);
    let modified = log.and_then(|log| log.modified().ok()).max(main.modified().ok())?;
    Some((size, modified))
}

fn file_name(origin: &str, form_id: &str) -> String {
    let hash = Sha256::digest(format!("{origin}\n{form_id}"));
    hex::encode(&hash[..12])
}

fn lock_path(database: &Path) -> PathBuf {
    beside(database, ".lock")
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Creates a folder that only its owner can use, and those above it; takes the rights of others from an
/// existing one.
fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let found = fs::symlink_metadata(folder)?;
        if found.is_symlink() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the folder is a symbolic link",
            ));
        }
        if found.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (TempDir, SpoolFolder) {
        let state = tempfile::tempdir().unwrap();
        let folder = SpoolFolder::new(state.path().join("deep/state"));
        (state, folder)
    }

    fn request(range: &str) -> SpoolRequest<'_> {
        SpoolRequest {
            origin: "https://forms.example",
            form_id: "frm_1",
            title: Some("Survey"),
            range,
            since: 7,
            command: Some("formsvc submissions export frm_1"),
            fresh: false,
        }
    }

    fn add_row(spool: &mut Spool, id: &str) {
        let row = formsvc_client::test_util::submission(id, "{}", "2026-01-01T00:00:00Z");
        let page =
            crate::store::PageToWrite { rows: &[row], interval: None, overflows: &[], now: 1 };
        spool.store.write_page(spool.source, &page).unwrap();
    }

    fn rows(spool: &Spool) -> u64 {
        spool.store.count(spool.source, RowRange::default(), u64::MAX).unwrap()
    }

    #[test]
    fn spool_is_kept_until_finished_and_private() {
        let (_state, folder) = folder();
        assert_eq!(folder.list().unwrap().len(), 0);
        let mut spool = folder.open(&request("all")).unwrap();
        add_row(&mut spool, "sub_1");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(folder.path()), 0o700);
            for file in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
                assert_eq!(mode(&file), 0o600, "{}", file.display());
            }
        }
        drop(spool);
        let spool = folder.open(&request("all")).unwrap();
        assert_eq!(rows(&spool), 1);
        spool.finish().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn second_run_uses_a_spool_of_its_own() {
        let (_state, folder) = folder();
        let mut first = folder.open(&request("all")).unwrap();
        add_row(&mut first, "sub_1");
        let second = folder.open(&request("all")).unwrap();
        assert_eq!(rows(&second), 0);
        assert_eq!(folder.list().unwrap().iter().filter(|spool| spool.in_use).count(), 2);
        assert_eq!(folder.clean().unwrap(), 0);
        // The spool that is left is continued, also if it is not the first.
        first.finish().unwrap();
        drop(second);
        let again = folder.open(&request("all")).unwrap();
        assert!(again.store.path().to_str().unwrap().ends_with("-1.sqlite"));
    }

    #[test]
    fn finish_keeps_a_spool_of_a_larger_range() {
        let (_state, folder) = folder();
        let mut spool = folder.open(&request("all")).unwrap();
        add_row(&mut spool, "sub_1");
        drop(spool);
        folder.open(&request("since 7d")).unwrap().finish().unwrap();
        assert_eq!(rows(&folder.open(&request("all")).unwrap()), 1);
    }

    #[test]
    fn damaged_spool_is_discarded_with_a_warning() {
        let (_state, folder) = folder();
        let damage: [fn(&Path); 3] = [
            |path| fs::write(path, "x".repeat(9_999)).unwrap(),
            |path| {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.execute("UPDATE meta SET version = 99", []).unwrap();
            },
            |path| {
                let connection = rusqlite::Connection::open(path).unwrap();
                let insert = "INSERT INTO coverage VALUES (1, 9, 1, 'no token', 'proven')";
                connection.execute(insert, []).unwrap();
            },
        ];
        for damage in damage {
            let mut spool = folder.open(&request("all")).unwrap();
            add_row(&mut spool, "sub_1");
            let path = spool.store.path().to_owned();
            drop(spool);
            damage(&path);
            let spool = folder.open(&request("all")).unwrap();
            assert_eq!((rows(&spool), spool.warnings.len()), (0, 1));
            assert!(spool.warnings[0].contains("discarded"), "{:?}", spool.warnings);
        }
    }

    #[test]
    fn fresh_discards_saved_rows() {
        let (_state, folder) = folder();
        add_row(&mut folder.open(&request("all")).unwrap(), "sub_1");
        let fresh = SpoolRequest { fresh: true, ..request("all") };
        assert_eq!(rows(&folder.open(&fresh).unwrap()), 0);
    }

    #[test]
    fn list_describes_and_clean_removes() {
        let (_state, folder) = folder();
        add_row(&mut folder.open(&request("all")).unwrap(), "sub_1");
        let spools = folder.list().unwrap();
        let content = spools[0].content.as_ref().unwrap();
        assert!(!spools[0].in_use && spools[0].size > 0);
        assert_eq!((content.form_id.as_str(), content.rows), ("frm_1", 1));
        assert_eq!(content.title.as_deref(), Some("Survey"));
        assert_eq!(content.command, request("all").command.map(str::to_owned));
        assert_eq!(content.newest_and_oldest.as_ref().unwrap().1, "2026-01-01T00:00:00Z");
        assert_eq!(folder.clean().unwrap(), 1);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn expired_spool_is_removed_by_the_next_export() {
        let (_state, folder) = folder();
        add_row(&mut folder.open(&request("all")).unwrap(), "sub_1");
        let other = SpoolRequest { form_id: "frm_2", ..request("all") };
        let age = |age: Duration| {
            for path in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
                let file = fs::File::options().write(true).open(path).unwrap();
                file.set_modified(SystemTime::now() - age).unwrap();
            }
        };
        age(MAX_AGE.mul_f32(0.9));
        folder.open(&other).unwrap().finish().unwrap();
        assert_eq!(folder.list().unwrap().len(), 1);
        age(MAX_AGE.mul_f32(1.1));
        folder.open(&other).unwrap().finish().unwrap();
        assert_eq!(folder.list().unwrap().len(), 0);
    }
}
