//! Keeping a key: in the keyring, or in a file if somebody agrees to that.

use formsvc_client::SecretString;

use crate::ask;
use crate::context::Context;
use crate::credentials::{Account, Saved, Store, StoreError, Stores};
use crate::error::CliError;

/// A key that is kept.
pub(super) struct Kept {
    pub(super) store: Store,
    /// Why a copy of the key before may still be in the other store.
    older_copy: Option<StoreError>,
}

/// Keeps a key in the store that was named, or else in the keyring. Where there is none, somebody at
/// the terminal may agree to a file; without an answer nothing is kept.
pub(super) async fn keep(
    cx: &Context,
    stores: &Stores,
    account: &Account,
    key: &SecretString,
    named: Option<Store>,
) -> Result<Kept, CliError> {
    let mut store = named.unwrap_or_else(|| stores.preferred());
    let mut saved = stores.save(account, key, store);
    if let Err(why) = &saved
        && named.is_none()
        && store == Store::Keyring
        && why.is_unreachable()
        && cx.settings.may_ask
    {
        cx.progress.remark(&format!("{why}."));
        let place = stores.place(Store::File);
        if ask::confirm(&format!("Keep the key in {place}, which only you can read?")).await? {
            store = Store::File;
            saved = stores.save(account, key, store);
        }
    }
    let Saved { older_copy } = saved?;
    Ok(Kept { store, older_copy })
}

/// Says where a key is kept.
pub(super) fn tell(cx: &Context, stores: &Stores, kept: &Kept) {
    let place = stores.place(kept.store);
    let readers = if kept.store == Store::File { ", which only you can read" } else { "" };
    cx.progress.remark(&format!("the key is kept in {place}{readers}"));
    if let Some(why) = &kept.older_copy {
        cx.progress.remark(&format!("warning: a copy of the key before may be left: {why}"));
    }
}
