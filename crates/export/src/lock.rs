//! Locks between processes. A lock belongs to the kernel and ends with its process, however that ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Attempts to take a lock. A process that only checks a lock holds it for microseconds; a run whose future
/// was dropped, until its last page is stored.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// A locked file, removed when it is dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    path: PathBuf,
    /// Closing the file ends the lock.
    _file: File,
}

impl FileLock {
    /// Creates and locks the file; `None` if another process holds the lock. On a file system without
    /// locks nothing is locked, and two processes can get it.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            let file = open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                // Without locks on this file system, the export runs unlocked rather than not at all.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(PAUSE);
                    continue;
                }
            }
            // Its last owner may have removed the file after it was opened here.
            if is_at(&file, path) {
                return Ok(Some(Self { path: path.to_owned(), _file: file }));
            }
        }
        Ok(None)
    }
}

/// Opens or creates the file. Refuses a link, with which another user of the folder could choose the file that
/// is created.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match rustix::fs::open(path, flags | OFlags::NONBLOCK, Mode::RUSR | Mode::WUSR) {
        Err(rustix::io::Errno::LOOP) => Err(is_link()),
        opened => Ok(opened?.into()),
    }
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).truncate(false).read(true).write(true).open(path)
}

/// The error of a file or folder that must not be a link.
#[cfg(unix)]
pub(crate) fn is_link() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link")
}

/// Returns the path of a file beside a database.
pub(crate) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Other systems do not remove open files, and cannot compare them.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    file.metadata()
        .is_ok_and(|open| fs::symlink_metadata(path).is_ok_and(|found| id(open) == id(found)))
}

#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}
