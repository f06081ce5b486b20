//! The inspector with real connections.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use formsvc_contract::send::{HttpSender, HttpSenderOptions, SIGNATURE};
use formsvc_workbench::delivery::{Attempt, Delivery, DeliverySummary, EventNames, Source};
use formsvc_workbench::forward::{Forwarder, Route};
use formsvc_workbench::inspector::{Inspector, InspectorError, InspectorState};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::store::{CaptureStore, StoreLimits};
use formsvc_workbench::verdict::{Verdict, VerdictCode};
use http::{HeaderMap, HeaderValue, Method, header};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use url::Url;

const SECRET: &str = "whsec_of_a_test_of_the_inspector";
const BODY: &str = "{ \"event\": \"submission.created\" }";

/// A request that a target received.
struct Received {
    target: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Received {
    fn is_signed(&self) -> bool {
        let verifier = secrets().builder().build().unwrap();
        let signature = self.headers.get(SIGNATURE);
        signature.is_some_and(|header| verifier.verify_signature(header, &self.body).is_ok())
    }
}

/// Starts a target that responds with a status.
async fn target(status: u16) -> (Url, UnboundedReceiver<Received>) {
    let (requests, received) = unbounded_channel();
    let handler = move |method: Method, uri: http::Uri, headers: HeaderMap, body: Bytes| {
        let requests = requests.clone();
        async move {
            let target = format!("{method} {uri}");
            let _ = requests.send(Received { target, headers, body });
            (http::StatusCode::from_u16(status).unwrap(), "received")
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let router = Router::new().fallback(handler);
    tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
    (url, received)
}

fn secrets() -> SigningSecrets {
    let mut secrets = SigningSecrets::default();
    secrets.add("a", SECRET.into()).unwrap();
    secrets
}

fn delivery(code: VerdictCode) -> Delivery {
    Delivery {
        summary: DeliverySummary {
            number: None,
            received_at: Timestamp::now(),
            source: Source::Request(([127, 0, 0, 1], 1).into()),
            method: Method::POST,
            request_target: "/hook/deep?x=1".to_owned(),
            body_size: BODY.len() as u64,
            verdict: Verdict { code, secret: None, age_secs: Some(0) },
            names: EventNames::default(),
            attempt: Attempt::FIRST,
            response: None,
        },
        headers: HeaderMap::from_iter([(SIGNATURE, HeaderValue::from_static("t=1,v1=00"))]),
        body: Bytes::from_static(BODY.as_bytes()),
        forwards: Vec::new(),
        relayed_forward: None,
    }
}

fn state() -> InspectorState {
    let limits = StoreLimits { bytes: 1 << 20, age: Duration::from_secs(1 << 30) };
    InspectorState {
        store: CaptureStore::in_memory(limits).unwrap(),
        live: None,
        secrets: secrets(),
        sender: HttpSender::new(HttpSenderOptions::default()).unwrap(),
        forwarder: None,
        listener: None,
        reveal: false,
    }
}

/// A running inspector and its cookie.
struct Page {
    inspector: Inspector,
    host: String,
    path: String,
    cookie: String,
}

impl Page {
    /// Opens the URL, as a browser does.
    async fn open(state: InspectorState) -> Self {
        let inspector = Inspector::start(0, state).unwrap();
        let url = Url::parse(inspector.url()).unwrap();
        let host = format!("127.0.0.1:{}", url.port().unwrap());
        let mut page = Self { inspector, host, path: url.path().to_owned(), cookie: String::new() };
        let response = page.exchange("GET", &format!("?{}", url.query().unwrap()), "", "").await;
        assert!(
            response.starts_with("HTTP/1.1 200 ") && response.contains("main.js"),
            "{response}"
        );
        let cookie = response.split_once("set-cookie: ").unwrap().1;
        page.cookie.push_str(cookie.split(';').next().unwrap());
        page
    }

    async fn connect(&self, method: &str, file: &str, headers: &str, body: &str) -> TcpStream {
        let Self { host, path, cookie, .. } = self;
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!(
            "{method} {path}{file} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n\
             connection: close\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn exchange(&self, method: &str, file: &str, headers: &str, body: &str) -> String {
        let mut stream = self.connect(method, file, headers, body).await;
        let mut response = String::new();
        let read = stream.read_to_string(&mut response);
        tokio::time::timeout(Duration::from_secs(30), read).await.expect("a response").unwrap();
        response
    }

    /// The headers that a script of the page sends.
    fn script_headers(&self) -> String {
        format!("content-type: application/json\r\norigin: http://{}\r\n", self.host)
    }

    async fn replay(&self, request: &Value) -> (u16, Value) {
        let body = request.to_string();
        let headers = format!("{}content-length: {}\r\n", self.script_headers(), body.len());
        let response = self.exchange("POST", "api/replay", &headers, &body).await;
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }
}

fn replay_to(to: &Value) -> Value {
    json!({ "number": 1, "to": to, "is_fresh": true, "body": null })
}

#[tokio::test]
async fn url_with_token_opens_the_page_and_sets_a_cookie() {
    let mut page = Page::open(state()).await;
    assert!(page.exchange("GET", "", "", "").await.starts_with("HTTP/1.1 200 "));
    page.cookie.pop();
    let refused = page.exchange("GET", "", "", "").await;
    assert!(refused.starts_with("HTTP/1.1 403 ") && !refused.contains("set-cookie"), "{refused}");
    assert!(refused.contains("open the complete URL that formsvc printed"), "{refused}");
}

#[tokio::test]
async fn taken_port_is_an_error_and_free_port_is_used() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let error = Inspector::start(port, state()).unwrap_err();
    assert!(matches!(error, InspectorError::Port { .. }), "{error}");
    assert_eq!(error.to_string(), format!("cannot serve the inspector at 127.0.0.1:{port}"));
    drop(taken);
    let inspector = Inspector::start(port, state()).unwrap();
    assert!(inspector.url().starts_with(&format!("http://127.0.0.1:{port}/")));
}

#[tokio::test]
async fn headers_of_targets_are_not_sent_to_an_entered_address() {
    let (configured, mut requests) = target(200).await;
    let (entered, mut other_requests) = target(200).await;
    let mut state = state();
    let authorization = HeaderValue::from_static("Bearer of-the-target");
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, authorization)]);
    let options = HttpSenderOptions { headers, ..HttpSenderOptions::default() };
    state.sender = HttpSender::new(options).unwrap();
    let routes = vec![Route::all(configured)];
    state.forwarder = Some(Arc::new(Forwarder::new(state.sender.clone(), routes, 8)));
    state.store.insert(Arc::new(delivery(VerdictCode::Valid))).await.unwrap();
    let page = Page::open(state).await;
    let address = entered.join("/elsewhere").unwrap();
    let (status, report) = page.replay(&replay_to(&json!({ "url": address.as_str() }))).await;
    assert_eq!((status, &report["status"]), (200, &json!(200)), "{report}");
    let received = other_requests.recv().await.unwrap();
    assert_eq!((&*received.target, received.is_signed()), ("POST /elsewhere", true));
    assert_eq!(received.headers.get(header::AUTHORIZATION), None);
    let (status, report) = page.replay(&replay_to(&json!({ "target": 0 }))).await;
    assert_eq!((status, &report["status"]), (200, &json!(200)), "{report}");
    let received = requests.recv().await.unwrap();
    assert_eq!(received.target, "POST /hook/deep?x=1", "the path of the delivery");
    assert_eq!(received.headers[header::AUTHORIZATION], "Bearer of-the-target");
}

