//! Where files have no modes: what is in the user's profile is the user's by the rules of the system.

use std::fs::OpenOptions;
use std::path::Path;

use crate::webhook::store::StoreError;

/// The folder; made with those above it if it is not there.
pub(crate) fn folder(path: &Path, make: bool) -> Result<bool, StoreError> {
    refuse_symlink(path)?;
    if make {
        std::fs::create_dir_all(path).map_err(|source| StoreError::io("create", path, source))?;
    }
    Ok(path.is_dir())
}

/// A file in the folder; made if it is not there.
pub(crate) fn file(path: &Path, make: bool) -> Result<bool, StoreError> {
    refuse_symlink(path)?;
    if make {
        let made = OpenOptions::new().write(true).create(true).truncate(false).open(path);
        made.map_err(|source| StoreError::io("create", path, source))?;
    }
    Ok(path.is_file())
}

fn refuse_symlink(path: &Path) -> Result<(), StoreError> {
    if path.is_symlink() {
        let fix = "put the folder or file itself in its place".to_owned();
        return Err(StoreError::Unsafe { path: path.to_owned(), what: "is a symbolic link", fix });
    }
    Ok(())
}
