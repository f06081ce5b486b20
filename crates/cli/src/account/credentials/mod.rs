//! Where API keys are kept between runs: the keyring of the system, or a file that only its owner can
//! read.
//!
//! A key belongs to an [`Account`]: the name of a profile, and the origin it was saved for. There is no
//! way to ask for a key without naming the origin it will be sent to, so that a key saved for one service
//! never reaches another.

mod account;
mod bounded;
mod error;
mod key_file;
mod keyring;
#[cfg(all(unix, not(target_os = "macos")))]
mod secret_service;
mod signing;

use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

pub(crate) use account::Account;
use error::Absence;
pub(crate) use error::StoreError;
use key_file::KeyFile;
use keyring::Keyring;
pub(crate) use signing::{StoredSecrets, check_secret_name};

use crate::base::env;
use crate::settings::Settings;
use crate::settings::{Store, StoreChoice};

/// Longest call to a keyring. One that takes longer is left behind on its thread.
const KEYRING_MAX: Duration = Duration::from_secs(3);
/// Longest key that is kept; one has a few dozen characters, and Windows takes 2560 bytes.
const KEY_MAX: usize = 1024;

/// A key that was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// Where it is kept.
    pub(crate) store: Store,
    /// The key.
    pub(crate) key: SecretString,
    /// Why the keyring, which comes first, could not be asked.
    pub(crate) passed_over: Option<StoreError>,
}

/// A key that was put into a store. The other store has what it had.
#[derive(Debug)]
#[must_use = "the other store may have a copy of the key before"]
pub(crate) struct Put {
    /// Where it was put.
    pub(crate) store: Store,
    account: Account,
    key: SecretString,
    /// What that store had before.
    before: Option<SecretString>,
}

/// The stores of this user.
#[derive(Debug)]
pub(crate) struct Stores {
    choice: StoreChoice,
    file: KeyFile,
    keyring: Keyring,
}

