//! One request to a receiver, and what came back.

mod connect;
mod error;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use formsvc_protocol::signature;
use http::uri::PathAndQuery;
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;
use url::{Position, Url};

use connect::Connector;
use tls::Tls;

pub use error::{SendError, SendErrorKind};
pub use tls::CertificatesError;

/// Most of an answer's body that is read unless another size is asked for: as much as the service
/// reads (16 KiB).
pub const ANSWER_MAX: usize = 16 << 10;
/// `User-Agent` of deliveries (SPEC §6).
pub const USER_AGENT: &str = "service-webhooks/1.0";
/// `X-Service-Event`.
pub const EVENT: HeaderName = HeaderName::from_static("x-service-event");
/// `X-Service-Signature`.
pub const SIGNATURE: HeaderName = HeaderName::from_static(signature::HEADER);

/// Shorter than what servers let a connection rest before they close it (some: 2 s), so that none is
/// used just then. Long enough for requests that follow each other.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// Most that a connection buffers, and so the longest head of an answer, in bytes.
const BUFFER_MAX: usize = 64 << 10;

/// How requests are sent.
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// Time for the whole of it, from the name's resolution to the end of the answer's body.
    /// Default: the service's 10 s (SPEC §8).
    pub timeout: Duration,
    /// Certificates to trust besides the platform's, as PEM. One that a receiver itself presents is
    /// enough: a self-signed one need not be an authority's. Default: none.
    pub ca_certificates: Option<Vec<u8>>,
    /// Whether every certificate is taken, whoever it is of. Default: no.
    pub insecure: bool,
    /// Headers of every request, in place of its own of the same name. Default: none.
    pub headers: HeaderMap,
    /// Most of an answer's body that is read, in bytes. Default: [`ANSWER_MAX`].
    pub answer_max: usize,
}

impl Default for SenderOptions {
    fn default() -> Self {
        Self {
            timeout: DELIVERY_TIMEOUT,
            ca_certificates: None,
            insecure: false,
            headers: HeaderMap::new(),
            answer_max: ANSWER_MAX,
        }
    }
}

/// Sends requests to receivers. Cheap to clone; clones share connections.
///
/// HTTP/1.1. What arrives has the headers it was given, in the spelling the service has
/// (`X-Service-Event`), `Host` and `Content-Length`, and no other. Redirects are answers like any other,
/// and not followed; there are no cookies, and proxies of the environment are not used; bodies are taken
/// as they come, compressed or not. The platform's certificates are read when the first connection needs
/// them. Names that end in `localhost` mean this machine, whatever a resolver says.
#[derive(Clone)]
pub struct Sender {
    http: Client<Connector, Full<Bytes>>,
    timeout: Duration,
    headers: HeaderMap,
    answer_max: usize,
}

/// A sender cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot trust these certificates")]
pub struct SenderError(#[from] CertificatesError);

/// A request to a receiver.
#[derive(Clone)]
pub struct Outgoing {
    /// The method; deliveries are POST.
    pub method: Method,
    /// Where to. A name and password in it become `Authorization`, where there is none.
    pub url: Url,
    /// The headers, as they are to arrive. `Host` follows from the URL unless it is among them;
    /// `Content-Length` is always the body's.
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

    fn into_request(
        mut self,
        more: &HeaderMap,
        target: Option<&str>,
    ) -> Result<Request<Full<Bytes>>, SendError> {
        let uri = match target {
            Some(target) => with_target(uri(&self.url)?, target)?,
            None => uri(&self.url)?,
        };
        for name in more.keys() {
            self.headers.remove(name);
            for value in more.get_all(name) {
                self.headers.append(name, value.clone());
            }
        }
        self.headers.remove(header::CONTENT_LENGTH);
        self.headers.remove(header::TRANSFER_ENCODING);
        if let Some(credentials) = credentials(&self.url) {
            self.headers.entry(header::AUTHORIZATION).or_insert(credentials);
        }
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = self.headers;
        Ok(request)
    }
}

/// What is asked for, without what is no part of a request: name, password and fragment.
fn uri(url: &Url) -> Result<Uri, SendError> {
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(SendError::bad_url("a request goes to http://… or https://…"));
    }
    if url.port() == Some(0) {
        return Err(SendError::bad_url("nothing can listen on port 0"));
    }
    let scheme = url.scheme();
    let (host, path) = (
        &url[Position::BeforeHost..Position::AfterPort],
        &url[Position::BeforePath..Position::AfterQuery],
    );
    format!("{scheme}://{host}{path}")
        .parse()
        .map_err(|_| SendError::bad_url("the URL has characters that a request cannot have"))
}