#[tokio::test]
async fn replay_signs_the_same_or_an_edited_body() {
    let (listener, mut requests) = target(503).await;
    let mut state = state();
    state.listener = Some(listener);
    state.store.insert(Arc::new(delivery(VerdictCode::Valid))).await.unwrap();
    let page = Page::open(state).await;
    let edited = "{\"event\":\"é\u{200b}\r\n\"}";
    for (body, is_fresh, expected) in [
        (json!(null), true, BODY),
        (json!(edited), true, edited),
        (json!(null), false, BODY),
        (json!(""), true, ""),
    ] {
        let request = json!({ "number": 1, "to": "listener", "is_fresh": is_fresh, "body": body });
        let (status, report) = page.replay(&request).await;
        assert_eq!((status, &report["status"]), (200, &json!(503)), "{report}");
        assert_eq!(report["body_b64"], "cmVjZWl2ZWQ=");
        let received = requests.recv().await.unwrap();
        assert_eq!((&received.body[..], received.is_signed()), (expected.as_bytes(), is_fresh));
    }
}

#[tokio::test]
async fn fresh_signature_of_unknown_sender_needs_confirmation() {
    let (url, mut requests) = target(200).await;
    let state = state();
    state.store.insert(Arc::new(delivery(VerdictCode::MissingSignature))).await.unwrap();
    let page = Page::open(state).await;
    let mut request = replay_to(&json!({ "url": url.as_str() }));
    let (status, problem) = page.replay(&request).await;
    let error = problem["error"].as_str().unwrap();
    assert!(status == 409 && error.contains("delivery 1 may not be from the service"), "{error}");
    assert!(requests.try_recv().is_err(), "nothing was sent");
    request["is_confirmed"] = json!(true);
    assert_eq!(page.replay(&request).await.0, 200);
    assert!(requests.recv().await.unwrap().is_signed());
    request["is_confirmed"] = json!(false);
    request["is_fresh"] = json!(false);
    assert_eq!(page.replay(&request).await.0, 200);
    assert!(!requests.recv().await.unwrap().is_signed());
}

