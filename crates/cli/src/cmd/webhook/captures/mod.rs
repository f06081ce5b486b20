//! The recorded deliveries of this user, and those of `--demo`.

#[cfg(feature = "sandbox")]
mod demo;

use std::path::PathBuf;

use formsvc_workbench::delivery::{CaptureNumber, Delivery};
use formsvc_workbench::store::{CaptureQuery, CaptureStore};

#[cfg(feature = "sandbox")]
use super::is_demo;
use crate::account::key::aside;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

#[cfg(feature = "sandbox")]
pub(super) use demo::secrets as demo_secrets;

/// Returns the folder of the store.
pub(super) fn folder(cx: &Context) -> Result<PathBuf, CliError> {
    cx.settings.paths.captures().ok_or_else(|| {
        let what = "no folder for recorded deliveries: neither FORMSVC_STATE_DIR nor HOME is set";
        CliError::new(Exit::LocalIo, what).hint("set HOME or FORMSVC_STATE_DIR")
    })
}

/// Opens the store. Returns `None` if it does not exist. With `--demo`, creates a store in memory with some
/// captures.
pub(super) async fn open(cx: &Context) -> Result<Option<CaptureStore>, CliError> {
    #[cfg(feature = "sandbox")]
    if is_demo(cx) {
        return demo::store(cx).await.map(Some);
    }
    let folder = folder(cx)?;
    Ok(aside(move || CaptureStore::open_existing(&folder)).await??)
}

/// Opens the store, which must exist.
pub(super) async fn require(cx: &Context) -> Result<CaptureStore, CliError> {
    open(cx).await?.ok_or_else(|| none(cx))
}

/// Returns the number of the newest capture.
pub(super) async fn newest(store: &CaptureStore) -> Result<Option<CaptureNumber>, CliError> {
    let query = CaptureQuery { limit: Some(1), ..CaptureQuery::default() };
    Ok(store.list(query).await?.first().and_then(|newest| newest.number))
}

/// Reads one capture.
pub(super) async fn get(store: &CaptureStore, number: CaptureNumber) -> Result<Delivery, CliError> {
    store.get(number).await?.ok_or_else(|| missing(number))
}

/// The error for a number that the store does not have.
pub(super) fn missing(number: CaptureNumber) -> CliError {
    CliError::new(Exit::NotFound, format!("there is no capture {number}"))
        .hint("`formsvc webhook events list` lists the captures; old ones are removed after a week")
}

/// The error for an empty or missing store.
pub(super) fn none(cx: &Context) -> CliError {
    CliError::new(Exit::NotFound, none_message(cx))
}

/// The message for an empty or missing store, with its folder.
pub(super) fn none_message(cx: &Context) -> String {
    let folder = match &cx.settings.paths.state {
        Some(state) if !state.is_dir() => {
            format!(": the folder `{}` does not exist", state.display())
        }
        Some(state) => format!(" in `{}`", state.display()),
        None => String::new(),
    };
    format!("no captures{folder}; `formsvc webhook listen` records what it receives")
}
