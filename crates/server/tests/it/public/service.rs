//! A service with public forms in process: a store in memory, and a clock that stands still.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use formsvc_protocol::{Form, FormStatus, PublicId, User};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::api::Edge;
use formsvc_server::fields::Fields;
use formsvc_server::public::{Origin, Public, PublicOptions, router};
use formsvc_server::serve::Peer;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{PageRequest, Store, system_clock};
use http::{HeaderMap, Request, StatusCode};
use serde_json::Value;

/// One field of every kind.
pub(super) const EVERY_KIND: &str = r#"[
    {"label":"Name","type":"text","required":true,"help":"As you like to be called"},
    {"label":"Message","type":"long_text","max_length":2000},
    {"label":"E-mail","type":"email"},
    {"label":"Guests","type":"number","min":1,"max":8},
    {"label":"Day","type":"date"},
    {"label":"Size","type":"choice","choices":["S","M","L"]},
    {"label":"Colours","type":"multiple_choice","choices":["red","green","\"blue\""]},
    {"label":"Terms","type":"checkbox"}
]"#;

pub(super) const URLENCODED: &str = "application/x-www-form-urlencoded";

pub(super) struct Service {
    pub(super) edge: Edge,
    pub(super) admin: Admin,
    pub(super) store: Arc<dyn Store>,
    pub(super) user: User,
    clock: Arc<AtomicU64>,
}

impl Service {
    pub(super) async fn new() -> Self {
        Self::with(PublicOptions::default()).await
    }

    pub(super) async fn with(options: PublicOptions) -> Self {
        Self::over(Arc::new(SqliteStore::in_memory(system_clock()).unwrap()), options).await
    }

    pub(super) async fn over(store: Arc<dyn Store>, options: PublicOptions) -> Self {
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("owner@example.org", "Owner").await.unwrap();
        let clock = Arc::new(AtomicU64::new(0));
        let edge = edge_of(Arc::clone(&store), options, Arc::clone(&clock));
        Self { edge, admin, store, user, clock }
    }

    /// A service with a form `/f/form` of every kind of field.
    pub(super) async fn with_form() -> Self {
        let service = Self::new().await;
        service.form("form", Some(EVERY_KIND)).await;
        service
    }

    /// Lets time pass for the limits.
    pub(super) fn pass(&self, time: Duration) {
        self.clock.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }

    pub(super) async fn form(&self, public_id: &str, fields: Option<&str>) -> Form {
        self.form_with(public_id, fields, FormStatus::Published, None).await
    }

    pub(super) async fn form_with(
        &self,
        public_id: &str,
        fields: Option<&str>,
        status: FormStatus,
        origins: Option<&[&str]>,
    ) -> Form {
        let options = FormOptions {
            public_id: Some(PublicId::new(public_id).unwrap()),
            title: format!("Form <{public_id}>"),
            status,
        };
        let fields = fields.map(|json| Fields::parse(json).unwrap());
        let origins = origins
            .map(|origins| origins.iter().map(|origin| Origin::parse(origin).unwrap()).collect());
        let user = &self.user.id;
        self.admin.create_form_with(user, options, fields, origins).await.unwrap()
    }

    /// What the form with a public id has, newest first: the answers as they are kept.
    pub(super) async fn kept(&self, public_id: &str) -> Vec<String> {
        self.newest(public_id, 100).await
    }

    /// The newest of these.
    pub(super) async fn newest(&self, public_id: &str, limit: u32) -> Vec<String> {
        let id = PublicId::new(public_id).unwrap();
        let form = self.store.public_form(&id).await.unwrap().unwrap().form;
        let request =
            PageRequest { user: self.user.id.clone(), form: form.id, before: None, limit };
        let page = self.store.page(request).await.unwrap().unwrap();
        let items = format!("[{}]", std::str::from_utf8(&page.items).unwrap());
        let items: Vec<formsvc_protocol::Submission> = serde_json::from_str(&items).unwrap();
        items.into_iter().map(|item| item.data.as_json().to_owned()).collect()
    }

    pub(super) async fn get(&self, target: &str) -> Answer {
        self.send(Request::get(target), "").await
    }

    /// POST of a body of a type, as a browser does.
    pub(super) async fn post(
        &self,
        target: &str,
        content_type: &str,
        body: impl Into<Body>,
    ) -> Answer {
        self.send(Request::post(target).header("content-type", content_type), body).await
    }

    /// POST of JSON.
    pub(super) async fn post_json(&self, target: &str, body: impl Into<Body>) -> Answer {
        self.post(target, "application/json", body).await
    }

    pub(super) async fn send(
        &self,
        request: http::request::Builder,
        body: impl Into<Body>,
    ) -> Answer {
        answer(&self.edge, whole(request, body)).await
    }
}

/// The public forms of a store.
pub(super) fn edge_of(
    store: Arc<dyn Store>,
    options: PublicOptions,
    clock: Arc<AtomicU64>,
) -> Edge {
    let now = move || Duration::from_millis(clock.load(Ordering::Relaxed));
    let public = Public::new(store, options, Arc::new(now), system_clock());
    Edge::new(router(Arc::new(public)))
}

/// A request as it comes over a connection.
pub(super) fn whole(request: http::request::Builder, body: impl Into<Body>) -> Request<Body> {
    let request = request.header("host", "service.test");
    let peer = Peer(SocketAddr::from(([192, 0, 2, 1], 4711)));
    request.extension(peer).body(body.into()).unwrap()
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

    /// The id of a submission that was taken as JSON.
    #[track_caller]
    pub(super) fn id(&self) -> String {
        assert_eq!(self.status, StatusCode::CREATED, "{}", self.body);
        self.json()["id"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(super) fn assert_thanks(&self, public_id: &str) {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.body);
        assert_eq!(self.header("location"), format!("/f/{public_id}/thanks"));
        assert_eq!(self.body, "");
    }

    /// An error as JSON.
    #[track_caller]
    pub(super) fn assert_error(&self, status: u16, code: &str) {
        assert_eq!(self.header("content-type"), "application/json", "{}", self.body);
        let error = &self.json()["error"];
        assert_eq!((self.status.as_u16(), error["code"].as_str()), (status, Some(code)), "{error}");
        assert!(!error["message"].as_str().unwrap().is_empty());
        self.assert_common();
    }

    /// A page with a status.
    #[track_caller]
    pub(super) fn assert_page(&self, status: u16) {
        assert_eq!(self.status.as_u16(), status, "{}", self.body);
        assert_eq!(self.header("content-type"), "text/html; charset=utf-8");
        assert!(
            self.header("content-security-policy").starts_with("default-src 'none'; style-src")
        );
        assert!(self.body.starts_with("<!doctype html>") && self.body.ends_with("</html>"));
        self.assert_common();
    }

    fn assert_common(&self) {
        assert!(self.header("x-request-id").starts_with("req_"));
        assert_eq!(self.header("x-content-type-options"), "nosniff");
        assert!(!self.header("cache-control").is_empty());
    }
}
