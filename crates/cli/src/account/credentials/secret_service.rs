//! What the store of the library does not tell of the Secret Service: whether a keyring can be seen.

use std::error::Error as StdError;

use secret_service::blocking::SecretService;
use secret_service::{EncryptionType, Error};

use super::error::{Absence, StoreError};

/// What a bus calls it when a name has no owner.
const NOBODY: &str = "org.freedesktop.DBus.Error.ServiceUnknown";

/// Whether the keyring that new entries go to is there and unlocked. A service that was just started shows
/// no keyring, or an empty one, until its owner has unlocked it: nothing found means nothing there only
/// when this is well.
pub(super) fn unlocked() -> Result<(), StoreError> {
    // Nothing secret passes.
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

/// Whether an error says that there is no keyring.
pub(super) fn absence(error: &(dyn StdError + 'static)) -> Option<Absence> {
    // No service on the bus has this name, and none can be started.
    let nobody = |error: &zbus::Error| match error {
        zbus::Error::MethodError(name, ..) => name.as_str() == NOBODY,
        zbus::Error::FDO(error) => matches!(**error, zbus::fdo::Error::ServiceUnknown(_)),
        _ => false,
    };
    match error.downcast_ref::<Error>()? {
        Error::Unavailable => Some(Absence::NoBus),
        Error::ZbusFdo(zbus::fdo::Error::ServiceUnknown(_)) => Some(Absence::NoService),
        Error::Zbus(error) if nobody(error) => Some(Absence::NoService),
        _ => None,
    }
}

fn failed(error: Error) -> StoreError {
    match absence(&error) {
        Some(absence) => StoreError::Absent(absence),
        None => StoreError::Keyring(Box::new(error)),
    }
}
