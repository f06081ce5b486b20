//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::activity::{Activity, Watched};
use super::{Peer, Phase, ServeOptions};
use crate::api::{Edge, HEAD_MAX};

/// Most header fields of a request.
const HEADERS_MAX: usize = 64;

/// Serves one connection until the client is done, too slow, or the server goes down.
pub(super) async fn serve(
    stream: TcpStream,
    peer: Peer,
    edge: Edge,
    options: &ServeOptions,
    mut phase: watch::Receiver<Phase>,
) {
    let activity = Arc::new(Activity::new());
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        activity.answering();
        request.extensions_mut().insert(peer);
        let (edge, activity) = (&edge, &activity);
        async move {
            let response = edge.answer(request).await;
            activity.answered();
            Ok::<_, Infallible>(response)
        }
    });
    let mut http = http1::Builder::new();
    // What is read at once may be longer, which is why the head is measured again once it is parsed.
    http.max_buf_size(HEAD_MAX).max_headers(HEADERS_MAX);
    let io = Watched::new(stream, Arc::clone(&activity));
    let mut connection = pin!(http.serve_connection(io, service));
    let mut stalled = pin!(activity.stalled(options));
    loop {
        let changed = tokio::select! {
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            changed = phase.changed() => changed,
            () = stalled.as_mut() => {
                tracing::debug!("connection was too slow");
                return;
            }
        };
        match changed.map(|()| *phase.borrow_and_update()) {
            Ok(Phase::Serving) => {}
            Ok(Phase::Draining) => connection.as_mut().graceful_shutdown(),
            // Err: the server's handle was dropped.
            Ok(Phase::Killed) | Err(_) => return,
        }
    }
}
