//! A service in process: a store in memory, a user with a key, and a clock that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use formsvc_protocol::{Form, FormStatus, User};
use formsvc_server::admin::{Admin, CreatedKey, FormOptions};
use formsvc_server::api::{Api, Edge, router};
use formsvc_server::health::{self, Health};
use formsvc_server::rate_limit::{RateLimit, RateLimiter};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use http::{HeaderMap, Request, StatusCode};
use secrecy::ExposeSecret;
use serde_json::Value;

pub(super) struct Service {
    pub(super) edge: Edge,
    pub(super) admin: Admin,
    pub(super) store: Arc<dyn Store>,
    pub(super) user: User,
    pub(super) key: CreatedKey,
    clock: Arc<AtomicU64>,
}

impl Service {
    pub(super) async fn new() -> Self {
        Self::with_limit(RateLimit::default()).await
    }

    pub(super) async fn with_limit(limit: RateLimit) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("owner@example.org", "Owner").await.unwrap();
        let key = admin.create_key(&user.id, "tests").await.unwrap();
        let clock = Arc::new(AtomicU64::new(0));
        let edge = edge_of(Arc::clone(&store), limit, Arc::clone(&clock));
        Self { edge, admin, store, user, key, clock }
    }

    /// Lets time pass for the rate limit.
    pub(super) fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap();
        self.clock.fetch_add(millis, Ordering::Relaxed);
    }

    pub(super) fn bearer(&self) -> String {
        format!("Bearer {}", self.key.secret.expose_secret())
    }

    /// GET with the key.
    pub(super) async fn get(&self, target: &str) -> Answer {
        self.send(self.request(target).header("authorization", self.bearer())).await
    }

    /// A request without a key.
    #[expect(clippy::unused_self, reason = "reads as the requests with a key do")]
    pub(super) fn request(&self, target: &str) -> http::request::Builder {
        Request::get(target).header("host", "service.test")
    }

    pub(super) async fn send(&self, request: http::request::Builder) -> Answer {
        answer(&self.edge, request.body(Body::empty()).unwrap()).await
    }

    pub(super) async fn form(&self, title: &str) -> Form {
        let options = FormOptions::titled(title);
        self.admin.create_form(&self.user.id, options).await.unwrap()
    }

    pub(super) async fn form_with_rows(&self, rows: usize) -> Form {
        let form = self.form("Rows").await;
        for n in 0..rows {
            self.admin.submit(&form.id, &format!("{{\"n\":{n}}}")).await.unwrap();
        }
        assert_eq!(form.status, FormStatus::Published);
        form
    }
}

/// The whole service around a store.
pub(super) fn edge_of(store: Arc<dyn Store>, limit: RateLimit, clock: Arc<AtomicU64>) -> Edge {
    let now = move || Duration::from_millis(clock.load(Ordering::Relaxed));
    let limiter = RateLimiter::new(limit, Arc::new(now));
    let health = Arc::new(Health::new(Arc::clone(&store)));
    let api = Arc::new(Api::new(store, limiter));
    Edge::new(router(api).merge(health::router(health)))
}

pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

pub(super) async fn answer(edge: &Edge, request: Request<Body>) -> Answer {
    let (parts, body) = edge.answer(request).await.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    Answer { status: parts.status, headers: parts.headers, body }
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Status and error code; checks the shape that every error has.
    pub(super) fn error(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/json");
        let json = self.json();
        let error = json["error"].as_object().unwrap();
        assert_eq!((json.as_object().unwrap().len(), error.len()), (1, 2), "{}", self.body);
        assert!(!error["message"].as_str().unwrap().is_empty());
        (self.status.as_u16(), error["code"].as_str().unwrap().to_owned())
    }

    pub(super) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(super) fn assert_error(&self, status: u16, code: &str) {
        assert_eq!(self.error(), (status, code.to_owned()), "{}", self.body);
    }

    #[track_caller]
    pub(super) fn assert_ok(&self) {
        assert_eq!(self.status, StatusCode::OK, "{}", self.body);
    }
}
