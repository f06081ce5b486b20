//! Where files have modes.

use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::shell;
use crate::webhook::store::StoreError;

/// What nobody but the owner may do.
const OTHERS: u32 = 0o077;

/// The folder, checked; made with those above it if it is not there.
pub(in super::super) fn folder(path: &Path, make: bool) -> Result<bool, StoreError> {
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
        Ok(handle) => check(&handle, path, FileType::Directory).map(|()| true),
        Err(Errno::LOOP | Errno::NOTDIR) if path.is_symlink() => Err(linked(path)),
        // Below a file, as with the idiom `/dev/null`, there is no folder either.
        Err(Errno::NOENT | Errno::NOTDIR) if !make => Ok(false),
        Err(error) => Err(failed("open", path, error)),
    }
}

/// A file in the folder, checked; made if it is not there.
pub(in super::super) fn file(path: &Path, make: bool) -> Result<bool, StoreError> {
    // Without a wait for whoever is at the other end, should it be a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = if make { flags | OFlags::CREATE } else { flags };
    match rustix::fs::openat(CWD, path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(handle) => check(&handle, path, FileType::RegularFile).map(|()| true),
        Err(Errno::NOENT) if !make => Ok(false),
        Err(Errno::LOOP) => Err(linked(path)),
        Err(error) => Err(failed(if make { "create" } else { "open" }, path, error)),
    }
}

/// Whether what was opened is the user's, and nobody else's to read or change.
fn check(handle: &OwnedFd, path: &Path, kind: FileType) -> Result<(), StoreError> {
    let stat = rustix::fs::fstat(handle).map_err(|error| failed("look at", path, error))?;
    if FileType::from_raw_mode(stat.st_mode) != kind {
        let fix = format!("move it away: `mv {0} {0}.old`", quoted(path));
        return Err(not_safe(path, "is no ordinary file", fix));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        let fix = format!("run as its owner, or `chown \"$(id -u)\" {}`", quoted(path));
        return Err(not_safe(path, "belongs to another user", fix));
    }
    if stat.st_mode & OTHERS != 0 {
        let right = if kind == FileType::Directory { "700" } else { "600" };
        let fix = format!("`chmod {right} {}`", quoted(path));
        return Err(not_safe(path, "can be read or changed by others", fix));
    }
    Ok(())
}

fn linked(path: &Path) -> StoreError {
    let fix = format!("`rm {}`, or set FORMSVC_STATE_DIR to another folder", quoted(path));
    not_safe(path, "is a symbolic link", fix)
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    shell::quoted(&path.display().to_string()).into_owned()
}

fn not_safe(path: &Path, what: &'static str, fix: String) -> StoreError {
    StoreError::Unsafe { path: path.to_owned(), what, fix }
}

fn failed(doing: &'static str, path: &Path, error: Errno) -> StoreError {
    StoreError::io(doing, path, error.into())
}
