//! Keys in a file: `credentials.toml` in the configuration folder. A table for each origin, in it a key
//! for each profile, and nothing else.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use toml_edit::{DocumentMut, Item, Table, value};

use super::bounded::within;
use super::error::StoreError;
use super::{Account, check_key};
#[cfg(not(unix))]
use other::Folder;
#[cfg(unix)]
use unix::Folder;

/// The file.
const NAME: &str = "credentials.toml";
/// What a new file is called until it is whole. Only who holds the lock may have one, so one that is found
/// was left by a run that died.
const NEW: &str = "credentials.toml.new";
/// Held by whoever changes the file.
const LOCK: &str = "credentials.lock";
/// Longest wait for the lock.
const LOCK_MAX: Duration = Duration::from_secs(3);
/// Longest file that is read: thousands of keys.
const FILE_MAX: u64 = 1 << 20;
/// The first words of a new file.
const ABOUT: &str =
    "# API keys and signing secrets of formsvc. Anyone who can read this file can use them.\n\n";

/// The file of keys, there or not.
#[derive(Debug)]
pub(super) struct KeyFile {
    folder: Option<PathBuf>,
}

impl KeyFile {
    /// The file in the folder of the configuration.
    pub(super) fn new(folder: Option<&Path>) -> Self {
        // Without a slash at the end, which would follow a symbolic link.
        Self { folder: folder.map(|folder| folder.components().collect()) }
    }

    /// The key of an account.
    pub(super) fn get(&self, account: &Account) -> Result<Option<SecretString>, StoreError> {
        let Some(keys) = self.read()? else { return Ok(None) };
        let Some(item) = keys.get(account.origin()).and_then(|of| of.get(account.profile())) else {
            return Ok(None);
        };
        let key: Option<SecretString> = item.as_str().map(Into::into);
        match key.filter(|key| check_key(key).is_ok()) {
            Some(key) => Ok(Some(key)),
            None => Err(self.malformed(format!(
                "what it has for the profile `{}` at `{}` is no API key",
                account.profile(),
                account.origin()
            ))),
        }
    }

    /// Keeps a key.
    pub(super) fn set(&self, account: &Account, key: &SecretString) -> Result<(), StoreError> {
        let folder = Folder::create(self.folder()?)?;
        let _lock = self.lock(&folder)?;
        let mut keys = match folder.read(NAME, FILE_MAX)? {
            Some(text) => self.parse(&text)?,
            None => self.parse(ABOUT)?,
        };
        let of = keys.entry(account.origin()).or_insert_with(|| Item::Table(Table::new()));
        let Some(of) = of.as_table_like_mut() else {
            return Err(self.malformed(format!("`{}` is no table", account.origin())));
        };
        of.insert(account.profile(), value(key.expose_secret()));
        folder.replace(NAME, NEW, Zeroizing::new(keys.to_string()).as_bytes())
    }

    /// Removes a key, and says whether there was one. The file goes with the last one.
    pub(super) fn remove(&self, account: &Account) -> Result<bool, StoreError> {
        let Some(folder) = Folder::open(self.folder()?)? else { return Ok(false) };
        if !folder.has(NAME)? && !folder.has(NEW)? {
            return Ok(false);
        }
        folder.check()?;
        let _lock = self.lock(&folder)?;
        folder.remove(NEW)?;
        let Some(text) = folder.read(NAME, FILE_MAX)? else { return Ok(false) };
        let mut keys = self.parse(&text)?;
        let Some(of) = keys.get_mut(account.origin()).and_then(Item::as_table_like_mut) else {
            return Ok(false);
        };
        if of.remove(account.profile()).is_none() {
            return Ok(false);
        }
        if of.is_empty() {
            keys.remove(account.origin());
        }
        if keys.is_empty() {
            folder.remove(NAME)?;
        } else {
            folder.replace(NAME, NEW, Zeroizing::new(keys.to_string()).as_bytes())?;
        }
        Ok(true)
    }

    /// Whether it could be used now: as far as can be told without writing.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let Some(folder) = Folder::open(self.folder()?)? else { return Ok(()) };
        folder.check()?;
        let Some(text) = folder.read(NAME, FILE_MAX)? else { return Ok(()) };
        self.parse(&text).map(drop)
    }

    /// Whether there is one.
    pub(super) fn exists(&self) -> bool {
        self.path().symlink_metadata().is_ok()
    }

    /// Whose keys it has: origin and profile of each, as they are written there.
    pub(super) fn accounts(&self) -> Result<Vec<(String, String)>, StoreError> {
        let mut found = Vec::new();
        for (origin, of) in self.read()?.iter().flat_map(|keys| keys.iter()) {
            let Some(of) = of.as_table_like() else { continue };
            found.extend(of.iter().map(|(profile, _)| (origin.to_owned(), profile.to_owned())));
        }
        Ok(found)
    }

    /// What is in it, if it is there. Who may change its folder matters then, and not before.
    fn read(&self) -> Result<Option<DocumentMut>, StoreError> {
        let Some(folder) = Folder::open(self.folder()?)? else { return Ok(None) };
        if !folder.has(NAME)? {
            return Ok(None);
        }
        folder.check()?;
        let Some(text) = folder.read(NAME, FILE_MAX)? else { return Ok(None) };
        self.parse(&text).map(Some)
    }

    /// Where it is, or would be.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.clone().unwrap_or_default().join(NAME)
    }

    fn folder(&self) -> Result<&Path, StoreError> {
        self.folder.as_deref().ok_or(StoreError::NoFolder)
    }

    /// The lock on the file, until it is dropped.
    fn lock(&self, folder: &Folder) -> Result<File, StoreError> {
        let file = folder.lock_file(LOCK)?;
        let path = || self.folder.clone().unwrap_or_default().join(LOCK);
        match within(LOCK_MAX, move || file.lock().map(|()| file)) {
            Some(Ok(file)) => Ok(file),
            Some(Err(source)) => Err(StoreError::Io { doing: "lock", path: path(), source }),
            None => Err(StoreError::Busy(path())),
        }
    }

    fn parse(&self, text: &str) -> Result<DocumentMut, StoreError> {
        text.parse::<DocumentMut>().map_err(|error| {
            // What the parser says would show the line, and with it a key.
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            self.malformed(format!("line {} is not TOML", before.matches('\n').count() + 1))
        })
    }

    fn malformed(&self, what: String) -> StoreError {
        StoreError::Malformed { path: self.path(), what }
    }
}

#[cfg(all(test, unix))]
mod tests;