#[tokio::test]
async fn invalid_replay_requests_are_errors() {
    let mut state = state();
    state.secrets = SigningSecrets::default();
    state.store.insert(Arc::new(delivery(VerdictCode::Valid))).await.unwrap();
    let page = Page::open(state).await;
    let url = json!({ "url": "ftp://example.org" });
    for (request, status, expected) in [
        (replay_to(&url), 400, "the address is not valid: the scheme `ftp` is not http or https"),
        (replay_to(&json!({ "target": 0 })), 400, "does not understand the request"),
        (replay_to(&json!("listener")), 400, "does not understand the request"),
        (replay_to(&json!({ "forward": 0 })), 409, "capture 1 was not forwarded"),
        (replay_to(&json!({ "url": "9" })), 409, "a fresh signature needs a signing secret"),
        (json!({ "number": 1, "headers": {} }), 400, "does not understand the request"),
        (
            json!({ "number": 2, "to": "listener", "is_fresh": true, "body": null }),
            404,
            "no delivery 2",
        ),
    ] {
        let (found, problem) = page.replay(&request).await;
        assert_eq!(found, status, "{problem}");
        assert!(problem["error"].as_str().unwrap().contains(expected), "{problem}");
    }
}

#[tokio::test]
async fn unreachable_target_is_a_result() {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = format!("http://{}/", socket.local_addr().unwrap());
    let state = state();
    state.store.insert(Arc::new(delivery(VerdictCode::Valid))).await.unwrap();
    let page = Page::open(state).await;
    let (status, report) = page.replay(&replay_to(&json!({ "url": closed }))).await;
    assert_eq!((status, &report["status"]), (200, &Value::Null), "{report}");
    assert!(report["error"].as_str().unwrap().contains("nothing listens on"), "{report}");
}

#[tokio::test]
async fn too_large_request_is_refused_at_its_head() {
    let page = Page::open(state()).await;
    let length = (8 << 20) + 1;
    let headers = page.script_headers();
    let headers = format!("{headers}expect: 100-continue\r\ncontent-length: {length}\r\n");
    let response = page.exchange("POST", "api/replay", &headers, "").await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
}

#[tokio::test]
async fn deliveries_are_live_until_the_inspector_stops() {
    let live = broadcast::Sender::new(4);
    let mut state = state();
    state.live = Some(live.clone());
    let page = Page::open(state).await;
    let mut stream = page.connect("GET", "api/events", "", "").await;
    let mut text = Vec::new();
    while !text.ends_with(b"\r\n\r\n") {
        stream.read_buf(&mut text).await.unwrap();
    }
    live.send(Arc::new(delivery(VerdictCode::Valid))).unwrap();
    while !String::from_utf8_lossy(&text).contains("event: delivery\ndata: {\"capture\":null,") {
        assert_ne!(stream.read_buf(&mut text).await.unwrap(), 0);
    }
    let address = page.host.clone();
    page.inspector.stop().await;
    stream.read_to_end(&mut text).await.unwrap();
    assert!(String::from_utf8_lossy(&text).contains("event: end\ndata: {}\n\n"));
    assert!(TcpStream::connect(address).await.is_err());
}
