//! `formsvc auth …`: profiles and their API keys.

mod doctor;
mod list;
mod login;
mod logout;
mod status;
mod token;
mod use_;

pub(super) use list::FIELDS as LIST_FIELDS;
pub(super) use status::FIELDS as STATUS_FIELDS;

use clap::Subcommand;

use crate::account::key;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::{KeySource, OnBadSetting, Service};

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
    /// Returns how the command treats an invalid configuration or a missing profile.
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

/// Warns of variables that take precedence over the stored key.
fn warn_of_stronger(cx: &Context) {
    for name in key::stronger_variables() {
        cx.progress.warn(&format!(
            "`{name}` is set and takes precedence over the stored key; unset it to use that key"
        ));
    }
}

/// Returns the base URL and the source of the API key. Commands that call this refuse `--demo`.
fn service(cx: &Context) -> (Option<&String>, Option<&KeySource>) {
    match &cx.settings.service {
        Service::At { base_url, key } => (base_url.as_ref(), key.as_ref()),
        Service::Demo => (None, None),
    }
}

/// Returns the full name of a setting of a profile.
fn setting(profile: &str, name: &str) -> String {
    format!("profiles.{profile}.{name}")
}
