//! Settings of calls: time limits, settings of single calls, and the headers that callers may add.

use std::time::Duration;

use http::{HeaderName, HeaderValue};

use crate::RetryPolicy;

/// Headers that the client or HTTP itself sets.
const RESERVED: [&str; 10] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
    "user-agent",
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
    if RESERVED.contains(&name.as_str()) {
        return Err(format!("the header `{name}` is set by the client and cannot be changed"));
    }
    let Ok(mut value) = value.try_into() else {
        return Err(format!("the value of the header `{name}` is not allowed in HTTP"));
    };
    // Debug output does not show the value, which may be a secret.
    value.set_sensitive(true);
    Ok((name, value))
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
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RequestOptions {
    pub(crate) attempt: Option<Duration>,
    #[expect(clippy::option_option, reason = "not given, or given as a limit or as no limit")]
    pub(crate) overall: Option<Option<Duration>>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) headers: Vec<CheckedHeader>,
}

impl RequestOptions {
    /// Creates options without settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the time for one attempt: [`Timeouts::attempt`](crate::Timeouts::attempt). The time to
    /// connect belongs to the connection pool and cannot be changed here.
    pub fn attempt_timeout(self, limit: Duration) -> Self {
        Self { attempt: Some(limit), ..self }
    }

    /// Sets the time for a whole call: [`Timeouts::overall`](crate::Timeouts::overall).
    pub fn overall_timeout(self, limit: Option<Duration>) -> Self {
        Self { overall: Some(limit), ..self }
    }

    /// Sets the retry policy. The [budget](RetryPolicy::budget) stays the one that all clones share;
    /// the budget of `policy` is ignored.
    pub fn retry(self, policy: RetryPolicy) -> Self {
        Self { retry: Some(policy), ..self }
    }

    /// Adds a header to the requests of these calls, such as `traceparent`. It replaces a
    /// [`default_header`](crate::ClientBuilder::default_header) of the same name; the same names are
    /// refused.
    pub fn header(
        mut self,
        name: impl TryInto<HeaderName>,
        value: impl TryInto<HeaderValue>,
    ) -> Self {
        self.headers.push(check_header(name, value));
        self
    }
}

/// Time limits of a call.
///
/// ```
/// use std::time::Duration;
/// use formsvc_client::Timeouts;
/// let patient = Timeouts::new().attempt(Duration::from_secs(60)).overall(None);
/// assert_ne!(patient, Timeouts::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Timeouts {
    pub(crate) connect: Duration,
    pub(crate) attempt: Duration,
    pub(crate) overall: Option<Duration>,
}

impl Timeouts {
    /// 5 s to connect, 30 s for an attempt, 120 s overall.
    pub fn new() -> Self {
        Self {
            connect: Duration::from_secs(5),
            attempt: Duration::from_secs(30),
            overall: Some(Duration::from_secs(120)),
        }
    }

    /// Limits the time to connect, TLS included.
    pub fn connect(self, limit: Duration) -> Self {
        Self { connect: limit, ..self }
    }

    /// Limits one attempt, from sending the request to the last byte of the response.
    pub fn attempt(self, limit: Duration) -> Self {
        Self { attempt: limit, ..self }
    }

    /// Limits one call (for lists: one page) with its attempts, waits for the rate limit and pauses
    /// between retries. `None` leaves only the other limits.
    pub fn overall(self, limit: Option<Duration>) -> Self {
        Self { overall: limit, ..self }
    }

    /// Checks that no limit is zero.
    pub(crate) fn check(self) -> Result<(), String> {
        let overall = self.overall.unwrap_or(Duration::MAX);
        for (name, limit) in
            [("connect", self.connect), ("attempt", self.attempt), ("overall", overall)]
        {
            if limit.is_zero() {
                return Err(format!("the time limit `{name}` is zero"));
            }
        }
        Ok(())
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self::new()
    }
}
