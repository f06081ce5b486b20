//! The inspector of `webhook listen --ui`, without a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use super::listen::listener::{Listener, OTHER_SECRET, SECRET, event, request, signature};
use super::recorder::{Recorder, answer};
use crate::support::{PATIENCE, run};

/// A listener with its inspector.
struct Page {
    listener: Listener,
    /// Host and port of the page.
    host: String,
    path: String,
    cookie: String,
}

impl Page {
    fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ready.json");
        let more = ["--ui", "--ready-file", file.to_str().unwrap()];
        let listener = Listener::start(&[&more, args].concat());
        let ready: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let url = ready["ui_url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (host, path) = url.split_once('/').unwrap();
        let (path, token) = path.split_once("?token=").unwrap();
        let cookie = format!("inspector={token}");
        Self { listener, host: host.to_owned(), path: format!("/{path}"), cookie }
    }

    /// Sends a request, and returns the connection.
    fn connect(&self, method: &str, file: &str, headers: &str, body: &str) -> TcpStream {
        let Self { host, path, cookie, .. } = self;
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path}{file} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n\
             connection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        )
        .unwrap();
        stream
    }

    /// Sends a request, and returns the status and the JSON of the response.
    fn exchange(&self, method: &str, file: &str, headers: &str, body: &str) -> (u16, Value) {
        let mut response = String::new();
        self.connect(method, file, headers, body).read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    fn read(&self, file: &str) -> Value {
        let (status, json) = self.exchange("GET", file, "", "");
        assert_eq!(status, 200, "{file}: {json}");
        json
    }

    /// Replays capture 1 with a fresh signature, and returns the status of the target.
    fn replay(&self, to: &Value) -> Value {
        let headers = format!("content-type: application/json\r\norigin: http://{}\r\n", self.host);
        let request = json!({ "number": 1, "to": to, "is_fresh": true });
        let (status, json) = self.exchange("POST", "api/replay", &headers, &request.to_string());
        assert_eq!(status, 200, "{json}");
        json
    }
}

#[test]
fn headers_of_targets_are_not_sent_to_an_entered_address() {
    let (target, other) = (Recorder::of(&[200]), Recorder::of(&[200]));
    let url = target.url("/hook");
    let page = Page::start(&["--forward-to", &url, "-H", "Authorization: Bearer of-the-target"]);
    page.listener.deliver(&event("sub_1"));
    assert_eq!(target.got().text("authorization"), "Bearer of-the-target");
    let replayed = page.replay(&json!({ "url": other.url("/elsewhere") }));
    assert_eq!(replayed["status"], 200, "{replayed}");
    let got = other.got();
    let expected = ("POST /elsewhere HTTP/1.1", None);
    assert_eq!((got.line.as_str(), got.header("authorization")), expected);
    assert_eq!(page.replay(&json!({ "target": 0 }))["status"], 200);
    assert_eq!(target.got().text("authorization"), "Bearer of-the-target");
}

#[test]
fn replay_goes_to_the_path_of_the_delivery() {
    let (bare, own) = (Recorder::of(&[200]), Recorder::of(&[200]));
    let page = Page::start(&["--forward-to", &bare.url(""), "--forward-to", &own.url("/own")]);
    let (body, target) = (event("sub_1"), "/hook/deep?x=1");
    page.listener.exchange(&request(target, &signature(SECRET, 0, &body), &body));
    let expected = ["POST /hook/deep?x=1 HTTP/1.1", "POST /own HTTP/1.1"];
    assert_eq!([bare.got().line, own.got().line], expected, "the forwarded requests");
    for (index, recorder) in [&bare, &own].into_iter().enumerate() {
        page.replay(&json!({ "target": index }));
        assert_eq!(recorder.got().line, expected[index]);
    }
    assert_eq!(page.replay(&json!("listener"))["status"], 200);
    assert_eq!(bare.got().line, expected[0], "the listener forwards the replay");
}

#[test]
fn deliveries_are_live_while_the_listener_runs() {
    let page = Page::start(&[]);
    let mut lines = BufReader::new(page.connect("GET", "api/events", "", "")).lines();
    let mut line = || lines.next().unwrap().unwrap();
    // The stream has begun when its head has arrived.
    while !line().is_empty() {}
    page.listener.deliver(&event("sub_1"));
    while !line().contains("sub_1") {}
    let list = page.read("api/list");
    assert_eq!(list["deliveries"][0]["status"], 200, "{list}");
}

/// A signature in a target's response.
const ECHO: &str = "t=1,v1=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

#[test]
fn responses_of_targets_are_masked_unless_reveal() {
    use base64::Engine as _;

    let target = Recorder::start(std::sync::Arc::new(|_, _| {
        let headers = format!(
            "Set-Cookie: session=hunter2\r\nAuthorization: Bearer hunter2\r\nX-Copy: {ECHO}\r\n"
        );
        Some(answer(500, &headers, &format!("you sent {ECHO} and whsec_hunter2")))
    }));
    let url = target.url("/hook?token=hunter2");
    for reveal in [false, true] {
        let more: &[&str] = if reveal { &["--reveal"] } else { &[] };
        let page = Page::start(&[&["--forward-to", &url], more].concat());
        page.listener.deliver(&event("sub_1"));
        let detail = page.read("api/delivery?number=1");
        for forward in [&detail["delivery"]["forwards"][0], &page.replay(&json!({ "target": 0 }))] {
            let body = forward["body_b64"].as_str().unwrap();
            let body = base64::engine::general_purpose::STANDARD.decode(body).unwrap();
            let text = format!("{forward}{}", String::from_utf8(body).unwrap());
            for secret in [ECHO, "hunter2"] {
                assert_eq!(text.contains(secret), reveal, "{secret}: {text}");
            }
        }
    }
}

#[test]
fn taken_port_of_the_inspector_is_an_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let flag = format!("--ui-port={port}");
    let said =
        run(&["webhook", "listen", "--port=0", "--no-store", "--max-time=1ms", "--ui", &flag]);
    assert_eq!((said.code, &*said.stdout), (Some(10), ""), "{}", said.stderr);
    let error = format!("error: cannot serve the inspector at 127.0.0.1:{port}\n");
    assert!(said.stderr.starts_with(&error), "{}", said.stderr);
    assert!(said.stderr.contains("hint: `--ui-port 0` chooses a free port"), "{}", said.stderr);
    drop(taken);
    assert_eq!(Page::start(&[&flag]).host, format!("127.0.0.1:{port}"));
}

#[test]
fn explanation_of_a_deeply_nested_body_keeps_the_listener() {
    let page = Page::start(&[]);
    let body = format!("{}{}", "[".repeat(11_000), "]".repeat(11_000));
    assert_eq!(page.listener.post(&signature(OTHER_SECRET, 0, &body), &body).status(), 401);
    let explained = page.read("api/explain?number=1");
    let clues = explained["clues"].as_array().unwrap();
    assert_eq!(clues[0], "the body is nested too deeply to compare", "{explained}");
    assert_eq!(page.listener.deliver(&event("sub_1")).status(), 200, "the listener still runs");
}
