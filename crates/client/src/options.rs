//! Settings of single calls, and the headers that callers may add.

use std::fmt;
use std::time::Duration;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TE,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderName, HeaderValue};

use crate::RetryPolicy;

/// Headers that the client or HTTP itself sets.
const RESERVED: [HeaderName; 10] = [
    ACCEPT,
    ACCEPT_ENCODING,
    AUTHORIZATION,
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    USER_AGENT,
];

/// A header that the caller adds, or the rule that it breaks.
pub(crate) type CheckedHeader = Result<(HeaderName, HeaderValue), String>;

/// Checks a header that the caller adds.
pub(crate) fn check_header(
    name: impl TryInto<HeaderName>,
    value: impl TryInto<HeaderValue>,
) -> CheckedHeader {
    let Ok(name) = name.try_into() else {
        return Err("the name of a header contains a character that is not allowed".to_owned());
    };
    if RESERVED.contains(&name) {
        return Err(format!("the header `{name}` is set by the client and cannot be changed"));
    }
    match value.try_into() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(format!("the value of the header `{name}` is not allowed in HTTP")),
    }
}

/// Settings that may differ from call to call, for
/// [`Client::with_options`](crate::Client::with_options). Settings that are not given stay those of
/// the client.
///
/// ```
/// use std::time::Duration;
/// use formsvc_client::{RequestOptions, RetryPolicy};
/// let impatient = RequestOptions::new()
///     .attempt_timeout(Duration::from_secs(2))
///     .retry(RetryPolicy::none());
/// # let _ = impatient;
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct RequestOptions {
    pub(crate) attempt: Option<Duration>,
    #[expect(clippy::option_option, reason = "not given, or given as a limit or as no limit")]
    pub(crate) overall: Option<Option<Duration>>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) max_wait: Option<Duration>,
    pub(crate) headers: Vec<CheckedHeader>,
}

impl RequestOptions {
    /// Creates options without settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time for one attempt: [`Timeouts::attempt`](crate::Timeouts::attempt). The time to
    /// connect belongs to the connection pool and cannot be changed here.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt = Some(limit);
        self
    }

    /// Sets the time for a whole call: [`Timeouts::overall`](crate::Timeouts::overall).
    pub fn overall_timeout(mut self, limit: Option<Duration>) -> Self {
        self.overall = Some(limit);
        self
    }

    /// Sets the retry policy. The [budget](RetryPolicy::budget) stays the one that all clones share;
    /// the budget of `policy` is ignored.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Sets the longest single wait: [`ClientBuilder::max_wait`](crate::ClientBuilder::max_wait).
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = Some(wait);
        self
    }

    /// Adds a header, such as `traceparent`; the last value of a name is sent. `with_options` refuses
    /// names that the client or HTTP itself sets, such as `Authorization`.
    pub fn header(
        mut self,
        name: impl TryInto<HeaderName>,
        value: impl TryInto<HeaderValue>,
    ) -> Self {
        self.headers.push(check_header(name, value));
        self
    }
}

impl fmt::Debug for RequestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of headers may be secrets.
        let names: Vec<_> = self.headers.iter().flatten().map(|(name, _)| name).collect();
        f.debug_struct("RequestOptions")
            .field("attempt", &self.attempt)
            .field("overall", &self.overall)
            .field("retry", &self.retry)
            .field("max_wait", &self.max_wait)
            .field("headers", &names)
            .finish()
    }
}
