//! Settings of single calls.

use std::fmt;
use std::time::Duration;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TE,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::RetryPolicy;

/// Headers that the client or HTTP itself sets.
const TAKEN: [HeaderName; 10] = [
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

/// What may differ from call to call, for [`Client::with_options`](crate::Client::with_options).
/// What is not set stays as the client has it.
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
    #[expect(clippy::option_option, reason = "set or not; and if set, then to a limit or to none")]
    pub(crate) overall: Option<Option<Duration>>,
    pub(crate) retry: Option<RetryPolicy>,
    pub(crate) max_wait: Option<Duration>,
    pub(crate) headers: HeaderMap,
}

impl RequestOptions {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Time for one attempt: [`Timeouts::attempt`](crate::Timeouts::attempt). The time to connect
    /// belongs to the pool, and stays.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt = Some(limit);
        self
    }

    /// Time for one whole call: [`Timeouts::overall`](crate::Timeouts::overall).
    pub fn overall_timeout(mut self, limit: Option<Duration>) -> Self {
        self.overall = Some(limit);
        self
    }

    /// How often and how fast to try again. The [budget](RetryPolicy::budget) stays the one that
    /// all clones share; the policy's own is not looked at.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }

    /// Longest single wait: [`ClientBuilder::max_wait`](crate::ClientBuilder::max_wait).
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = Some(wait);
        self
    }

    /// A header to send along, such as `traceparent`; the last of a name counts. Names that the
    /// client or HTTP itself sets, such as `Authorization`, are refused by `with_options`.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The rule that a setting breaks.
    pub(crate) fn check(&self) -> Result<(), String> {
        if let Some(name) = TAKEN.iter().find(|name| self.headers.contains_key(*name)) {
            return Err(format!("the header `{name}` is the client's own"));
        }
        for (name, limit) in [("attempt", self.attempt), ("overall", self.overall.flatten())] {
            if limit.is_some_and(|limit| limit.is_zero()) {
                return Err(format!("the time limit `{name}` is zero"));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RequestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of headers may be secrets.
        f.debug_struct("RequestOptions")
            .field("attempt", &self.attempt)
            .field("overall", &self.overall)
            .field("retry", &self.retry)
            .field("max_wait", &self.max_wait)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish()
    }
}
