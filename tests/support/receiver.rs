//! An endpoint on loopback that keeps a ledger of arrived deliveries.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{self, SigningSecret};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// An endpoint that responds with 200 to every request, after an optional pause. It records a complete
/// request in its ledger before it responds, and ignores an incomplete one.
pub struct Receiver {
    /// The id of the endpoint.
    pub id: String,
    /// The address of the listener.
    pub addr: SocketAddr,
    ledger: Arc<Ledger>,
    serving: AbortHandle,
}

/// The arrivals of one submission.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Time of the first arrival.
    pub first: Instant,
    /// Number of arrivals.
    pub count: u32,
}

struct Ledger {
    secret: SigningSecret,
    pause_micros: AtomicU64,
    arrivals: Mutex<HashMap<String, Arrivals>>,
    /// Requests without a valid signature, or that are not deliveries.
    bad: AtomicU64,
    distinct: watch::Sender<usize>,
}

#[derive(Deserialize)]
struct Event {
    submission_id: String,
}

impl Receiver {
    /// Listens on a free port. Accepts deliveries that are signed with [`secret`](Self::secret).
    pub async fn start(id: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let addr = listener.local_addr().expect("it listens");
        let secret = SigningSecret::new(&secret_of(id)).expect("it is not empty");
        let ledger = Arc::new(Ledger {
            secret,
            pause_micros: AtomicU64::new(0),
            arrivals: Mutex::default(),
            bad: AtomicU64::new(0),
            distinct: watch::Sender::new(0),
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&ledger))).abort_handle();
        Self { id: id.to_owned(), addr, ledger, serving }
    }

    /// Starts `count` receivers with numbered ids.
    pub async fn several(name: &str, count: usize) -> Vec<Self> {
        let mut receivers = Vec::with_capacity(count);
        for number in 0..count {
            receivers.push(Self::start(&format!("whe_{name}_{number}")).await);
        }
        receivers
    }

    /// The URL of the endpoint.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.addr)
    }

    /// The signing secret of the endpoint.
    pub fn secret(&self) -> String {
        secret_of(&self.id)
    }

    /// Delays each response from now on.
    pub fn pause(&self, pause: Duration) {
        let micros = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        self.ledger.pause_micros.store(micros, Ordering::Relaxed);
    }

    /// The arrivals by submission id.
    pub fn arrivals(&self) -> MutexGuard<'_, HashMap<String, Arrivals>> {
        self.ledger.arrivals()
    }

    /// Number of requests without a valid signature, or that were not deliveries.
    pub fn bad(&self) -> u64 {
        self.ledger.bad.load(Ordering::Relaxed)
    }

    /// Waits until this number of submissions has arrived.
    pub async fn wait_for(&self, count: usize) {
        let mut distinct = self.ledger.distinct.subscribe();
        distinct.wait_for(|distinct| *distinct >= count).await.expect("the ledger has a sender");
    }

    /// Waits until each of these submissions has arrived. After the time limit, returns the missing ones.
    pub async fn wait_for_all<'a>(
        &self,
        submissions: impl IntoIterator<Item = &'a String>,
        patience: Duration,
    ) -> Result<(), Vec<&'a String>> {
        let mut missing: Vec<&String> = submissions.into_iter().collect();
        let mut distinct = self.ledger.distinct.subscribe();
        let until = tokio::time::Instant::now() + patience;
        loop {
            let seen = *distinct.borrow_and_update();
            {
                let arrivals = self.arrivals();
                missing.retain(|id| !arrivals.contains_key(*id));
            }
            if missing.is_empty() {
                return Ok(());
            }
            // A check is useless before this many more have arrived.
            let enough = seen + missing.len();
            let more = distinct.wait_for(|distinct| *distinct >= enough);
            // Unacknowledged submissions arrive too, so the count alone is not sufficient: checks regularly.
            let step = until.min(tokio::time::Instant::now() + Duration::from_millis(50));
            let _ = tokio::time::timeout_at(step, more).await;
            if tokio::time::Instant::now() >= until {
                return Err(missing);
            }
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn secret_of(id: &str) -> String {
    format!("whsec_{id}")
}

impl Ledger {
    fn arrivals(&self) -> MutexGuard<'_, HashMap<String, Arrivals>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, headers: &http::HeaderMap, body: &[u8]) {
        let at = Instant::now();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let header = headers.get(signature::HEADER).map_or(&b""[..], |value| value.as_bytes());
        let secrets = std::slice::from_ref(&self.secret);
        let verified = signature::verify(header, body, secrets, now, SIGNATURE_TOLERANCE).is_ok();
        let event: Option<Event> = serde_json::from_slice(body).ok();
        let Some(Event { submission_id }) = event.filter(|_| verified) else {
            self.bad.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let distinct = {
            let mut arrivals = self.arrivals();
            let arrival = arrivals.entry(submission_id).or_insert(Arrivals { first: at, count: 0 });
            arrival.count += 1;
            arrivals.len()
        };
        self.distinct.send_replace(distinct);
    }
}

async fn serve(listener: TcpListener, ledger: Arc<Ledger>) {
    // The connections are closed when the receiver is dropped.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(connection(stream, Arc::clone(&ledger)));
    }
}

async fn connection(stream: TcpStream, ledger: Arc<Ledger>) {
    let service = service_fn(|request| receive(request, &ledger));
    // A connection of a killed server ends with an error.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn receive(
    request: Request<Incoming>,
    ledger: &Ledger,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    // Ignores an incomplete request of a killed server.
    if let Ok(body) = body.collect().await {
        ledger.note(&head.headers, &body.to_bytes());
    }
    let pause = Duration::from_micros(ledger.pause_micros.load(Ordering::Relaxed));
    if !pause.is_zero() {
        // Sleeps because the test needs a slow endpoint.
        tokio::time::sleep(pause).await;
    }
    Ok(Response::new(Empty::new()))
}
