//! The builder of clients.

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::header::USER_AGENT;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::api_key::{ApiKey, ApiKeyError};
use crate::base_url::BaseUrl;
use crate::error::Error;
use crate::event::ClientEvent;
use crate::limiter::Limiter;
use crate::network::{CertificateOrigin, NetworkSettings};
use crate::operation::BUILD;
use crate::options::{CheckedHeader, check_header};
use crate::retry::Budget;
use crate::shared::{CallSettings, Shared};
use crate::transport::ReqwestTransport;
use crate::transport::Transport;
use crate::{Client, RateLimit, RetryPolicy, Timeouts};

/// Positions in a body are 32 bits.
const MAX_BODY_RANGE: std::ops::RangeInclusive<usize> = 1..=1 << 30;
const PRODUCT: &str = concat!("formsvc-client/", env!("CARGO_PKG_VERSION"));

type WrapTransport = Box<dyn FnOnce(Arc<dyn Transport>) -> Arc<dyn Transport> + Send + Sync>;

/// The settings of a [`Client`]. Setters only store values; [`build`](Self::build) checks all of them.
#[derive(Default)]
#[must_use]
pub struct ClientBuilder {
    base_url: Option<String>,
    api_key: Option<Result<ApiKey, ApiKeyError>>,
    rate_limit: RateLimit,
    danger_allow_http: bool,
    user_agent: Option<String>,
    headers: Vec<CheckedHeader>,
    proxy: Option<String>,
    no_proxy: bool,
    network: Option<NetworkSettings>,
    root_certificates: Vec<Vec<u8>>,
    client_identity: Option<Vec<u8>>,
    transport: Option<Arc<dyn Transport>>,
    wraps: Vec<WrapTransport>,
    settings: CallSettings,
}

impl ClientBuilder {
    /// Creates a builder with base URL and API key from the environment: see [`Client::from_env`].
    pub fn from_env() -> Result<Self, Error> {
        Self::from_vars(|name| std::env::var_os(name))
    }

    /// Sets the address of the service; required. `https`, or `http` for this machine: `localhost`,
    /// `*.localhost`, 127.0.0.0/8, `[::1]`. A path is kept as a prefix; user info, a query or a
    /// fragment is refused.
    pub fn base_url(self, url: impl Into<String>) -> Self {
        Self { base_url: Some(url.into()), ..self }
    }

    /// Sets the API key (SPEC §5), as an [`ApiKey`] or as text; required. It is sent only to the base
    /// URL, and never shown.
    pub fn api_key(self, key: impl TryInto<ApiKey, Error: Into<ApiKeyError>>) -> Self {
        Self { api_key: Some(key.try_into().map_err(Into::into)), ..self }
    }

