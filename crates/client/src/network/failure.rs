//! Why no connection could be made: one classification of the errors of reqwest and rustls.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use http::StatusCode;
use url::Url;

use super::{NetworkSettings, ProxyInfo, Route};
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

/// Prefix of the text of a failed CONNECT in hyper-util. The error type is private.
const TUNNEL: &str = "tunnel error: ";
/// Prefix of the text of a failed SOCKS handshake in hyper-util. The error type is private.
const SOCKS: &str = "SOCKS error: ";
/// After either: no connection to the proxy.
const NO_CONNECTION: &str = "failed to create underlying connection";
/// After [`TUNNEL`]: the proxy answered 407.
const AUTH_REQUIRED: &str = "proxy authorization required";
/// After [`TUNNEL`]: the proxy answered with another status, or not with HTTP.
const UNSUCCESSFUL: &str = "unsuccessful";
/// After [`SOCKS`]: the proxy rejects the user name and the password.
const SOCKS_REJECTED: &str = "credentials not accepted";
/// After [`SOCKS`]: the proxy accepts none of the offered methods. Without credentials, only "no
/// authentication" was offered.
const SOCKS_METHOD: &str = "server does not support user/pass authentication";

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
                return Some(ConnectFailure {
                    kind: ConnectFailureKind::ProxyUnreachable,
                    message,
                });
            }
            _ => None,
        };
        let server = server(&url);
        let is_forwarded = url.scheme() == "http"
            && proxy.as_ref().is_some_and(|proxy| !proxy.address().starts_with("socks"));
        let texts = || causes(error).map(ToString::to_string);
        let after =
            |prefix: &str| texts().find_map(|text| text.strip_prefix(prefix).map(str::to_owned));
        let (tunnel, socks) = (after(TUNNEL), after(SOCKS));
        #[cfg(feature = "rustls")]
        {
            let is_of_proxy = is_forwarded || tunnel.as_deref() == Some(NO_CONNECTION);
            let subject = match &proxy {
                Some(proxy) if is_of_proxy => format!("the proxy {proxy}"),
                _ => server.clone(),
            };
            if let Some(failure) = tls::failure(error, &subject) {
                return Some(failure);
            }
        }
        let error_of_client =
            causes(error).find_map(|error| error.downcast_ref::<reqwest::Error>())?;
        if !error_of_client.is_connect() {
            return None;
        }
        let (kind, message) = match (&proxy, tunnel, socks) {
            (Some(proxy), Some(why), _) if why != NO_CONNECTION => of_tunnel(proxy, &why, &server),
            (Some(proxy), _, Some(why)) if why != NO_CONNECTION => of_socks(proxy, &why, &server),
            _ if error_of_client.is_timeout() => {
                let through = match &proxy {
                    Some(proxy) => format!(" through the proxy {proxy}"),
                    None => String::new(),
                };
                (ConnectFailureKind::Timeout, format!("no connection to {server}{through} in time"))
            }
            (Some(proxy), None, None) if !is_forwarded => {
                // SOCKS with a name that is resolved here, or TLS with the server.
                of_io(error, &url, &format!("{server} (through the proxy {proxy})"))
            }
            (Some(proxy), ..) => {
                let why = innermost(error, &[TUNNEL, SOCKS]);
                let why = why.map_or_else(String::new, |why| format!(": {why}"));
                let message = format!("the proxy {proxy} cannot be reached{why}");
                (ConnectFailureKind::ProxyUnreachable, message)
            }
            (None, ..) => of_io(error, &url, &server),
        };
        Some(ConnectFailure { kind, message })
    }

    /// Explains an answer that came from the proxy and not from the server: 407 to a request for an
    /// `http` URL. A proxy refuses a request for an `https` URL before there is a connection.
    pub fn proxy_refusal(&self, target: &str, status: StatusCode) -> Option<ConnectFailure> {
        if status != StatusCode::PROXY_AUTHENTICATION_REQUIRED {
            return None;
        }
        let proxy = self.proxy_for(target)?;
        let is_http = Url::parse(target).is_ok_and(|url| url.scheme() == "http");
        let is_forwarded = is_http && !proxy.address().starts_with("socks");
        is_forwarded.then(|| ConnectFailure {
            kind: ConnectFailureKind::ProxyAuth,
            message: auth_required(&proxy, " (407)"),
        })
    }
}

