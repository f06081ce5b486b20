//! The lock file that keeps two servers off one database.

#[cfg(not(unix))]
use std::fs::OpenOptions;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::OpenError;

/// Held while the file is open; the operating system lets go of it when the process ends, however
/// it ends, so a lock never goes stale. The file itself stays.
#[derive(Debug)]
pub(super) struct ServerLock {
    _file: File,
}

impl ServerLock {
    /// Takes the lock beside a database, whose path must be its only one, or fails at once.
    pub(super) fn take(database: &Path) -> Result<Self, OpenError> {
        let path = path_beside(database);
        let file =
            open_private(&path)?.ok_or_else(|| OpenError::NotALock { path: path.clone() })?;
        for _ in 0..LOOKS {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                // A command may be looking, which takes microseconds.
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
        Err(OpenError::Locked { lock: path })
    }
}

/// How often a lock that is held is tried.
const LOOKS: u32 = 3;
/// Pause after each.
const LOOK_PAUSE: Duration = Duration::from_millis(2);

/// Whether a server runs on a database file, as far as can be seen.
pub fn server_runs(database: &Path) -> bool {
    let Ok(path) = database.canonicalize().map(|database| path_beside(&database)) else {
        return false;
    };
    // Opening a pipe would wait for whoever is at its other end.
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    let file = is_file.then(|| File::open(&path).ok()).flatten();
    file.is_some_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// The file, its owner's only: whoever may open it can hold the lock and keep the server from starting.
/// None when something else is there. A link is not followed: whoever may write beside the database
/// would choose what is made, and whose permissions are changed, elsewhere.
#[cfg(unix)]
fn open_private(path: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;
    // Opening a pipe must not wait for whoever is at its other end.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file: File = match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => file.into(),
        Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    tighten(&file, path)?;
    Ok(Some(file))
}

#[cfg(not(unix))]
fn open_private(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true).open(path).map(Some)
}

/// Takes from a file of an earlier release what others may do with it.
#[cfg(unix)]
fn tighten(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        let (path, mode) = (path.display(), format_args!("{mode:04o}"));
        tracing::warn!(%path, %mode, "the lock was open to others than its owner; it is not any more");
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

fn path_beside(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let database = dir.path().join("db");
        (dir, database)
    }

    fn is_refused(database: &Path) {
        let refused = ServerLock::take(database).unwrap_err();
        assert!(matches!(refused, OpenError::NotALock { .. }), "{refused:?}");
        assert!(refused.to_string().contains("db.lock"), "{refused}");
    }

    #[test]
    fn a_link_in_place_of_the_lock_leads_nowhere() {
        let (dir, database) = place();
        let (lock, other) = (path_beside(&database), dir.path().join("other"));
        symlink(&other, &lock).unwrap();
        is_refused(&database);
        assert!(!other.exists(), "nothing is made behind it");
        fs::write(&other, "precious").unwrap();
        fs::set_permissions(&other, Permissions::from_mode(0o644)).unwrap();
        is_refused(&database);
        assert_eq!(fs::metadata(&other).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::read_to_string(&other).unwrap(), "precious");
    }

    #[test]
    fn a_server_is_seen_as_long_as_it_holds_the_lock() {
        let (_dir, database) = place();
        assert!(!server_runs(&database), "there is no database");
        fs::write(&database, "").unwrap();
        assert!(!server_runs(&database));
        let held = ServerLock::take(&database.canonicalize().unwrap()).unwrap();
        assert!(server_runs(&database));
        drop(held);
        assert!(!server_runs(&database) && !server_runs(&database), "looking holds nothing");
    }

    #[test]
    fn what_is_no_file_is_no_lock() {
        let (_dir, database) = place();
        fs::create_dir(path_beside(&database)).unwrap();
        is_refused(&database);
        fs::remove_dir(path_beside(&database)).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path_beside(&database), pipe, mode, 0).unwrap();
        is_refused(&database);
    }

    #[test]
    fn a_lock_that_others_could_hold_is_its_owners_again() {
        let (_dir, database) = place();
        let lock = path_beside(&database);
        fs::write(&lock, "").unwrap();
        fs::set_permissions(&lock, Permissions::from_mode(0o666)).unwrap();
        let held = ServerLock::take(&database).unwrap();
        assert_eq!(fs::metadata(&lock).unwrap().permissions().mode() & 0o777, 0o600);
        drop(held);
    }
}
