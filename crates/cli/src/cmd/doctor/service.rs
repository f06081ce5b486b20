//! The checks of the connection to the service and of its responses.

use std::error::Error as _;
use std::time::{Duration, Instant, SystemTime};

use formsvc_client::{Client, Error, RequestOptions, Response, RetryPolicy, User};
use http::HeaderMap;
use http::header::DATE;

use super::clock;
use crate::checks::Check;
use crate::context::Context;
use crate::error::connect_hint;

/// Time limit of the request, unless `--timeout` is set.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A request with its times.
struct TimedRequest {
    outcome: Result<Response<User>, Error>,
    sent: SystemTime,
    received: SystemTime,
    took: Duration,
}

impl TimedRequest {
    async fn send(client: &Client) -> Self {
        let (sent, began) = (SystemTime::now(), Instant::now());
        let outcome = client.me().await;
        Self { outcome, sent, received: SystemTime::now(), took: began.elapsed() }
    }

    /// Returns the headers of the response, if there was one.
    fn headers(&self) -> Option<&HeaderMap> {
        match &self.outcome {
            Ok(user) => Some(user.meta().headers()),
            Err(error) => error.headers(),
        }
    }

    fn millis(&self) -> f64 {
        self.took.as_secs_f64() * 1_000.0
    }
}

/// Runs the checks. If `has_key` is false, the client sends a placeholder, and its refusal is not a
/// failure.
pub(super) async fn checks(cx: &Context, client: &Client, has_key: bool) -> Vec<Check> {
    let timeout = cx.settings.timeout.unwrap_or(TIMEOUT);
    let once = RequestOptions::new().attempt_timeout(timeout).retry(RetryPolicy::none());
    let client = match client.with_options(once) {
        Ok(client) => client,
        Err(error) => return vec![Check::error("service", &error.into())],
    };
    let request = TimedRequest::send(&client).await;
    let mut checks = connection(&request, client.base_url()).to_vec();
    let Some(headers) = request.headers() else {
        let skipped = |name| Check::skipped(name, "not checked: the service was not reached");
        checks.extend(["account", "clock"].map(skipped));
        return checks;
    };
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    checks.push(account(&request, has_key));
    checks.push(clock::check(date, request.sent, request.received));
    checks
}

/// Judges the connection and its TLS.
fn connection(request: &TimedRequest, base_url: &str) -> [Check; 2] {
    const CONNECTION: &str = "connection";
    const TLS: &str = "tls";
    let is_tls = base_url.starts_with("https:");
    let error = match &request.outcome {
        Err(error) if request.headers().is_none() => error,
        _ => {
            let found = format!("first response after {:.0} ms", request.millis());
            let tls = if is_tls {
                "the certificate is trusted"
            } else {
                "not used: the service is on this machine"
            };
            return [Check::passed(CONNECTION, found), Check::passed(TLS, tls)];
        }
    };
    let (found, hint) = (with_cause(error), connect_hint(error));
    if error.connect_failure().is_some_and(|failure| failure.kind().is_tls()) {
        let connection = Check::passed(CONNECTION, "established");
        return [connection, Check::failed(TLS, found).hint(hint)];
    }
    let tls = if is_tls { "not checked: there is no connection" } else { "not used" };
    [Check::failed(CONNECTION, found).hint(hint), Check::skipped(TLS, tls)]
}

/// Judges the key by the user that the service returns for it.
fn account(request: &TimedRequest, has_key: bool) -> Check {
    const NAME: &str = "account";
    let error = match &request.outcome {
        Ok(user) => {
            let found = format!("{} ({}), in {:.0} ms", user.email, user.id, request.millis());
            return Check::passed(NAME, found);
        }
        Err(error) => error,
    };
    if error.is_auth() && !has_key {
        return Check::skipped(NAME, "not checked: there is no API key; the service responds");
    }
    let found = with_cause(error);
    if error.is_rate_limited() {
        let hint = "another client uses this key, or this program elsewhere: retry in a minute";
        return Check::warning(NAME, found).hint(Some(hint));
    }
    let hint = "the service refuses this key: copy it again, or create a new one";
    Check::failed(NAME, found).hint(error.is_auth().then_some(hint))
}

/// Returns the message of an error and of its deepest cause.
fn with_cause(error: &Error) -> String {
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}