/// A URI with another path and query, as they are spelled.
fn with_target(uri: Uri, target: &str) -> Result<Uri, SendError> {
    let bad = || SendError::bad_url("the path has characters that a request cannot have");
    let target: PathAndQuery = target.parse().map_err(|_| bad())?;
    let mut parts = uri.into_parts();
    parts.path_and_query = Some(target);
    Uri::from_parts(parts).map_err(|_| bad())
}

fn credentials(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let pair =
        [url.username(), url.password().unwrap_or_default()].map(percent_decoded).join(&b':');
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// What a part of a URL means: `%41` is an A.
fn percent_decoded(text: &str) -> Vec<u8> {
    let (mut decoded, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| byte == b'%').and_then(|two| hex::decode(two).ok());
        if let Some(escaped) = escaped {
            decoded.extend(escaped);
            rest = &after[2..];
        } else {
            decoded.push(byte);
            rest = after;
        }
    }
    decoded
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
    /// The body, or its beginning: [`SenderOptions::answer_max`] bytes. A stranger's.
    pub body: Bytes,
    /// Whether the body went on.
    pub truncated: bool,
    /// Time from the first step to the end of what was read.
    pub took: Duration,
}

impl Sender {
    /// A sender without connections. Fails on certificates that cannot be read.
    pub fn new(options: SenderOptions) -> Result<Self, SenderError> {
        let tls = Tls::new(options.ca_certificates.as_deref(), options.insecure)?;
        let http = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .retry_canceled_requests(true)
            .http1_title_case_headers(true)
            .http1_max_buf_size(BUFFER_MAX)
            .build(Connector::new(tls, options.timeout));
        let SenderOptions { timeout, headers, answer_max, .. } = options;
        Ok(Self { http, timeout, headers, answer_max })
    }

    /// Time for the whole of an exchange.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends a request and reads the answer.
    pub async fn send(&self, outgoing: Outgoing) -> Result<Answer, SendError> {
        self.send_to(outgoing, None).await
    }

    /// Sends a request with this path and query in place of the URL's, to the byte: a URL has no dot
    /// segments and no backslashes, and spells other characters in its own way.
    pub async fn send_at(&self, outgoing: Outgoing, target: &str) -> Result<Answer, SendError> {
        self.send_to(outgoing, Some(target)).await
    }

    async fn send_to(&self, outgoing: Outgoing, target: Option<&str>) -> Result<Answer, SendError> {
        let (began, url) = (Instant::now(), outgoing.url.clone());
        let mut request = outgoing.into_request(&self.headers, target)?;
        let connection = capture_connection(&mut request);
        let mut status = None;
        let exchange = self.exchange(request, &mut status);
        let outcome = tokio::time::timeout(self.timeout, exchange).await;
        let took = began.elapsed();
        match outcome {
            Ok(Ok(answer)) => Ok(Answer { took, ..answer }),
            Ok(Err(failed)) => Err(failed.told(&url, status).after(took)),
            Err(_) => {
                let is_connected = connection.connection_metadata().is_some();
                let error = SendError::late(&url, self.timeout, is_connected, status);
                Err(error.after(took))
            }
        }
    }

    /// `status` is known before the end, where the head of the answer is.
    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
        status: &mut Option<StatusCode>,
    ) -> Result<Answer, error::Failed> {
        let response = self.http.request(request).await.map_err(error::Failed::Request)?;
        *status = Some(response.status());
        self.read(response).await.map_err(error::Failed::Body)
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Answer, hyper::Error> {
        let (head, mut incoming) = response.into_parts();
        let (mut body, mut truncated) = (BytesMut::new(), false);
        while !truncated && !incoming.is_end_stream() {
            let Some(frame) = incoming.frame().await.transpose()? else { break };
            let Ok(piece) = frame.into_data() else { continue };
            let room = self.answer_max - body.len();
            truncated = piece.len() > room;
            body.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        let took = Duration::ZERO;
        let (status, headers) = (head.status, head.headers);
        Ok(Answer { status, headers, body: body.freeze(), truncated, took })
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
