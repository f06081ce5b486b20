//! Spans, as a collector gets them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::receiver::Receiver as Endpoint;
use super::{PATIENCE, Serving, Site};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
const FAULT: &[u8] = b"HTTP/1.1 500 Oops\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbusy";

/// A span, as far as it is looked at.
#[derive(Debug, PartialEq)]
struct Span {
    trace: String,
    id: String,
    parent: String,
    name: String,
    took_nanos: u64,
    /// Sorted, as `key=value`.
    attributes: Vec<String>,
    failed: bool,
}

/// A collector that answers 200 to everything, and hands on the bodies.
fn collector() -> (String, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (send, bodies) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let send = send.clone();
            thread::spawn(move || serve(stream.unwrap(), |body| send.send(body).is_ok()));
        }
    });
    (url, bodies)
}

fn serve(mut stream: TcpStream, hand_on: impl Fn(Vec<u8>) -> bool) {
    let (mut read, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let end = read.windows(4).position(|four| four == b"\r\n\r\n");
        let length = end.map(|end| (end + 4, length(&read[..end])));
        if let Some((from, length)) = length.filter(|(from, length)| read.len() >= from + length) {
            let head = String::from_utf8_lossy(&read[..from]).into_owned();
            assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
            assert!(head.contains("content-type: application/x-protobuf"), "{head}");
            if !hand_on(read[from..from + length].to_vec()) {
                return;
            }
            read.drain(..from + length);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
            continue;
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(len) => read.extend_from_slice(&chunk[..len]),
        }
    }
}

fn length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_lowercase();
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    line.unwrap().trim().parse().unwrap()
}

/// The fields of a protobuf message: numbers, and bytes.
fn fields(mut message: &[u8]) -> Vec<(u64, u64, &[u8])> {
    fn varint(message: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let (byte, rest) = message.split_first().unwrap();
            *message = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let mut found = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let (mut number, mut bytes): (u64, &[u8]) = (0, &[]);
        match tag & 7 {
            0 => number = varint(&mut message),
            1 => {
                let (fixed, rest) = message.split_first_chunk::<8>().unwrap();
                (number, message) = (u64::from_le_bytes(*fixed), rest);
            }
            2 => {
                let len = usize::try_from(varint(&mut message)).unwrap();
                (bytes, message) = message.split_at(len);
            }
            5 => message = &message[4..],
            other => panic!("wire type {other}"),
        }
        found.push((tag >> 3, number, bytes));
    }
    found
}

/// The messages in a field of messages.
fn inner<'a>(messages: &[&'a [u8]], field: u64) -> Vec<&'a [u8]> {
    let all = messages.iter().flat_map(|message| fields(message));
    all.filter(|(number, ..)| *number == field).map(|(.., bytes)| bytes).collect()
}

fn attribute(pair: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let key = inner(&[pair], 1).into_iter().map(text).collect::<String>();
    let value = inner(&[pair], 2);
    let shown = value.iter().flat_map(|value| fields(value)).map(|(field, number, bytes)| {
        // A text, or a number.
        if field == 1 { text(bytes) } else { number.to_string() }
    });
    format!("{key}={}", shown.collect::<String>())
}

/// The spans of an export request: of its resources, of their scopes.
fn spans(body: &[u8]) -> Vec<Span> {
    let spans = inner(&inner(&inner(&[body], 1), 2), 2);
    let read = |span: &&[u8]| {
        let bytes = |field| inner(&[*span], field).concat();
        let number =
            |field| fields(span).into_iter().find(|(f, ..)| *f == field).map_or(0, |f| f.1);
        let mut attributes: Vec<_> = inner(&[*span], 9).into_iter().map(attribute).collect();
        attributes.sort();
        Span {
            trace: hex::encode(bytes(1)),
            id: hex::encode(bytes(2)),
            parent: hex::encode(bytes(4)),
            name: String::from_utf8(bytes(5)).unwrap(),
            took_nanos: number(8) - number(7),
            attributes,
            failed: inner(&[*span], 15).iter().any(|status| fields(status).contains(&(3, 2, &[]))),
        }
    };
    spans.iter().map(read).collect()
}

