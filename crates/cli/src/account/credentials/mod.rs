//! The stores of API keys: the keyring of the system, and a file that only its owner can read.
//!
//! A key belongs to an [`Account`]: the name of a profile, and the origin for which it was stored. A key is
//! read only for the origin to which it is sent, so that it never reaches another service.

mod account;
mod error;
mod key_file;
mod keyring;
#[cfg(all(unix, not(target_os = "macos")))]
mod secret_service;
mod signing;

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

pub(crate) use account::Account;
pub(crate) use error::StoreError;
use key_file::KeyFile;
use keyring::Keyring;
pub(crate) use signing::{StoredSecrets, check_secret_name};

use crate::base::env;
use crate::settings::{KeyStore, Settings};

/// Time limit for a call to a keyring.
const KEYRING_MAX: Duration = Duration::from_secs(3);
/// Longest key that is stored, in bytes. Windows stores at most 2560 bytes.
const KEY_MAX: usize = 1024;

/// The stores of this user.
pub(crate) struct Stores {
    file: KeyFile,
    keyring: Keyring,
}

impl Stores {
    /// Returns the stores. Opens none of them.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            file: KeyFile::new(settings.paths.config.as_deref()),
            keyring: Keyring::of_the_system(&env::of_process, KEYRING_MAX),
        }
    }

    /// Describes a store in a message.
    pub(crate) fn place(&self, store: KeyStore) -> String {
        match store {
            KeyStore::Keyring => "the keyring".to_owned(),
            KeyStore::File => format!("`{}`", self.file.path().display()),
        }
    }

    /// Finds the key of an account in the store of the account. Without one, searches the file and then the
    /// keyring.
    pub(crate) fn find(
        &self,
        account: &Account,
    ) -> Result<Option<(KeyStore, SecretString)>, StoreError> {
        for store in [KeyStore::File, KeyStore::Keyring] {
            if account.store().is_none_or(|own| own == store)
                && let Some(key) = self.get(account, store)?
            {
                return Ok(Some((store, key)));
            }
        }
        Ok(None)
    }

    /// Writes a key to a store and reads it back. The store of the account keeps its copy until
    /// [`Self::remove_other_copy`], so that a run that ends early loses no key.
    pub(crate) fn write(
        &self,
        account: &Account,
        key: &SecretString,
        store: KeyStore,
    ) -> Result<(), StoreError> {
        check_key(key)?;
        match store {
            KeyStore::Keyring => {
                let (account, key) = (account.clone(), key.clone());
                self.keyring.call(move |keyring| keyring.set(&account, &key))
            }
            KeyStore::File => self.file.set(account, key),
        }?;
        match self.get(account, store)? {
            Some(read) if read.expose_secret() == key.expose_secret() => Ok(()),
            _ => Err(StoreError::NotKept(store)),
        }
    }

    /// Removes the copy of a key that was moved to `store` from the store of the account.
    pub(crate) fn remove_other_copy(
        &self,
        account: &Account,
        store: KeyStore,
    ) -> Result<(), StoreError> {
        match account.store().filter(|old| *old != store) {
            Some(old) => self
                .remove_from(account, old)
                .map(drop)
                .map_err(|why| StoreError::Survives { store: old, why: Box::new(why) }),
            None => Ok(()),
        }
    }

    /// Removes every copy of a key. Returns the stores that had one.
    pub(crate) fn remove(&self, account: &Account) -> Result<Vec<KeyStore>, StoreError> {
        let (mut removed, mut survives) = (Vec::new(), None);
        for store in [KeyStore::File, KeyStore::Keyring] {
            match self.remove_from(account, store) {
                Ok(true) => removed.push(store),
                Ok(false) => {}
                Err(why) => {
                    // True if no copy is expected here: another store is named or had one, or the
                    // machine has no keyring.
                    let is_elsewhere = match account.store() {
                        Some(own) => own != store,
                        None => !removed.is_empty() || matches!(why, StoreError::Absent(_)),
                    };
                    if !(is_elsewhere && why.is_unreachable()) {
                        survives.get_or_insert(StoreError::Survives { store, why: Box::new(why) });
                    }
                }
            }
        }
        survives.map_or(Ok(removed), Err)
    }

    pub(crate) fn has_file(&self) -> bool {
        self.file.exists()
    }

    /// Checks whether a store could be used now.
    pub(crate) fn check(&self, store: KeyStore) -> Result<(), StoreError> {
        match store {
            KeyStore::Keyring => self.keyring.call(|keyring| keyring.check()),
            KeyStore::File => self.file.check(),
        }
    }

    fn get(&self, account: &Account, store: KeyStore) -> Result<Option<SecretString>, StoreError> {
        match store {
            KeyStore::Keyring => {
                let account = account.clone();
                self.keyring.call(move |keyring| keyring.get(&account))
            }
            KeyStore::File => self.file.get(account),
        }
    }

    fn remove_from(&self, account: &Account, store: KeyStore) -> Result<bool, StoreError> {
        match store {
            KeyStore::Keyring => {
                let account = account.clone();
                self.keyring.call(move |keyring| keyring.remove(&account))
            }
            KeyStore::File => self.file.remove(account),
        }
    }
}

impl KeyStore {
    /// Returns the name in flags and configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        }
    }
}

/// Checks that a store can return the key unchanged.
fn check_key(key: &SecretString) -> Result<(), StoreError> {
    let key = key.expose_secret();
    let rule = if key.is_empty() {
        "is empty"
    } else if key.len() > KEY_MAX {
        "is longer than 1024 bytes"
    } else if key.contains(|c: char| c.is_whitespace() || c.is_control()) {
        "contains white space or control characters"
    } else {
        return Ok(());
    };
    Err(StoreError::NotAKey(rule))
}

#[cfg(test)]
mod tests;
