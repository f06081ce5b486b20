//! A receiver that records every request and answers by plan.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Largest body that is recorded.
const BODY_MAX: usize = 8 << 20;
/// Attempts that are recorded; more are answered and forgotten.
const ATTEMPTS_MAX: usize = 64;

/// A received attempt.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) at: Instant,
    /// The receiver's clock.
    pub(super) unix: Duration,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The answer; `None` if the connection was closed instead.
    pub(super) answer: Option<StatusCode>,
}

/// The attempts of each submission, in the order of their first arrival.
pub(super) type Submissions = Vec<Vec<Attempt>>;

/// Listens until it is dropped.
pub(super) struct Recorder {
    state: Arc<State>,
    changed: watch::Receiver<()>,
    serving: AbortHandle,
}

struct State {
    /// With the ids of the submissions.
    recorded: Mutex<Vec<(String, Vec<Attempt>)>>,
    changed: watch::Sender<()>,
}

impl Recorder {
    pub(super) fn start(listener: TcpListener) -> Self {
        let (sender, changed) = watch::channel(());
        let state = Arc::new(State { recorded: Mutex::default(), changed: sender });
        let serving = tokio::spawn(serve(listener, Arc::clone(&state))).abort_handle();
        Self { state, changed, serving }
    }

    pub(super) fn submissions(&self) -> Submissions {
        let recorded = self.state.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.iter().map(|(_, attempts)| attempts.clone()).collect()
    }

    /// Waits until the recorded attempts fulfil a condition. Returns false if the time ends before.
    pub(super) async fn wait_until(
        &self,
        until: tokio::time::Instant,
        condition: impl Fn(&Submissions) -> bool,
    ) -> bool {
        let mut changed = self.changed.clone();
        let met = changed.wait_for(|()| condition(&self.submissions()));
        tokio::time::timeout_at(until, met).await.is_ok()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| receive(request, &state));
            // Fails if the sender closes the connection, or the plan does.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn receive(request: Request<Incoming>, state: &State) -> io::Result<Response<Empty<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_MAX).collect().await.map_err(io::Error::other)?.to_bytes();
    let answer = state.record(head, body);
    // An error closes the connection without an answer.
    let status = answer.ok_or_else(|| io::Error::other("closed by plan"))?;
    let mut response = Response::new(Empty::new());
    *response.status_mut() = status;
    Ok(response)
}

impl State {
    /// Records an attempt. Returns the answer.
    fn record(&self, head: http::request::Parts, body: Bytes) -> Option<StatusCode> {
        let (at, now) = (Instant::now(), SystemTime::now());
        let json: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
        let id = json.as_ref().and_then(|json| json.get("submission_id")?.as_str());
        let mut recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = recorded.iter().map(|(_, attempts)| attempts.len()).sum();
        if total >= ATTEMPTS_MAX {
            return Some(StatusCode::OK);
        }
        // Without an id, attempts belong to one submission.
        let id = id.unwrap_or_default();
        let place = recorded.iter().position(|(known, _)| known == id);
        let place = place.unwrap_or_else(|| {
            recorded.push((id.to_owned(), Vec::new()));
            recorded.len() - 1
        });
        let attempts = &mut recorded[place].1;
        let answer = plan(place, attempts.len());
        let unix = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (method, headers) = (head.method, head.headers);
        attempts.push(Attempt { at, unix, method, headers, body, answer });
        drop(recorded);
        self.changed.send_replace(());
        answer
    }
}

/// The answer to an attempt of a submission, both counted from 0; `None` closes the connection.
fn plan(submission: usize, attempt: usize) -> Option<StatusCode> {
    match (submission, attempt) {
        (1, 0) => Some(StatusCode::BAD_REQUEST),
        (1, 1) => None,
        (1, _) | (2, 0) => Some(StatusCode::SERVICE_UNAVAILABLE),
        // Any 2xx is a success.
        _ => Some(StatusCode::ACCEPTED),
    }
}
