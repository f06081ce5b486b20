//! An endpoint on loopback that answers as it is told and keeps what came.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

/// One request, as it came.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) at: Instant,
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Received {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(super) fn submission(&self) -> String {
        let event: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        event["submission_id"].as_str().unwrap().to_owned()
    }
}

/// What an endpoint answers.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Status(u16),
    /// With a header.
    With(u16, &'static str, &'static str),
    /// With a body.
    Body(u16, String),
    /// Waits until the gate is opened.
    Held,
    /// 500 so many times for each body, then 200.
    FailsFirst(usize),
}

/// A script of replies; the last one is for all that follow.
pub(super) struct Endpoint {
    pub(super) addr: SocketAddr,
    shared: Arc<Shared>,
    count: watch::Receiver<usize>,
    serving: tokio::task::JoinHandle<()>,
}

struct Shared {
    script: Mutex<VecDeque<Reply>>,
    ledger: Mutex<Vec<Received>>,
    counted: watch::Sender<usize>,
    gate: Semaphore,
}

impl Endpoint {
    pub(super) async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (counted, count) = watch::channel(0);
        let shared = Arc::new(Shared {
            script: Mutex::new(script.into_iter().collect()),
            ledger: Mutex::default(),
            counted,
            gate: Semaphore::new(0),
        });
        let seen = Arc::clone(&shared);
        let router = Router::new().fallback(move |request| receive(Arc::clone(&seen), request));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { addr, shared, count, serving }
    }

    pub(super) async fn ok() -> Self {
        Self::start([Reply::Status(200)]).await
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook?token=t0k3n", self.addr)
    }

    /// Lets held requests go on, and those that come.
    pub(super) fn open(&self) {
        self.shared.gate.add_permits(1_000_000);
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.shared.ledger.lock().unwrap().clone()
    }

    /// Waits until so many requests have come, and gives all.
    pub(super) async fn wait_for(&self, count: usize) -> Vec<Received> {
        let mut seen = self.count.clone();
        seen.wait_for(|seen| *seen >= count).await.unwrap();
        self.received()
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn receive(shared: Arc<Shared>, request: Request) -> Response {
    let at = Instant::now();
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let received = Received {
        at,
        method: parts.method,
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    };
    let reply = {
        let mut script = shared.script.lock().unwrap();
        if script.len() > 1 { script.pop_front().unwrap() } else { script[0].clone() }
    };
    let (count, before) = {
        let mut ledger = shared.ledger.lock().unwrap();
        let before = ledger.iter().filter(|earlier| earlier.body == received.body).count();
        ledger.push(received);
        (ledger.len(), before)
    };
    shared.counted.send_replace(count);
    match reply {
        Reply::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Reply::With(status, name, value) => {
            let headers = [(HeaderName::from_static(name), value)];
            (StatusCode::from_u16(status).unwrap(), headers).into_response()
        }
        Reply::Body(status, body) => (StatusCode::from_u16(status).unwrap(), body).into_response(),
        Reply::FailsFirst(times) if before < times => {
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
        Reply::FailsFirst(_) => StatusCode::OK.into_response(),
        Reply::Held => {
            drop(shared.gate.acquire().await.unwrap());
            StatusCode::OK.into_response()
        }
    }
}
