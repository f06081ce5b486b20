//! Forwarded deliveries: the responses that senders get, and the isolation of targets.

use std::cell::RefCell;
use std::io::Write as _;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

use super::listener::{
    Answer, Listener, SECRET, event, of_type, read, records, request, signature,
};
use crate::support::{PATIENCE, signal, within};
use crate::webhook::recorder::{Recorder, answer};

#[test]
fn response_of_the_target_is_returned_to_the_sender() {
    let said = "x-of-target: 1\r\nretry-after: 7\r\n";
    let target = Recorder::start(Arc::new(move |at, _| {
        Some(answer([503, 201][at.min(1)], said, &format!("body {at}")))
    }));
    let url = target.url("/hook?a=b");
    let listener = Listener::start(&["--forward-to", &url, "--output", "ndjson"]);
    let body = event("sub_1");
    let answers = [listener.deliver(&body), listener.deliver(&body)];
    for (at, (answer, status)) in answers.iter().zip([503, 201]).enumerate() {
        assert_eq!((answer.status(), answer.body()), (status, &*format!("body {at}")));
        assert!(answer.0.contains("x-of-target: 1\r\n"), "{}", answer.0);
        let got = target.got();
        assert_eq!((&*got.line, &*got.body), ("POST /hook?a=b HTTP/1.1", body.as_bytes()));
    }
    // An invalid delivery is not forwarded.
    assert_eq!(listener.post("", &body).status(), 401);
    assert!(target.is_silent());
    let stdout = listener.terminate().stdout;
    let records = records(&stdout);
    let deliveries = of_type(&records, "delivery");
    let forwards = deliveries.iter().map(|record| record["forwards"][0]["status"].as_u64());
    assert_eq!(forwards.collect::<Vec<_>>(), [Some(503), Some(201), None]);
    let by: Vec<_> = deliveries.iter().map(|record| &record["answered_by"]).collect();
    assert_eq!(by, ["target", "target", "listener"]);
    assert_eq!(of_type(&records, "summary")[0]["forwards_answered"], 2);
}

#[test]
fn closed_target_is_502_and_silent_target_504() {
    let free = crate::support::closed_address();
    let dead = format!("http://{free}/");
    let listener = Listener::start(&["--forward-to", &dead]);
    let refused = listener.deliver(&event("sub_1"));
    assert_eq!((refused.status(), refused.code().as_str()), (502, "target_unreachable"));
    let said = listener.terminate();
    let lines: Vec<_> = said.stdout.lines().collect();
    assert!(lines[1].trim_start().starts_with(&dead), "{lines:?}");
    assert!(lines[1].contains("nothing listens"), "{lines:?}");
    let silent = Recorder::start(Arc::new(|_, _| {
        loop {
            thread::park();
        }
    }));
    let url = silent.url("/");
    let listener = Listener::start(&["--forward-to", &url, "--timeout", "50ms"]);
    let late = listener.deliver(&event("sub_1"));
    assert_eq!((late.status(), late.code().as_str()), (504, "target_timeout"));
}

#[test]
fn target_without_http_is_502_and_reported() {
    let target = Recorder::start(Arc::new(|at, _| {
        let broken = b"HTTP/1.1 200 OK\r\nBroken Header\r\nContent-Length: 0\r\n\r\n".to_vec();
        Some(if at == 0 { broken } else { answer(200, "", "") })
    }));
    let listener = Listener::start(&["--forward-to", &target.url("/")]);
    let garbled = listener.deliver(&event("sub_1"));
    assert_eq!((garbled.status(), garbled.code().as_str()), (502, "target_no_http"));
    assert_eq!(listener.deliver(&event("sub_1")).status(), 200);
    let said = listener.terminate();
    assert!(said.stdout.contains("is not HTTP: "), "{}", said.stdout);
    assert!(!said.stdout.contains("https://"), "{}", said.stdout);
    assert!(said.stderr.contains("responds in HTTP again"), "{}", said.stderr);
}

