//! Proxy and TLS settings: which proxy a request goes through, and which certificates are trusted.
//!
//! [`NetworkSettings::from_env`] reads the usual variables; [`ClientBuilder::network`] sets other
//! settings. Every request of the SDK follows them.
//!
//! Proxies: `https` URLs use `HTTPS_PROXY`, `http` URLs use `HTTP_PROXY`, and both fall back to
//! `ALL_PROXY`. `NO_PROXY` lists hosts that are reached directly. Each name works in upper and lower
//! case; a blank variable counts as unset. Localhost is never sent to a proxy. An unusable proxy
//! variable is an error for the requests that need it, and of `build` if the base URL needs it.
//!
//! TLS: the system's certificates are trusted, or, if `SSL_CERT_FILE` or `SSL_CERT_DIR` is set, the
//! certificates there instead; an empty variable is an error.
//! [`NetworkSettings::add_root_certificates`] adds more.
//!
//! # The system's certificates
//!
//! The library that loads them reads `SSL_CERT_FILE` and `SSL_CERT_DIR` of the process itself: if one
//! of them is set, its certificates are the system's, also for [`NetworkSettings::direct`] and
//! [`NetworkSettings::from_vars`].
//!
//! [`ClientBuilder::network`]: crate::ClientBuilder::network

mod error;
mod failure;
mod http_client;
mod no_proxy;
mod proxy;
mod resolver;
mod tls;
mod trust;

use std::ffi::OsString;
use std::sync::Arc;

use url::Url;

pub use error::NetworkError;
pub use failure::{ConnectFailure, ConnectFailureKind};
pub use http_client::{HttpClient, HttpError, HttpResponse};
pub use proxy::{ProxyInfo, Route};
pub use trust::CertificateOrigin;

use proxy::ProxySettings;
use resolver::Resolver;
use tls::ClientIdentity;
use trust::{Certificates, TrustStore};

/// The proxy and TLS settings of outgoing requests. Its Debug output contains no passwords.
///
/// ```
/// use formsvc_client::network::NetworkSettings;
/// let settings = NetworkSettings::from_vars(|name| match name {
///     "HTTPS_PROXY" => Some("http://user:secret@proxy.example:3128".into()),
///     "NO_PROXY" => Some("intranet.example, 10.0.0.0/8".into()),
///     _ => None,
/// })?;
/// let proxy = settings.proxy_for("https://forms.example").unwrap();
/// assert_eq!(proxy.to_string(), "http://proxy.example:3128 (HTTPS_PROXY)");
/// assert!(settings.proxy_for("https://forms.intranet.example").is_none());
/// assert!(settings.proxy_for("https://forms.localhost").is_none());
/// # Ok::<(), formsvc_client::network::NetworkError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NetworkSettings {
    proxies: ProxySettings,
    trust: Arc<TrustStore>,
    identity: Option<Arc<ClientIdentity>>,
}

impl NetworkSettings {
    /// No proxy; the [system's certificates](self#the-systems-certificates) are trusted.
    pub fn direct() -> Self {
        Self { proxies: ProxySettings::none(), trust: Arc::default(), identity: None }
    }

    /// No proxy; only the certificates of a PEM file are trusted.
    pub fn direct_with_root_certificate_file(
        origin: CertificateOrigin,
    ) -> Result<Self, NetworkError> {
        Ok(Self { trust: Arc::new(TrustStore::of_file(origin)?), ..Self::direct() })
    }

    /// Reads the environment of this process: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`,
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    ///
    /// In a CGI script (`REQUEST_METHOD` is set), `HTTP_PROXY` is ignored: the client of the script
    /// controls it through the request header `Proxy`.
    ///
    /// Fails for certificates that cannot be used. An unusable proxy variable is an error of
    /// [`check_proxy`](Self::check_proxy).
    pub fn from_env() -> Result<Self, NetworkError> {
        Self::from_vars(|name| std::env::var_os(name))
    }

