//! `formsvc auth doctor`

use clap::Args;

use super::service;
use crate::checks;
use crate::context::Context;
use crate::error::CliError;

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
        let (base_url, key) = service(cx);
        let (checks, _) = checks::keys(cx, base_url.map(String::as_str), key).await;
        checks::print(cx, listing, &checks, &checks)?;
        checks::result(&checks, None)
    }
}
