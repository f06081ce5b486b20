//! One connection: its requests and their bodies.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Extension;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::get;
use bytes::Bytes;
use http::{HeaderMap, Method, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::intake::{CompleteRequest, Intake};
use super::response::{self, Refusal};
use crate::delivery::Source;

/// Longest head of a request, in bytes. A request with a longer head gets 431.
const MAX_HEAD: usize = 32 * 1024;
/// Maximum number of header fields of a request.
const MAX_HEADERS: usize = 64;
/// A body over the limit is read and discarded, up to this multiple of the limit. A sender that writes the whole
/// body before it reads would not receive the response if the connection was closed earlier.
const DISCARDED_FACTOR: u64 = 8;

/// The state of one connection.
pub(super) struct Connection {
    peer: SocketAddr,
    intake: Arc<Intake>,
    /// The key of this connection in the queue of [`Intake::connections`].
    key: AtomicU64,
    /// The key of this connection in the queue of [`Intake::memory`] while it receives a body.
    body_key: AtomicU64,
    close: CancellationToken,
}

impl Connection {
    /// Appends the connection to the queue of waiting connections.
    fn begin_waiting(&self) {
        self.end_waiting();
        let key = self.intake.connections.waiting.push(self.close.clone());
        self.key.store(key, Ordering::Relaxed);
    }

    fn begin_body(&self) {
        let key = self.intake.memory.waiting.push(self.close.clone());
        self.body_key.store(key, Ordering::Relaxed);
    }

    /// Removes the connection from both queues. Returns false if one of them has closed the connection, or if the
    /// connection was not in both.
    fn end_waiting(&self) -> bool {
        let Intake { connections, memory, .. } = &*self.intake;
        let is_body = memory.waiting.remove(self.body_key.load(Ordering::Relaxed));
        connections.waiting.remove(self.key.load(Ordering::Relaxed)) && is_body
    }

    /// Closes the connection. This method never returns, because the task of the connection ends.
    async fn closed(&self) -> ! {
        self.close.cancel();
        std::future::pending().await
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
    router: axum::Router,
) {
    let close = intake.abort.child_token();
    let (key, body_key) = Default::default();
    let connection = Connection { peer, intake: Arc::clone(&intake), key, body_key, close };
    let connection = Arc::new(connection);
    connection.begin_waiting();
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
    let result = connection.close.run_until_cancelled(async {
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

/// Returns the routes of the listener.
pub(super) fn router() -> axum::Router {
    let healthy = async || response::healthy().map(Body::from);
    axum::Router::new().route("/healthz", get(healthy).fallback(receive)).fallback(receive)
}

async fn receive(
    Extension(connection): Extension<Arc<Connection>>,
    request: Request,
) -> http::Response<Body> {
    let method = request.method().clone();
    let target = request.uri().path_and_query();
    let request_target = target.map_or("*", |target| target.as_str()).to_owned();
    let intake = &connection.intake;
    let result = match read(request, request_target.clone(), &connection).await {
        Ok(request) => intake.accept(request).await,
        Err(refusal) => Err(refusal),
    };
    let response = match result {
        Ok((Some(response), _)) => response,
        Ok((None, _)) => connection.closed().await,
        Err(refusal) => {
            intake.report_refusal(method, request_target, refusal);
            refusal.response()
        }
    };
    response.map(Body::from)
}

/// Reads a request completely, or returns the reason why it cannot be a delivery.
async fn read(
    request: Request,
    request_target: String,
    connection: &Connection,
) -> Result<CompleteRequest, Refusal> {
    let intake = &connection.intake;
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
    let (max, announced) = (intake.limits.body, body.size_hint().exact());
    // A sender that waits for `100 Continue` gets 413 at once, because reading the body would send `100 Continue`.
    let factor = if parts.headers.contains_key(header::EXPECT) { 1 } else { DISCARDED_FACTOR };
    if announced.is_some_and(|length| length > factor * max as u64) {
        return Err(Refusal::TooLarge);
    }
    let announced =
        announced.map(|length| usize::try_from(length).map_or(max, |length| length.min(max)));
    let read_timeout = intake.limits.read_timeout;
    let memory = timeout(read_timeout, intake.body_memory(announced.unwrap_or(max))).await;
    let memory = Some(memory.map_err(|_| Refusal::Busy)?);
    connection.begin_body();
    let body = timeout(read_timeout, read_body(body, max, announced.unwrap_or_default())).await;
    let body = body.map_err(|_| Refusal::TooSlow)??;
    if !connection.end_waiting() {
        // A queue has closed the connection, so the sender gets no response and retries. Do not handle the
        // delivery.
        connection.closed().await;
    }
    let (source, method, headers) = (Source::Request(connection.peer), parts.method, parts.headers);
    Ok(CompleteRequest { source, method, request_target, headers, body, memory })
}

/// Returns true if a page in a browser sent the request. Such requests are refused, because any page that the user
/// opens could send deliveries to a listener without a secret.
fn is_from_browser(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site");
    headers.contains_key(header::ORIGIN) || site.is_some_and(|site| site != "none")
}

/// Reads a body of at most `max` bytes. Allocates `capacity` bytes in advance.
async fn read_body(mut body: Body, max: usize, capacity: usize) -> Result<Bytes, Refusal> {
    // The frames are copied, because each one keeps a whole read buffer of the connection in memory.
    let (mut buffer, mut length) = (Vec::with_capacity(capacity), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::Unreadable)?.into_data() else { continue };
        length += data.len() as u64;
        if length > DISCARDED_FACTOR * max as u64 {
            break;
        }
        if length > max as u64 {
            buffer = Vec::new();
        } else {
            buffer.extend_from_slice(&data);
        }
    }
    if length > max as u64 {
        return Err(Refusal::TooLarge);
    }
    buffer.shrink_to_fit();
    Ok(buffer.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn body_occupies_no_more_than_its_length() {
        let frames = (0..11).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 100])));
        let body = Body::from_stream(futures_util::stream::iter(frames));
        let body = read_body(body, 2_000, 0).await.unwrap();
        assert_eq!(body.try_into_mut().unwrap().capacity(), 1_100);
    }
}
