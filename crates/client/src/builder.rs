//! Building a client.

use std::error::Error as StdError;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue};
use secrecy::SecretString;

use crate::api_key::ApiKey;
use crate::base_url::BaseUrl;
use crate::error::{Error, ErrorKind, Parts};
use crate::limit::Gate;
use crate::network::{NetworkError, NetworkSettings};
use crate::operation::BUILD;
use crate::retry::Budget;
use crate::shared::{Clock, OnEvent, Random, Shared};
use crate::transport::OverReqwest;
use crate::{Client, Event, RateLimit, RetryPolicy, Timeouts, Transport};

/// Longest single wait unless set.
const MAX_WAIT: Duration = Duration::from_secs(120);
/// Largest body unless set: twice what the service puts on a page of more than one submission.
const MAX_BODY: usize = 32 << 20;
/// What it may be set to. Places in a body are kept in 32 bits.
const MAX_BODY_RANGE: std::ops::RangeInclusive<usize> = 1..=1 << 30;
const USER_AGENT: &str = concat!("formsvc-client/", env!("CARGO_PKG_VERSION"));

/// The settings of a [`Client`]. Setters only store; [`build`](Self::build) checks everything.
#[must_use]
pub struct ClientBuilder {
    base_url: Option<String>,
    api_key: Option<SecretString>,
    timeouts: Timeouts,
    retry: RetryPolicy,
    rate_limit: RateLimit,
    max_wait: Duration,
    max_body: usize,
    allow_insecure_http: bool,
    user_agent_suffix: Option<String>,
    network: Option<NetworkSettings>,
    transport: Option<Arc<dyn Transport>>,
    on_event: Option<OnEvent>,
    clock: Clock,
    random: Random,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            base_url: None,
            api_key: None,
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
            rate_limit: RateLimit::default(),
            max_wait: MAX_WAIT,
            max_body: MAX_BODY,
            allow_insecure_http: false,
            user_agent_suffix: None,
            network: None,
            transport: None,
            on_event: None,
            clock: Arc::new(SystemTime::now),
            random: Arc::new(random),
        }
    }
}

impl ClientBuilder {
    /// The address of the service; required. `https`, or `http` for this machine: `localhost`,
    /// `*.localhost`, 127.0.0.0/8, `[::1]`. A path is kept as a prefix; user info, a query or a
    /// fragment is refused.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The API key (SPEC §5); required. Sent only to the base address, and shown nowhere.
    pub fn api_key(mut self, key: SecretString) -> Self {
        self.api_key = Some(key);
        self
    }

    /// How long things may take.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// How often and how fast to try again.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// The client's own limit on requests; by default the service's, 300 per minute (SPEC §8).
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = limit;
        self
    }

    /// Longest single wait: for the limiter, for a 429 another clone was given, or because of
    /// `Retry-After`. A call that would have to wait longer fails at once with
    /// [`ErrorKind::RateLimitWait`]. Default 120 s; [`Timeouts::overall`] bounds waits too.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.max_wait = wait;
        self
    }

    /// Largest body of an answer, in bytes; a larger one is an [`ErrorKind::TooLarge`]. Default
    /// 32 MiB: the service ends a page at 16 MiB of submissions. At least 1, at most 1 GiB.
    ///
    /// Memory for a list is bounded by it: a body for each page held, and a few dozen bytes for
    /// each submission and answer on it.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Allows `http` to other machines. The API key then travels in the clear.
    pub fn allow_insecure_http(mut self, allow: bool) -> Self {
        self.allow_insecure_http = allow;
        self
    }

    /// Text added to `User-Agent`, such as `acme-sync/1.2`.
    pub fn user_agent_suffix(mut self, suffix: impl Into<String>) -> Self {
        self.user_agent_suffix = Some(suffix.into());
        self
    }

    /// Sets proxy and TLS settings. By default [`build`](Self::build) reads them from the environment:
    /// [`NetworkSettings::from_env`].
    pub fn network(mut self, settings: NetworkSettings) -> Self {
        self.network = Some(settings);
        self
    }

    /// Sends requests by other means than the built-in HTTP client, which then takes no part:
    /// connecting, proxies and TLS are the transport's.
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Hears of every attempt, retry, wait and page.
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(listener));
        self
    }

    /// The wall clock a `Retry-After` date is measured against when the answer has no `Date`;
    /// for tests. Waits and timeouts use tokio's clock.
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(now);
        self
    }

    /// The source of the randomness in pauses, numbers in 0..1; for tests.
    pub fn random(mut self, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        self.random = Arc::new(random);
        self
    }

    /// Checks every setting and makes the client. Sends nothing and needs no runtime.
    ///
    /// Fails with [`ErrorKind::Config`] on a base URL or key that is missing or breaks a rule, a
    /// time limit of zero, a cap of bodies out of range, a `User-Agent` suffix that is not visible
    /// ASCII, a proxy or TLS variable that cannot be used, or TLS that cannot be set up.
    pub fn build(self) -> Result<Client, Error> {
        let Some(base_url) = &self.base_url else { return Err(wrong("no base URL is set")) };
        let base = BaseUrl::read(base_url, self.allow_insecure_http)
            .map_err(|error| wrong(error.to_string()))?;
        let Some(key) = &self.api_key else { return Err(wrong("no API key is set")) };
        let key = ApiKey::check(key).map_err(wrong)?;
        check_timeouts(self.timeouts)?;
        if !MAX_BODY_RANGE.contains(&self.max_body) {
            let (bytes, most) = (self.max_body, MAX_BODY_RANGE.end());
            return Err(wrong(format!("the largest body `{bytes}` is not in 1..={most} bytes")));
        }
        let user_agent = user_agent(self.user_agent_suffix.as_deref())?;
        let transport = if let Some(transport) = self.transport {
            transport
        } else {
            let network = match self.network {
                Some(network) => network,
                None => environment()?,
            };
            Arc::new(OverReqwest::new(&base, self.timeouts.connect, network)?)
        };
        Ok(Client {
            shared: Arc::new(Shared {
                transport,
                base,
                key: Arc::new(key),
                user_agent,
                headers: HeaderMap::new(),
                timeouts: self.timeouts,
                budget: Arc::new(Budget::new(self.retry.budget)),
                retry: self.retry,
                rate_limit: self.rate_limit,
                gate: Arc::new(Gate::new(self.rate_limit)),
                max_wait: self.max_wait,
                max_body: self.max_body,
                on_event: self.on_event,
                clock: self.clock,
                random: self.random,
            }),
        })
    }
}

