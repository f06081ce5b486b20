//! Twins in Rust: receivers without `formsvc-receiver`, with one mistake each.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use formsvc_protocol::WebhookEvent;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use url::Url;

use super::mistakes::Mistake::{self, *};
use super::run::SECRET;

/// Each mistake, and the checks that fail.
pub(super) const TWINS: &[(Mistake, &[&str])] = &[
    // `WebhookEvent` keeps the text of the answers, but not that of the other members or unknown members.
    (
        ReSerialises,
        &["raw-pretty", "raw-key-order", "raw-newline", "unknown-event", "unknown-fields"],
    ),
    (NoAge, NoAge.fails()),
    (PastOnly, PastOnly.fails()),
    (Prefix, Prefix.fails()),
    (FirstV1, FirstV1.fails()),
    (LastV1, LastV1.fails()),
    (Conflict, Conflict.fails()),
    (Redirects, Redirects.fails()),
    (Slow, Slow.fails()),
    (Echoes, Echoes.fails()),
    (UnsignedPasses, UnsignedPasses.fails()),
    (UnknownFails, UnknownFails.fails()),
    (Latin1, Latin1.fails()),
    (NoCap, NoCap.fails()),
];

/// A receiver with a mistake, which ends on drop.
pub(super) struct Twin {
    pub(super) url: Url,
    serving: AbortHandle,
}

#[derive(Clone)]
struct App {
    mistake: Mistake,
    handled: Arc<Mutex<HashSet<String>>>,
}

impl Twin {
    pub(super) async fn start(mistake: Mistake) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let app = App { mistake, handled: Arc::default() };
        let router = Router::new().route("/", post(answer)).with_state(app);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, serving: serving.abort_handle() }
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(State(app): State<App>, request: Request) -> Response {
    if app.mistake == Slow {
        // Sleeps because being slow is the mistake.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    let (head, body) = request.into_parts();
    let most = if app.mistake == NoCap { usize::MAX } else { 1 << 20 };
    let Ok(body) = to_bytes(body, most).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    if app.mistake == Redirects {
        return (StatusCode::FOUND, [("location", "/elsewhere")]).into_response();
    }
    match app.handle(&head.headers, &body) {
        Ok(status) => status.into_response(),
        Err((status, text)) => (status, Body::from(text)).into_response(),
    }
}

impl App {
    fn handle(&self, headers: &HeaderMap, body: &[u8]) -> Result<StatusCode, (StatusCode, String)> {
        let refused = |text| (StatusCode::UNAUTHORIZED, text);
        match headers.get("x-service-signature") {
            None if self.mistake == UnsignedPasses => {}
            None => return Err(refused(String::new())),
            Some(header) => {
                self.verify(header.to_str().unwrap_or_default(), body).map_err(refused)?;
            }
        }
        let unreadable = |_| (StatusCode::BAD_REQUEST, String::new());
        let json: serde_json::Value = serde_json::from_slice(body).map_err(unreadable)?;
        let known = json["event"] == "submission.created";
        if !known {
            let fails = self.mistake == UnknownFails;
            return Ok(if fails { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK });
        }
        let is_new = self.handled.lock().unwrap().insert(json["submission_id"].to_string());
        let conflicts = !is_new && self.mistake == Conflict;
        Ok(if conflicts { StatusCode::CONFLICT } else { StatusCode::OK })
    }

    /// Returns the text of the refusal as the error.
    fn verify(&self, header: &str, body: &[u8]) -> Result<(), String> {
        let values = |wanted: &str| -> Vec<&str> {
            let pairs = header.split(',').filter_map(|part| part.split_once('='));
            pairs.filter(|(key, _)| *key == wanted).map(|(_, value)| value).collect()
        };
        let [time] = values("t")[..] else { return Err(String::new()) };
        let seconds: i64 = time.parse().map_err(|_| String::new())?;
        let signed = match self.mistake {
            ReSerialises => {
                let event: WebhookEvent =
                    serde_json::from_slice(body).map_err(|_| String::new())?;
                serde_json::to_vec(&event).unwrap()
            }
            Latin1 => body.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes(),
            _ => body.to_vec(),
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(time.as_bytes());
        mac.update(b".");
        mac.update(&signed);
        let expected = hex::encode(mac.finalize().into_bytes());
        let mut signatures = values("v1");
        match self.mistake {
            FirstV1 => signatures.truncate(1),
            LastV1 => drop(signatures.drain(..signatures.len().saturating_sub(1))),
            _ => {}
        }
        let matches = |one: &&str| match self.mistake {
            Prefix => expected.starts_with(&one[..one.len().min(32)]),
            _ => **one == expected,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let age = i64::try_from(now).unwrap() - seconds;
        let in_time = match self.mistake {
            NoAge => true,
            PastOnly => age <= 300,
            _ => age.abs() <= 300,
        };
        if signatures.iter().any(matches) && in_time {
            return Ok(());
        }
        Err(if self.mistake == Echoes { format!("expected {expected}") } else { String::new() })
    }
}