    /// Sets the time limits.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.settings.timeouts = timeouts;
        self
    }

    /// Sets the number and the pace of retries.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.settings.retry = policy;
        self
    }

    /// Sets the client's own limit on requests. Default: the limit that the service announces, or 300
    /// per minute (SPEC §8).
    pub fn rate_limit(self, limit: RateLimit) -> Self {
        Self { rate_limit: limit, ..self }
    }

    /// Sets the longest single wait: for the limiter, after a 429, or because of `Retry-After`. A
    /// call that would have to wait longer fails at once with
    /// [`ErrorKind::RateLimitWait`](crate::ErrorKind::RateLimitWait). Default 120 s;
    /// [`Timeouts::overall`] limits waits too.
    pub fn max_wait(mut self, wait: Duration) -> Self {
        self.settings.max_wait = wait;
        self
    }

    /// Sets the largest body of a response in bytes, 1 to 1 GiB; a larger one is an
    /// [`ErrorKind::TooLarge`](crate::ErrorKind::TooLarge). Default 32 MiB: the service ends a page
    /// at 16 MiB of submissions.
    ///
    /// A list keeps one page in memory: its body and its decoded submissions.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.settings.max_body = bytes;
        self
    }

    /// Allows `http` to other machines. Anyone on the way can then read the API key and the answers.
    pub fn danger_allow_http(self, allow: bool) -> Self {
        Self { danger_allow_http: allow, ..self }
    }

    /// Appends a product to `User-Agent`, such as `acme-sync/1.2`. Visible ASCII.
    pub fn user_agent(self, suffix: impl Into<String>) -> Self {
        Self { user_agent: Some(suffix.into()), ..self }
    }

    /// Adds a header to every request; the last value of a name is sent. Names that the client or
    /// HTTP itself sets, such as `Authorization`, are refused.
    pub fn default_header(
        mut self,
        name: impl TryInto<HeaderName>,
        value: impl TryInto<HeaderValue>,
    ) -> Self {
        self.headers.push(check_header(name, value));
        self
    }

    /// Sends all requests through this proxy, such as `http://user:password@proxy.example:3128`; the
    /// proxy variables of the environment are ignored. Schemes: `http`, `https`, `socks5`,
    /// `socks5h`. Requests to localhost are sent directly.
    pub fn proxy(self, url: impl Into<String>) -> Self {
        Self { proxy: Some(url.into()), ..self }
    }

    /// Sends all requests directly; the proxy variables of the environment are ignored.
    pub fn no_proxy(mut self) -> Self {
        self.no_proxy = true;
        self
    }

    /// Sets proxy and TLS settings. Default: the settings of the environment, as
    /// [`NetworkSettings::from_env`] reads them.
    pub fn network(self, settings: NetworkSettings) -> Self {
        Self { network: Some(settings), ..self }
    }

    /// Trusts the certificates of a PEM text as well: of an authority, or of a server itself.
    pub fn add_root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificates.push(pem.into());
        self
    }

    /// Identifies the client to the server by a certificate (mutual TLS): a PEM text with the
    /// certificate chain and its private key. Never shown.
    pub fn client_identity(self, pem: impl Into<Vec<u8>>) -> Self {
        Self { client_identity: Some(pem.into()), ..self }
    }

    /// Sends requests through another HTTP implementation. Connections, proxies and TLS are then the
    /// responsibility of the transport.
    pub fn transport(self, transport: impl Transport) -> Self {
        Self { transport: Some(Arc::new(transport)), ..self }
    }

    /// Wraps the transport, the built-in one or that of [`transport`](Self::transport), in another one,
    /// which can change each request, observe it or answer it. Several wraps are applied in their order:
    /// the last one receives a request first.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use formsvc_client::bytes::Bytes;
    /// use formsvc_client::http::{HeaderValue, Request, Response};
    /// use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
    /// use formsvc_client::Client;
    ///
    /// /// Adds a `traceparent` to every request.
    /// struct Traced(Arc<dyn Transport>);
    ///
    /// impl Transport for Traced {
    ///     fn send<'a>(
    ///         &'a self,
    ///         mut request: Request<Bytes>,
    ///         context: &'a AttemptContext,
    ///     ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
    ///         let parent = HeaderValue::from_static("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    ///         request.headers_mut().insert("traceparent", parent);
    ///         self.0.send(request, context)
    ///     }
    /// }
    ///
    /// let client = Client::builder()
    ///     .base_url("https://forms.example")
    ///     .api_key("fsk_example")
    ///     .wrap_transport(Traced)
    ///     .build()?;
    /// # let _ = client;
    /// # Ok::<(), formsvc_client::Error>(())
    /// ```
    pub fn wrap_transport<T: Transport>(
        mut self,
        wrap: impl FnOnce(Arc<dyn Transport>) -> T + Send + Sync + 'static,
    ) -> Self {
        self.wraps.push(Box::new(move |inner| Arc::new(wrap(inner))));
        self
    }

    /// Sets a function that is called with every event: attempts, retries, waits and pages.
    pub fn on_event(mut self, listener: impl Fn(&ClientEvent) + Send + Sync + 'static) -> Self {
        self.settings.on_event = Some(Arc::new(listener));
        self
    }

    /// Sets the wall clock, for tests. The client uses it for a response without `Date`: it compares it with
    /// a `Retry-After` date and with the times of a sync. Waits and time limits use tokio's clock.
    #[cfg(feature = "test-util")]
    pub fn clock(
        mut self,
        now: impl Fn() -> std::time::SystemTime + Send + Sync + 'static,
    ) -> Self {
        self.settings.clock = Arc::new(now);
        self
    }

    /// Sets the source of random numbers in 0..1 for the pauses between retries, for tests.
    #[cfg(feature = "test-util")]
    pub fn random(mut self, random: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        self.settings.random = Arc::new(random);
        self
    }

    /// Creates a builder with base URL and API key from variables.
    pub(crate) fn from_vars(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        const BASE_URL: &str = "FORMSVC_BASE_URL";
        const API_KEY: &str = "FORMSVC_API_KEY";
        let text = |name: &str| match lookup(name).map(OsString::into_string) {
            Some(Ok(text)) if !text.is_empty() => Ok(text),
            Some(Err(_)) => Err(invalid(format!("`{name}` is not UTF-8 text"))),
            _ => Err(invalid(format!("the environment variable `{name}` is not set"))),
        };
        let url = text(BASE_URL)?;
        BaseUrl::parse(&url).map_err(|error| invalid(format!("`{BASE_URL}`: {error}")))?;
        let key = ApiKey::try_from(text(API_KEY)?)
            .map_err(|error| invalid(format!("`{API_KEY}`: {error}")))?;
        Ok(Self::default().base_url(url).api_key(key))
    }

    /// Checks every setting and creates the client. Sends no request and needs no async runtime.
    ///
    /// Fails with [`ErrorKind::Config`](crate::ErrorKind::Config) if the base URL or the key is
    /// missing, if a setting breaks a rule or contradicts another one, if a TLS variable of the
    /// environment is invalid, if the base URL needs a proxy variable that is invalid, or if TLS
    /// cannot be set up.
    pub fn build(mut self) -> Result<Client, Error> {
        self.check_contradictions()?;
        let url = self.base_url.as_deref().ok_or_else(|| invalid("no base URL is set"))?;
        let base = BaseUrl::read(url, self.danger_allow_http).map_err(invalid)?;
        let key = self.api_key.take().ok_or_else(|| invalid("no API key is set"))?;
        let key = key.map_err(invalid)?;
        self.settings.timeouts.check().map_err(invalid)?;
        self.settings.retry.check().map_err(invalid)?;
        let (bytes, most) = (self.settings.max_body, MAX_BODY_RANGE.end());
        if !MAX_BODY_RANGE.contains(&bytes) {
            return Err(invalid(format!("`max_body` is {bytes}, not in 1..={most} bytes")));
        }
        let limiter = Limiter::new(self.rate_limit)
            .ok_or_else(|| invalid("`rate_limit` is zero requests per minute"))?;
        let mut headers = HeaderMap::new();
        for header in std::mem::take(&mut self.headers) {
            let (name, value) = header.map_err(invalid)?;
            headers.insert(name, value);
        }
        headers.insert(USER_AGENT, user_agent(self.user_agent.as_deref())?);
        let transport = if let Some(transport) = self.transport.take() {
            transport
        } else {
            let (timeout, network) = (self.settings.timeouts.connect, self.network_settings()?);
            Arc::new(ReqwestTransport::new(&base, timeout, network)?)
        };
        let transport = self.wraps.into_iter().fold(transport, |inner, wrap| wrap(inner));
        Ok(Client {
            shared: Arc::new(Shared {
                transport,
                base,
                key: Arc::new(key),
                headers,
                budget: Arc::new(Budget::new(self.settings.retry.budget)),
                limiter: Arc::new(limiter),
                calls: Arc::default(),
                settings: self.settings,
            }),
        })
    }

    fn check_contradictions(&self) -> Result<(), Error> {
        let settings = [
            ("transport", self.transport.is_some()),
            ("proxy", self.proxy.is_some()),
            ("no_proxy", self.no_proxy),
            ("network", self.network.is_some()),
            ("add_root_certificate", !self.root_certificates.is_empty()),
            ("client_identity", self.client_identity.is_some()),
        ];
        let set: Vec<_> =
            settings.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| *name).collect();
        match set[..] {
            // Certificates can be added to any other setting.
            [first, "add_root_certificate" | "client_identity", ..] if first != "transport" => {
                Ok(())
            }
            [first, second, ..] => Err(invalid(format!(
                "`{first}` and `{second}` contradict each other; set only one of them"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the settings of the built-in HTTP client.
    fn network_settings(&self) -> Result<NetworkSettings, Error> {
        let network = self.network.clone();
        let mut network = network.map_or_else(NetworkSettings::from_env, Ok)?;
        if self.no_proxy || self.proxy.is_some() {
            network.set_proxy(self.proxy.as_deref())?;
        }
        #[cfg(feature = "tracing")]
        for warning in network.warnings() {
            tracing::warn!("{warning}");
        }
        for pem in &self.root_certificates {
            let setting = "add_root_certificate";
            network.add_root_certificates(pem, CertificateOrigin { setting, path: "".into() })?;
        }
        if let Some(pem) = &self.client_identity {
            network.set_client_identity(pem)?;
        }
        Ok(network)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
fn invalid(rule: impl ToString) -> Error {
    Error::config(BUILD, rule.to_string())
}

fn user_agent(suffix: Option<&str>) -> Result<HeaderValue, Error> {
    let Some(suffix) = suffix.filter(|suffix| !suffix.is_empty()) else {
        return Ok(HeaderValue::from_static(PRODUCT));
    };
    if !suffix.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err(invalid("`user_agent` contains a character that is not visible ASCII"));
    }
    Ok(HeaderValue::try_from(format!("{PRODUCT} {suffix}")).expect("visible ASCII is valid"))
}

impl Client {
    /// Returns a builder without settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Creates a client with base URL and API key from the environment variables `FORMSVC_BASE_URL`
    /// and `FORMSVC_API_KEY`. Proxy and TLS variables apply as in
    /// [`network`](ClientBuilder::network).
    ///
    /// If a variable is missing or invalid, fails with an
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) that names it.
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env()?.build()
    }
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // URLs are left out: before they are checked they may contain a password.
        f.debug_struct("ClientBuilder")
            .field("api_key", &self.api_key)
            .field("timeouts", &self.settings.timeouts)
            .field("rate_limit", &self.rate_limit)
            .field("network", &self.network)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_vars(vars: &[(&str, &str)]) -> Result<ClientBuilder, Error> {
        ClientBuilder::from_vars(|name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn environment_error_names_the_variable() {
        let url = ("FORMSVC_BASE_URL", "https://forms.example");
        for (vars, rule) in [
            (&[][..], "the environment variable `FORMSVC_BASE_URL` is not set"),
            (&[("FORMSVC_BASE_URL", "")], "the environment variable `FORMSVC_BASE_URL` is not set"),
            (&[("FORMSVC_BASE_URL", "ftp://h")], "`FORMSVC_BASE_URL`: the base URL"),
            (&[url], "the environment variable `FORMSVC_API_KEY` is not set"),
            (&[url, ("FORMSVC_API_KEY", "a b")], "`FORMSVC_API_KEY`: the API key contains"),
        ] {
            let error = from_vars(vars).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Config);
            assert!(error.to_string().contains(rule), "{error}");
        }
    }
}
