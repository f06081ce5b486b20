//! An endpoint on loopback that keeps a ledger of what arrived.

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

/// An endpoint that answers 200 to everything, after a pause if it was given one. What arrives whole
/// is in its ledger before it is answered; what does not is not.
pub struct Receiver {
    /// The id it is registered under.
    pub id: String,
    /// Where it listens.
    pub addr: SocketAddr,
    ledger: Arc<Ledger>,
    serving: AbortHandle,
}

/// One submission, as it arrived.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// When it came for the first time.
    pub first: Instant,
    /// How often it came.
    pub count: u32,
}

struct Ledger {
    secret: SigningSecret,
    pause_micros: AtomicU64,
    arrivals: Mutex<HashMap<String, Arrivals>>,
    /// Requests that are not signed with the secret, or are no delivery.
    bad: AtomicU64,
    distinct: watch::Sender<usize>,
}

#[derive(Deserialize)]
struct Event {
    submission_id: String,
}

impl Receiver {
    /// Listens on a free port, and takes what is signed with [`secret`](Self::secret).
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

    /// So many of them, with a name and a number each.
    pub async fn several(name: &str, count: usize) -> Vec<Self> {
        let mut receivers = Vec::with_capacity(count);
        for number in 0..count {
            receivers.push(Self::start(&format!("whe_{name}_{number}")).await);
        }
        receivers
    }

    /// Where deliveries go.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.addr)
    }

    /// What its deliveries are signed with.
    pub fn secret(&self) -> String {
        secret_of(&self.id)
    }

    /// Answers each request only after a pause.
    pub fn pause(&self, pause: Duration) {
        let micros = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
        self.ledger.pause_micros.store(micros, Ordering::Relaxed);
    }

    /// What arrived, by submission.
    pub fn arrivals(&self) -> MutexGuard<'_, HashMap<String, Arrivals>> {
        self.ledger.arrivals()
    }

    /// Requests that were not signed as they should be.
    pub fn bad(&self) -> u64 {
        self.ledger.bad.load(Ordering::Relaxed)
    }

    /// Waits until so many submissions have arrived.
    pub async fn wait_for(&self, count: usize) {
        let mut distinct = self.ledger.distinct.subscribe();
        distinct.wait_for(|distinct| *distinct >= count).await.expect("the ledger is here");
    }

    /// Waits until each of these submissions has arrived; after so long, says which have not.
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
            // So many must still come before it is worth another look.
            let enough = seen + missing.len();
            let more = distinct.wait_for(|distinct| *distinct >= enough);
            // What was never acknowledged arrives too, and is waited for in vain: look now and then.
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

/// The secret of the endpoint with an id.
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
    // Connections end with the receiver.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(connection(stream, Arc::clone(&ledger)));
    }
}

async fn connection(stream: TcpStream, ledger: Arc<Ledger>) {
    let service = service_fn(|request| receive(request, &ledger));
    // A server that was killed leaves a connection that failed.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn receive(
    request: Request<Incoming>,
    ledger: &Ledger,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    // Half a request, of a server that was killed, never arrived.
    if let Ok(body) = body.collect().await {
        ledger.note(&head.headers, &body.to_bytes());
    }
    let pause = Duration::from_micros(ledger.pause_micros.load(Ordering::Relaxed));
    if !pause.is_zero() {
        // Sleeps because a slow endpoint is the point.
        tokio::time::sleep(pause).await;
    }
    Ok(Response::new(Empty::new()))
}