impl Stores {
    /// The stores that the settings leave. Nothing is opened yet.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            choice: settings.stores,
            file: KeyFile::new(settings.paths.config.as_deref()),
            keyring: Keyring::of_the_system(&env::of_process, KEYRING_MAX),
        }
    }

    /// Returns the store of a new key if the user names none.
    pub(crate) fn preferred(&self) -> Store {
        if self.choice == StoreChoice::File { Store::File } else { Store::Keyring }
    }

    /// What people call a store.
    pub(crate) fn place(&self, store: Store) -> String {
        match store {
            Store::Keyring => "the keyring".to_owned(),
            Store::File => format!("`{}`", self.file.path().display()),
        }
    }

    /// The key of an account. A keyring that fails is no failure if the file has the key.
    pub(crate) fn find(&self, account: &Account) -> Result<Option<Found>, StoreError> {
        let found = |store, key, passed_over| Some(Found { store, key, passed_over });
        let in_file = || if self.uses(Store::File) { self.file.get(account) } else { Ok(None) };
        if !self.uses(Store::Keyring) {
            return Ok(in_file()?.and_then(|key| found(Store::File, key, None)));
        }
        // The configuration names the file: the keyring does not have the key.
        if account.kept() == Some(Store::File) && self.uses(Store::File) {
            return Ok(in_file()?.and_then(|key| found(Store::File, key, None)));
        }
        match self.keyring.get(account) {
            Ok(Some(key)) => Ok(found(Store::Keyring, key, None)),
            Ok(None) => Ok(in_file()?.and_then(|key| found(Store::File, key, None))),
            Err(why) => match in_file()? {
                Some(key) => Ok(found(Store::File, key, Some(why))),
                None => Err(why),
            },
        }
    }

    /// The store that is not asked, in words: nobody would look there otherwise.
    pub(crate) fn left_out(&self, account: &Account) -> Option<String> {
        let store = [Store::Keyring, Store::File].into_iter().find(|store| !self.uses(*store))?;
        let (variable, used, place) =
            (env::CREDENTIAL_STORE.name, store.other().name(), self.place(store));
        let kept = if account.kept() == Some(store) { ", which has the key," } else { "" };
        Some(format!("{place}{kept} is not asked, because {variable} is `{used}`"))
    }

    /// The key of an account in the file, without a look at the keyring.
    pub(crate) fn find_in_file(
        &self,
        account: &Account,
    ) -> Result<Option<SecretString>, StoreError> {
        if self.uses(Store::File) { self.file.get(account) } else { Ok(None) }
    }

    /// Puts a key into one store and reads it back. When it fails, what was kept before is kept still;
    /// and until [`Self::settle`] the other store still has what it had, so that a run that ends here
    /// has lost nothing.
    pub(crate) fn put(
        &self,
        account: &Account,
        key: &SecretString,
        store: Store,
    ) -> Result<Put, StoreError> {
        check_key(key)?;
        let before = self.get(account, store)?;
        let put = Put { store, account: account.clone(), key: key.clone(), before };
        let is_kept = self.set(account, key, store).and_then(|()| self.read_back(&put));
        if let Err(error) = is_kept {
            // The failure that is told is the first one.
            let _ = self.take_back(&put);
            return Err(error);
        }
        Ok(put)
    }

    fn read_back(&self, put: &Put) -> Result<(), StoreError> {
        let read = self.get(&put.account, put.store)?;
        if read.as_ref().map(ExposeSecret::expose_secret) == Some(put.key.expose_secret()) {
            Ok(())
        } else {
            Err(StoreError::NotKept(put.store))
        }
    }

    /// Has the store that a key was put into keep what it kept before.
    pub(crate) fn take_back(&self, put: &Put) -> Result<(), StoreError> {
        match &put.before {
            Some(before) => self.set(&put.account, before, put.store),
            None => self.forget(&put.account, put.store).map(drop),
        }
    }

    /// Makes a key that was put the only copy. Gives why an older one may be left in a store that cannot
    /// be asked; fails if one is left in a store that can.
    pub(crate) fn settle(&self, put: &Put) -> Result<Option<StoreError>, StoreError> {
        let other = put.store.other();
        if !self.may_have(&put.account, other) {
            return Ok(None);
        }
        match self.forget(&put.account, other) {
            Ok(_) => Ok(None),
            // What cannot be reached now could not have been written to either, unless it was once.
            Err(why) if why.is_unreachable() => {
                Ok((put.account.kept() == Some(other)).then_some(why))
            }
            Err(why) => Err(StoreError::Survives { store: other, why: Box::new(why) }),
        }
    }

    /// Removes every copy of a key, and says where there was one.
    pub(crate) fn remove(&self, account: &Account) -> Result<Vec<Store>, StoreError> {
        let (mut removed, mut survives) = (Vec::new(), None);
        for store in [Store::File, Store::Keyring] {
            if !self.may_have(account, store) {
                continue;
            }
            match self.forget(account, store) {
                Ok(true) => removed.push(store),
                Ok(false) => {}
                Err(why) => {
                    // The only copy was in the file: a machine without a keyring has none in it.
                    let elsewhere = match account.kept() {
                        Some(kept) => kept != store,
                        None => !removed.is_empty() || matches!(why, StoreError::Absent(_)),
                    };
                    if !(elsewhere && why.is_unreachable()) {
                        survives.get_or_insert(StoreError::Survives { store, why: Box::new(why) });
                    }
                }
            }
        }
        survives.map_or(Ok(removed), Err)
    }

    /// Every account that has a key here, with the store that has it, as far as stores can be searched;
    /// and why the file, which always can be, was not.
    pub(crate) fn accounts(&self) -> (Vec<Account>, Option<StoreError>) {
        let (in_file, why) = match self.file.accounts() {
            Ok(found) => (found, None),
            Err(StoreError::NoFolder) => (Vec::new(), None),
            Err(why) => {
                let why = Box::new(why);
                (Vec::new(), Some(StoreError::Survives { store: Store::File, why }))
            }
        };
        // One that cannot be asked now says so when the key that should be in it is removed.
        let in_keyring =
            if self.uses(Store::Keyring) { self.keyring.accounts() } else { Ok(vec![]) };
        let of = |store| move |(origin, profile)| Account::listed(origin, profile, store);
        let mut found: Vec<Account> = in_file.into_iter().filter_map(of(Store::File)).collect();
        found.extend(in_keyring.unwrap_or_default().into_iter().filter_map(of(Store::Keyring)));
        (found, why)
    }

    /// Whether there is a file of keys.
    pub(crate) fn has_file(&self) -> bool {
        self.file.exists()
    }

    /// Whether a store could be used now.
    pub(crate) fn check(&self, store: Store) -> Result<(), StoreError> {
        match store {
            Store::Keyring if self.choice == StoreChoice::File => {
                Err(StoreError::Absent(Absence::SwitchedOff))
            }
            Store::Keyring => self.keyring.check(),
            Store::File => self.file.check(),
        }
    }

    /// Whether a copy may be in a store: one that is switched off is asked only if it is known to have one.
    fn may_have(&self, account: &Account, store: Store) -> bool {
        self.uses(store) || account.kept() == Some(store)
    }

    fn uses(&self, store: Store) -> bool {
        match self.choice {
            StoreChoice::Auto => true,
            StoreChoice::Keyring => store == Store::Keyring,
            StoreChoice::File => store == Store::File,
        }
    }

    fn get(&self, account: &Account, store: Store) -> Result<Option<SecretString>, StoreError> {
        match store {
            Store::Keyring => self.keyring.get(account),
            Store::File => self.file.get(account),
        }
    }

    fn set(&self, account: &Account, key: &SecretString, store: Store) -> Result<(), StoreError> {
        match store {
            Store::Keyring => self.keyring.set(account, key),
            Store::File => self.file.set(account, key),
        }
    }

    /// Whether there was something to forget.
    fn forget(&self, account: &Account, store: Store) -> Result<bool, StoreError> {
        match store {
            Store::Keyring => self.keyring.remove(account),
            Store::File => self.file.remove(account),
        }
    }
}

impl Store {
    fn other(self) -> Self {
        match self {
            Self::Keyring => Self::File,
            Self::File => Self::Keyring,
        }
    }

    /// Its name, as it is written in flags and configuration.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        }
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What no store would give back as it was, or would let a key be something else than a key.
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