    /// Reads the same variables through `lookup`. Without certificates there, the
    /// [system's](self#the-systems-certificates) are trusted.
    pub fn from_vars(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, NetworkError> {
        let (proxies, trust) = (ProxySettings::from_vars(&lookup), TrustStore::from_vars(&lookup)?);
        Ok(Self { proxies, trust: Arc::new(trust), identity: None })
    }

    /// Sends all requests through one proxy, or directly.
    pub(crate) fn set_proxy(&mut self, url: Option<&str>) -> Result<(), NetworkError> {
        self.proxies = url.map_or(Ok(ProxySettings::none()), ProxySettings::for_all)?;
        Ok(())
    }

    /// Trusts the certificates of a PEM text as well: of an authority, or of a server itself.
    pub fn add_root_certificates(
        &mut self,
        pem: &[u8],
        origin: CertificateOrigin,
    ) -> Result<(), NetworkError> {
        Arc::make_mut(&mut self.trust).add(Certificates::parse(pem, origin)?);
        Ok(())
    }

    /// Identifies the client to servers by a certificate (mutual TLS): a PEM text with the
    /// certificate chain and its private key.
    pub fn set_client_identity(&mut self, pem: &[u8]) -> Result<(), NetworkError> {
        self.identity = Some(Arc::new(ClientIdentity::parse(pem)?));
        Ok(())
    }

    /// Trusts the certificates of a PEM file as well.
    pub fn add_root_certificate_file(
        &mut self,
        origin: CertificateOrigin,
    ) -> Result<(), NetworkError> {
        Arc::make_mut(&mut self.trust).add(Certificates::read(origin)?);
        Ok(())
    }

    /// Accepts any certificate: an attacker on the path can read and change everything.
    pub fn danger_accept_any_certificate(&mut self, accept: bool) {
        Arc::make_mut(&mut self.trust).is_insecure = accept;
    }

    /// Accepts a certificate of a trusted authority for any host: the owner of another host can read and
    /// change everything.
    pub fn danger_accept_any_host(&mut self, accept: bool) {
        Arc::make_mut(&mut self.trust).accepts_any_host = accept;
    }

    /// A TLS configuration that follows these settings, for connections other than HTTP. The version of
    /// rustls (0.23) is part of this API.
    pub fn tls_config(&self) -> Result<rustls::ClientConfig, NetworkError> {
        tls::client_config(&self.trust, self.identity.as_deref())
    }

    /// How a request to a URL travels: directly, and why, or through a proxy.
    pub fn route(&self, target: &str) -> Route {
        Url::parse(target).map_or(Route::NoProxySet, |target| self.proxies.route(&target))
    }

    /// Returns an error that names the variable if a request to a URL needs a proxy variable that is
    /// unusable. [`ClientBuilder::build`](crate::ClientBuilder::build) checks the base URL.
    pub fn check_proxy(&self, target: &str) -> Result<(), NetworkError> {
        let Ok(target) = Url::parse(target) else { return Ok(()) };
        self.proxies.decide(&target).map(drop).map_err(NetworkError::clone)
    }

    /// The proxy of a URL, if it has one.
    pub fn proxy_for(&self, target: &str) -> Option<ProxyInfo> {
        match self.route(target) {
            Route::Proxy(proxy) => Some(proxy),
            _ => None,
        }
    }

    /// Descriptions of the settings that are ignored, such as an entry of `NO_PROXY` without a
    /// meaning. For a user to read, once.
    pub fn warnings(&self) -> &[String] {
        self.proxies.warnings()
    }

    /// The trusted certificates and where they come from, such as ``"the system's certificates"``.
    pub fn trust_store(&self) -> String {
        self.trust.to_string()
    }

    /// Loads the trusted certificates, which otherwise happens at the first TLS connection.
    pub(crate) fn load_trust_store(&self) -> Result<(), NetworkError> {
        self.trust.load().map(drop)
    }

    /// Returns a builder of HTTP clients that follow these settings and send each request once. They resolve
    /// localhost names to loopback addresses only, make no connection where the proxy is unusable, and decode
    /// no body.
    pub(crate) fn http_client_builder(&self) -> Result<reqwest::ClientBuilder, NetworkError> {
        let builder = reqwest::Client::builder().no_gzip().no_proxy().dns_resolver(Resolver);
        let builder = builder
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .tcp_nodelay(true);
        let builder = if self.proxies.is_empty() {
            builder
        } else {
            builder.proxy(self.proxies.for_reqwest())
        };
        let mut tls = self.tls_config()?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(builder.tls_backend_preconfigured(tls))
    }
}
