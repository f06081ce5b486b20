//! `formsvc auth doctor`

use clap::Args;

use super::no_demo;
use crate::checks;
use crate::context::Context;
use crate::error::CliError;
use crate::settings::Service;

/// Check the storage and the settings of API keys on this machine
///
/// Checks the configuration, the keyring, the key file, the environment, and the source of the key. Sends no
/// request: `formsvc auth status` does. Exits with 1 if a check fails.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  formsvc auth doctor\n  formsvc auth doctor --output json")]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let listing = cx.output.listing(checks::FIELDS)?;
        let Service::At { base_url, key } = &cx.settings.service else { return Err(no_demo()) };
        let (checks, _) = checks::keys(cx, base_url.as_deref(), key.as_ref()).await;
        checks::print(cx, listing, &checks, &checks)?;
        checks::result(&checks, None)
    }
}
