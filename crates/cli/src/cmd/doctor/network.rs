//! The proxy and the trusted certificates, and the settings they come from.

use std::time::Duration;

use formsvc_client::network::{NetworkSettings, Route};
use http::StatusCode;

use crate::checks::Check;
use crate::context::Context;
use crate::error::CliError;

/// Time limit for the proxy's answer, unless `--timeout` sets another.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A host that is not on this machine, to show the proxy without the address of the service.
const ANY_HOST: &str = "https://service.invalid";

/// Checks the settings for requests to the service. Without its address, shows the proxy that requests
/// to other machines would use.
pub(super) async fn checks(cx: &Context, base_url: Option<&str>) -> Vec<Check> {
    let network = match cx.network() {
        Ok(network) => network,
        Err(error) => return vec![Check::failed("network settings", &error)],
    };
    let timeout = cx.settings.timeout.unwrap_or(TIMEOUT);
    vec![proxy(network, base_url, timeout).await, trust_store(network)]
}

/// Checks the proxy with one CONNECT, whose status shows why it refuses the service.
async fn proxy(network: &NetworkSettings, base_url: Option<&str>, timeout: Duration) -> Check {
    const NAME: &str = "proxy";
    let target = base_url.unwrap_or(ANY_HOST);
    if let Err(error) = network.check_proxy(target) {
        return Check::failed(NAME, &error.into());
    }
    let proxy = match network.route(target) {
        Route::Proxy(proxy) => proxy,
        Route::Localhost => return localhost(network, NAME),
        Route::Excluded(entry) => {
            return Check::ok(NAME, format!("none: `{entry}` of NO_PROXY matches the service"));
        }
        _ => return Check::ok(NAME, "none: neither HTTPS_PROXY nor ALL_PROXY is set"),
    };
    let Some(base_url) = base_url else {
        return Check::ok(NAME, format!("{proxy}; not contacted: no base URL is set"));
    };
    let Some(answer) = network.proxy_answer(base_url, timeout).await else {
        return Check::ok(NAME, proxy.to_string());
    };
    let status = match answer {
        Ok(status) => status,
        Err(error) => {
            return Check::fail(NAME, format!("{proxy}: no answer to CONNECT: {error}"))
                .hint("check the address of the proxy");
        }
    };
    let found = format!("{proxy}: CONNECT answered {status}");
    match status {
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            let hint = format!("set user name and password in {}", proxy.variable());
            Check::fail(NAME, found).hint(hint)
        }
        status if status.is_success() => Check::ok(NAME, found),
        _ => Check::fail(NAME, found).hint("the proxy refuses the service: ask its operator"),
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
