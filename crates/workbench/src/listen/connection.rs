//! One connection: its requests, their bodies, and the queue of connections that wait for their peers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::routing::get;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::intake::{CompleteRequest, Intake};
use super::response::{self, Refusal};
use crate::delivery::Source;

/// Longest head of a request, in bytes. A longer one gets 431.
const MAX_HEAD: usize = 32 * 1024;
/// Most header fields of a request.
const MAX_HEADERS: usize = 64;
/// Bodies over the limit are read to this multiple of it and discarded. Senders that write the whole body
/// before they read would not receive the response if the connection was closed earlier.
const DISCARDED_FACTOR: u64 = 8;

/// Connections that wait for the head or body of a request, in the order in which they began to wait. When
/// there are too many connections, the first one is closed, so that silent peers do not shut out others.
#[derive(Debug, Default)]
pub(super) struct WaitQueue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// Tokens that close the connections.
    connections: BTreeMap<u64, CancellationToken>,
}

/// The state of one connection.
pub(super) struct Connection {
    peer: SocketAddr,
    queue: Arc<WaitQueue>,
    /// Its key in the queue.
    key: Mutex<u64>,
    close: CancellationToken,
}

impl WaitQueue {
    /// Closes the connection that has waited longest.
    pub(super) fn close_first(&self) {
        if let Some((_, close)) = self.waiting().connections.pop_first() {
            close.cancel();
        }
    }

    /// Closes all connections that wait.
    pub(super) fn close_all(&self) {
        for close in std::mem::take(&mut self.waiting().connections).values() {
            close.cancel();
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn new(peer: SocketAddr, queue: Arc<WaitQueue>, close: CancellationToken) -> Self {
        let connection = Self { peer, queue, key: Mutex::new(0), close };
        connection.begin_waiting();
        connection
    }

    /// Appends the connection to the queue, also if it is in it already.
    fn begin_waiting(&self) {
        self.end_waiting();
        let mut waiting = self.queue.waiting();
        waiting.next += 1;
        let key = waiting.next;
        waiting.connections.insert(key, self.close.clone());
        *self.key() = key;
    }

    /// Returns false if the queue has closed the connection.
    fn end_waiting(&self) -> bool {
        let key = *self.key();
        self.queue.waiting().connections.remove(&key).is_some()
    }

    /// Closes the connection. Never returns.
    async fn closed(&self) -> ! {
        self.close.cancel();
        std::future::pending().await
    }

    fn key(&self) -> MutexGuard<'_, u64> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end_waiting();
    }
}

/// Serves a connection until the peer closes it, is too slow, or the listener ends.
pub(super) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    intake: Arc<Intake>,
    queue: Arc<WaitQueue>,
    router: axum::Router,
) {
    let close = intake.abort.child_token();
    let connection = Arc::new(Connection::new(peer, queue, close.clone()));
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&connection));
        let (response, connection) = (router.clone().call(request), Arc::clone(&connection));
        async move {
            let response = response.await;
            connection.begin_waiting();
            response
        }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(intake.limits.read_timeout)
        .max_buf_size(MAX_HEAD)
        .max_headers(MAX_HEADERS);
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    let result = close.run_until_cancelled(async {
        tokio::select! {
            result = serving.as_mut() => result,
            () = intake.stop.cancelled() => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        }
    });
    if let Some(Err(error)) = result.await {
        tracing::debug!(%error, "connection ended");
    }
}

/// Returns the service of all connections.
pub(super) fn router(intake: Arc<Intake>) -> axum::Router {
    let healthy = async || response::healthy().map(Body::from);
    let router = axum::Router::new().route("/healthz", get(healthy).fallback(receive));
    router.fallback(receive).with_state(intake)
}

async fn receive(
    State(intake): State<Arc<Intake>>,
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> http::Response<Body> {
    let method = request.method().clone();
    let target = request.uri().path_and_query();
    let request_target = target.map_or("*", |target| target.as_str()).to_owned();
    let request = read(request, request_target.clone(), &intake, &connection);
    let result = match request.await {
        Ok(request) => intake.accept(request).await,
        Err(refusal) => Err(refusal),
    };
    let response = match result {
        Ok(handled) => match handled.response {
            Some(response) => response,
            None => connection.closed().await,
        },
        Err(refusal) => {
            intake.report_refusal(method, request_target, refusal);
            refusal.response()
        }
    };
    response.map(Body::from)
}

/// Reads a request that may be a delivery to its end.
async fn read(
    request: Request,
    request_target: String,
    intake: &Intake,
    connection: &Connection,
) -> Result<CompleteRequest, Refusal> {
    let (parts, body) = request.into_parts();
    if intake.rules.path.as_deref().is_some_and(|path| path != parts.uri.path()) {
        return Err(Refusal::NotFound);
    }
    if parts.method != Method::POST {
        return Err(Refusal::MethodNotAllowed);
    }
    if is_from_browser(&parts.headers) {
        return Err(Refusal::CrossSite);
    }
    let expects_continue = parts.headers.contains_key(header::EXPECT);
    let body = read_body(body, intake.limits.body, expects_continue);
    let body = tokio::time::timeout(intake.limits.read_timeout, body).await;
    let body = body.map_err(|_| Refusal::TooSlow)??;
    if !connection.end_waiting() {
        // The sender retries, so its delivery must not be handled.
        connection.closed().await;
    }
    let (source, method, headers) = (Source::Request(connection.peer), parts.method, parts.headers);
    Ok(CompleteRequest { source, method, request_target, headers, body })
}

/// Returns true if a page in a browser sent the request. Otherwise each page that the user opens could send
/// deliveries to a listener without a secret.
fn is_from_browser(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    headers.contains_key(header::ORIGIN) || site.is_some_and(|site| site != "none")
}

/// Reads a body of at most `max` bytes.
async fn read_body(mut body: Body, max: usize, expects_continue: bool) -> Result<Bytes, Refusal> {
    let discarded = DISCARDED_FACTOR * max as u64;
    // A sender that waits for `100 Continue` gets the response at once, because reading would send it.
    let readable = if expects_continue { max as u64 } else { discarded };
    let announced = body.size_hint().exact();
    if announced.is_some_and(|length| length > readable) {
        return Err(Refusal::TooLarge);
    }
    // Copied, because each frame refers to a whole buffer of the connection.
    let (mut buffer, mut length) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::Unreadable)?.into_data() else { continue };
        length += data.len() as u64;
        if length > discarded {
            break;
        }
        if length > max as u64 {
            buffer = BytesMut::new();
        } else {
            buffer.extend_from_slice(&data);
        }
    }
    if length > max as u64 { Err(Refusal::TooLarge) } else { Ok(buffer.freeze()) }
}
