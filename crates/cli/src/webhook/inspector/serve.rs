//! Connections of browsers: few, bounded in what they send and in how long they take to.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, broadcast};
use tokio::task::JoinSet;

use super::{Desk, follow, over, routes};
use crate::webhook::capture::Capture;

/// Connections at once. A browser has six to an address at most.
const CONNECTIONS_MAX: usize = 64;
/// Time for the head of a request.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// Bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// Pause after the system had nothing to accept with.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);
/// Time for what is being answered when the page ends.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Serves the page until it is to end.
pub(super) async fn serve(
    listener: TcpListener,
    desk: Arc<Desk>,
    came: broadcast::Receiver<Arc<Capture>>,
) {
    let mut stop = desk.stop.clone();
    let following = follow(&desk, came);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    let accepting = async {
        // Waits where there is no room: the next browser is accepted when another has gone.
        while let Ok(place) = Arc::clone(&room).acquire_owned().await {
            while connections.try_join_next().is_some() {}
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    if let Some(pause) = pause_after(&error) {
                        tracing::warn!(%error, "cannot accept connections of the page");
                        tokio::time::sleep(pause).await;
                    }
                    continue;
                }
            };
            let desk = Arc::clone(&desk);
            connections.spawn(async move {
                connection(stream, desk).await;
                drop(place);
            });
        }
    };
    tokio::select! {
        // Both end with the listener only, and then with the page.
        () = async { tokio::join!(following, accepting); } => {}
        () = over(&mut stop) => {}
    }
    let drained = async { while connections.join_next().await.is_some() {} };
    // What is left after that is broken off.
    let _ = tokio::time::timeout(DRAIN_MAX, drained).await;
}

/// How long nothing is accepted after this. Too many open files stay so for a while, and the listener needs
/// the processor meanwhile; a connection that was broken off is over at once.
fn pause_after(error: &io::Error) -> Option<Duration> {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    let is_of_one_peer = matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | ConnectionRefused | Interrupted
    );
    (!is_of_one_peer).then_some(EXHAUSTED_PAUSE)
}

async fn connection(stream: TcpStream, desk: Arc<Desk>) {
    let mut stop = desk.stop.clone();
    let service = service_fn(move |request| {
        let desk = Arc::clone(&desk);
        async move { Ok::<_, Infallible>(routes::answer(desk, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // What goes wrong on a connection is the browser's to tell.
        _ = connection.as_mut() => return,
        () = over(&mut stop) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_pass_at_once_is_waited_for() {
        let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
        assert_eq!(pause_after(&gone), None);
        // What too many open files are told as has no kind of its own.
        let exhausted = io::Error::other("too many open files");
        assert_eq!(pause_after(&exhausted), Some(EXHAUSTED_PAUSE));
    }
}
