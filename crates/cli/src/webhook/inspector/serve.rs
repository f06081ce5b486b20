//! Connections of browsers: few, bounded in what they send, and in how long they take to send and to read.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, broadcast};
use tokio::task::JoinSet;

use super::patient::Patient;
use super::{Desk, follow, over, routes};
use crate::webhook::accept::accept;
use crate::webhook::capture::Capture;

/// Connections at once. A browser has six to an address at most.
const CONNECTIONS_MAX: usize = 64;
/// Time for the head of a request.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// Bytes of the head of a request.
const HEAD_BYTES_MAX: usize = 16 << 10;
/// How long a browser may take nothing of what is written to it.
const PATIENCE: Duration = Duration::from_secs(10);
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
            let (stream, _) = accept(&listener).await;
            while connections.try_join_next().is_some() {}
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
        .serve_connection(TokioIo::new(Patient::new(stream, PATIENCE)), service);
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
    use std::time::Instant as Real;

    use formsvc_contract::send::{HttpSender, HttpSenderOptions};
    use formsvc_protocol::RetrySchedule;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::Instant;
    use url::Url;

    use super::*;
    use crate::webhook::inspector::{Inspected, desk};
    use crate::webhook::secrets::Secrets;
    use crate::webhook::store::{Caps, Store};

    fn inspected() -> Inspected {
        Inspected {
            store: Store::in_memory(Caps::default()).unwrap(),
            bus: broadcast::Sender::new(1),
            secrets: Secrets(Vec::new()),
            targets: Vec::new(),
            address: Url::parse("http://127.0.0.1:1/").unwrap(),
            sender: HttpSender::new(HttpSenderOptions::default()).unwrap(),
            schedule: RetrySchedule::default(),
            reveal: false,
        }
    }

    /// Asks without reading what is answered, until nothing more can be written; then until the end.
    async fn ask_and_read_nothing(mut stream: TcpStream, path: &str, host: &str) {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        while stream.write_all(request.as_bytes()).await.is_ok() {}
        // What was on its way is read, and after it the end.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_browser_that_takes_nothing_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (desk, stop) = desk(inspected(), address.port()).unwrap();
        let path = format!("/{}/style.css", desk.token.expose());
        let came = desk.inspected.bus.subscribe();
        let serving = tokio::spawn(serve(listener, Arc::new(desk), came));
        let (began, real) = (Instant::now(), Real::now());
        let stream = TcpStream::connect(address).await.unwrap();
        let host = address.to_string();
        let ended = ask_and_read_nothing(stream, &path, &host);
        tokio::time::timeout(PATIENCE * 3, ended).await.expect("the connection ends");
        assert!(began.elapsed() >= PATIENCE, "{:?}, {:?}", began.elapsed(), real.elapsed());
        stop.send_replace(true);
        serving.await.unwrap();
    }
}
