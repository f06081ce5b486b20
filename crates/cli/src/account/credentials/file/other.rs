//! A folder where files have no modes: what is in the user's profile is the user's by the rules of the
//! system.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use secrecy::zeroize::Zeroizing;

use crate::account::credentials::StoreError;

/// The folder.
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder, if it is there.
    pub(super) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        Ok(path.is_dir().then(|| Self { path: path.to_owned() }))
    }

    /// Whether it is what its name says; looked at only when there are keys in it.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        refuse_symlink(&self.path)
    }

    /// The folder, made if it is not there.
    pub(super) fn create(path: &Path) -> Result<Self, StoreError> {
        refuse_symlink(path)?;
        std::fs::create_dir_all(path).map_err(|source| failed("create", path, source))?;
        Ok(Self { path: path.to_owned() })
    }

    /// The text of a file in it, if it is there.
    pub(super) fn read(
        &self,
        name: &str,
        max: u64,
    ) -> Result<Option<Zeroizing<String>>, StoreError> {
        let path = self.path.join(name);
        refuse_symlink(&path)?;
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("open", &path, error)),
        };
        let mut text = Zeroizing::new(String::new());
        let read = file.take(max + 1).read_to_string(&mut text);
        match read.map_err(|error| failed("read", &path, error))? {
            read if read as u64 > max => {
                let what = format!("it is longer than {max} bytes");
                Err(StoreError::Malformed { path, what })
            }
            _ => Ok(Some(text)),
        }
    }

    /// Whether there is something of that name.
    pub(super) fn has(&self, name: &str) -> Result<bool, StoreError> {
        let path = self.path.join(name);
        match path.symlink_metadata() {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(failed("look at", &path, error)),
        }
    }

    /// Writes a file beside the one of that name, and puts it in its place once it is on the disk.
    pub(super) fn replace(&self, name: &str, new: &str, text: &[u8]) -> Result<(), StoreError> {
        self.remove(new)?;
        let (path, place) = (self.path.join(new), self.path.join(name));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|error| failed("create", &path, error))?;
        let written = file.write_all(text).and_then(|()| file.sync_all());
        drop(file);
        let placed = written.and_then(|()| std::fs::rename(&path, &place));
        placed.map_err(|error| {
            // It holds a key, and nobody would look for it.
            let _ = std::fs::remove_file(&path);
            failed("replace", &place, error)
        })
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// A file to lock.
    pub(super) fn lock_file(&self, name: &str) -> Result<File, StoreError> {
        let path = self.path.join(name);
        refuse_symlink(&path)?;
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        opened.map_err(|error| failed("open", &path, error))
    }
}

fn refuse_symlink(path: &Path) -> Result<(), StoreError> {
    if path.is_symlink() {
        let fix = "put the folder or file itself in its place".to_owned();
        return Err(StoreError::Unsafe { path: path.to_owned(), what: "is a symbolic link", fix });
    }
    Ok(())
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { doing, path: path.to_owned(), source }
}
