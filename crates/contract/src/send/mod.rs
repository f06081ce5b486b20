//! Sends one HTTP request to a receiver and returns its answer.

mod error;
mod upload;

use std::fmt;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use formsvc_client::network::{HttpClient, HttpError, NetworkSettings};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use formsvc_protocol::signature;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use tokio::time::Instant;
use url::Url;

use error::Attempt;
pub use error::{SendError, SendErrorKind};

/// Default limit of an answer's body: 16 KiB, as the service reads.
pub const ANSWER_MAX: usize = 16 << 10;
/// `User-Agent` of deliveries (SPEC §6).
pub const USER_AGENT: &str = "service-webhooks/1.0";
/// `X-Service-Event`.
pub const EVENT: HeaderName = HeaderName::from_static("x-service-event");
/// `X-Service-Signature`.
pub const SIGNATURE: HeaderName = HeaderName::from_static(signature::HEADER);

/// Shorter than the keep-alive timeout of common servers (2 s or more), so that a connection is
/// rarely reused at the instant when the receiver closes it. Long enough for requests in a row.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Settings of a [`HttpSender`].
#[derive(Clone, Debug)]
pub struct HttpSenderOptions {
    /// Time limit of the whole attempt, from name resolution to the end of the answer's body.
    /// Default: 10 s, as the service has (SPEC §8).
    pub timeout: Duration,
    /// Proxies and trusted certificates. Default: no proxy, the system's certificates.
    pub network: NetworkSettings,
    /// Headers of every request. They replace headers of the same name. Default: none.
    pub headers: HeaderMap,
    /// Maximal number of bytes to read of an answer's body. Default: [`ANSWER_MAX`].
    pub answer_max: usize,
}

impl Default for HttpSenderOptions {
    fn default() -> Self {
        Self {
            timeout: DELIVERY_TIMEOUT,
            network: NetworkSettings::direct(),
            headers: HeaderMap::new(),
            answer_max: ANSWER_MAX,
        }
    }
}

/// Sends requests to receivers. Cheap to clone; clones share connections.
///
/// Requests are HTTP/1.1 and have the headers of the [`Outgoing`], `Host`, `Content-Length`, and
/// `Accept: */*` if there is no `Accept`, which has the same meaning (RFC 9110 §12.5.1). Header names are
/// in title case, as in the specification (`X-Service-Event`). Redirects are not followed, bodies are not
/// decompressed, cookies are not stored. Localhost is never sent to a proxy, and localhost names are only
/// connected to loopback addresses.
#[derive(Clone)]
pub struct HttpSender {
    http: HttpClient,
    network: NetworkSettings,
    timeout: Duration,
    headers: HeaderMap,
    answer_max: usize,
}

/// The HTTP client of a sender could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("the HTTP client cannot be set up")]
pub struct HttpSenderError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// A request to a receiver.
#[derive(Clone)]
pub struct Outgoing {
    /// The method; `POST` for deliveries.
    pub method: Method,
    /// The target. A user name and password in it become `Authorization`, unless that header is given.
    pub url: Url,
    /// The headers. `Host` defaults to the URL's; `Content-Length` is always the body's.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Outgoing {
    /// Creates a delivery as the service sends it (SPEC §6), with the given event and signature headers.
    pub fn delivery(url: Url, event: HeaderValue, signature: HeaderValue, body: Bytes) -> Self {
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::USER_AGENT, HeaderValue::from_static(USER_AGENT)),
            (EVENT, event),
            (SIGNATURE, signature),
        ]);
        Self { method: Method::POST, url, headers, body }
    }

    /// Replaces headers by those of the same name in `other`.
    fn replace_headers(&mut self, other: &HeaderMap) {
        for name in other.keys() {
            self.headers.remove(name);
        }
        self.headers.extend(other.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
}

impl fmt::Debug for Outgoing {
    /// Omits URL, headers and body: they contain passwords, signatures and personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("body_length", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The answer of a receiver.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The first [`HttpSenderOptions::answer_max`] bytes of the body. Untrusted.
    pub body: Bytes,
    /// True if the body is longer than `body`.
    pub truncated: bool,
    /// Time from the start of the attempt to the end of `body`.
    pub took: Duration,
}

impl HttpSender {
    /// Creates a sender without connections.
    pub fn new(options: HttpSenderOptions) -> Result<Self, HttpSenderError> {
        let HttpSenderOptions { timeout, network, headers, answer_max } = options;
        // A little shorter than the attempt, so that the error names the step that was too slow.
        let connect_timeout = timeout.mul_f64(0.98);
        let http = network
            .http_client(connect_timeout, POOL_IDLE_TIMEOUT)
            .map_err(|error| HttpSenderError(error.into()))?;
        Ok(Self { http, network, timeout, headers, answer_max })
    }

    /// Returns the proxies and trusted certificates.
    pub fn network(&self) -> &NetworkSettings {
        &self.network
    }

    /// Returns the time limit of an attempt.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends a request and reads the answer.
    pub async fn send(&self, mut outgoing: Outgoing) -> Result<Answer, SendError> {
        let (started, url) = (Instant::now(), outgoing.url.clone());
        outgoing.replace_headers(&self.headers);
        let mut status = None;
        let exchange = self.exchange(outgoing, &mut status);
        let outcome = tokio::time::timeout(self.timeout, exchange).await;
        let took = started.elapsed();
        let attempt = Attempt { network: &self.network, url: &url, timeout: self.timeout, status };
        let error = match outcome {
            Ok(Ok(answer)) => match attempt.refused_by_proxy(answer.status) {
                None => return Ok(Answer { took, ..answer }),
                Some(refusal) => refusal,
            },
            Ok(Err(error)) => attempt.failed(&error),
            Err(_) => attempt.timed_out(),
        };
        Err(error.after(took))
    }

    /// Sends a request and reads the answer. Sets `status` as soon as the answer's head is read.
    async fn exchange(
        &self,
        outgoing: Outgoing,
        status: &mut Option<StatusCode>,
    ) -> Result<Answer, HttpError> {
        let Outgoing { method, url, mut headers, body } = outgoing;
        headers.remove(header::TRANSFER_ENCODING);
        headers.remove(header::CONTENT_LENGTH);
        if !body.is_empty() {
            headers.insert(header::CONTENT_LENGTH, body.len().into());
        }
        let body = upload::request_body(body);
        let mut response = self.http.send(method, url.as_str(), headers, body).await?;
        *status = Some(response.status());
        let headers = response.headers().clone();
        let (mut body, mut truncated) = (BytesMut::new(), false);
        while !truncated && let Some(piece) = response.chunk().await? {
            let room = self.answer_max - body.len();
            truncated = piece.len() > room;
            body.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        let (status, body) = (response.status(), body.freeze());
        Ok(Answer { status, headers, body, truncated, took: Duration::ZERO })
    }
}

impl fmt::Debug for HttpSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSender").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
