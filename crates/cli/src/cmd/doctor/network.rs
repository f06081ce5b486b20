//! The proxy and the trusted certificates, and the settings they come from.

use formsvc_client::network::{NetworkSettings, Route};

use crate::checks::Check;
use crate::context::Context;
use crate::error::CliError;

/// A host that is not on this machine, to show the proxy without the address of the service.
const ANY_HOST: &str = "https://service.invalid";

/// Checks the settings for requests to the service. Without its address, shows the proxy that requests
/// to other machines would use.
pub(super) fn checks(cx: &Context, base_url: Option<&str>) -> Vec<Check> {
    let network = match cx.network() {
        Ok(network) => network,
        Err(error) => return vec![Check::failed("network settings", &error)],
    };
    vec![proxy(network, base_url), trust_store(network)]
}

/// Shows the proxy of requests to the service. The check of the service fails if the proxy refuses it.
fn proxy(network: &NetworkSettings, base_url: Option<&str>) -> Check {
    const NAME: &str = "proxy";
    let target = base_url.unwrap_or(ANY_HOST);
    if let Err(error) = network.check_proxy(target) {
        return Check::failed(NAME, &error.into());
    }
    match network.route(target) {
        Route::Proxy(proxy) => Check::ok(NAME, proxy.to_string()),
        Route::Localhost => localhost(network, NAME),
        Route::Excluded(entry) => {
            Check::ok(NAME, format!("none: `{entry}` of NO_PROXY matches the service"))
        }
        _ => Check::ok(NAME, "none: neither HTTPS_PROXY nor ALL_PROXY is set"),
    }
}

/// A service on this machine needs no proxy. An unusable proxy variable is still worth a warning.
fn localhost(network: &NetworkSettings, name: &'static str) -> Check {
    const FOUND: &str = "none: localhost is reached directly";
    match network.check_proxy(ANY_HOST) {
        Ok(()) => Check::ok(name, FOUND),
        Err(error) => {
            let error = CliError::from(error);
            let check = Check::warn(name, format!("{FOUND}; for other hosts, {}", error.brief()));
            match error.advice() {
                Some(hint) => check.hint(hint),
                None => check,
            }
        }
    }
}

fn trust_store(network: &NetworkSettings) -> Check {
    Check::ok("trust store", network.trust_store())
}
