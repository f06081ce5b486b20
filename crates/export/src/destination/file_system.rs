//! Owners, modes, links and mount points of files.

use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// Links followed from one path; systems follow about as many.
const LINKS_MAX: usize = 40;

/// Returns the permissions that the umask and the folder give to a new file, by creating one.
pub(super) fn permissions_of_new_file(home: &Path) -> io::Result<Permissions> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".").suffix(".partial");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    Ok(builder.tempfile_in(home)?.as_file().metadata()?.permissions())
}

/// Flushes a file to disk, if its file system supports that.
pub(super) fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

/// Gives a file the owner and group of another one. Returns false if only root may change the owner.
pub(super) fn copy_owner(from: &fs::Metadata, file: &File) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        fchown(file, Some(from.uid()), Some(from.gid())).is_ok() || {
            // The group alone may be changed to one of the user's own.
            let _ = fchown(file, None, Some(from.gid()));
            file.metadata().is_ok_and(|file| file.uid() == from.uid())
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (from, file);
        true
    }
}

/// Returns true for a file that is mounted by itself, as containers do: a rename to it fails.
pub(super) fn is_mount_point(path: &Path) -> bool {
    // Without this list (on other systems than Linux) the rename reports the reason.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    path.to_str().is_some_and(|path| points.map(unescape_mount).any(|point| point == path))
}

/// Decodes the octal escapes of a mount point: space, tab, line break and backslash.
fn unescape_mount(point: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(point.to_owned(), |text, (escape, c)| text.replace(escape, c))
}

/// Returns the permissions to read, write and execute, without the set-user-id bits.
pub(super) fn rights(permissions: &Permissions) -> Permissions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Permissions::from_mode(permissions.mode() & 0o777)
    }
    #[cfg(not(unix))]
    permissions.clone()
}

/// Follows links. The last one may lead to a file that does not exist yet.
pub(super) fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() && !is_of_a_process(&path) => {
                let target = fs::read_link(&path)?;
                path = folder(&path).join(target);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a link that leads to itself"))
}

/// Returns true for the name of a file that a process has open, such as a pipe of the shell for
/// `>(wc -l)`. It is a link, but its target may be no path.
pub(super) fn is_of_a_process(path: &Path) -> bool {
    let within = |folder: PathBuf| folder.ends_with("fd") && folder.starts_with("/proc");
    fs::canonicalize(folder(path)).is_ok_and(within)
}

pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Flushes the folder to disk, without which a rename is not durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder(path))?.sync_all() } else { Ok(()) }
}
