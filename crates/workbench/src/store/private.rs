//! Files and folders that only their owner can read: captures contain personal data and signatures that can
//! be replayed.
//!
//! A file that exists is checked without opening it: closing a file releases all POSIX locks that the
//! process has on it, including those of SQLite. The folder belongs to the user alone, so no other user can
//! replace the file after the check.

use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

use super::StoreError;

/// Creates the folder and its parents with mode 700 unless it exists, and checks it.
pub(super) fn create_folder(path: &Path) -> Result<(), StoreError> {
    if !folder_exists(path)? {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(|error| StoreError::io("create", path, error))?;
        folder_exists(path)?;
    }
    Ok(())
}

/// Creates the file with mode 600 unless it exists, and checks it.
pub(super) fn create_file(path: &Path) -> Result<(), StoreError> {
    if !file_exists(path)? {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(StoreError::io("create", path, error));
            }
            // Another process was faster, or the file is new.
            _ => file_exists(path)?,
        };
    }
    Ok(())
}

/// Returns false if nothing is there, and an error if it is not a folder of the user alone.
pub(super) fn folder_exists(path: &Path) -> Result<bool, StoreError> {
    exists(path, "is not a folder", Metadata::is_dir)
}

/// Returns false if nothing is there, and an error if it is not a file of the user alone.
pub(super) fn file_exists(path: &Path) -> Result<bool, StoreError> {
    exists(path, "is not a regular file", Metadata::is_file)
}

fn exists(
    path: &Path,
    wrong_kind: &'static str,
    is_kind: impl Fn(&Metadata) -> bool,
) -> Result<bool, StoreError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        // Nothing can be below a file either.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        Err(error) => return Err(StoreError::io("inspect", path, error)),
    };
    let path_text = path.display();
    let (problem, fix) = if metadata.is_symlink() {
        ("is a symbolic link", format!("remove the link `{path_text}`"))
    } else if !is_kind(&metadata) {
        (wrong_kind, format!("move `{path_text}` away"))
    } else if is_of_another_user(&metadata) {
        ("belongs to another user", "run as its owner, or use another folder".to_owned())
    } else if is_open_to_others(&metadata) {
        let mode = if metadata.is_dir() { "700" } else { "600" };
        let path_text = path_text.to_string().replace('\'', r"'\''");
        ("can be read or changed by others", format!("`chmod {mode} '{path_text}'`"))
    } else {
        return Ok(true);
    };
    Err(StoreError::Unsafe { path: path.to_owned(), problem, fix })
}

#[cfg(unix)]
fn is_of_another_user(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) != rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn is_open_to_others(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::mode(metadata) & 0o077 != 0
}

#[cfg(not(unix))]
fn is_of_another_user(_: &Metadata) -> bool {
    false
}

/// Files in the user's profile are private by default.
#[cfg(not(unix))]
fn is_open_to_others(_: &Metadata) -> bool {
    false
}
