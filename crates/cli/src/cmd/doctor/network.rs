//! The checks of the proxy and of the trusted certificates.

use formsvc_client::network::{NetworkSettings, Route};

use crate::checks::Check;
use crate::context::Context;

/// A host on another machine, for the proxy settings if the base URL is not set.
const OTHER_MACHINE: &str = "https://service.invalid";

pub(super) fn checks(cx: &Context, base_url: Option<&str>) -> Vec<Check> {
    match cx.network() {
        Ok(network) => vec![
            proxy(network, base_url.unwrap_or(OTHER_MACHINE)),
            Check::passed("trust store", network.trust_store()),
        ],
        Err(error) => vec![Check::error("network settings", &error)],
    }
}

/// Shows the proxy of requests to the service. The check `connection` fails if the proxy refuses it.
fn proxy(network: &NetworkSettings, target: &str) -> Check {
    const NAME: &str = "proxy";
    if let Err(error) = network.check_proxy(target) {
        return Check::error(NAME, &error.into());
    }
    let found = match network.route(target) {
        Route::Proxy(proxy) => proxy.to_string(),
        Route::Excluded(entry) => format!("none: `{entry}` of NO_PROXY matches the service"),
        Route::Localhost => "none: localhost is reached directly".to_owned(),
        _ => "none: neither HTTPS_PROXY nor ALL_PROXY is set".to_owned(),
    };
    Check::passed(NAME, found)
}
