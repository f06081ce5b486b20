//! A folder that is its owner's alone. What is checked is what was opened: nobody can exchange it between
//! the look and the use.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use secrecy::zeroize::Zeroizing;

use super::{NAME, NEW};
use crate::account::credentials::StoreError;
use crate::base::private_file::{self, Unsafe, quoted};

/// The folder, opened.
pub(super) struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens it, if it is there. Whose it is and who may change it is looked at by [`Self::check`]: it
    /// matters only when there are keys in it.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::LOOP | Errno::NOTDIR) if path.is_symlink() => {
                // What holds no keys is no concern of theirs.
                if [NAME, NEW].iter().all(|name| path.join(name).symlink_metadata().is_err()) {
                    return Ok(None);
                }
                return Err(linked(path));
            }
            // Below a file, as with the idiom `/dev/null`, there is no folder either.
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(failed("open", path, error)),
        };
        Ok(Some(Self { handle, path: path.to_owned() }))
    }

    /// Opens it, and makes it if it is not there. One that is there must be its owner's alone.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        let folder = if let Some(folder) = Self::open(path)? {
            folder
        } else if path.is_symlink() {
            return Err(linked(path));
        } else {
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            made.map_err(|source| io_failed("create", path, source))?;
            Self::open(path)?.ok_or_else(|| failed("open", path, Errno::NOENT))?
        };
        folder.check()?;
        Ok(folder)
    }

    /// Whether it is the user's, and nobody else's to read or change.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        check(&self.handle, &self.path, FileType::Directory)
    }

    /// The text of a file in it, if it is there.
    pub(super) fn read(
        &self,
        name: &str,
        max: u64,
    ) -> Result<Option<Zeroizing<String>>, StoreError> {
        let path = self.path.join(name);
        // Without a wait for whoever writes into it, should it be a pipe.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(symlink(&path)),
            Err(error) => return Err(failed("open", &path, error)),
        };
        check(&handle, &path, FileType::RegularFile)?;
        // Room for all of it at once: text that grows leaves copies behind.
        let mut text = Zeroizing::new(String::with_capacity(
            rustix::fs::fstat(&handle).ok().and_then(|stat| stat.st_size.try_into().ok()).map_or(
                0,
                |size: usize| {
                    size.min(usize::try_from(max).unwrap_or(usize::MAX)).saturating_add(1)
                },
            ),
        ));
        let read = File::from(handle).take(max + 1).read_to_string(&mut text);
        let malformed = |what: String| StoreError::Malformed { path: path.clone(), what };
        match read {
            Ok(read) if read as u64 > max => {
                Err(malformed(format!("it is longer than {max} bytes")))
            }
            Ok(_) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(malformed("it is not UTF-8 text".to_owned()))
            }
            Err(error) => Err(io_failed("read", &path, error)),
        }
    }

    /// Whether there is something of that name.
    pub(super) fn has(&self, name: &str) -> Result<bool, StoreError> {
        match rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(failed("look at", &self.path.join(name), error)),
        }
    }

    /// Writes a file beside the one of that name, and puts it in its place once it is on the disk.
    pub(super) fn replace(&self, name: &str, new: &str, text: &[u8]) -> Result<(), StoreError> {
        self.remove(new)?;
        let path = self.path.join(new);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&self.handle, new, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| failed("create", &path, error))?;
        let mut file = File::from(handle);
        let written = file.write_all(text).and_then(|()| file.sync_all());
        let placed = written.map_err(|error| io_failed("write", &path, error)).and_then(|()| {
            rustix::fs::renameat(&self.handle, new, &self.handle, name)
                .map_err(|error| failed("replace", &self.path.join(name), error))
        });
        if placed.is_err() {
            // It holds a key, and nobody would look for it.
            let _ = rustix::fs::unlinkat(&self.handle, new, AtFlags::empty());
        }
        placed?;
        self.sync()
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, name: &str) -> Result<(), StoreError> {
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) => self.sync(),
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(failed("remove", &self.path.join(name), error)),
        }
    }

    /// A file to lock.
    pub(super) fn lock_file(&self, name: &str) -> Result<File, StoreError> {
        let path = self.path.join(name);
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(&self.handle, name, flags, Mode::RUSR | Mode::WUSR) {
            Ok(handle) => Ok(File::from(handle)),
            Err(Errno::LOOP) => Err(symlink(&path)),
            Err(error) => Err(failed("open", &path, error)),
        }
    }

    fn sync(&self) -> Result<(), StoreError> {
        match rustix::fs::fsync(&self.handle) {
            // Some file systems cannot sync a folder.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(failed("sync", &self.path, error)),
        }
    }
}

/// Whether what was opened is the user's, and nobody else's to read or change.
fn check(handle: &OwnedFd, path: &Path, kind: FileType) -> Result<(), StoreError> {
    let stat = rustix::fs::fstat(handle).map_err(|error| failed("look at", path, error))?;
    Ok(private_file::check(&stat, path, kind)?)
}

fn linked(path: &Path) -> StoreError {
    let fix = "set FORMSVC_CONFIG_DIR to the folder itself".to_owned();
    Unsafe::linked(path, fix).into()
}

fn symlink(path: &Path) -> StoreError {
    let fix = format!("remove the link, `rm {}`, and log in again", quoted(path));
    Unsafe::linked(path, fix).into()
}

impl From<Unsafe> for StoreError {
    fn from(Unsafe { path, what, fix }: Unsafe) -> Self {
        Self::Unsafe { path, what, fix }
    }
}

fn failed(doing: &'static str, path: &Path, error: Errno) -> StoreError {
    io_failed(doing, path, error.into())
}

fn io_failed(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { doing, path: path.to_owned(), source }
}
