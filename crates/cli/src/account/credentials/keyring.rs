//! The keyring of the system: Secret Service over D-Bus on Linux and its kin, the Keychain on macOS, the
//! Credential Manager on Windows.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use keyring_core::{CredentialStore, Entry, Error};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

use super::Account;
use super::bounded::within;
use super::error::{Absence, StoreError};
use crate::base::env::Lookup;

/// Under which name our entries are kept.
pub(super) const SERVICE: &str = "formsvc";

/// A keyring, with a limit on how long it may take to answer.
pub(super) struct Keyring {
    calls: Result<Arc<dyn Calls>, Absence>,
    limit: Duration,
}

/// What a keyring can do. Each call may take for ever.
pub(super) trait Calls: Send + Sync {
    /// The key of an account.
    fn get(&self, account: &Account) -> Result<Option<SecretString>, StoreError>;
    /// Keeps a key.
    fn set(&self, account: &Account, key: &SecretString) -> Result<(), StoreError>;
    /// Removes a key, and says whether there was one.
    fn remove(&self, account: &Account) -> Result<bool, StoreError>;
    /// Whose keys it has, as far as it can be searched.
    fn accounts(&self) -> Result<Vec<(String, String)>, StoreError>;
    /// Whether it could be used now.
    fn check(&self) -> Result<(), StoreError>;
}

impl Keyring {
    /// The one that this system has. Nothing is opened, and nothing is started, before it is asked.
    pub(super) fn of_the_system(env: Lookup<'_>, limit: Duration) -> Self {
        let calls = absence(env).map_or_else(|| Ok(Arc::new(System) as Arc<dyn Calls>), Err);
        Self { calls, limit }
    }

    /// Another one.
    #[cfg(test)]
    pub(super) fn of(calls: Arc<dyn Calls>, limit: Duration) -> Self {
        Self { calls: Ok(calls), limit }
    }

    /// The key of an account.
    pub(super) fn get(&self, account: &Account) -> Result<Option<SecretString>, StoreError> {
        let account = account.clone();
        self.ask(move |keyring| keyring.get(&account))
    }

    /// Keeps a key.
    pub(super) fn set(&self, account: &Account, key: &SecretString) -> Result<(), StoreError> {
        let (account, key) = (account.clone(), key.clone());
        self.ask(move |keyring| keyring.set(&account, &key))
    }

    /// Removes a key, and says whether there was one.
    pub(super) fn remove(&self, account: &Account) -> Result<bool, StoreError> {
        let account = account.clone();
        self.ask(move |keyring| keyring.remove(&account))
    }

    /// Whose keys it has, as far as it can be searched: origin and profile of each.
    pub(super) fn accounts(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.ask(|keyring| keyring.accounts())
    }

    /// Whether it could be used now.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.ask(|keyring| keyring.check())
    }

    fn ask<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Calls) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let keyring = self.calls.clone().map_err(StoreError::Absent)?;
        within(self.limit, move || call(&*keyring)).unwrap_or(Err(StoreError::Silent))
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let absent = self.calls.as_ref().err();
        f.debug_struct("Keyring").field("absent", &absent).finish_non_exhaustive()
    }
}

/// Whether there is none, as far as the environment tells. Where there is no bus, the library would look
/// for one in places that were not named.
#[cfg(all(unix, not(target_os = "macos")))]
fn absence(env: Lookup<'_>) -> Option<Absence> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty());
    let bus = set("DBUS_SESSION_BUS_ADDRESS").is_some()
        || set("XDG_RUNTIME_DIR")
            .is_some_and(|dir| std::path::Path::new(&dir).join("bus").exists());
    (!bus).then_some(Absence::NoBus)
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
fn absence(_: Lookup<'_>) -> Option<Absence> {
    None
}

/// The keyring of the system, opened anew for each call.
struct System;

impl System {
    fn entry(account: &Account) -> Result<Entry, StoreError> {
        let label = account.label();
        let modifiers = HashMap::from([("label", &*label)]);
        // Elsewhere, entries have no label of their own.
        let modifiers = cfg!(all(unix, not(target_os = "macos"))).then_some(&modifiers);
        open()?.build(SERVICE, &account.entry(), modifiers).map_err(failed)
    }
}

impl Calls for System {
    fn get(&self, account: &Account) -> Result<Option<SecretString>, StoreError> {
        match Self::entry(account)?.get_password() {
            Ok(key) => Ok(Some(key.into())),
            Err(Error::NoEntry) => unlocked().map(|()| None),
            Err(error) => Err(failed(error)),
        }
    }

    fn set(&self, account: &Account, key: &SecretString) -> Result<(), StoreError> {
        Self::entry(account)?.set_password(key.expose_secret()).map_err(failed)
    }

    fn remove(&self, account: &Account) -> Result<bool, StoreError> {
        match Self::entry(account)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => unlocked().map(|()| false),
            Err(Error::Ambiguous(entries)) => {
                for one in entries {
                    one.delete_credential().map_err(failed)?;
                }
                Ok(true)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Only the Secret Service can be searched by what entries are of.
    fn accounts(&self) -> Result<Vec<(String, String)>, StoreError> {
        if !cfg!(all(unix, not(target_os = "macos"))) {
            return Ok(Vec::new());
        }
        let entries = open()?.search(&HashMap::from([("service", SERVICE)])).map_err(failed)?;
        let names = entries.iter().filter_map(Entry::get_specifiers);
        Ok(names.filter_map(|(_, entry)| Account::of_entry(&entry)).collect())
    }

    fn check(&self) -> Result<(), StoreError> {
        open()?;
        unlocked()
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
fn open() -> Result<Arc<CredentialStore>, StoreError> {
    match zbus_secret_service_keyring_store::Store::new() {
        Ok(store) => Ok(store),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(target_os = "macos")]
fn open() -> Result<Arc<CredentialStore>, StoreError> {
    match apple_native_keyring_store::keychain::Store::new() {
        Ok(store) => Ok(store),
        Err(error) => Err(failed(error)),
    }
}

#[cfg(windows)]
fn open() -> Result<Arc<CredentialStore>, StoreError> {
    match windows_native_keyring_store::Store::new() {
        Ok(store) => Ok(store),
        Err(error) => Err(failed(error)),
    }
}

/// Where nothing was found: whether that is because nothing can be seen yet.
#[cfg(all(unix, not(target_os = "macos")))]
fn unlocked() -> Result<(), StoreError> {
    super::secret_service::unlocked()
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
#[expect(clippy::unnecessary_wraps, reason = "other systems can be locked")]
fn unlocked() -> Result<(), StoreError> {
    Ok(())
}

/// Converts an error of the library, without the data that the library read.
fn failed(error: Error) -> StoreError {
    match error {
        Error::NoStorageAccess(_) => StoreError::Locked,
        Error::Ambiguous(entries) => StoreError::Ambiguous(entries.len()),
        Error::PlatformFailure(why) => platform(why),
        Error::BadEncoding(bytes) | Error::BadDataFormat(bytes, _) => {
            drop(Zeroizing::new(bytes));
            StoreError::Keyring("what it has for this account is no text".into())
        }
        other => StoreError::Keyring(Box::new(other)),
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
fn platform(why: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    match super::secret_service::absence(&*why) {
        Some(absence) => StoreError::Absent(absence),
        None => StoreError::Keyring(why),
    }
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
fn platform(why: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Keyring(why)
}
