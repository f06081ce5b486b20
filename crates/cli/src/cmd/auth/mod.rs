//! `formsvc auth …`: profiles, and the keys that are kept for them.

mod keep;
mod list;
mod login;
mod logout;
mod profile;
mod token;
mod use_;

use std::ffi::OsString;

use clap::Subcommand;
use formsvc_client::SecretString;

use crate::context::{Context, no_base_url};
use crate::credentials::Stores;
use crate::env;
use crate::error::CliError;
use crate::key;
use crate::settings::{Care, Service};

/// Keep API keys, and say which one is used
#[derive(Debug, Subcommand)]
pub(crate) enum Auth {
    Login(login::Login),
    List(list::List),
    Use(use_::Use),
    Logout(logout::Logout),
    Token(token::Token),
}

impl Auth {
    /// What the command makes of a configuration that is wrong, or lacks the profile.
    pub(crate) fn care(&self) -> Care {
        match self {
            Self::Login(_) | Self::Use(_) | Self::List(_) => Care::Lenient,
            Self::Logout(_) | Self::Token(_) => Care::Strict,
        }
    }

    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::Login(login) => login.run(cx).await,
            Self::List(list) => list.run(cx),
            Self::Use(use_) => use_.run(cx),
            Self::Logout(logout) => logout.run(cx),
            Self::Token(token) => token.run(cx).await,
        }
    }
}

/// The variables of this process.
fn lookup(name: &str) -> Option<OsString> {
    env::of_process(name)
}

/// Where keys are kept.
fn stores(cx: &Context) -> Result<Stores, CliError> {
    Stores::new(&cx.settings.paths, &lookup)
}

/// The variables that are set and stronger than any key that is kept.
fn stronger() -> impl Iterator<Item = &'static str> {
    let names = [env::API_KEY.name, env::API_KEY_FILE.name];
    names.into_iter().filter(|name| lookup(name).is_some_and(|value| !value.is_empty()))
}

/// Says that a variable decides, whatever is kept.
fn warn_of_stronger(cx: &Context) {
    for name in stronger() {
        cx.progress.remark(&format!(
            "warning: `{name}` is set, and stronger than a key that is kept: unset it to use one"
        ));
    }
}

/// The key that commands use.
async fn key(cx: &Context) -> Result<SecretString, CliError> {
    let Service::At { base_url, key } = &cx.settings.service else { return Err(no_demo()) };
    let (_, profile) = profile::of_this_run(cx)?;
    let base_url = base_url.clone().or(profile.base_url).ok_or_else(no_base_url)?;
    // Nobody is asked: a key that is typed is one that somebody has already.
    let remark = |text: &str| cx.progress.remark(text);
    Ok(key::find(&cx.settings, key.as_ref(), &base_url, &remark).await??.key)
}

/// What `--demo` leaves nothing to do for.
fn no_demo() -> CliError {
    CliError::usage("`--demo` has a service and a key of its own, for the one command")
        .hint("leave `--demo` out: accounts are of services that last")
}
