use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use formsvc_contract::send::{HttpSenderOptions, SIGNATURE};
use formsvc_protocol::signature::{SigningSecret, sign};
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower::ServiceExt as _;

use super::*;
use crate::delivery::{
    AnsweredBy, Attempt, DeliverySummary, EventNames, Forward, Source, TargetResponse,
};
use crate::store::StoreLimits;
use crate::verdict::{Verdict, VerdictCode};

const PORT: u16 = 4545;
const SECRET: &str = "whsec_of_a_test_of_the_inspector";

/// The inspector without a socket.
struct Page {
    shared: Arc<Shared>,
    router: axum::Router,
}

impl Page {
    fn new(change: impl FnOnce(&mut InspectorState)) -> Self {
        let limits = StoreLimits { bytes: 64 << 20, age: Duration::from_secs(1 << 30) };
        let mut secrets = SigningSecrets::default();
        secrets.add("new", SECRET.into()).unwrap();
        let mut state = InspectorState {
            store: CaptureStore::in_memory(limits).unwrap(),
            live: None,
            secrets,
            sender: HttpSender::new(HttpSenderOptions::default()).unwrap(),
            forwarder: None,
            listener: None,
            reveal: false,
        };
        change(&mut state);
        let shared = Arc::new(Shared::new(PORT, state).unwrap());
        let router = router(&shared);
        Self { shared, router }
    }

    async fn insert(&self, delivery: Delivery) -> i64 {
        self.shared.state.store.insert(Arc::new(delivery)).await.unwrap()
    }

    /// Requests a file with the cookie.
    async fn get(&self, file: &str) -> Response {
        self.send(Request::get(self.shared.access.path_of(file)).body(Body::empty()).unwrap()).await
    }

    /// Sends a request with the cookie.
    async fn send(&self, mut request: Request<Body>) -> Response {
        let cookie = self.shared.access.url();
        let cookie = format!("inspector={}", cookie.split_once("token=").unwrap().1);
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_static("localhost:4545"));
        headers.insert(header::COOKIE, HeaderValue::try_from(cookie).unwrap());
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Serves the page on a free port. Returns everything that the server sends for these bytes until it closes the
    /// connection.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let stop = CancellationToken::new();
        let serving = tokio::spawn(server::serve(listener, self.router.clone(), stop.clone()));
        stream.write_all(bytes).await.unwrap();
        let mut received = Vec::new();
        // The server may reset the connection, because it has not read all requests.
        let _ = stream.read_to_end(&mut received).await;
        stop.cancel();
        serving.await.unwrap();
        String::from_utf8(received).unwrap()
    }

    async fn read(&self, file: &str) -> (u16, Value) {
        let response = self.get(file).await;
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap())
    }

    async fn read_ok(&self, file: &str) -> Value {
        let (status, value) = self.read(file).await;
        assert_eq!(status, 200, "{file}: {value}");
        value
    }
}

fn delivery(code: VerdictCode, id: &str) -> Delivery {
    let body = Bytes::from(json!({"submission_id": id, "data": {"n": "Ada"}}).to_string());
    let key = SigningSecret::new(SECRET).unwrap();
    let signature = HeaderValue::try_from(sign([&key], 0, &body)).unwrap();
    let authorization = HeaderValue::from_static("Bearer hunter2");
    Delivery {
        summary: DeliverySummary {
            number: None,
            received_at: Timestamp::now(),
            source: Source::Request(([127, 0, 0, 1], 1).into()),
            method: Method::POST,
            request_target: "/hook?token=hunter2".to_owned(),
            body_size: body.len() as u64,
            verdict: Verdict { code, secret: Some("new".into()), age_secs: Some(2) },
            names: EventNames { submission_id: Some(id.to_owned()), ..EventNames::default() },
            attempt: Attempt::FIRST,
            response: None,
        },
        headers: HeaderMap::from_iter([
            (SIGNATURE, signature),
            (header::AUTHORIZATION, authorization),
        ]),
        body,
        forwards: Vec::new(),
        relayed_forward: None,
    }
}

/// Reads the names of the next `count` server-sent events.
async fn event_names(body: &mut axum::body::BodyDataStream, count: usize) -> Vec<String> {
    let mut text = String::new();
    while text.matches("event: ").count() < count {
        let part = body.next().await.expect("the stream has more events").unwrap();
        text.push_str(std::str::from_utf8(&part).unwrap());
    }
    let names = text.lines().filter_map(|line| line.strip_prefix("event: "));
    names.map(str::to_owned).collect()
}

