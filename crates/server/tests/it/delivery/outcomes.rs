//! The outcome of a delivery for each status and each kind of body (SPEC §6 rule 1): the status alone
//! decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use formsvc_server::store::{DeliveryDetail, DeliveryState};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::world::{GRACE, World, options};

/// Time an attempt has; short, because slow bodies take all of it.
const TIMEOUT: Duration = Duration::from_millis(400);

/// A way to send the body of a response.
#[derive(Clone, Copy, Debug)]
enum Body {
    /// As long as announced.
    Whole,
    /// Ends the connection after half of the announced length.
    Cut,
    /// Sends half of the announced length, then nothing more.
    Slow,
    /// Sends bytes for as long as they are taken.
    Endless,
}

const BODIES: [Body; 4] = [Body::Whole, Body::Cut, Body::Slow, Body::Endless];

/// An endpoint that answers every request in the same way.
struct Endpoint {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Endpoint {
    async fn start(status: u16, body: Body) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                // The client may leave at any time.
                tokio::spawn(async move { drop(answer(stream, status, body).await) });
            }
        });
        Self { url, requests }
    }
}

/// Answers one request, then closes the connection.
async fn answer(mut stream: TcpStream, status: u16, body: Body) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        request.push(stream.read_u8().await?);
    }
    let head = format!("HTTP/1.1 {status} Any\r\nlocation: /\r\nconnection: close\r\n");
    match body {
        Body::Whole if status == 204 => stream.write_all(format!("{head}\r\n").as_bytes()).await,
        Body::Whole => {
            stream.write_all(format!("{head}content-length: 8\r\n\r\nreceived").as_bytes()).await
        }
        Body::Cut => {
            stream.write_all(format!("{head}content-length: 8\r\n\r\nrece").as_bytes()).await
        }
        Body::Slow => {
            stream.write_all(format!("{head}content-length: 8\r\n\r\nrece").as_bytes()).await?;
            stream.read_u8().await.map(drop)
        }
        Body::Endless => {
            stream.write_all(format!("{head}\r\n").as_bytes()).await?;
            loop {
                stream.write_all(&[b'x'; 4096]).await?;
            }
        }
    }
}

/// Delivers one submission to such an endpoint until the delivery is finished.
async fn deliver(status: u16, body: Body) -> (DeliveryDetail, usize) {
    let (world, endpoint) = (World::new().await, Endpoint::start(status, body).await);
    world.endpoint("whe_1", endpoint.url.clone()).await;
    let mut options = options();
    options.timeout = TIMEOUT;
    let deliveries = world.deliver(options);
    world.submit("{}").await;
    let id = world.deliveries().await[0].key.id();
    let detail = world.until_is(&id, |detail| detail.record.finished_at.is_some()).await;
    deliveries.stop(GRACE).await;
    (detail, endpoint.requests.load(Ordering::SeqCst))
}

#[tokio::test]
async fn delivery_outcome_depends_on_status_alone() {
    println!(
        "| status | body | attempts | final state | recorded error | bytes read of the body |"
    );
    println!("|---|---|---|---|---|---|");
    for status in [200, 204, 301, 404, 500] {
        for body in BODIES {
            let (detail, requests) = deliver(status, body).await;
            let last = detail.history.last().unwrap();
            let read = last.snippet.len();
            let error = last.error.as_deref().unwrap_or("none");
            let state = detail.record.state;
            println!("| {status} | {body:?} | {requests} | {state:?} | {error} | {read} |");
            let expected = match status {
                200..=299 => (DeliveryState::Delivered, 1, "none"),
                301 => (DeliveryState::Failed, 4, "redirected"),
                _ => (DeliveryState::Failed, 4, "status_not_2xx"),
            };
            assert_eq!((state, requests, error), expected, "{status} {body:?}");
            assert_eq!(detail.history.len(), requests);
            assert_eq!(last.status, Some(status));
            let expected = match body {
                _ if status == 204 => 0,
                Body::Whole => 8,
                Body::Cut | Body::Slow => 4,
                Body::Endless => formsvc_server::egress::SNIPPET_MAX,
            };
            assert_eq!(read, expected, "{status} {body:?}");
        }
    }
}
