//! Where files have modes.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::private_file::{self, Unsafe, quoted};
use crate::webhook::store::StoreError;

/// The folder, checked; made with those above it if it is not there.
pub(crate) fn folder(path: &Path, make: bool) -> Result<bool, StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::fs::open(path, flags, Mode::empty());
    let opened = match open() {
        Err(Errno::NOENT | Errno::NOTDIR) if make && !path.is_symlink() => {
            let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
            created.map_err(|source| StoreError::io("create", path, source))?;
            open()
        }
        opened => opened,
    };
    match opened {
        Ok(handle) => {
            let stat =
                rustix::fs::fstat(&handle).map_err(|error| failed("look at", path, error))?;
            check(&stat, path, FileType::Directory).map(|()| true)
        }
        Err(Errno::LOOP | Errno::NOTDIR) if path.is_symlink() => Err(linked(path)),
        // Below a file, as with the idiom `/dev/null`, there is no folder either.
        Err(Errno::NOENT | Errno::NOTDIR) if !make => Ok(false),
        Err(error) => Err(failed("open", path, error)),
    }
}

/// A file in the folder, checked; made if it is not there.
///
/// One that is there is looked at and not opened: to close a file gives up every lock that this process
/// has on it, those of SQLite among them, and another process would then take the memory that both share
/// for its own. The folder is its owner's alone, so that nobody exchanges the file after the look.
pub(crate) fn file(path: &Path, make: bool) -> Result<bool, StoreError> {
    match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => check(&stat, path, FileType::RegularFile).map(|()| true),
        Err(Errno::NOENT) if make => create(path),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(failed("look at", path, error)),
    }
}

fn create(path: &Path) -> Result<bool, StoreError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) => Ok(true),
        // Another process was first.
        Err(Errno::EXIST) => file(path, false),
        Err(error) => Err(failed("create", path, error)),
    }
}

fn check(stat: &Stat, path: &Path, kind: FileType) -> Result<(), StoreError> {
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return Err(linked(path));
    }
    Ok(private_file::check(stat, path, kind)?)
}

fn linked(path: &Path) -> StoreError {
    let fix = format!("`rm {}`, or set FORMSVC_STATE_DIR to another folder", quoted(path));
    Unsafe::linked(path, fix).into()
}

impl From<Unsafe> for StoreError {
    fn from(Unsafe { path, what, fix }: Unsafe) -> Self {
        Self::Unsafe { path, what, fix }
    }
}

fn failed(doing: &'static str, path: &Path, error: Errno) -> StoreError {
    StoreError::io(doing, path, error.into())
}
