//! Why nothing came back, in words that people understand.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http::StatusCode;
use hyper_util::client::legacy;
use rustls::{CertificateError, InvalidMessage, OtherError};
use url::{Position, Url};

use super::connect::ConnectError;
use super::tls;

/// Why nothing came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendErrorKind {
    /// The URL is of nothing that a request can go to. Nothing was sent.
    BadUrl,
    /// The host has no address.
    Dns,
    /// Nothing listens there.
    Refused,
    /// The connection could not be made for another reason.
    Connect,
    /// The receiver's certificate is not trusted.
    Untrusted,
    /// TLS failed otherwise, most often because the receiver does not speak it.
    Tls,
    /// No whole answer within the time.
    Timeout,
    /// The connection ended before a whole answer had come.
    Closed,
    /// What came is not HTTP.
    BadAnswer,
}

/// Nothing came back. Its message names host and port of the receiver, and nothing else of the URL or
/// the request.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{what}")]
pub struct SendError {
    /// Why.
    pub kind: SendErrorKind,
    what: String,
    /// Time until that was known.
    pub took: Duration,
}

/// What the client says.
pub(super) enum Failed {
    /// Of a request.
    Request(legacy::Error),
    /// Of an answer's body.
    Body(hyper::Error),
}

impl Failed {
    /// `status` is that of the answer, where its head had come.
    pub(super) fn told(&self, url: &Url, status: Option<StatusCode>) -> SendError {
        match self {
            Self::Request(error) => {
                match error.source().and_then(|source| source.downcast_ref::<ConnectError>()) {
                    Some(connect) => of_connect(connect, url),
                    None => of_exchange(error, url, status),
                }
            }
            Self::Body(error) => of_exchange(error, url, status),
        }
    }
}

impl SendError {
    fn new(kind: SendErrorKind, what: String) -> Self {
        Self { kind, what, took: Duration::ZERO }
    }

    pub(super) fn after(self, took: Duration) -> Self {
        Self { took, ..self }
    }

    pub(super) fn bad_url(what: &str) -> Self {
        Self::new(SendErrorKind::BadUrl, what.to_owned())
    }

    /// The time is over.
    pub(super) fn late(
        url: &Url,
        timeout: Duration,
        is_connected: bool,
        status: Option<StatusCode>,
    ) -> Self {
        let to = place(url);
        let what = match status {
            Some(status) => {
                format!(
                    "{to} answered {}, and its body did not end within {timeout:?}",
                    status.as_u16()
                )
            }
            None if is_connected => format!("{to} did not answer within {timeout:?}"),
            None => format!("no connection to {to} within {timeout:?}"),
        };
        Self::new(SendErrorKind::Timeout, what)
    }
}

/// Host and port: what messages show of a URL.
fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => url[Position::BeforeHost..Position::AfterPort].to_owned(),
    }
}

fn of_connect(error: &ConnectError, url: &Url) -> SendError {
    use SendErrorKind::{Closed, Connect, Dns, Refused, Timeout};
    let (to, host) = (place(url), url.host_str().unwrap_or_default());
    match error {
        ConnectError::Dns(cause) => {
            SendError::new(Dns, format!("no address was found for the name {host}: {cause}"))
        }
        ConnectError::Tcp(tried) if tried.iter().all(|(_, error)| is_refusal(error)) => {
            SendError::new(Refused, refused(host, tried))
        }
        ConnectError::Tcp(tried) if tried.iter().all(|(_, error)| is_late(error)) => {
            SendError::new(Timeout, format!("{to} did not take the connection in time"))
        }
        ConnectError::Tcp(tried) => SendError::new(Connect, unconnected(tried)),
        ConnectError::Tls(cause) => of_tls(cause, &to),
        ConnectError::Lost(cause) => {
            let what =
                format!("{to} ended the connection before TLS was agreed on: {}", deepest(cause));
            SendError::new(Closed, what)
        }
        ConnectError::Late => {
            SendError::new(Timeout, format!("{to} did not take the connection in time"))
        }
    }
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
        // A machine without IPv6 has no [::1]: nothing listens there either.
        || error.kind() == io::ErrorKind::AddrNotAvailable
}

