//! The lock file that keeps two servers off one database.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

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
        let file = open_private(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { lock: path }),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

/// The file, its owner's only: whoever may open it can hold the lock and keep the server from starting.
fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    tighten(&file)?;
    Ok(file)
}

/// Takes from a file of an earlier release what others may do with it.
#[cfg(unix)]
fn tighten(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

fn path_beside(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}
