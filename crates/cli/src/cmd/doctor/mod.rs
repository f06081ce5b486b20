//! `formsvc doctor`

mod clock;
mod network;
mod service;

use clap::Args;

use crate::checks::{self, Check};
use crate::context::Context;
use crate::error::CliError;
use crate::settings::{KeySource, Service};

/// Check the configuration, the API key, the network and the service
///
/// Checks the config file, the API key, the proxy, the trusted certificates, the connection to the service,
/// its response and the clock of this machine. Sends at most one request. A failed check does not stop the
/// others. Prints no key and no password. Exits with 1 if a check fails.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo doctor\n  formsvc doctor\n  formsvc --demo doctor --output json"
)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let listing = cx.output.listing(checks::FIELDS)?;
        let checks = match &cx.settings.service {
            Service::Demo => check_demo(cx).await,
            Service::At { base_url, key } => check(cx, base_url.as_deref(), key.as_ref()).await,
        };
        checks::print(cx, listing, &checks, &checks)?;
        checks::result(&checks, None)
    }
}

async fn check_demo(cx: &Context) -> Vec<Check> {
    let client = match cx.client().await {
        Ok(client) => client,
        Err(error) => return vec![Check::error("service", &error)],
    };
    let mut checks = vec![Check::passed("key", "created by the sandbox of `--demo`")];
    checks.extend(network::checks(cx, Some(client.base_url())));
    checks.extend(service::checks(cx, client, true).await);
    checks
}

/// Checks the service of the settings.
async fn check(cx: &Context, base_url: Option<&str>, source: Option<&KeySource>) -> Vec<Check> {
    let (mut checks, key) = checks::keys(cx, base_url, source).await;
    checks.extend(network::checks(cx, base_url));
    let Some(base_url) = base_url else {
        checks.push(Check::skipped("service", "not checked: no base URL is set"));
        return checks;
    };
    if cx.check_network(base_url).is_err() {
        checks.push(Check::skipped("service", "not checked: the network settings are not usable"));
        return checks;
    }
    let has_key = key.is_some();
    // The service refuses this key, but its response shows that the connection works.
    let key = key.unwrap_or_else(|| "no-key".to_owned().into());
    match cx.client_at(base_url, &key) {
        Ok(client) => checks.extend(service::checks(cx, &client, has_key).await),
        Err(error) => checks.push(Check::error("service", &error)),
    }
    checks
}