/// Host and port of a URL.
fn server(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn auth_required(proxy: &ProxyInfo, code: &str) -> String {
    if proxy.has_credentials() {
        format!("the proxy {proxy} rejects its user name and password{code}")
    } else {
        format!("the proxy {proxy} requires a user name and a password{code}")
    }
}

fn of_tunnel(proxy: &ProxyInfo, why: &str, server: &str) -> (ConnectFailureKind, String) {
    match why {
        AUTH_REQUIRED => (ConnectFailureKind::ProxyAuth, auth_required(proxy, " (407)")),
        UNSUCCESSFUL => (
            ConnectFailureKind::ProxyRefused,
            format!("the proxy {proxy} refused the connection to {server}"),
        ),
        why => (
            ConnectFailureKind::ProxyRefused,
            format!("the proxy {proxy} did not answer the request for {server}: {why}"),
        ),
    }
}

fn of_socks(proxy: &ProxyInfo, why: &str, server: &str) -> (ConnectFailureKind, String) {
    match why {
        SOCKS_REJECTED | SOCKS_METHOD => (ConnectFailureKind::ProxyAuth, auth_required(proxy, "")),
        why => (
            ConnectFailureKind::ProxyRefused,
            format!("the proxy {proxy} refused the connection to {server}: {why}"),
        ),
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
            let why = innermost(error, &[]).unwrap_or_default();
            (ConnectFailureKind::Unreachable, format!("cannot connect to {subject}: {why}"))
        }
    }
}

/// The text of the last cause, unless that only has one of the prefixes.
fn innermost(error: &(dyn StdError + 'static), without: &[&str]) -> Option<String> {
    let text = causes(error).last()?.to_string();
    (!without.iter().any(|prefix| text.starts_with(prefix))).then_some(text)
}

#[cfg(feature = "rustls")]
mod tls {
    use std::error::Error as StdError;

    use rustls::{CertificateError, Error, InvalidMessage, OtherError};

    use super::{ConnectFailure, ConnectFailureKind, causes};
    use crate::network::NetworkError;

    /// The text of the verifier's error for a server that presents the certificate of an authority.
    const AUTHORITY: &str = "CaUsedAsEndEntity";

    /// Explains an error of TLS; `subject` is the server or the proxy that was connected to.
    pub(super) fn failure(
        error: &(dyn StdError + 'static),
        subject: &str,
    ) -> Option<ConnectFailure> {
        let error = causes(error).find_map(|error| error.downcast_ref::<Error>())?;
        let (kind, message) = match error {
            Error::InvalidCertificate(why) => of_certificate(why, subject),
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
                (ConnectFailureKind::NotTls, format!("{subject} does not use TLS"))
            }
            Error::Other(OtherError(inner)) if inner.is::<NetworkError>() => {
                let why = inner.source().map_or_else(String::new, |why| format!(": {why}"));
                let message = format!("the trusted certificates cannot be loaded{why}");
                (ConnectFailureKind::TrustStore, message)
            }
            error => (ConnectFailureKind::Tls, format!("no TLS with {subject}: {error}")),
        };
        Some(ConnectFailure { kind, message })
    }

    fn of_certificate(why: &CertificateError, subject: &str) -> (ConnectFailureKind, String) {
        use CertificateError as C;
        let certificate = format!("the certificate of {subject}");
        match why {
            // A bad signature: another authority has the same name.
            C::UnknownIssuer | C::BadSignature => (
                ConnectFailureKind::UnknownIssuer,
                format!("{certificate} is not issued by a trusted authority"),
            ),
            C::Expired | C::ExpiredContext { .. } => {
                (ConnectFailureKind::Expired, format!("{certificate} has expired"))
            }
            C::NotValidYet | C::NotValidYetContext { .. } => {
                (ConnectFailureKind::NotYetValid, format!("{certificate} is not valid yet"))
            }
            C::NotValidForName | C::NotValidForNameContext { .. } => (
                ConnectFailureKind::WrongHostName,
                format!("{certificate} is for another host name"),
            ),
            C::Other(OtherError(why)) if why.to_string() == AUTHORITY => (
                ConnectFailureKind::SelfSigned,
                format!("{certificate} is self-signed or an authority's own, and is not trusted"),
            ),
            why => {
                (ConnectFailureKind::BadCertificate, format!("{certificate} is not valid: {why}"))
            }
        }
    }
}
