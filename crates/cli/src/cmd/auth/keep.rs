//! Keeping a key: in the keyring, or in a file if somebody agrees to that.

use secrecy::SecretString;

use crate::account::credentials::{Account, Put, StoreError, Stores};
use crate::context::Context;
use crate::error::CliError;
use crate::output::prompt;
use crate::settings::Store;

/// Puts a key into the store that was named, or else in the keyring. Where there is none, somebody at
/// the terminal may agree to a file; without an answer nothing is kept.
pub(super) async fn put(
    cx: &Context,
    stores: &Stores,
    account: &Account,
    key: &SecretString,
    named: Option<Store>,
) -> Result<Put, CliError> {
    let store = named.unwrap_or_else(|| stores.preferred());
    let mut put = stores.put(account, key, store);
    if let Err(why) = &put
        && named.is_none()
        && store == Store::Keyring
        && why.is_unreachable()
        && cx.settings.may_ask
    {
        cx.progress.remark(&format!("{why}."));
        let place = stores.place(Store::File);
        if prompt::confirm(&format!("Keep the key in {place}, which only you can read?")).await? {
            put = stores.put(account, key, Store::File);
        }
    }
    Ok(put?)
}

/// Has the stores as they were before a key was put.
pub(super) fn take_back(cx: &Context, stores: &Stores, put: &Put) {
    if let Err(why) = stores.take_back(put) {
        let place = stores.place(put.store);
        cx.progress.warn(&format!("{place} may have the new key already: {why}"));
    }
}

/// Says where a key is kept, and why a copy of the one before may still be in the other store.
pub(super) fn tell(cx: &Context, stores: &Stores, store: Store, older_copy: Option<&StoreError>) {
    let place = stores.place(store);
    let readers = if store == Store::File { ", which only you can read" } else { "" };
    cx.progress.remark(&format!("the key is kept in {place}{readers}"));
    if let Some(why) = older_copy {
        cx.progress.warn(&format!("a copy of the key before may be left: {why}"));
    }
}