/// Everything a server exports until it has stopped.
fn exported(serving: Serving, bodies: &Receiver<Vec<u8>>) -> (Vec<Vec<u8>>, Vec<Span>) {
    serving.signal("TERM");
    let (code, log) = serving.wait();
    assert_eq!(code, Some(0), "{log}");
    let bodies: Vec<_> = bodies.try_iter().collect();
    let spans = bodies.iter().flat_map(|body| spans(body)).collect();
    (bodies, spans)
}

#[test]
fn a_request_and_the_attempts_it_led_to_are_one_trace() {
    let (url, bodies) = collector();
    let endpoint = Endpoint::answering(&[FAULT, OK]);
    let site = Site::with_free_form();
    site.run(&["webhook", "add", "contact", &endpoint.url(), "--profile", "dev"]).succeeded();
    let ready = site.path("ready.json");
    let mut command = site.command(&["serve", "--port", "0", "--profile", "dev", "--ready-file"]);
    command.arg(&ready).args(["--retry-base", "1ms", "--retry-factor", "1"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", url).stderr(std::process::Stdio::piped());
    let serving = Serving::start(&mut command, &ready);
    let head = "POST /f/contact?q=QUERY_SENT HTTP/1.1\r\ncontent-type: application/json\r\n\
        traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
        user-agent: AGENT_SENT\r\nidempotency-key: KEY_SENT\r\n";
    let answer = serving.ask(head, r#"{"LABEL_SENT":"ANSWER_SENT"}"#);
    let request = answer.lines().find_map(|line| line.strip_prefix("x-request-id: req_"));
    let request = request.unwrap().to_owned();
    serving.get("/api/v1/me?SENT=SENT", "fsk_SENT");
    serving.get("/PATH_SENT", "");
    let began = std::time::Instant::now();
    let list = ["deliveries", "list", "contact", "--state", "delivered"];
    while site.run(&list).succeeded().stdout.is_empty() {
        assert!(began.elapsed() < PATIENCE);
    }
    let (bodies, spans) = exported(serving, &bodies);

    let of = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let [submit] = of("POST /f/{public_id}")[..] else { panic!("{spans:#?}") };
    assert_eq!((submit.trace.as_str(), submit.parent.as_str()), (request.as_str(), ""));
    assert!(submit.attributes.contains(&"http.response.status_code=201".to_owned()));
    let attempts = of("POST");
    assert_eq!(attempts.len(), 2, "{spans:#?}");
    for attempt in &attempts {
        assert_eq!((&attempt.trace, &attempt.parent), (&submit.trace, &submit.id), "{attempts:#?}");
        assert!(attempt.took_nanos > 0);
    }
    assert!(attempts[0].failed && !attempts[1].failed);
    assert!(attempts[0].attributes.contains(&"error.type=status_not_2xx".to_owned()));
    assert!(attempts[0].attributes.contains(&"http.response.status_code=500".to_owned()));
    let commits = of("COMMIT");
    assert!(commits.iter().any(|commit| commit.took_nanos > 0), "{spans:#?}");
    assert!(
        of("GET /api/v1/me")[0].attributes.contains(&"http.response.status_code=401".to_owned())
    );
    assert_eq!(of("GET").len(), 1, "a path that there is not: {spans:#?}");
    for body in &bodies {
        let text = String::from_utf8_lossy(body);
        assert!(!text.contains("SENT") && !text.contains("127.0.0.1"), "{text}");
    }
    let resource = inner(&inner(&[&bodies[0]], 1), 1);
    let named: Vec<_> = inner(&resource, 1).into_iter().map(attribute).collect();
    assert!(named.contains(&"service.name=formsvc-server".to_owned()), "{named:?}");
}

#[test]
fn a_collector_that_is_away_costs_spans_and_nothing_else() {
    let site = Site::with_free_form();
    let ready = site.path("ready.json");
    let mut command = site.command(&["serve", "--port", "0", "--ready-file"]);
    command.arg(&ready).stderr(std::process::Stdio::piped());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let serving = Serving::start(&mut command, &ready);
    serving.submit("contact", r#"{"a":1}"#);
    serving.signal("TERM");
    let (code, log) = serving.wait();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(log.matches("spans are lost").count(), 1, "{log}");
}
