//! What the commands that work with kept captures share: where those are, which are meant, and how they
//! are shown.

#[cfg(feature = "sandbox")]
mod demo;
pub(crate) mod difference;
pub(crate) mod filter;
mod item;
mod which;

use std::sync::Arc;
use std::time::Duration;

use super::capture::{Capture, CaptureNumber};
use super::store::{Caps, Captures, Store, folder};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::key::aside;
use crate::settings::Service;

#[cfg(feature = "sandbox")]
pub(crate) use demo::secrets as demo_secrets;
pub(crate) use filter::FilterArgs;
pub(crate) use item::{FIELDS, Item, WHOLE_FIELDS, body_text, whole as whole_json};
pub(crate) use which::{WhichArgs, number};

/// What is said where there is nothing: also where it would be, which may not be where somebody thinks.
pub(crate) fn nothing(cx: &Context) -> String {
    let folder = cx.settings.paths.state.as_deref().map(|state| state.display().to_string());
    let place = match (folder, &cx.settings.paths.state) {
        (Some(folder), Some(state)) if !state.is_dir() => {
            format!(": there is no folder `{folder}` yet")
        }
        (Some(folder), _) => format!(" in `{folder}`"),
        (None, _) => String::new(),
    };
    format!("no captures{place}; `formsvc webhook listen` keeps what it receives")
}

/// The captures that were kept; none where nothing ever was. With `--demo` a few that are made for this
/// one command.
pub(crate) async fn captures(cx: &Context) -> Result<Option<Captures>, CliError> {
    #[cfg(feature = "sandbox")]
    if let Service::Demo = cx.settings.service {
        return Ok(Some(demo::store(cx).await?.captures().clone()));
    }
    #[cfg(not(feature = "sandbox"))]
    if let Service::Demo = cx.settings.service {
        return Err(CliError::usage("this build has no sandbox, which `--demo` needs"));
    }
    let folder = folder(&cx.settings.paths)?;
    Ok(aside(move || Captures::open(&folder)).await??)
}

/// The same, to be changed.
pub(crate) async fn store(cx: &Context) -> Result<Option<Store>, CliError> {
    #[cfg(feature = "sandbox")]
    if let Service::Demo = cx.settings.service {
        return demo::store(cx).await.map(Some);
    }
    if captures(cx).await?.is_none() {
        return Ok(None);
    }
    let folder = folder(&cx.settings.paths)?;
    // Within no caps: what goes is what was asked for.
    let caps = Caps { size: u64::MAX, age: Duration::MAX };
    Ok(Some(aside(move || Store::open(&folder, caps)).await??))
}

/// The captures, where it takes some.
pub(crate) async fn some_captures(cx: &Context) -> Result<Captures, CliError> {
    captures(cx).await?.ok_or_else(|| CliError::new(Exit::NotFound, nothing(cx)))
}

/// One capture by its number.
pub(crate) async fn get(
    captures: &Captures,
    number: CaptureNumber,
) -> Result<Arc<Capture>, CliError> {
    captures.get(number).await?.map(Arc::new).ok_or_else(|| missing(number))
}

/// That there is no capture of this number.
pub(crate) fn missing(number: CaptureNumber) -> CliError {
    CliError::new(Exit::NotFound, format!("there is no capture {number}"))
        .hint("`formsvc webhook events list` shows those that are kept; old ones go after a while")
}
