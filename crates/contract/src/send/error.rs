//! Reasons why a receiver gave no complete answer.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use formsvc_client::network::{ConnectFailure, ConnectFailureKind, HttpError, NetworkSettings};
use formsvc_protocol::is_localhost;
use http::StatusCode;
use url::Url;

/// The kinds of failed attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendErrorKind {
    /// The URL cannot be the target of an HTTP request. Nothing was sent.
    BadUrl,
    /// The host name has no address.
    Dns,
    /// Nothing listens on the port.
    Refused,
    /// The connection failed for another reason.
    Connect,
    /// The proxy cannot be reached, requires a password, or refused the connection.
    Proxy,
    /// The receiver's certificate is not trusted.
    Untrusted,
    /// TLS failed otherwise, most often because the receiver does not use it.
    Tls,
    /// No complete answer within the time limit.
    Timeout,
    /// The connection was closed before the answer was complete.
    Closed,
    /// The answer is not HTTP.
    BadAnswer,
}

/// A failed attempt. Its text names host and port of the receiver or the proxy, and contains no other
/// part of the URL or the request.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SendError {
    /// The kind of failure.
    pub kind: SendErrorKind,
    /// Why there was no connection, if that is the reason.
    pub connect_failure: Option<ConnectFailureKind>,
    message: String,
    /// Time from the start of the attempt to the failure.
    pub took: Duration,
}

/// An attempt to send a request, as far as errors describe it.
pub(super) struct Attempt<'a> {
    pub(super) network: &'a NetworkSettings,
    pub(super) url: &'a Url,
    pub(super) timeout: Duration,
    /// The status of the answer, once its head arrived.
    pub(super) status: Option<StatusCode>,
}

impl Attempt<'_> {
    /// Explains an error of the HTTP client.
    pub(super) fn failed(&self, error: &HttpError) -> SendError {
        if let Some(failure) = self.network.connect_failure(self.url.as_str(), error) {
            return self.not_connected(&failure);
        }
        if error.is_invalid_url() {
            let message = format!("the URL is not a target of requests: {}", innermost(error));
            return SendError::new(SendErrorKind::BadUrl, message);
        }
        if causes(error).any(is_malformed_answer) {
            return self.bad_answer(&innermost(error));
        }
        let server = self.server();
        let message = match self.status {
            None => format!("{server} closed the connection before it answered"),
            Some(status) => format!(
                "{server} answered {}, but closed the connection before the end of the body",
                status.as_u16()
            ),
        };
        let cause = causes(error).filter_map(|error| error.downcast_ref::<io::Error>()).last();
        let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
        // rustls appends a link to its manual.
        let cause = cause.split_once(": https://").map_or(&*cause, |(cause, _)| cause);
        let tls = match self.status {
            None if self.url.scheme() == "http" => {
                format!("; if the server uses TLS, its URL is https://{server}")
            }
            _ => String::new(),
        };
        SendError::new(SendErrorKind::Closed, message + cause + &tls)
    }

    /// Explains an answer of the proxy in place of the receiver's; `None` if it is the receiver's.
    pub(super) fn refused_by_proxy(&self, status: StatusCode) -> Option<SendError> {
        let refusal = self.network.proxy_refusal(self.url.as_str(), status)?;
        Some(self.not_connected(&refusal))
    }

    /// The error at the end of the time limit.
    pub(super) fn timed_out(&self) -> SendError {
        let (server, timeout) = (self.server(), self.timeout);
        let message = match self.status {
            None => format!("{server} did not answer within {timeout:?}"),
            Some(status) => format!(
                "{server} answered {}, but its body did not end within {timeout:?}",
                status.as_u16()
            ),
        };
        SendError::new(SendErrorKind::Timeout, message)
    }

    fn not_connected(&self, failure: &ConnectFailure) -> SendError {
        use ConnectFailureKind as Kind;
        let is_local = self.url.host_str().is_some_and(is_localhost);
        let kind = match failure.kind() {
            Kind::Dns => SendErrorKind::Dns,
            Kind::Refused => SendErrorKind::Refused,
            Kind::Timeout => SendErrorKind::Timeout,
            Kind::ProxyUnreachable | Kind::ProxyAuth | Kind::ProxyRefused => SendErrorKind::Proxy,
            kind if kind.is_certificate() => SendErrorKind::Untrusted,
            kind if kind.is_tls() => SendErrorKind::Tls,
            _ => SendErrorKind::Connect,
        };
        let server = self.server();
        let advice = match failure.kind() {
            Kind::Refused if is_local => ": is your server running?".to_owned(),
            Kind::NotTls => format!(": its URL may be http://{server}"),
            Kind::Timeout if self.url.scheme() == "https" => format!(
                ": TLS was tried and nothing came back; if the server does not use TLS, its URL is \
                 http://{server}"
            ),
            _ => String::new(),
        };
        let connect_failure = Some(failure.kind());
        SendError { connect_failure, ..SendError::new(kind, format!("{failure}{advice}")) }
    }

    fn bad_answer(&self, cause: &str) -> SendError {
        let (server, scheme) = (self.server(), self.url.scheme());
        let cause = match cause {
            OTHER_VERSION => "it does not begin with HTTP/1",
            TOO_EARLY => "it arrived before the request",
            cause => {
                let message = format!("the answer of {server} is not HTTP: {cause}");
                return SendError::new(SendErrorKind::BadAnswer, message);
            }
        };
        let tls = match scheme {
            "http" => format!("if the server uses TLS, its URL is https://{server}; "),
            _ => String::new(),
        };
        let message = format!(
            "the answer of {server} is not HTTP: {cause}. An HTTP/1.1 request was sent to \
             {scheme}://{server}: {tls}if it speaks only HTTP/2, it cannot receive deliveries"
        );
        SendError::new(SendErrorKind::BadAnswer, message)
    }

    /// Host and port of the receiver.
    fn server(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default();
        port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }
}

impl SendError {
    pub(crate) fn new(kind: SendErrorKind, message: String) -> Self {
        Self { kind, connect_failure: None, message, took: Duration::ZERO }
    }

    pub(super) fn after(self, took: Duration) -> Self {
        Self { took, ..self }
    }
}

/// hyper's error for an answer of another protocol, such as a TLS alert.
const OTHER_VERSION: &str = "invalid HTTP version parsed";
/// hyper's error for bytes that arrive on a new connection before the request is sent.
const TOO_EARLY: &str = "received unexpected message from connection";

/// An error and its sources, outermost first.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn innermost(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// Returns true if the error is about the received bytes and not about the connection.
fn is_malformed_answer(error: &(dyn StdError + 'static)) -> bool {
    if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
        return hyper.is_parse() || hyper.to_string() == TOO_EARLY;
    }
    // The decoder of chunked bodies reports bad chunks like this.
    error.downcast_ref::<io::Error>().is_some_and(|error| {
        matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
    })
}
