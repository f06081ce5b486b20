//! `formsvc auth …`: profiles, and the keys that are kept for them.

mod doctor;
mod keep;
mod list;
mod login;
mod logout;
mod profile;
mod status;
mod token;
mod use_;

pub(super) use list::FIELDS as LIST_FIELDS;
pub(super) use status::FIELDS as STATUS_FIELDS;

use clap::Subcommand;
use secrecy::SecretString;

use crate::account::key;
use crate::context::{Context, no_base_url};
use crate::error::CliError;
use crate::settings::{OnBadSetting, Service};

/// Store API keys and show which one is used
#[derive(Debug, Subcommand)]
pub(crate) enum Auth {
    Login(login::Login),
    Status(status::Status),
    #[command(alias = "ls")]
    List(list::List),
    Use(use_::Use),
    Logout(logout::Logout),
    Token(token::Token),
    Doctor(doctor::Doctor),
}

impl Auth {
    /// What the command makes of a configuration that is wrong, or lacks the profile.
    pub(crate) fn care(&self) -> OnBadSetting {
        match self {
            Self::Login(_) | Self::Use(_) | Self::List(_) | Self::Doctor(_) => OnBadSetting::Ignore,
            Self::Status(_) | Self::Logout(_) | Self::Token(_) => OnBadSetting::Fail,
        }
    }

    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::Login(login) => login.run(cx).await,
            Self::Status(status) => status.run(cx).await,
            Self::List(list) => list.run(cx),
            Self::Use(use_) => use_.run(cx),
            Self::Logout(logout) => logout.run(cx),
            Self::Token(token) => token.run(cx).await,
            Self::Doctor(doctor) => doctor.run(cx).await,
        }
    }
}

/// Says that a variable decides, whatever is kept.
fn warn_of_stronger(cx: &Context) {
    for name in key::stronger_variables() {
        cx.progress.warn(&format!(
            "`{name}` is set and takes precedence over the stored key; unset it to use that key"
        ));
    }
}

/// The key that commands use.
async fn key(cx: &Context) -> Result<SecretString, CliError> {
    let Service::At { base_url, key } = &cx.settings.service else { return Err(no_demo()) };
    let (_, profile) = profile::of_this_run(cx)?;
    let base_url = base_url.clone().or(profile.base_url).ok_or_else(no_base_url)?;
    // Nobody is asked: a key that is typed is one that somebody has already.
    Ok(key::find(&cx.settings, key.as_ref(), &base_url, &cx.progress).await??.key)
}

/// What `--demo` leaves nothing to do for.
fn no_demo() -> CliError {
    CliError::usage("`--demo` has a service and a key of its own, for the one command")
        .hint("leave `--demo` out: accounts are of services that last")
}