fn numbers(list: &Value) -> Vec<i64> {
    let deliveries = list["deliveries"].as_array().unwrap();
    deliveries.iter().map(|delivery| delivery["capture"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn list_is_filtered_and_split_into_pages() {
    let page = Page::new(|_| {});
    for (code, id) in [
        (VerdictCode::Valid, "sub_1"),
        (VerdictCode::SignatureMismatch, "sub_'2\""),
        (VerdictCode::Valid, "sub_3"),
    ] {
        page.insert(delivery(code, id)).await;
    }
    let first = page.read_ok("api/list?limit=2").await;
    assert_eq!((numbers(&first), &first["has_older"]), (vec![3, 2], &json!(true)));
    let second = page.read_ok("api/list?limit=2&before=2").await;
    assert_eq!((numbers(&second), &second["has_older"]), (vec![1], &json!(false)));
    for (query, expected) in [
        ("filter=verdict%3Dvalid", vec![3, 1]),
        ("filter=verdict%3Dinvalid%20%26%26%20status%3Dfailed", vec![2]),
        ("text=SUB_%272%5C%22", vec![2]),
        ("text=hunter2&filter=verdict%3Dvalid", vec![3, 1]),
        ("filter=&text=", vec![3, 2, 1]),
        ("limit=0", vec![3]),
        ("limit=100000", vec![3, 2, 1]),
    ] {
        assert_eq!(numbers(&page.read_ok(&format!("api/list?{query}")).await), expected, "{query}");
    }
    let (status, problem) = page.read("api/list?filter=verdict%3Dgood").await;
    let error = problem["error"].as_str().unwrap();
    assert!(status == 400 && error.contains("not `good`"), "{problem}");
    assert_eq!(page.get("api/list?before=x").await.status(), 400);
}

#[tokio::test]
async fn list_page_has_at_most_200_deliveries() {
    let page = Page::new(|_| {});
    let inserts = (0..202).map(|_| page.insert(delivery(VerdictCode::Valid, "sub_1")));
    futures_util::future::join_all(inserts).await;
    let list = page.read_ok("api/list?limit=1000").await;
    assert_eq!((numbers(&list).len(), &list["has_older"]), (200, &json!(true)));
    let detail = page.read_ok("api/delivery?number=1").await;
    let attempts = detail["attempts"].as_array().unwrap();
    assert_eq!((attempts.len(), &detail["has_more_attempts"]), (50, &json!(true)));
    assert_eq!(attempts.last().unwrap()["capture"], 202, "oldest first");
}

#[tokio::test]
async fn detail_masks_secrets_unless_revealed() {
    for reveal in [false, true] {
        let page = Page::new(|state| state.reveal = reveal);
        let mut delivery = delivery(VerdictCode::Valid, "sub_*");
        let response = TargetResponse {
            status: 500,
            headers: HeaderMap::from_iter([(
                header::SET_COOKIE,
                HeaderValue::from_static("hunter2"),
            )]),
            body: Bytes::from_static(b"Authorization: Bearer hunter2"),
            is_truncated: false,
        };
        let url = "http://localhost:1/?token=hunter2".to_owned();
        let number = page.insert(delivery.clone()).await;
        page.insert(self::delivery(VerdictCode::Valid, "sub_2")).await;
        delivery.summary.number = Some(number);
        delivery.summary.response = Some(crate::delivery::Response {
            status: Some(500),
            answered_by: AnsweredBy::Target,
            took: Duration::ZERO,
        });
        delivery.forwards = vec![Forward { url, result: Ok(response), took: Duration::ZERO }];
        delivery.relayed_forward = Some(0);
        page.shared
            .state
            .store
            .set_outcome(delivery.summary.number.unwrap(), Arc::new(delivery))
            .await
            .unwrap();
        let detail = page.read_ok("api/delivery?number=1").await;
        let body = detail["delivery"]["forwards"][0]["body_b64"].as_str().unwrap();
        assert_eq!(body == "QXV0aG9yaXphdGlvbjogQmVhcmVyIGh1bnRlcjI=", reveal, "{body}");
        for shown in [detail.to_string(), page.read_ok("api/list").await.to_string()] {
            assert_eq!(shown.contains("hunter2"), reveal, "{shown}");
            assert!(!shown.contains(SECRET), "{shown}");
        }
        assert_eq!(detail["relayed_forward"], 0);
        assert_eq!(detail["attempts"].as_array().unwrap().len(), 1, "`sub_*` is not a prefix");
        let title = "Valid signature, 2\u{a0}s\u{a0}old (limit 300\u{a0}s)";
        assert_eq!(detail["signature"]["title"], title);
        assert_eq!(detail["signature"]["needs_confirmation"], Value::Null);
    }
}

#[tokio::test]
async fn long_body_is_not_part_of_the_record() {
    let page = Page::new(|_| {});
    let mut long = delivery(VerdictCode::Valid, "sub_1");
    long.body = Bytes::from(vec![b'1'; (1 << 20) + 1]);
    page.insert(long.clone()).await;
    let record = page.read_ok("api/delivery?number=1").await["delivery"].take();
    assert_eq!((&record["body_b64"], &record["body"]), (&json!(""), &Value::Null));
    assert_eq!(record["body_size"], 1_048_577);
    let response = page.get("api/body?number=1").await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/octet-stream");
    assert_eq!(response.headers()[header::CONTENT_DISPOSITION], "attachment");
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    assert!(body == long.body);
    let (status, problem) = page.read("api/delivery?number=2").await;
    assert_eq!((status, &problem["error"]), (404, &json!("there is no delivery 2")));
}

#[tokio::test]
async fn explanation_survives_a_deeply_nested_body() {
    let page = Page::new(|_| {});
    let mut nested = delivery(VerdictCode::SignatureMismatch, "sub_1");
    nested.body = Bytes::from("[".repeat(11_000) + &"]".repeat(11_000));
    page.insert(nested).await;
    let mut changed = delivery(VerdictCode::SignatureMismatch, "sub_1");
    changed.body = Bytes::from([&changed.body[..], b"\n"].concat());
    page.insert(changed).await;
    let (nested, changed) =
        tokio::join!(page.read_ok("api/explain?number=1"), page.read_ok("api/explain?number=2"));
    assert_eq!(nested["clues"][0], "the body is nested too deeply to compare", "{nested}");
    assert_eq!(changed["found"][0]["id"], "body_ends", "{changed}");
    assert!(!format!("{nested}{changed}").contains(SECRET));
}

#[tokio::test]
async fn curl_command_is_signed_only_for_a_valid_delivery() {
    let forwarder = |sender: &HttpSender| {
        let url = Url::parse("http://user:hunter2@localhost:9/in?token=hunter2").unwrap();
        Arc::new(Forwarder::new(sender.clone(), vec![crate::forward::Route::all(url)], 1))
    };
    let page = Page::new(|state| state.forwarder = Some(forwarder(&state.sender)));
    let valid = delivery(VerdictCode::Valid, "sub_1");
    let old_signature = valid.headers[SIGNATURE].to_str().unwrap().to_owned();
    page.insert(valid).await;
    page.insert(delivery(VerdictCode::SignatureMismatch, "sub_2")).await;
    let signed = page.read_ok("api/curl?number=1").await;
    let command = signed["command"].as_str().unwrap();
    assert!(
        command.contains("localhost:9/in?token=…'") && !command.contains("hunter2"),
        "{command}"
    );
    let signature = command.split_once("v1=").unwrap().1;
    let digits: String = signature.chars().take_while(char::is_ascii_hexdigit).collect();
    assert!(digits.len() == 64 && !command.contains(&old_signature), "{command}");
    let note = "Sends the delivery to http://localhost:9/in?… with a signature made now.";
    assert_eq!(signed["note"], note);
    let unsigned = page.read_ok("api/curl?number=2").await;
    assert!(unsigned["command"].as_str().unwrap().contains("…'"), "{unsigned}");
    let note = unsigned["note"].as_str().unwrap();
    let reason = ". Delivery 2 may not be from the service: no known secret made this signature over \
                  this body. Its signature is masked. Start with --reveal to copy it as received.";
    assert!(note.ends_with(reason), "{note}");
    assert_eq!((&signed["is_signed"], &unsigned["is_signed"]), (&true.into(), &false.into()));
    // Anyone can repeat an old delivery of the service.
    page.insert(delivery(VerdictCode::SignatureTooOld, "sub_3")).await;
    assert_eq!(page.read_ok("api/curl?number=3").await["is_signed"], false);

    let page = Page::new(|state| state.secrets = SigningSecrets::default());
    page.insert(delivery(VerdictCode::Valid, "sub_1")).await;
    let unsigned = page.read_ok("api/curl?number=1").await;
    assert!(unsigned["command"].as_str().unwrap().contains("http://localhost/hook"), "{unsigned}");
    assert!(
        unsigned["note"]
            .as_str()
            .unwrap()
            .contains(". A fresh signature needs a signing secret. Its"),
        "{unsigned}"
    );
}

#[tokio::test]
async fn curl_without_target_uses_a_local_host_of_the_delivery() {
    let page = Page::new(|_| {});
    for (number, host, url) in [
        (1, "localhost:9000", "http://localhost:9000/hook"),
        (2, "127.0.0.1:9000", "http://127.0.0.1:9000/hook"),
        (3, "evil.example:9000", "http://localhost/hook"),
        (4, "u:p@localhost", "http://localhost/hook"),
        (5, "localhost/x?", "http://localhost/hook"),
        (6, "localhost:2375#", "http://localhost/hook"),
    ] {
        let mut delivery = delivery(VerdictCode::Valid, "sub_1");
        delivery.headers.insert(header::HOST, HeaderValue::from_static(host));
        page.insert(delivery).await;
        let curl = page.read_ok(&format!("api/curl?number={number}")).await;
        let command = curl["command"].as_str().unwrap();
        assert!(command.contains(&format!(" '{url}?")), "{host}: {command}");
    }
    // An unknown sender does not choose the port.
    let mut delivery = delivery(VerdictCode::SignatureMismatch, "sub_1");
    delivery.headers.insert(header::HOST, HeaderValue::from_static("localhost:2375"));
    page.insert(delivery).await;
    let curl = page.read_ok("api/curl?number=7").await;
    assert!(!curl["command"].as_str().unwrap().contains("2375"), "{curl}");
}

#[tokio::test]
async fn facts_name_source_and_targets_without_secrets() {
    let listener = Url::parse("http://127.0.0.1:4000/").unwrap();
    let page = Page::new(|state| {
        let url = Url::parse("http://user:hunter2@localhost:9/in?token=hunter2").unwrap();
        let routes = vec![crate::forward::Route::all(url)];
        state.forwarder = Some(Arc::new(Forwarder::new(state.sender.clone(), routes, 1)));
        state.listener = Some(listener);
    });
    let about = page.read_ok("api/about").await;
    assert_eq!(about["targets"], json!(["http://localhost:9/in?…"]));
    assert_eq!(
        (&about["listener"], &about["folder"]),
        (&json!("http://127.0.0.1:4000/"), &Value::Null)
    );
    assert_eq!((&about["can_sign"], &about["reveal"]), (&json!(true), &json!(false)));
    assert_eq!(about["verdicts"].as_array().unwrap().len(), VERDICTS.len());
}

#[tokio::test]
async fn all_responses_have_the_protecting_headers() {
    let page = Page::new(|_| {});
    let files = ["", "main.js", "style.css", "icon.svg", "api/about", "api/none"];
    let mut responses = Vec::new();
    for file in files {
        responses.push((file, page.get(file).await));
    }
    let refused = Request::get("/").header(header::HOST, "rebound.example:4545");
    let refused = page.router.clone().oneshot(refused.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(refused.status(), 421);
    responses.push(("refused", refused));
    for (file, response) in responses {
        let headers = response.headers();
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; "), "{file}: {policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(headers[HeaderName::from_static(name)], value, "{file}");
        }
        assert!(headers.keys().all(|name| !name.as_str().starts_with("access-control")));
        assert!(!headers.contains_key(header::SET_COOKIE), "{file}");
        assert_eq!(response.status().is_success(), files[..5].contains(&file), "{file}");
    }
}

#[tokio::test]
async fn lagging_stream_gets_one_reload() {
    let live = broadcast::Sender::new(4);
    let page = Page::new(|state| state.live = Some(live.clone()));
    let response = page.get("api/events").await;
    assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
    let mut body = response.into_body().into_data_stream();
    let send = || live.send(Arc::new(delivery(VerdictCode::Valid, "sub_1"))).unwrap();
    send();
    assert_eq!(event_names(&mut body, 1).await, ["delivery"]);
    for _ in 0..9 {
        send();
    }
    assert_eq!(event_names(&mut body, 1).await, ["reload"]);
    send();
    assert_eq!(event_names(&mut body, 1).await, ["delivery"]);
    page.shared.stop.cancel();
    assert_eq!(event_names(&mut body, 1).await, ["end"]);
    assert!(body.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn stream_without_listener_polls_the_store() {
    let page = Page::new(|_| {});
    let mut body = page.get("api/events").await.into_body().into_data_stream();
    let mut one = delivery(VerdictCode::Valid, "sub_1");
    one.summary.number = Some(page.insert(one.clone()).await);
    assert_eq!(event_names(&mut body, 1).await, ["reload"]);
    one.summary.response = Some(crate::delivery::Response {
        status: Some(200),
        answered_by: AnsweredBy::Listener,
        took: Duration::ZERO,
    });
    page.shared.state.store.set_outcome(one.summary.number.unwrap(), Arc::new(one)).await.unwrap();
    assert_eq!(event_names(&mut body, 1).await, ["reload"], "it was answered");
}

#[tokio::test]
async fn response_to_older_delivery_is_a_change() {
    let page = Page::new(|_| {});
    let mut older = delivery(VerdictCode::Valid, "sub_1");
    let number = page.insert(older.clone()).await;
    page.insert(delivery(VerdictCode::Valid, "sub_2")).await;
    let before = live::first_page(&page.shared).await.unwrap();
    older.summary.response = Some(crate::delivery::Response {
        status: Some(200),
        answered_by: AnsweredBy::Listener,
        took: Duration::ZERO,
    });
    page.shared.state.store.set_outcome(number, Arc::new(older)).await.unwrap();
    assert_ne!(live::first_page(&page.shared).await.unwrap(), before);
}

#[tokio::test]
async fn streams_are_limited() {
    let live = broadcast::Sender::new(4);
    let page = Page::new(|state| state.live = Some(live));
    let mut streams = Vec::new();
    for _ in 0..MAX_STREAMS {
        streams.push(page.get("api/events").await);
    }
    assert!(streams.iter().all(|response| response.status() == 200));
    assert_eq!(page.get("api/events").await.status(), 503);
    streams.pop();
    assert_eq!(page.get("api/events").await.status(), 200);
}

#[tokio::test]
async fn body_without_length_is_read_up_to_the_limit() {
    let page = Page::new(|_| {});
    for (length, status) in [(MAX_BODY, 400), (MAX_BODY + 1, 413)] {
        let parts = std::iter::repeat_n(Bytes::from(vec![b' '; length / 8]), 8);
        let rest = Bytes::from(vec![b' '; length % 8]);
        let parts = parts.chain([rest]).map(Ok::<_, std::convert::Infallible>);
        let request = Request::post(page.shared.access.path_of("api/replay"))
            .header(header::ORIGIN, "http://localhost:4545")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from_stream(futures_util::stream::iter(parts)));
        assert_eq!(page.send(request.unwrap()).await.status(), status, "{length}");
    }
}

#[tokio::test]
async fn refused_request_closes_the_connection() {
    let page = Page::new(|_| {});
    let received =
        page.exchange(&b"GET / HTTP/1.1\r\nHost: localhost:4545\r\n\r\n".repeat(3)).await;
    assert_eq!(received.matches("HTTP/1.1 403 ").count(), 1, "{received}");
    assert!(received.contains("connection: close\r\n"), "{received}");
}

#[tokio::test]
async fn all_cookies_of_a_browser_fit_in_a_request() {
    let page = Page::new(|_| {});
    let url = page.shared.access.url();
    let token = url.split_once("token=").unwrap().1;
    let others = format!("{}; ", "c".repeat(4096)).repeat(180);
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: localhost:4545\r\nConnection: close\r\n\
         Cookie: {others}inspector={token}\r\n\r\n",
        page.shared.access.path_of("api/list"),
    );
    let received = page.exchange(request.as_bytes()).await;
    assert!(received.starts_with("HTTP/1.1 200 "), "{received}");
}
