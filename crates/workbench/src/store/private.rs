//! Creates and checks files and folders that only their owner can read, because captures contain personal data and
//! signatures that can be replayed.
//!
//! An existing file is checked without opening it, because closing a file releases all POSIX locks that the process
//! has on this file, including the locks of SQLite. Only the user can write to the folder, so no other user can
//! replace the file after the check. This holds as long as only the user can write to the parents of the folder too,
//! because a user who can write to a parent can replace the folder. The parents are not checked: many systems create
//! folders that the user's group can write to.

use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

use super::StoreError;

/// Creates a folder and its missing parents with mode 700 if the folder is missing. Then checks the folder.
pub(crate) fn create_folder(path: &Path) -> Result<(), StoreError> {
    if !folder_exists(path)? {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(path).map_err(|error| StoreError::io(path, error))?;
    }
    folder_exists(path).map(drop)
}

/// Creates a file with mode 600 if the file is missing. Then checks the file.
pub(crate) fn create_file(path: &Path) -> Result<(), StoreError> {
    if !file_exists(path)? {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.write(true).create_new(true).open(path) {
            // Another process may have created the file after the check.
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(StoreError::io(path, error));
            }
            _ => {}
        }
    }
    file_exists(path).map(drop)
}

/// Returns false if the path does not exist, and an error if it is not a private folder of the user.
pub(crate) fn folder_exists(path: &Path) -> Result<bool, StoreError> {
    exists(path, "700", "is not a folder", Metadata::is_dir)
}

/// Returns false if the path does not exist, and an error if it is not a private file of the user.
pub(crate) fn file_exists(path: &Path) -> Result<bool, StoreError> {
    exists(path, "600", "is not a regular file", Metadata::is_file)
}

fn exists(
    path: &Path,
    mode: &str,
    wrong_kind: &'static str,
    is_kind: impl Fn(&Metadata) -> bool,
) -> Result<bool, StoreError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        // A path below a file does not exist either.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        Err(error) => return Err(StoreError::io(path, error)),
    };
    let (is_of_another_user, is_open_to_others) = access(&metadata);
    let text = format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let (problem, fix) = if metadata.is_symlink() {
        ("is a symbolic link", format!("`rm {text}`"))
    } else if !is_kind(&metadata) {
        (wrong_kind, format!("`mv {text} {text}.old`"))
    } else if is_of_another_user {
        ("belongs to another user", format!("run as its owner, or `chown \"$(id -u)\" {text}`"))
    } else if is_open_to_others {
        ("can be read or changed by others", format!("`chmod {mode} {text}`"))
    } else {
        return Ok(true);
    };
    Err(StoreError::Unsafe { path: path.to_owned(), problem, fix })
}

/// Returns two values: true if the owner is another user, and true if other users have access.
#[cfg(unix)]
fn access(metadata: &Metadata) -> (bool, bool) {
    use std::os::unix::fs::MetadataExt;

    let user = rustix::process::geteuid().as_raw();
    (metadata.uid() != user, metadata.mode() & 0o077 != 0)
}

/// Returns false for both values, because files in the user's profile are private by default on other systems.
#[cfg(not(unix))]
fn access(_: &Metadata) -> (bool, bool) {
    (false, false)
}