#[test]
fn delivery_shows_its_route_or_that_none_matches() {
    let target = Recorder::of(&[200]);
    let other = "--route=form_id=frm_other=http://localhost:1/other";
    let own = format!("--route=form_id=frm_1={}", target.url("/own"));
    let body = event("sub_1");
    let unrouted = body.replace("frm_1", "frm_nobody");
    let listener = Listener::start(&[other, &own]);
    assert_eq!([&body, &unrouted].map(|body| listener.deliver(body).status()), [200; 2]);
    let said = listener.terminate();
    let lines: Vec<_> = said.stdout.lines().collect();
    assert!(lines.len() == 2 && lines[0].contains("/own "), "{lines:?}");
    assert!(lines[1].contains("→ 200 no route matches"), "{lines:?}");
    let summed = "1 delivery not forwarded: no route matches";
    assert!(said.stderr.contains(summed), "{}", said.stderr);
    let listener = Listener::start(&[other, &own, "--output=ndjson"]);
    for body in [&body, &unrouted] {
        assert_eq!(listener.deliver(body).status(), 200);
    }
    // A rejected delivery does not count as unrouted.
    assert_eq!(listener.post("", &unrouted).status(), 401);
    let stdout = listener.terminate().stdout;
    let records = records(&stdout);
    let by: Vec<_> =
        of_type(&records, "delivery").iter().map(|record| &record["answered_by"]).collect();
    assert_eq!(by, ["target", "no_route", "listener"]);
    assert_eq!(of_type(&records, "summary")[0]["unrouted"], 1);
}

#[test]
fn silent_target_does_not_delay_another_target() {
    let silent = Recorder::start(Arc::new(|_, _| {
        loop {
            thread::park();
        }
    }));
    let quick = Recorder::of(&[200]);
    let routes = [
        format!("--route=form_id=frm_silent={}", silent.url("/")),
        format!("--route=form_id=frm_1={}", quick.url("/")),
    ];
    let flags = ["--timeout=1h", "--output=ndjson"];
    let flags = [&flags[..], &[&routes[0], &routes[1]]].concat();
    let mut listener = Listener::start(&flags);
    let stuck: Vec<_> = (0..100)
        .map(|id| {
            let body = event(&format!("sub_{id}")).replace("frm_1", "frm_silent");
            let mut stream = listener.connect();
            stream.write_all(&request("/", &signature(SECRET, 0, &body), &body)).unwrap();
            stream
        })
        .collect();
    for id in 0..100 {
        assert_eq!(listener.deliver(&event(&format!("sub_quick_{id}"))).status(), 200);
    }
    drop(stuck);
    // The listener has handled the first signal when it refuses connections. A second signal then
    // ends it without waiting for the target.
    signal(listener.child(), "TERM");
    let address = listener.address;
    within("refused connections", || std::net::TcpStream::connect(address).is_err());
    let child = RefCell::new(listener.child());
    // A signal shortly after the first one counts as the same signal.
    within("the end of the listener", || {
        signal(&child.borrow(), "TERM");
        child.borrow_mut().try_wait().unwrap().is_some()
    });
}

#[test]
fn signal_lets_a_delivery_in_flight_complete() {
    let ((came, comes), (go, goes)) = (channel(), channel::<()>());
    let both = Mutex::new((came, goes));
    let target = Recorder::start(Arc::new(move |_, _| {
        let (came, goes) = &*both.lock().unwrap();
        came.send(()).unwrap();
        goes.recv().unwrap();
        Some(answer(200, "", "done"))
    }));
    let mut listener = Listener::start(&["--forward-to", &target.url("/")]);
    let body = event("sub_1");
    let mut sender = listener.connect();
    sender.write_all(&request("/", &signature(SECRET, 0, &body), &body)).unwrap();
    // Each of these connections could wait 15 seconds for the rest of a request.
    let (idle, mut half) = (listener.connect(), listener.connect());
    half.write_all(b"POST / HTTP/1.1\r\n").unwrap();
    comes.recv_timeout(PATIENCE).unwrap();
    signal(listener.child(), "TERM");
    // The listener has handled the signal when it refuses connections.
    let address = listener.address;
    within("refused connections", || std::net::TcpStream::connect(address).is_err());
    go.send(()).unwrap();
    let answer = Answer(read(&mut sender));
    assert_eq!((answer.status(), answer.body()), (200, "done"));
    let said = listener.finish();
    drop((idle, half));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("→ 200 "), "{}", said.stdout);
    assert!(said.stderr.contains("1 delivery: 1 valid"), "{}", said.stderr);
}

#[test]
fn response_of_a_target_is_sanitized() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2Jcleared\r\nforged \u{9b}31m\u{202e}";
    let target = Recorder::start(Arc::new(move |_, _| Some(answer(500, "", evil))));
    let flags = ["--forward-to", &target.url("/"), "--color", "always"];
    let listener = Listener::start(&flags);
    assert_eq!(listener.deliver(&event("sub_1")).status(), 500);
    let said = listener.terminate();
    let text = anstream::adapter::strip_str(&said.stdout).to_string();
    assert!(text.contains("responded 500 in") && text.contains("cleared  forged"), "{text}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert!(!said.stdout.contains("\u{1b}]") && !said.stdout.contains("\u{1b}[2J"));
    assert!(!text.lines().any(|line| line.starts_with("forged")), "{text}");
}