fn is_late(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}

fn refused(host: &str, tried: &[(SocketAddr, io::Error)]) -> String {
    let places: Vec<String> = tried.iter().map(|(address, _)| address.to_string()).collect();
    let places = places.join(" or ");
    if tried.iter().all(|(address, _)| address.ip().is_loopback()) {
        format!("nothing listens on {places}: is your server running?")
    } else {
        format!("nothing listens on {places}, where {host} is")
    }
}

fn unconnected(tried: &[(SocketAddr, io::Error)]) -> String {
    let mut what = String::from("cannot connect");
    for (at, (address, error)) in tried.iter().enumerate() {
        let before = if at == 0 { " to" } else { ", nor to" };
        // A text takes every write.
        let _ = write!(what, "{before} {address}: {error}");
    }
    what
}

/// What the verifier says of a certificate that is an authority's own, as `openssl req -x509` makes them.
const AUTHORITY: &str = "CaUsedAsEndEntity";

fn of_tls(error: &io::Error, to: &str) -> SendError {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => {
            SendError::new(SendErrorKind::Untrusted, untrusted(why, to))
        }
        Some(rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            let what = format!("{to} does not speak TLS: is its URL http://…?");
            SendError::new(SendErrorKind::Tls, what)
        }
        _ => SendError::new(SendErrorKind::Tls, format!("no TLS with {to}: {}", deepest(error))),
    }
}

fn untrusted(why: &CertificateError, to: &str) -> String {
    match why {
        CertificateError::UnknownIssuer => {
            format!("the certificate of {to} is of nobody who is trusted here")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!("the certificate of {to} is of another name")
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate of {to} has expired")
        }
        CertificateError::Other(OtherError(why)) if why.to_string() == AUTHORITY => {
            format!("the certificate of {to} signs itself, and is of nobody who is trusted here")
        }
        why => format!("the certificate of {to} is not trusted: {why}"),
    }
}

/// What the parser says where an answer does not begin as one, such as an alert of TLS.
const NO_VERSION: &str = "invalid HTTP version parsed";

fn of_exchange(
    error: &(dyn StdError + 'static),
    url: &Url,
    status: Option<StatusCode>,
) -> SendError {
    use SendErrorKind::{BadAnswer, Closed};
    let to = place(url);
    let chain = || std::iter::successors(Some(error), |&error| error.source());
    if chain().any(is_malformed) {
        let why = deepest(error);
        let is_of_tls = url.scheme() == "http" && why == NO_VERSION;
        let question = if is_of_tls { ". Is its URL https://…?" } else { "" };
        let what = format!("what {to} sent is no HTTP answer: {why}{question}");
        return SendError::new(BadAnswer, what);
    }
    let of_tls = chain()
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .find(|error| tls::is_of_tls(error));
    if let Some(error) = of_tls {
        return self::of_tls(error, &to);
    }
    let mut what = match status {
        None => format!("{to} ended the connection before it answered"),
        Some(status) => {
            let status = status.as_u16();
            format!("{to} answered {status}, and ended the connection before the end of its body")
        }
    };
    let cause = chain().filter_map(|error| error.downcast_ref::<io::Error>()).last();
    if let Some(cause) = cause {
        let cause = cause.to_string();
        // The rest is the address of a manual for programmers.
        let (cause, _) = cause.split_once(": https://").unwrap_or((&cause, ""));
        let _ = write!(what, ": {cause}");
    }
    SendError::new(Closed, what)
}

/// Whether an error in a chain is about what was sent, and not the connection.
fn is_malformed(error: &(dyn StdError + 'static)) -> bool {
    if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
        return hyper.is_parse();
    }
    let Some(io) = error.downcast_ref::<io::Error>() else { return false };
    // What the reader of chunked bodies says of one that is not.
    let is_about_data =
        matches!(io.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput);
    is_about_data && !tls::is_of_tls(io)
}

/// What is at the bottom of an error.
fn deepest(error: &(dyn StdError + 'static)) -> String {
    let chain = std::iter::successors(Some(error), |&error| error.source());
    chain.last().map(ToString::to_string).unwrap_or_default()
}
