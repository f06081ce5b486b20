//! What the page of `--ui` is asked for and gives, without a browser.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use super::listen::listener::{Listener, OTHER_SECRET, SECRET, event, request, signature};
use super::recorder::{Recorder, answer};
use crate::support::{PATIENCE, run};

/// A listener with its page.
struct Page {
    listener: Listener,
    /// Host and port of the page.
    host: String,
    token: String,
}

impl Page {
    fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ready.json");
        let more = ["--ui", "--ready-file", file.to_str().unwrap()];
        let listener = Listener::start(&[&more, args].concat());
        let ready: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let page = ready["ui_url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let (host, token) = page.trim_end_matches('/').split_once('/').unwrap();
        Self { listener, host: host.to_owned(), token: token.to_owned() }
    }

    /// Sends a request below the token, and reads the answer.
    fn exchange(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let Self { host, token, .. } = self;
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(
            stream,
            "{method} /{token}/{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\
             {headers}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Sends a request below the token, and reads the answer: its status, and its JSON.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
        let headers = format!("content-length: {}\r\n{headers}", body.len());
        let answer = self.exchange(method, path, &headers, body);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    fn read(&self, path: &str) -> Value {
        let (status, told) = self.ask("GET", path, "", "");
        assert_eq!(status, 200, "{path}: {told}");
        told
    }

    /// A replay, with the flag that says that what is refused is to be signed, where there is one.
    fn replay(&self, number: u64, to: &Value, sign: &str, flag: Option<bool>) -> (u16, Value) {
        let mut asked = json!({ "number": number, "to": to, "signature": sign, "body": null });
        if let Some(flag) = flag {
            asked["unverified"] = json!(flag);
        }
        self.ask("POST", "api/replay", &self.headers(), &asked.to_string())
    }

    /// The headers that a script of the page sends.
    fn headers(&self) -> String {
        format!("content-type: application/json\r\norigin: http://{}\r\n", self.host)
    }

    /// How many requests came to the listener.
    fn count(&self) -> usize {
        self.read("api/list")["rows"].as_array().unwrap().len()
    }
}

#[test]
fn what_is_given_for_the_targets_goes_to_no_address_that_is_typed() {
    let (target, other) = (Recorder::of(&[200]), Recorder::of(&[200]));
    let url = target.url("/hook");
    let page = Page::start(&["--forward-to", &url, "-H", "Authorization: Bearer of-the-target"]);
    page.listener.deliver(&event("sub_1"));
    assert_eq!(target.got().text("authorization"), "Bearer of-the-target");
    let to = json!({ "url": other.url("/elsewhere") });
    let (status, told) = page.replay(1, &to, "fresh", None);
    assert_eq!((status, &told["answer"]["status"]), (200, &json!(200)), "{told}");
    let got = other.got();
    assert_eq!(
        (got.line.as_str(), got.header("authorization")),
        ("POST /elsewhere HTTP/1.1", None)
    );
    let (status, told) = page.replay(1, &json!({ "target": 0 }), "fresh", None);
    assert_eq!((status, &told["answer"]["status"]), (200, &json!(200)), "{told}");
    assert_eq!(target.got().text("authorization"), "Bearer of-the-target");
}

#[test]
fn a_replay_goes_to_the_path_that_the_delivery_came_to() {
    let (bare, own) = (Recorder::of(&[200]), Recorder::of(&[200]));
    let page = Page::start(&["--forward-to", &bare.url(""), "--forward-to", &own.url("/own")]);
    let (body, target) = (event("sub_1"), "/hook/deep?x=1");
    page.listener.exchange(&request(target, &signature(SECRET, 0, &body), &body));
    let expected = ["POST /hook/deep?x=1 HTTP/1.1", "POST /own HTTP/1.1"];
    assert_eq!([bare.got().line, own.got().line], expected, "as it was passed on");
    for (place, recorder) in [&bare, &own].into_iter().enumerate() {
        let (status, told) = page.replay(1, &json!({ "target": place }), "fresh", None);
        assert_eq!((status, recorder.got().line.as_str()), (200, expected[place]), "{told}");
    }
    let (status, told) = page.replay(1, &json!("listener"), "fresh", None);
    assert_eq!((status, &told["answer"]["status"]), (200, &json!(200)), "{told}");
    assert_eq!(bare.got().line, expected[0], "passed on from where it came to");
}

#[test]
fn what_a_receiver_refuses_is_signed_anew_only_where_that_is_said() {
    let page = Page::start(&[]);
    let body = event("sub_1");
    assert_eq!(page.listener.deliver(&body).status(), 200);
    assert_eq!(page.listener.deliver("no event").status(), 400);
    for header in [
        signature(OTHER_SECRET, 0, &body),
        signature(SECRET, -4_000, &body),
        signature(SECRET, 4_000, &body),
        "nonsense".to_owned(),
    ] {
        assert_eq!(page.listener.post(&header, &body).status(), 401, "{header}");
    }
    let here = &json!("listener");
    for number in 2..=6 {
        let came = page.count();
        let (status, told) = page.replay(number, here, "fresh", None);
        assert_eq!(status, 409, "{number}: {told}");
        let words = page.read(&format!("api/capture?number={number}"))["advice"]["refused"].take();
        assert!(told["error"].as_str().unwrap().contains(words.as_str().unwrap()), "{told}");
        let (status, told) = page.replay(number, here, "fresh", Some(false));
        assert_eq!((status, page.count()), (409, came), "nothing was sent: {told}");
        // What it came with proves as much as it did.
        let (status, told) = page.replay(number, here, "kept", None);
        assert_eq!(status, 200, "{told}");
        assert_ne!(told["answer"]["status"], 200, "{number}: {told}");
        let (status, told) = page.replay(number, here, "fresh", Some(true));
        let expected = if number == 2 { 400 } else { 200 };
        assert_eq!(
            (status, &told["answer"]["status"]),
            (200, &json!(expected)),
            "{number}: {told}"
        );
    }
    let (status, told) = page.replay(1, here, "fresh", None);
    assert_eq!((status, &told["answer"]["status"]), (200, &json!(200)), "{told}");
    assert_eq!(page.read("api/capture?number=1")["advice"]["refused"], Value::Null);
}

#[test]
fn pauses_are_judged_by_the_schedule_of_the_listener() {
    // Shorter than any pause can be.
    let hasty = ["--respond", "503,200", "--retry-base", "1us", "--retry-factor", "2"];
    for (args, fits, expected) in
        [(&hasty[..2], false, "10 s to 12 s"), (&hasty, true, "0.000001 s to 0.0000012 s")]
    {
        let page = Page::start(args);
        let body = event("sub_1");
        let statuses =
            [page.listener.deliver(&body).status(), page.listener.deliver(&body).status()];
        assert_eq!(statuses, [503, 200]);
        let detail = page.read("api/capture?number=2");
        let pause = &detail["attempts"][1]["pause"];
        assert_eq!(
            (&pause["fits"], &pause["expected"]),
            (&json!(fits), &json!(expected)),
            "{detail}"
        );
        let told = page.read("api/about")["schedule"].take();
        let first = expected.split(' ').next().unwrap();
        assert!(told.as_str().unwrap().contains(&format!("after {first} s, ")), "{told}");
    }
}

/// What a target says again of what it was asked: none of it may be seen.
const AGAIN: &str = "t=1,v1=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

#[test]
fn an_answer_that_says_again_what_it_was_asked_is_masked() {
    let target = Recorder::start(std::sync::Arc::new(|_, _| {
        let headers = format!(
            "Set-Cookie: session=hunter2\r\nAuthorization: Bearer hunter2\r\nX-Copy: {AGAIN}\r\n"
        );
        Some(answer(500, &headers, &format!("you sent {AGAIN} and whsec_hunter2")))
    }));
    let url = target.url("/hook?token=hunter2");
    for reveal in [false, true] {
        let more: &[&str] = if reveal { &["--reveal"] } else { &[] };
        let page = Page::start(&[&["--forward-to", &url], more].concat());
        page.listener.deliver(&event("sub_1"));
        let mut forward = page.read("api/capture?number=1")["forwards"][0].take();
        let (_, replayed) = page.replay(1, &json!({ "target": 0 }), "fresh", None);
        for answer in [forward["answer"].take(), replayed["answer"].clone()] {
            use base64::Engine as _;
            let body = answer["body"].as_str().unwrap();
            let body = base64::engine::general_purpose::STANDARD.decode(body).unwrap();
            let body = String::from_utf8(body).unwrap();
            let all = format!("{answer}{body}");
            assert_eq!(all.contains(AGAIN) && all.contains("hunter2"), reveal, "{all}");
            assert_eq!(all.contains("hunter2") || all.contains(AGAIN), reveal, "{all}");
            assert_eq!(answer["masked"], json!(!reveal), "{all}");
        }
        let shown = forward["url"].as_str().unwrap();
        assert_eq!(shown.contains("hunter2"), reveal, "{shown}");
    }
}

#[test]
fn of_several_targets_the_one_whose_answer_the_sender_got_is_told() {
    let closed = crate::support::closed_address();
    // The silence of the first is told as 502, and the second says that itself.
    let (silent, other) = (format!("http://{closed}/hook"), Recorder::of(&[502]));
    let page = Page::start(&["--forward-to", &silent, "--forward-to", &other.url("/hook")]);
    assert_eq!(page.listener.deliver(&event("sub_1")).status(), 502);
    let forwards = page.read("api/capture?number=1")["forwards"].take();
    let decided = [&forwards[0]["decided"], &forwards[1]["decided"]];
    assert_eq!(decided, [&json!(true), &json!(false)], "{forwards}");
    assert!(forwards[0]["silence"].is_object() && forwards[1]["answer"]["status"] == 502);
}

#[test]
fn a_port_of_the_page_is_that_or_none() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let flag = format!("--ui-port={port}");
    let said =
        run(&["webhook", "listen", "--port=0", "--no-store", "--max-time=1ms", "--ui", &flag]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    let what = format!("error: the inspector page cannot be served at 127.0.0.1:{port}\n");
    assert!(said.stderr.starts_with(&what), "{}", said.stderr);
    assert!(said.stderr.contains("hint: leave `--ui-port` out"), "{}", said.stderr);
    assert_eq!(said.stdout, "", "nothing was ready");
    drop(taken);
    let page = Page::start(&[&flag]);
    assert_eq!(page.host, format!("127.0.0.1:{port}"));
}

#[test]
fn explaining_a_deeply_nested_body_keeps_the_listener() {
    let page = Page::start(&[]);
    let body = format!("{}{}", "[".repeat(11_000), "]".repeat(11_000));
    assert_eq!(page.listener.post(&signature(OTHER_SECRET, 0, &body), &body).status(), 401);
    let explained = page.read("api/explain?number=1");
    let clues = explained["clues"].as_array().unwrap();
    assert_eq!(clues[0], "the body is nested too deeply to compare", "{explained}");
    assert_eq!(page.listener.deliver(&event("sub_1")).status(), 200, "it still listens");
}

#[test]
fn inspector_refuses_a_too_large_body_at_its_head() {
    let page = Page::start(&[]);
    let length = (4 << 20) + 1;
    let headers = format!("{}expect: 100-continue\r\ncontent-length: {length}\r\n", page.headers());
    let answer = page.exchange("POST", "api/replay", &headers, "");
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}
