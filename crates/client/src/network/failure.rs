//! Why no connection could be made: one classification of the errors of reqwest and rustls.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use http::StatusCode;
use rustls::{AlertDescription, CertificateError, InvalidMessage, OtherError};
use url::Url;

use super::{NetworkError, NetworkSettings, ProxyInfo, Route};
use crate::error::{Error, causes};

/// The kinds of failed connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectFailureKind {
    /// The host name has no address.
    Dns,
    /// Nothing listens on the port.
    Refused,
    /// The connection took too long.
    Timeout,
    /// The connection failed otherwise.
    Unreachable,
    /// The proxy itself could not be reached.
    ProxyUnreachable,
    /// The proxy demands a user name and a password (407), or rejects those it got. Retrying does
    /// not help.
    ProxyAuth,
    /// The proxy did not make the connection to the server.
    ProxyRefused,
    /// The certificate is not issued by a trusted authority.
    UnknownIssuer,
    /// The certificate of an authority itself, most often a self-signed one, is used by a server.
    SelfSigned,
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// The certificate is for other host names.
    WrongHostName,
    /// The certificate is invalid for another reason.
    BadCertificate,
    /// The server does not use TLS on this port.
    NotTls,
    /// TLS failed otherwise.
    Tls,
    /// The trusted certificates could not be loaded.
    TrustStore,
}

impl ConnectFailureKind {
    /// True if the certificate of the server, or of the proxy, was not accepted.
    pub fn is_certificate(self) -> bool {
        matches!(
            self,
            Self::UnknownIssuer
                | Self::SelfSigned
                | Self::Expired
                | Self::NotYetValid
                | Self::WrongHostName
                | Self::BadCertificate
        )
    }

    /// True if TLS failed, certificates included.
    pub fn is_tls(self) -> bool {
        self.is_certificate() || matches!(self, Self::NotTls | Self::Tls | Self::TrustStore)
    }
}

/// A failed connection. The text names the server or the proxy, and contains no credentials.
#[derive(Clone, Debug)]
pub struct ConnectFailure {
    kind: ConnectFailureKind,
    message: String,
}

