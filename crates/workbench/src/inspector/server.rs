//! The inspector's HTTP server. The server does not use `axum::serve`, which has no time limit for the head of a
//! request.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Maximum number of open connections. A browser opens at most six.
const MAX_CONNECTIONS: usize = 64;
/// Time to receive the head of a request, also on an idle connection. The time is short, because other users of the
/// machine can also open connections.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest head of a request, in bytes. Browsers send the cookies of 127.0.0.1 to all ports, so a request can have
/// those of other programs too. Chromium stores at most 180 cookies of 4 KiB for a host.
const MAX_HEAD: usize = 1 << 20;
/// Pause after an error of `accept`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);
/// Time that responses in flight have to complete when the inspector stops.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Serves the page until `stop` is cancelled. Writing a response has no time limit: a client without the token gets one
/// short response, which fits in a socket's buffer, and then the connection closes. So it cannot occupy connections by
/// reading slowly.
pub(super) async fn serve(listener: TcpListener, router: axum::Router, stop: CancellationToken) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let accept = async || {
        let permit = Arc::clone(&permits).acquire_owned().await;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => return (stream, permit),
                Err(error) => tracing::debug!(%error, "the inspector cannot accept a connection"),
            }
            tokio::time::sleep(ACCEPT_PAUSE).await;
        }
    };
    while let Some((stream, permit)) = stop.run_until_cancelled(accept()).await {
        while connections.try_join_next().is_some() {}
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            serve_connection(stream, router, stop).await;
            drop(permit);
        });
    }
    let drain = async { while connections.join_next().await.is_some() {} };
    // Dropping the set closes the remaining connections.
    let _ = tokio::time::timeout(DRAIN_TIME, drain).await;
}

async fn serve_connection(stream: TcpStream, router: axum::Router, stop: CancellationToken) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let result = tokio::select! {
        result = connection.as_mut() => result,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "connection of the inspector ended");
    }
}
