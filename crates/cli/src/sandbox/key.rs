//! The API key of a sandbox.

use formsvc_client::User;
use formsvc_server::admin::{Admin, AdminError};
use secrecy::SecretString;

/// A key that opens the sandbox's forms. It opens nothing else, so it may be shown.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    /// Just made: the only time it can be shown.
    New(SecretString),
    /// Of an earlier start, when it was shown; its first characters.
    Kept(String),
}

/// The key that is there, which programs may have by now; a new one if there is none that works, or
/// one more is asked for.
pub(super) async fn of(admin: &Admin, owner: &User, another: bool) -> Result<Key, AdminError> {
    let keys = admin.list_keys(&owner.id).await?;
    match keys.into_iter().find(|key| key.revoked_at.is_none()) {
        Some(key) if !another => Ok(Key::Kept(key.prefix)),
        _ => Ok(Key::New(admin.create_key(&owner.id, "sandbox").await?.secret)),
    }
}