impl ConnectFailure {
    /// The kind of failure.
    pub fn kind(&self) -> ConnectFailureKind {
        self.kind
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for ConnectFailure {}

impl Error {
    /// Returns why no connection was made, if the built-in HTTP client failed to connect.
    pub fn connect_failure(&self) -> Option<&ConnectFailure> {
        self.source_as()
    }
}

/// A name that could not be resolved.
#[derive(Debug)]
pub(super) struct ResolveError(pub(super) io::Error);

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for ResolveError {}

/// Prefixes of the texts of a failed CONNECT and of a failed SOCKS handshake in hyper-util. The error
/// types are private.
const HANDSHAKE: [&str; 2] = ["tunnel error: ", "SOCKS error: "];
/// After either: no connection to the proxy.
const NO_CONNECTION: &str = "failed to create underlying connection";
/// After the first: the proxy answered 407.
const AUTH_REQUIRED: &str = "proxy authorization required";
/// After the first: the proxy answered with another status, or not with HTTP.
const UNSUCCESSFUL: &str = "unsuccessful";
/// After the second: the proxy rejects the user name and the password.
const SOCKS_REJECTED: &str = "credentials not accepted";
/// After the second: the proxy accepts none of the offered methods. Without credentials, only "no
/// authentication" was offered.
const SOCKS_METHOD: &str = "server does not support user/pass authentication";
/// The text of the verifier's error for a server that presents the certificate of an authority.
const AUTHORITY: &str = "CaUsedAsEndEntity";

impl NetworkSettings {
    /// Explains the error of a request that a client of these settings sent to `target`; `None` if
    /// the error is not about the connection. `error` is the error of the HTTP library with its
    /// sources.
    pub fn connect_failure(
        &self,
        target: &str,
        error: &(dyn StdError + 'static),
    ) -> Option<ConnectFailure> {
        let url = Url::parse(target).ok()?;
        let proxy = match self.route(target) {
            Route::Proxy(proxy) => Some(proxy),
            Route::Unusable(message) => {
                let kind = ConnectFailureKind::ProxyUnreachable;
                return Some(ConnectFailure { kind, message });
            }
            _ => None,
        };
        let server = server(&url);
        let handshake = causes(error).find_map(|error| strip_handshake(&error.to_string()));
        let is_of_proxy =
            handshake.as_deref() == Some(NO_CONNECTION) || is_forwarded(&url, proxy.as_ref());
        if let Some(error) = causes(error).find_map(|error| error.downcast_ref::<rustls::Error>()) {
            let (kind, message) = match &proxy {
                Some(proxy) if is_of_proxy => of_tls(error, &format!("the proxy {proxy}")),
                _ => of_tls(error, &server),
            };
            return Some(ConnectFailure { kind, message });
        }
        let client_error =
            causes(error).find_map(|error| error.downcast_ref::<reqwest::Error>())?;
        if !client_error.is_connect() {
            return None;
        }
        let through = match &proxy {
            Some(proxy) => format!("{server} (through the proxy {proxy})"),
            None => server.clone(),
        };
        let (kind, message) = match (&proxy, handshake) {
            (Some(proxy), Some(why)) if why != NO_CONNECTION => of_handshake(proxy, &why, &server),
            _ if client_error.is_timeout() => {
                (ConnectFailureKind::Timeout, format!("no connection to {through} in time"))
            }
            (Some(proxy), _) if is_of_proxy => {
                let why = innermost(error).filter(|why| strip_handshake(why).is_none());
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                let message = format!("the proxy {proxy} cannot be reached{why}");
                (ConnectFailureKind::ProxyUnreachable, message)
            }
            // With a proxy: SOCKS with a name that is resolved here, or TLS with the server.
            _ => of_io(error, &url, &through),
        };
        Some(ConnectFailure { kind, message })
    }

    /// Explains a response that came from the proxy and not from the server: 407 to a request for an
    /// `http` URL. A proxy refuses a request for an `https` URL before there is a connection.
    pub fn proxy_refusal(&self, target: &str, status: StatusCode) -> Option<ConnectFailure> {
        let proxy = self.proxy_for(target);
        if status != StatusCode::PROXY_AUTHENTICATION_REQUIRED
            || !is_forwarded(&Url::parse(target).ok()?, proxy.as_ref())
        {
            return None;
        }
        let (kind, message) = of_handshake(&proxy?, AUTH_REQUIRED, "");
        Some(ConnectFailure { kind, message })
    }
}

/// Host and port of a URL.
fn server(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// Returns true if the proxy gets the request itself, and not a CONNECT or a SOCKS handshake.
fn is_forwarded(url: &Url, proxy: Option<&ProxyInfo>) -> bool {
    let is_http = |proxy: &ProxyInfo| !proxy.address().starts_with("socks");
    url.scheme() == "http" && proxy.is_some_and(is_http)
}

fn strip_handshake(text: &str) -> Option<String> {
    HANDSHAKE.iter().find_map(|prefix| text.strip_prefix(prefix)).map(str::to_owned)
}

fn of_handshake(proxy: &ProxyInfo, why: &str, server: &str) -> (ConnectFailureKind, String) {
    use ConnectFailureKind::{ProxyAuth, ProxyRefused};
    let refused = format!("the proxy {proxy} refused the connection to {server}");
    match why {
        AUTH_REQUIRED | SOCKS_REJECTED | SOCKS_METHOD => {
            let code = if why == AUTH_REQUIRED { " (407)" } else { "" };
            let verb = if proxy.has_credentials() {
                "rejects its user name and password"
            } else {
                "requires a user name and a password"
            };
            (ProxyAuth, format!("the proxy {proxy} {verb}{code}"))
        }
        UNSUCCESSFUL => (ProxyRefused, refused),
        why => (ProxyRefused, format!("{refused}: {why}")),
    }
}

fn of_io(
    error: &(dyn StdError + 'static),
    url: &Url,
    subject: &str,
) -> (ConnectFailureKind, String) {
    if let Some(why) = causes(error).find_map(|error| error.downcast_ref::<ResolveError>()) {
        let host = url.host_str().unwrap_or_default();
        return (ConnectFailureKind::Dns, format!("no address found for `{host}`: {why}"));
    }
    let io = causes(error).filter_map(|error| error.downcast_ref::<io::Error>()).last();
    match io.map(io::Error::kind) {
        // Without IPv6 on this machine, nothing listens on an IPv6 address either.
        Some(io::ErrorKind::ConnectionRefused | io::ErrorKind::AddrNotAvailable) => {
            (ConnectFailureKind::Refused, format!("nothing listens on {subject}"))
        }
        Some(io::ErrorKind::TimedOut) => {
            (ConnectFailureKind::Timeout, format!("no connection to {subject} in time"))
        }
        _ => {
            let why = innermost(error).unwrap_or_default();
            (ConnectFailureKind::Unreachable, format!("cannot connect to {subject}: {why}"))
        }
    }
}

/// The text of the last cause.
fn innermost(error: &(dyn StdError + 'static)) -> Option<String> {
    causes(error).last().map(ToString::to_string)
}

/// Explains an error of TLS; `subject` is the server or the proxy that was connected to.
fn of_tls(error: &rustls::Error, subject: &str) -> (ConnectFailureKind, String) {
    match error {
        rustls::Error::InvalidCertificate(why) => of_certificate(why, subject),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            (ConnectFailureKind::NotTls, format!("{subject} does not use TLS"))
        }
        rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            let message = format!(
                "{subject} accepts no HTTP/1.1 over TLS; if it speaks only HTTP/2, enable HTTP/1.1 on it"
            );
            (ConnectFailureKind::Tls, message)
        }
        rustls::Error::Other(OtherError(inner)) if inner.is::<NetworkError>() => {
            let why = inner.source().map_or_else(String::new, |why| format!(": {why}"));
            (ConnectFailureKind::TrustStore, format!("{inner}{why}"))
        }
        error => (ConnectFailureKind::Tls, format!("no TLS with {subject}: {error}")),
    }
}

fn of_certificate(why: &CertificateError, subject: &str) -> (ConnectFailureKind, String) {
    use CertificateError as C;
    use ConnectFailureKind as K;
    let (kind, rule) = match why {
        // A bad signature: another authority has the same name.
        C::UnknownIssuer | C::BadSignature => {
            (K::UnknownIssuer, "is not issued by a trusted authority".to_owned())
        }
        C::Expired | C::ExpiredContext { .. } => (K::Expired, "has expired".to_owned()),
        C::NotValidYet | C::NotValidYetContext { .. } => {
            (K::NotYetValid, "is not valid yet".to_owned())
        }
        C::NotValidForName | C::NotValidForNameContext { .. } => {
            (K::WrongHostName, "is for another host name".to_owned())
        }
        C::Other(OtherError(why)) if why.to_string() == AUTHORITY => {
            let rule = "is self-signed or an authority's own, and is not trusted";
            (K::SelfSigned, rule.to_owned())
        }
        why => (K::BadCertificate, format!("is not valid: {why}")),
    };
    (kind, format!("the certificate of {subject} {rule}"))
}
