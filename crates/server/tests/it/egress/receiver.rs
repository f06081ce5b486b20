//! Endpoints made of sockets, and a client that may reach them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use formsvc_server::egress::{
    ClientOptions, DeliveryClient, DeliveryFailure, DeliveryRequest, DeliveryResponse,
    EgressPolicy, EndpointUrl,
};
use http::HeaderValue;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// Longer than anything takes that works.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
pub(super) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// An endpoint on a port of its own.
pub(super) struct Receiver {
    pub(super) addr: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Receiver {
    /// Hands each connection to a function, in a task of its own.
    pub(super) async fn start<F, T>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, connections) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(stream));
            }
        });
        Self { addr, connections }
    }

    /// Answers every request on every connection with the same bytes.
    pub(super) async fn answering(answer: impl Into<Bytes>) -> Self {
        let answer = answer.into();
        Self::start(move |mut stream| {
            let answer = answer.clone();
            async move {
                while read_request(&mut stream).await.is_some() {
                    stream.write_all(&answer).await.unwrap();
                }
            }
        })
        .await
    }

    /// Connections accepted so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(super) fn url(&self) -> EndpointUrl {
        url(&format!("http://{}/hook", self.addr))
    }
}

/// Reads a request with a `content-length`; `None` when the other side is done.
pub(super) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() == length.unwrap().parse::<usize>().unwrap() {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut buffer).await {
            Ok(read @ 1..) => request.extend_from_slice(&buffer[..read]),
            _ => return None,
        }
    }
}

pub(super) fn url(text: &str) -> EndpointUrl {
    text.parse().unwrap()
}

/// A client that may reach this machine.
pub(super) fn client() -> DeliveryClient {
    DeliveryClient::new(ClientOptions { policy: EgressPolicy::dev(), ..Default::default() })
}

/// Delivers a body within a time.
pub(super) async fn post_body(
    client: &DeliveryClient,
    url: &EndpointUrl,
    body: Bytes,
    within: Duration,
) -> Result<DeliveryResponse, DeliveryFailure> {
    let event = HeaderValue::from_static("submission.created");
    let signature = HeaderValue::from_static("t=1700000000,v1=00");
    let deadline = Instant::now() + within;
    client.post(DeliveryRequest { url, event, signature, body, deadline }).await
}

/// Delivers `{}` within a time.
pub(super) async fn post_within(
    client: &DeliveryClient,
    url: &EndpointUrl,
    within: Duration,
) -> Result<DeliveryResponse, DeliveryFailure> {
    post_body(client, url, Bytes::from_static(b"{}"), within).await
}

/// Delivers `{}` with time enough.
pub(super) async fn post(
    client: &DeliveryClient,
    url: &EndpointUrl,
) -> Result<DeliveryResponse, DeliveryFailure> {
    post_within(client, url, PATIENCE).await
}
