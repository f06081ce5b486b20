//! The key file: `credentials.toml` in the configuration folder. It has a table for each origin with the key
//! of each profile.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use toml_edit::{DocumentMut, Item, Table, value};

use super::error::StoreError;
use super::{Account, check_key};
use crate::base::atomic_file;
use crate::base::files::{self, FileError, Trust};

const NAME: &str = "credentials.toml";
const LOCK_NAME: &str = "credentials.lock";
/// Longest file that is read, in bytes: thousands of keys.
const MAX_LEN: u64 = 1 << 20;
/// Content of a new file.
const NEW_FILE: &str =
    "# API keys and signing secrets of formsvc. Anyone who can read this file can use them.\n\n";

/// The key file, which need not exist.
#[derive(Debug)]
pub(super) struct KeyFile {
    folder: Option<PathBuf>,
}

impl KeyFile {
    pub(super) fn new(config_folder: Option<&Path>) -> Self {
        // `components` removes a slash at the end, which would follow a symbolic link.
        Self { folder: config_folder.map(|folder| folder.components().collect()) }
    }

    pub(super) fn get(&self, account: &Account) -> Result<Option<SecretString>, StoreError> {
        let Some(keys) = self.read()? else { return Ok(None) };
        let Some(item) = keys.get(account.origin()).and_then(|of| of.get(account.profile())) else {
            return Ok(None);
        };
        let key: Option<SecretString> = item.as_str().map(Into::into);
        match key.filter(|key| check_key(key).is_ok()) {
            Some(key) => Ok(Some(key)),
            None => Err(self.malformed(format!(
                "the value of the profile `{}` at `{}` is not an API key",
                account.profile(),
                account.origin()
            ))),
        }
    }

    pub(super) fn set(&self, account: &Account, key: &SecretString) -> Result<(), StoreError> {
        let folder = self.folder()?;
        files::create_private_folder(folder).map_err(|error| io_error("create", folder, error))?;
        files::check_private_folder(folder)?;
        let _lock = files::lock(&folder.join(LOCK_NAME))?;
        let mut keys = match self.read()? {
            Some(keys) => keys,
            None => self.parse(NEW_FILE)?,
        };
        let of_origin = keys.entry(account.origin()).or_insert_with(|| Item::Table(Table::new()));
        let Some(of_origin) = of_origin.as_table_like_mut() else {
            return Err(self.malformed(format!("`{}` is not a table", account.origin())));
        };
        of_origin.insert(account.profile(), value(key.expose_secret()));
        self.write(&keys)
    }

    /// Removes a key. Returns false if the file does not contain it. Deletes the file with the last key.
    pub(super) fn remove(&self, account: &Account) -> Result<bool, StoreError> {
        let folder = self.folder()?;
        if !self.exists() && !folder.join(LOCK_NAME).exists() {
            return Ok(false);
        }
        files::check_private_folder(folder)?;
        let _lock = files::lock(&folder.join(LOCK_NAME))?;
        self.remove_leftovers()?;
        let Some(mut keys) = self.read()? else { return Ok(false) };
        let Some(of_origin) = keys.get_mut(account.origin()).and_then(Item::as_table_like_mut)
        else {
            return Ok(false);
        };
        if of_origin.remove(account.profile()).is_none() {
            return Ok(false);
        }
        if of_origin.is_empty() {
            keys.remove(account.origin());
        }
        if keys.is_empty() {
            let path = self.path();
            fs::remove_file(&path).map_err(|error| io_error("remove", &path, error))?;
        } else {
            self.write(&keys)?;
        }
        Ok(true)
    }

    /// Checks whether the file could be used, without writing.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        files::check_private_folder(self.folder()?)?;
        self.read().map(drop)
    }

    pub(super) fn exists(&self) -> bool {
        self.path().symlink_metadata().is_ok()
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.clone().unwrap_or_default().join(NAME)
    }

    fn folder(&self) -> Result<&Path, StoreError> {
        self.folder.as_deref().ok_or(StoreError::NoFolder)
    }

    fn read(&self) -> Result<Option<DocumentMut>, StoreError> {
        if self.folder.is_none() {
            return Ok(None);
        }
        let text = files::read(&self.path(), Trust::Private, MAX_LEN)?;
        text.map(|text| self.parse(&text)).transpose()
    }

    fn write(&self, keys: &DocumentMut) -> Result<(), StoreError> {
        let (path, text) = (self.path(), Zeroizing::new(keys.to_string()));
        self.remove_leftovers()?;
        let written = atomic_file::write_private(&path, text.as_bytes());
        written.map_err(|error| io_error("write", &path, error))
    }

    fn remove_leftovers(&self) -> Result<(), StoreError> {
        let path = self.path();
        atomic_file::remove_leftovers(&path)
            .map_err(|error| io_error("remove copies of", &path, error))
    }

    fn parse(&self, text: &str) -> Result<DocumentMut, StoreError> {
        text.parse::<DocumentMut>().map_err(|error| {
            // The message of the parser would show the line, which may contain a key.
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            self.malformed(format!("line {} is not TOML", before.matches('\n').count() + 1))
        })
    }

    fn malformed(&self, problem: String) -> StoreError {
        StoreError::Malformed { path: self.path(), problem }
    }
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    FileError::Io { action, path: path.to_owned(), source }.into()
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