/// A number in 0..1 that tells processes and calls apart; jitter needs no more. The standard library
/// seeds each state anew.
fn random() -> f64 {
    let bits = RandomState::new().hash_one(0_u8) >> (u64::BITS - 32);
    f64::from(u32::try_from(bits).expect("32 bits are left")) / f64::from(u32::MAX)
}

fn check_timeouts(timeouts: Timeouts) -> Result<(), Error> {
    let overall = timeouts.overall.unwrap_or(Duration::MAX);
    for (name, limit) in
        [("connect", timeouts.connect), ("attempt", timeouts.attempt), ("overall", overall)]
    {
        if limit.is_zero() {
            return Err(wrong(format!("the time limit `{name}` is zero")));
        }
    }
    Ok(())
}

fn user_agent(suffix: Option<&str>) -> Result<HeaderValue, Error> {
    let Some(suffix) = suffix.filter(|suffix| !suffix.is_empty()) else {
        return Ok(HeaderValue::from_static(USER_AGENT));
    };
    let printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if !suffix.bytes().all(printable) {
        return Err(wrong("the `User-Agent` suffix has a character that is not visible ASCII"));
    }
    Ok(HeaderValue::try_from(format!("{USER_AGENT} {suffix}"))
        .expect("visible ASCII can stand in a header"))
}

pub(crate) fn wrong(what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::parts(ErrorKind::Config, BUILD, what).into()
}

/// The network settings of this process. Settings that are ignored are logged.
fn environment() -> Result<NetworkSettings, Error> {
    let network = NetworkSettings::from_env().map_err(bad_network)?;
    #[cfg(feature = "tracing")]
    for warning in network.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(network)
}

/// The error of a proxy or TLS setting.
pub(crate) fn bad_network(error: NetworkError) -> Error {
    let parts = Error::parts(ErrorKind::Config, BUILD, error.to_string());
    match error.into_source() {
        Some(source) => parts.with_source(source).into(),
        None => parts.into(),
    }
}

pub(crate) fn cannot_set_up(source: Box<dyn StdError + Send + Sync>) -> Error {
    let parts: Parts = Error::parts(ErrorKind::Config, BUILD, "the HTTP client cannot be set up");
    parts.with_source(source).into()
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The base URL is left out: before it is checked it may hold a password.
        f.debug_struct("ClientBuilder")
            .field("api_key", &self.api_key)
            .field("timeouts", &self.timeouts)
            .field("retry", &self.retry)
            .field("rate_limit", &self.rate_limit)
            .field("max_wait", &self.max_wait)
            .field("max_body", &self.max_body)
            .field("allow_insecure_http", &self.allow_insecure_http)
            .field("user_agent_suffix", &self.user_agent_suffix)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}
