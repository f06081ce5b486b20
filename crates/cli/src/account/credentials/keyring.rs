//! The keyring of the system: Secret Service over D-Bus on Linux and BSD, the Keychain on macOS, the
//! Credential Manager on Windows.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use keyring_core::{CredentialStore, Entry, Error};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};

use super::Account;
use super::error::{Absence, StoreError};
use crate::base::env::Lookup;

/// The service name of all entries.
const SERVICE: &str = "formsvc";

/// A keyring, with a time limit for each call.
pub(super) struct Keyring {
    calls: Result<Arc<dyn Calls>, Absence>,
    limit: Duration,
}

/// The functions of a keyring, which may block forever. Tests have a keyring in memory.
pub(super) trait Calls: Send + Sync {
    fn get(&self, account: &Account) -> Result<Option<SecretString>, StoreError>;
    fn set(&self, account: &Account, key: &SecretString) -> Result<(), StoreError>;
    /// Removes a key. Returns false if there is none.
    fn remove(&self, account: &Account) -> Result<bool, StoreError>;
    /// Checks whether the keyring could be used now.
    fn check(&self) -> Result<(), StoreError>;
}

impl Keyring {
    /// Returns the keyring of this system. The first call opens it.
    pub(super) fn of_the_system(env: Lookup<'_>, limit: Duration) -> Self {
        let calls = absence(env).map_or_else(|| Ok(Arc::new(System) as Arc<dyn Calls>), Err);
        Self { calls, limit }
    }

    #[cfg(test)]
    pub(super) fn of(calls: Arc<dyn Calls>, limit: Duration) -> Self {
        Self { calls: Ok(calls), limit }
    }

    /// Calls the keyring on a thread. A call that does not return in time ends with the process.
    pub(super) fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Calls) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let keyring = self.calls.clone().map_err(StoreError::Absent)?;
        let (done, ended) = mpsc::sync_channel(1);
        // The receiver is dropped after the time limit.
        let thread = thread::Builder::new().name("keyring".into());
        thread
            .spawn(move || drop(done.send(call(&*keyring))))
            .map_err(|error| StoreError::Keyring(Box::new(error)))?;
        ended.recv_timeout(self.limit).unwrap_or(Err(StoreError::Silent))
    }
}

/// Returns the reason why there is no keyring, if the environment names no session bus. The library is not
/// called in this case, because it would search for a bus in other places.
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
        // On other systems, entries have no label.
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
                for entry in entries {
                    entry.delete_credential().map_err(failed)?;
                }
                Ok(true)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        open()?;
        unlocked()
    }
}

#[cfg(all(unix, not(target_os = "macos")))]
use zbus_secret_service_keyring_store::Store as SystemStore;

#[cfg(target_os = "macos")]
use apple_native_keyring_store::keychain::Store as SystemStore;

#[cfg(windows)]
use windows_native_keyring_store::Store as SystemStore;

fn open() -> Result<Arc<CredentialStore>, StoreError> {
    SystemStore::new().map(|store| store as Arc<CredentialStore>).map_err(failed)
}

/// Checks that the keyring is unlocked. A locked keyring shows no entries.
#[cfg(all(unix, not(target_os = "macos")))]
fn unlocked() -> Result<(), StoreError> {
    super::secret_service::unlocked()
}

#[cfg(not(all(unix, not(target_os = "macos"))))]
#[expect(clippy::unnecessary_wraps, reason = "the keyrings of other systems can be locked")]
fn unlocked() -> Result<(), StoreError> {
    Ok(())
}

/// Converts an error of the library, without the data that the library read.
fn failed(error: Error) -> StoreError {
    #[cfg(all(unix, not(target_os = "macos")))]
    if let Error::PlatformFailure(why) = &error
        && let Some(absence) = super::secret_service::absence(&**why)
    {
        return StoreError::Absent(absence);
    }
    match error {
        Error::NoStorageAccess(_) => StoreError::Locked,
        Error::Ambiguous(entries) => StoreError::Ambiguous(entries.len()),
        Error::PlatformFailure(why) => StoreError::Keyring(why),
        Error::BadEncoding(bytes) | Error::BadDataFormat(bytes, _) => {
            drop(Zeroizing::new(bytes));
            StoreError::Keyring("the entry of this account is not text".into())
        }
        other => StoreError::Keyring(Box::new(other)),
    }
}
