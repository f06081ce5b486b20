//! `formsvc doctor`

mod clock;
mod folders;
mod network;
mod service;

use clap::Args;

use crate::checks::{self, Check};
use crate::context::Context;
use crate::error::CliError;
use crate::settings::KeySource;
use crate::settings::Service;

/// Check the configuration, the API key, the network and the service
///
/// Checks the configuration, the key, proxy and trusted certificates, the connection to the service,
/// its answer, this machine's clock and folders. Makes two requests; without a key or a network the
/// other checks run all the same. Shows no key and no password. Exits with 1 if
/// a check fails.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo doctor\n  formsvc doctor\n  formsvc --demo doctor --output json"
)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let listing = cx.output.listing(checks::FIELDS)?;
        let mut all = vec![version()];
        all.extend(match &cx.settings.service {
            Service::Demo => demo(cx).await,
            Service::At { base_url, key } => at(cx, base_url.as_deref(), key.as_ref()).await,
        });
        all.push(folders::check(&cx.settings.paths));
        all.push(terminal(cx));
        checks::show(cx, listing, &all)
    }
}

fn version() -> Check {
    let built = if cfg!(feature = "sandbox") { "with" } else { "without" };
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let number = env!("CARGO_PKG_VERSION");
    Check::ok("version", format!("formsvc {number}, {os} {arch}, {built} the sandbox"))
}

/// The checks of a service that was started for them.
async fn demo(cx: &Context) -> Vec<Check> {
    match cx.client().await {
        Ok(client) => {
            let mut all = vec![Check::ok("key", "the demo made one for itself")];
            all.extend(network::checks(cx, Some(client.base_url())));
            all.extend(service::checks(cx, client, true).await);
            all
        }
        Err(error) => vec![Check::failed("service", &error)],
    }
}

/// The checks of the service that the settings name.
async fn at(cx: &Context, base_url: Option<&str>, given: Option<&KeySource>) -> Vec<Check> {
    let (mut all, key) = checks::keys(cx, base_url, given).await;
    all.extend(network::checks(cx, base_url));
    let Some(base_url) = base_url else {
        all.push(Check::skip("service", "not checked: no base URL is set"));
        return all;
    };
    if cx.check_network(base_url).is_err() {
        all.push(Check::skip("service", "not checked: the network settings cannot be used"));
        return all;
    }
    let has_key = key.is_some();
    // Any service says no to this, which tells as much about the way to it.
    let key = key.unwrap_or_else(|| "no-key".to_owned().into());
    match cx.client_at(base_url, &key) {
        Ok(client) => all.extend(service::checks(cx, &client, has_key).await),
        Err(error) => all.push(Check::failed("service", &error)),
    }
    all
}

/// What the standard streams are, which decides how much is shown.
fn terminal(cx: &Context) -> Check {
    let streams = cx.settings.terminal;
    let name = |is: bool, name: &'static str| is.then_some(name);
    let named = [
        name(streams.stdin, "input"),
        name(streams.stdout, "output"),
        name(streams.stderr, "error"),
    ];
    let named: Vec<&str> = named.into_iter().flatten().collect();
    let width = terminal_size::terminal_size()
        .map_or(String::new(), |(width, _)| format!(", {} columns", width.0));
    match &named[..] {
        [] => Check::ok("terminal", "none: lists are for programs, and nobody is asked"),
        named => Check::ok("terminal", format!("standard {}{width}", named.join(", "))),
    }
}
