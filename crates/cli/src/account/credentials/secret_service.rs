//! Checks of the Secret Service that the keyring library does not make.

use std::error::Error as StdError;

use secret_service::blocking::SecretService;
use secret_service::{EncryptionType, Error};

use super::error::{Absence, StoreError};

/// The D-Bus error for a name without an owner.
const NO_OWNER: &str = "org.freedesktop.DBus.Error.ServiceUnknown";

/// Checks that the default keyring is unlocked, and unlocks a keyring with an empty password. A service that
/// was just started shows no entries until the user unlocks it, so that "not found" is reliable only after
/// this check.
pub(super) fn unlocked() -> Result<(), StoreError> {
    // Encryption is not necessary, because no secret is transferred.
    let service = SecretService::connect(EncryptionType::Plain).map_err(failed)?;
    let collection = match service.get_default_collection() {
        Err(Error::NoResult) => return Err(StoreError::Locked),
        collection => collection.map_err(failed)?,
    };
    if !collection.is_locked().map_err(failed)? {
        return Ok(());
    }
    // Unlocks a keyring with an empty password. The caller limits the time.
    match collection.unlock() {
        Ok(()) if !collection.is_locked().map_err(failed)? => Ok(()),
        _ => Err(StoreError::Locked),
    }
}

/// Returns the reason if an error means that there is no keyring.
pub(super) fn absence(error: &(dyn StdError + 'static)) -> Option<Absence> {
    let has_no_owner = |error: &zbus::Error| match error {
        zbus::Error::MethodError(name, ..) => name.as_str() == NO_OWNER,
        zbus::Error::FDO(error) => matches!(**error, zbus::fdo::Error::ServiceUnknown(_)),
        _ => false,
    };
    match error.downcast_ref::<Error>()? {
        Error::Unavailable => Some(Absence::NoBus),
        Error::ZbusFdo(zbus::fdo::Error::ServiceUnknown(_)) => Some(Absence::NoService),
        Error::Zbus(error) if has_no_owner(error) => Some(Absence::NoService),
        _ => None,
    }
}

fn failed(error: Error) -> StoreError {
    match absence(&error) {
        Some(absence) => StoreError::Absent(absence),
        None => StoreError::Keyring(Box::new(error)),
    }
}
