//! The way to the service, and what it answers.

use std::error::Error as _;
use std::net::{SocketAddr, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use formsvc_client::{Client, Error, RequestOptions, Response, RetryPolicy, User};
use http::HeaderMap;
use http::header::DATE;
use tokio::sync::oneshot;
use url::{Host, Url};

use super::clock;
use crate::checks::Check;
use crate::context::Context;
use crate::error::connect_hint;

/// Time for one look, unless `--timeout` says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often somebody may ask (SPEC §8).
const ALLOWED: u32 = formsvc_protocol::limits::RATE_LIMIT;

/// A request, and when it was under way.
struct Asked {
    outcome: Result<Response<User>, Error>,
    sent: SystemTime,
    received: SystemTime,
    took: Duration,
}

impl Asked {
    /// Asks whose key it is, once.
    async fn now(client: &Client) -> Self {
        let (sent, began) = (SystemTime::now(), Instant::now());
        let outcome = client.me().await;
        Self { outcome, sent, received: SystemTime::now(), took: began.elapsed() }
    }

    /// What came with an answer, whatever its status.
    fn headers(&self) -> Option<&HeaderMap> {
        match &self.outcome {
            Ok(user) => Some(user.meta().headers()),
            Err(error) => error.headers(),
        }
    }
}

/// Everything that asks the service. With `has_key` false the key is none, and is not judged.
pub(super) async fn checks(cx: &Context, client: &Client, has_key: bool) -> Vec<Check> {
    let patience = cx.settings.timeout.unwrap_or(PATIENCE);
    let once = RequestOptions::new().attempt_timeout(patience).retry(RetryPolicy::none());
    let client = match client.with_options(once) {
        Ok(client) => client,
        Err(error) => return vec![Check::failed("service", &error.into())],
    };
    let mut all = vec![name(cx, client.base_url(), patience).await];
    let first = Asked::now(&client).await;
    all.extend(way(&first, client.base_url()));
    if first.headers().is_none() {
        let unknown = "not asked: the service was not reached";
        all.extend(["account", "clock", "rate limit"].map(|name| Check::skip(name, unknown)));
        return all;
    }
    // By now there is a connection: this one tells how far away the service is.
    let second = Asked::now(&client).await;
    let asked = if second.headers().is_some() { &second } else { &first };
    all.push(account(asked, has_key));
    let date = asked.headers().and_then(|headers| headers.get(DATE)?.to_str().ok());
    all.push(clock::check(date, asked.sent, asked.received));
    all.push(rate_limit(asked));
    all
}

/// Checks that the name of the service has addresses, unless a proxy resolves it.
async fn name(cx: &Context, base_url: &str, patience: Duration) -> Check {
    const NAME: &str = "name";
    let proxy = cx.network().ok().and_then(|network| network.proxy_for(base_url));
    if proxy.is_some_and(|proxy| !proxy.address().starts_with("socks5:")) {
        return Check::skip(NAME, "not looked up here: the proxy resolves names");
    }
    let Ok(url) = Url::parse(base_url) else {
        return Check::warn(NAME, "not looked up: the service's address cannot be read");
    };
    let (domain, port) = match (url.host(), url.port_or_known_default()) {
        (Some(Host::Domain(domain)), Some(port)) => (domain.to_owned(), port),
        _ => return Check::ok(NAME, "none to look up: the service's address is a number"),
    };
    let (tell, told) = oneshot::channel();
    let asked = (domain.clone(), port);
    // A resolver can hang for long; nobody waits for it then.
    let started = thread::Builder::new().name("resolver".into()).spawn(move || {
        let _ = tell.send(asked.to_socket_addrs().map(Vec::from_iter));
    });
    if let Err(error) = started {
        return Check::warn(NAME, format!("not looked up: {error}"));
    }
    match tokio::time::timeout(patience, told).await {
        Ok(Ok(Ok(addresses))) => {
            let shown: Vec<String> =
                addresses.iter().map(SocketAddr::ip).map(|ip| ip.to_string()).take(4).collect();
            Check::ok(NAME, format!("{domain} is {}", shown.join(", ")))
        }
        Ok(Ok(Err(error))) => Check::warn(NAME, format!("{domain}: {error}"))
            .hint("check the spelling of the host and the network"),
        Ok(Err(_)) | Err(_) => {
            Check::warn(NAME, format!("{domain}: not found in {} s", patience.as_secs_f32()))
        }
    }
}

/// Checks the connection to the service and its TLS.
fn way(asked: &Asked, base_url: &str) -> Vec<Check> {
    let (connection, tls) = ("connection", "tls");
    let is_tls = base_url.starts_with("https:");
    let failed = match &asked.outcome {
        Err(error) if asked.headers().is_none() => error,
        _ => {
            let millis = asked.took.as_secs_f64() * 1_000.0;
            let answered = Check::ok(connection, format!("first answer after {millis:.0} ms"));
            let safe = if is_tls {
                Check::ok(tls, "agreed, with a certificate that this system trusts")
            } else {
                Check::ok(tls, "not used: the service is on this machine")
            };
            return vec![answered, safe];
        }
    };
    let why = with_cause(failed);
    let with_hint = |check: Check| match connect_hint(failed) {
        Some(hint) => check.hint(hint),
        None => check,
    };
    if failed.connect_failure().is_some_and(|failure| failure.kind().is_tls()) {
        return vec![
            Check::ok(connection, "the machine of the service answers"),
            with_hint(Check::fail(tls, why)),
        ];
    }
    let not_tried = if is_tls { "not tried" } else { "not used" };
    vec![with_hint(Check::fail(connection, why)), Check::skip(tls, not_tried)]
}

/// Whose key it is, and how long it takes to hear.
fn account(asked: &Asked, has_key: bool) -> Check {
    const NAME: &str = "account";
    let millis = asked.took.as_secs_f64() * 1_000.0;
    match &asked.outcome {
        Ok(user) => Check::ok(NAME, format!("{} ({}), in {millis:.0} ms", user.email, user.id)),
        Err(error) if !has_key && error.is_auth() => {
            Check::skip(NAME, "not asked for: there is no key; the service answers")
        }
        Err(error) if error.is_rate_limited() => Check::warn(NAME, with_cause(error))
            .hint("others use this key, or this program does elsewhere: try again in a minute"),
        Err(error) if error.is_auth() => Check::fail(NAME, with_cause(error))
            .hint("the service refuses this key: copy it again, or create a new one"),
        Err(error) => Check::fail(NAME, with_cause(error)),
    }
}

/// What the service says of its limits; it need not say anything.
fn rate_limit(asked: &Asked) -> Check {
    const NAME: &str = "rate limit";
    let told = asked.headers().into_iter().flatten().filter_map(|(name, value)| {
        let is_limit = name.as_str().contains("ratelimit") || name == http::header::RETRY_AFTER;
        is_limit.then(|| format!("{name}: {}", String::from_utf8_lossy(value.as_bytes())))
    });
    let told: Vec<String> = told.take(8).collect();
    if told.is_empty() {
        let found =
            format!("the service says nothing of it; it allows {ALLOWED} requests a minute");
        Check::ok(NAME, found)
    } else {
        Check::ok(NAME, told.join(", "))
    }
}

/// What failed, and what the system said about it.
fn with_cause(error: &Error) -> String {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    match cause {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
