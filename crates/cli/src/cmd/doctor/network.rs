//! The proxy and the trusted certificates, and the settings they come from.

use std::time::Duration;

use formsvc_client::network::{NetworkSettings, Route};
use http::StatusCode;

use crate::checks::Check;
use crate::context::Context;

/// Time limit for the proxy's answer, unless `--timeout` sets another.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The checks of the settings for requests to the service.
pub(super) async fn checks(cx: &Context, base_url: &str) -> Vec<Check> {
    let network = match cx.network() {
        Ok(network) => network,
        Err(error) => return vec![Check::failed("network settings", &error)],
    };
    let timeout = cx.settings.timeout.unwrap_or(TIMEOUT);
    vec![proxy(network, base_url, timeout).await, trust_store(network)]
}

/// Checks the proxy with one CONNECT, whose status shows why it refuses the service.
async fn proxy(network: &NetworkSettings, base_url: &str, timeout: Duration) -> Check {
    const NAME: &str = "proxy";
    let proxy = match network.route(base_url) {
        Route::Proxy(proxy) => proxy,
        Route::Localhost => return Check::ok(NAME, "none: localhost is reached directly"),
        Route::Excluded(entry) => {
            return Check::ok(NAME, format!("none: `{entry}` of NO_PROXY matches the service"));
        }
        Route::Unusable(message) => return Check::fail(NAME, message),
        _ => return Check::ok(NAME, "none: neither HTTPS_PROXY nor ALL_PROXY is set"),
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

fn trust_store(network: &NetworkSettings) -> Check {
    Check::ok("trust store", network.trust_store())
}
