//! The HTTP client of deliveries.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use formsvc_protocol::signature;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, timeout_at};

use super::attempt::{self, Attempt, Phase, Progress};
use super::connect::Connector;
use super::endpoint_url::EndpointUrl;
use super::failure::DeliveryFailure;
use super::policy::EgressPolicy;
use super::resolve::{Resolve, SystemResolver};
use super::response_body::{BodyEnd, read_snippet};
use super::stream::Link;
use super::tls::{ExtraRoots, Tls};
use crate::fault_point::fault_point;

/// `User-Agent` of deliveries (SPEC §6).
const USER_AGENT: &str = "service-webhooks/1.0";

const EVENT: HeaderName = HeaderName::from_static("x-service-event");
const SIGNATURE: HeaderName = HeaderName::from_static(signature::HEADER);

/// Time a connection stays open for the next delivery to its host.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// Most that a connection buffers, and so the longest head of a response, in bytes.
const BUFFER_MAX: usize = 64 << 10;

/// How a client is to deliver.
#[derive(Clone)]
pub struct ClientOptions {
    /// Which addresses may be reached. Default: [`EgressPolicy::production`].
    pub policy: EgressPolicy,
    /// Authorities to trust besides the platform's. Default: none.
    pub extra_roots: ExtraRoots,
    /// Idle connections kept open per host. Default: 8.
    pub idle_per_host_max: usize,
    /// What resolves names. Default: the system.
    pub resolver: Arc<dyn Resolve>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            policy: EgressPolicy::production(),
            extra_roots: ExtraRoots::default(),
            idle_per_host_max: 8,
            resolver: Arc::new(SystemResolver::new()),
        }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions")
            .field("policy", &self.policy)
            .field("extra_roots", &self.extra_roots)
            .field("idle_per_host_max", &self.idle_per_host_max)
            .finish_non_exhaustive()
    }
}

/// Sends deliveries. Cheap to clone; clones share connections.
///
/// HTTP/1.1 only. Redirects are responses like any other, and not followed. There are no cookies, no
/// proxies (those of the environment are not read), and bodies are taken as they come, compressed or
/// not.
///
/// A kept connection may be closed by its other end just when it is used. Where the request had not
/// begun to be sent, it is sent on another connection; otherwise the attempt fails with
/// [`ConnectionLost`](super::FailureCode::ConnectionLost), since it may have arrived.
#[derive(Clone)]
pub struct DeliveryClient {
    http: Client<Connector, Full<Bytes>>,
    policy: Arc<EgressPolicy>,
}

/// One attempt to deliver (SPEC §6).
#[derive(Debug)]
pub struct DeliveryRequest<'a> {
    /// Where to.
    pub url: &'a EndpointUrl,
    /// `X-Service-Event`.
    pub event: HeaderValue,
    /// `X-Service-Signature`.
    pub signature: HeaderValue,
    /// The body, JSON.
    pub body: Bytes,
    /// When the attempt ends, whatever it is doing.
    pub deadline: Instant,
}

/// The response of an endpoint. The body is untrusted text or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryResponse {
    /// The status; any 2xx is success (SPEC §6).
    pub status: StatusCode,
    /// Who answered.
    pub peer: SocketAddr,
    /// The first [`SNIPPET_MAX`](super::SNIPPET_MAX) bytes of the body, as far as they were read.
    pub snippet: Vec<u8>,
    /// How the reading of the body ended.
    pub body_end: BodyEnd,
    /// `Retry-After`, as it came.
    pub retry_after: Option<HeaderValue>,
    /// Whether the connection had carried a delivery before.
    pub reused: bool,
}

impl DeliveryClient {
    /// A client without connections.
    pub fn new(options: ClientOptions) -> Self {
        let policy = Arc::new(options.policy.clone());
        let tls = Tls::new(options.extra_roots);
        let connector = Connector::new(options.policy, options.resolver, tls, DELIVERY_TIMEOUT);
        let http = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(options.idle_per_host_max)
            .retry_canceled_requests(true)
            .http1_title_case_headers(true)
            .http1_max_buf_size(BUFFER_MAX)
            .build(connector);
        Self { http, policy }
    }

    /// Sends a delivery and reads the response.
    ///
    /// Resolving, connecting, TLS, sending and the head of the response share one deadline; a
    /// connection alone may take [`DELIVERY_TIMEOUT`], however late the deadline is. From then on the
    /// result is a response, whatever happens to its body: up to
    /// [`SNIPPET_MAX`](super::SNIPPET_MAX) bytes of it are read until the same deadline, and
    /// [`DeliveryResponse::body_end`] reports how that ended. The connection is kept when the body was
    /// read to its end, and closed otherwise.
    pub async fn post(
        &self,
        request: DeliveryRequest<'_>,
    ) -> Result<DeliveryResponse, DeliveryFailure> {
        let deadline = request.deadline;
        if deadline <= Instant::now() {
            // Nothing may be sent any more; a kept connection would take the request at once.
            return Err(DeliveryFailure::timeout(Progress::BEGUN));
        }
        let mut request = http_request(request);
        let captured = capture_connection(&mut request);
        Attempt::run(deadline, async {
            match timeout_at(deadline, self.http.request(request)).await {
                Ok(Ok(response)) => Ok(read(response, deadline).await),
                Ok(Err(error)) => Err(DeliveryFailure::of_request(&error)),
                Err(_) => Err(DeliveryFailure::timeout(progress(&captured))),
            }
        })
        .await
    }
}

fn http_request(request: DeliveryRequest<'_>) -> Request<Full<Bytes>> {
    let mut http = Request::new(Full::new(request.body));
    *http.method_mut() = Method::POST;
    *http.uri_mut() = request.url.uri().clone();
    let headers = http.headers_mut();
    headers.reserve(6);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
    headers.insert(EVENT, request.event);
    headers.insert(SIGNATURE, request.signature);
    http
}

/// How far an attempt came without a response. A kept connection records no progress, so its peer is
/// taken from the connection itself.
fn progress(captured: &CaptureConnection) -> Progress {
    match captured.connection_metadata().as_ref() {
        Some(connected) => {
            let peer = Link::of(connected).map(|link| link.peer());
            Progress { phase: Phase::Response, peer }
        }
        None => attempt::progress(),
    }
}

async fn read(response: Response<Incoming>, deadline: Instant) -> DeliveryResponse {
    let (head, body) = response.into_parts();
    let link = head.extensions.get::<Link>().expect("every connection tells its link");
    fault_point!(MidAnswer);
    let (snippet, body_end) = read_snippet(body, deadline).await;
    DeliveryResponse {
        status: head.status,
        peer: link.peer(),
        snippet,
        body_end,
        retry_after: head.headers.get(header::RETRY_AFTER).cloned(),
        reused: link.was_used(),
    }
}

impl fmt::Debug for DeliveryClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeliveryClient").field("policy", &self.policy).finish_non_exhaustive()
    }
}
