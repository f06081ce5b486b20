//! One request to a receiver, and what came back.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use formsvc_protocol::signature;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;
use url::Url;

/// Most of an answer's body that is read, in bytes: as much as the service reads (16 KiB).
pub const ANSWER_MAX: usize = 16 << 10;
/// `User-Agent` of deliveries (SPEC §6).
pub const USER_AGENT: &str = "service-webhooks/1.0";
/// `X-Service-Event`.
pub const EVENT: HeaderName = HeaderName::from_static("x-service-event");
/// `X-Service-Signature`.
pub const SIGNATURE: HeaderName = HeaderName::from_static(signature::HEADER);

/// How requests are sent.
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// Time for the whole of it, from the name's resolution to the end of the answer's body.
    /// Default: the service's 10 s (SPEC §8).
    pub timeout: Duration,
}

impl Default for SenderOptions {
    fn default() -> Self {
        Self { timeout: DELIVERY_TIMEOUT }
    }
}

/// Sends requests to receivers. Cheap to clone; clones share connections.
///
/// HTTP/1.1. Redirects are answers like any other, and not followed; there are no cookies, and proxies of
/// the environment are not used; bodies are taken as they come, compressed or not.
#[derive(Clone)]
pub struct Sender {
    http: reqwest::Client,
    timeout: Duration,
}

/// A sender cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up HTTP")]
pub struct SenderError(#[source] Box<dyn std::error::Error + Send + Sync>);

/// A request to a receiver.
#[derive(Clone)]
pub struct Outgoing {
    /// The method; deliveries are POST.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// The headers, as they are to arrive. `Host` and `Content-Length` follow from the rest.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Outgoing {
    /// A delivery as the service makes it (SPEC §6), with this event and signature header.
    pub fn delivery(url: Url, event: HeaderValue, signature: HeaderValue, body: Bytes) -> Self {
        let headers = HeaderMap::from_iter([
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::USER_AGENT, HeaderValue::from_static(USER_AGENT)),
            (EVENT, event),
            (SIGNATURE, signature),
        ]);
        Self { method: Method::POST, url, headers, body }
    }
}

impl fmt::Debug for Outgoing {
    /// Without headers and body: a signature can be replayed, and a body holds what people wrote.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("body_length", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or its first [`ANSWER_MAX`] bytes. A stranger's.
    pub body: Bytes,
    /// Whether the body went on.
    pub truncated: bool,
    /// Time from the first step to the end of what was read.
    pub took: Duration,
}

/// Why nothing came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendErrorKind {
    /// The host has no address.
    Dns,
    /// Nothing listens there.
    Refused,
    /// The connection could not be made for another reason.
    Connect,
    /// TLS failed, most often because the certificate is not trusted.
    Tls,
    /// No whole answer within the time.
    Timeout,
    /// The connection ended before a whole answer had come.
    Closed,
    /// What came is not HTTP.
    BadAnswer,
}

/// Nothing came back.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct SendError {
    /// Why.
    pub kind: SendErrorKind,
    what: String,
    /// Time until that was known.
    pub took: Duration,
}

impl Sender {
    /// Sets up a pool of connections.
    pub fn new(options: SenderOptions) -> Result<Self, SenderError> {
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| Ok(builder.with_platform_verifier()?))
            .map_err(|error| SenderError(error.into()))?
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .tcp_nodelay(true)
            .tls_backend_preconfigured(tls)
            .build()
            .map_err(|error| SenderError(error.into()))?;
        Ok(Self { http, timeout: options.timeout })
    }

    /// Sends a request and reads the answer.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Answer, SendError> {
        let began = Instant::now();
        let exchange = self.exchange(outgoing);
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(Ok(answer)) => Ok(Answer { took: began.elapsed(), ..answer }),
            Ok(Err(error)) => Err(failure(&error, began.elapsed())),
            Err(_) => Err(SendError {
                kind: SendErrorKind::Timeout,
                what: format!("no whole answer within {:?}", self.timeout),
                took: began.elapsed(),
            }),
        }
    }

    async fn exchange(&self, outgoing: Outgoing) -> Result<Answer, reqwest::Error> {
        let Outgoing { method, url, headers, body } = outgoing;
        let mut response =
            self.http.request(method, url).headers(headers).body(body).send().await?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let (mut body, mut truncated) = (BytesMut::new(), false);
        while let Some(piece) = response.chunk().await? {
            let room = ANSWER_MAX - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                truncated = true;
                break;
            }
        }
        Ok(Answer { status, headers, body: body.freeze(), truncated, took: Duration::ZERO })
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

fn failure(error: &reqwest::Error, took: Duration) -> SendError {
    let kind = if error.is_connect() { SendErrorKind::Connect } else { SendErrorKind::Closed };
    SendError { kind, what: error.to_string(), took }
}
