//! An endpoint that records deliveries. Tests choose its response.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{self, SigningSecret};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};

/// An endpoint on loopback that ends when it is dropped.
pub(super) struct Hook {
    pub(super) addr: SocketAddr,
    state: Arc<Mutex<State>>,
    serving: AbortHandle,
}

struct State {
    status: StatusCode,
    answer: Bytes,
    came: Vec<Delivery>,
}

/// A recorded delivery.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    signature: Vec<u8>,
    pub(super) body: Bytes,
}

impl Delivery {
    /// Returns true if the delivery has a current signature with this secret.
    pub(super) fn is_signed_with(&self, secret: &str) -> bool {
        let secret = SigningSecret::new(secret).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        signature::verify(&self.signature, &self.body, &[secret], now, SIGNATURE_TOLERANCE).is_ok()
    }
}

impl Hook {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let state = State { status: StatusCode::OK, answer: Bytes::new(), came: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let serving = tokio::spawn(serve(listener, Arc::clone(&state))).abort_handle();
        Self { addr, state, serving }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/hook", self.addr)
    }

    /// Sets the response to later deliveries.
    pub(super) fn answer(&self, status: StatusCode, body: impl Into<Bytes>) {
        let mut state = self.state();
        (state.status, state.answer) = (status, body.into());
    }

    pub(super) fn came(&self) -> Vec<Delivery> {
        self.state().came.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<State>>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| receive(request, &state));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn receive(
    request: Request<Incoming>,
    state: &Mutex<State>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let header = head.headers.get(signature::HEADER);
    let signature = header.map(|value| value.as_bytes().to_vec()).unwrap_or_default();
    let body = body.collect().await.unwrap().to_bytes();
    let mut state = state.lock().unwrap();
    state.came.push(Delivery { signature, body });
    let mut response = Response::new(Full::new(state.answer.clone()));
    *response.status_mut() = state.status;
    Ok(response)
}
