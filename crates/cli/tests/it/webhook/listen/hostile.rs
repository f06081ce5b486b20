//! Slow, half-open, oversized, malformed and concurrent requests: no sender delays another one.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::thread;

use super::listener::{
    Answer, Listener, SECRET, event, of_type, read, records, request, signature,
};
use crate::support::{PATIENCE, POLL};

const QUICK: &[&str] = &["--read-timeout", "100ms", "--output", "ndjson"];

fn codes(stdout: &str) -> Vec<String> {
    let records = records(stdout);
    let refused = of_type(&records, "refused");
    refused.iter().map(|record| record["code"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn incomplete_head_closes_only_its_connection() {
    let listener = Listener::start(QUICK);
    let mut silent = listener.connect();
    let mut half = listener.connect();
    half.write_all(b"POST / HTTP/1.1\r\nHost: x\r\n").unwrap();
    let mut drops = listener.connect();
    drops.write_all(b"POST / HT").unwrap();
    drops.shutdown(Shutdown::Write).unwrap();
    assert_eq!(listener.deliver(&event("sub_1")).status(), 200);
    for stream in [&mut silent, &mut half, &mut drops] {
        // Reads until the listener closes the connection.
        let answer = read(stream);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    // The listener does not wait for a second request either.
    for next in ["", "GET /hea"] {
        let answer =
            listener.exchange(format!("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n{next}").as_bytes());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert_eq!(listener.terminate().code, Some(0));
}

#[test]
fn incomplete_body_is_408() {
    let listener = Listener::start(QUICK);
    let whole = request("/", &signature(SECRET, 0, "{}"), "{}");
    let mut slow = listener.connect();
    slow.write_all(&whole[..whole.len() - 1]).unwrap();
    assert_eq!(listener.deliver(&event("sub_1")).status(), 200);
    let answer = Answer(read(&mut slow));
    assert_eq!((answer.status(), answer.code().as_str()), (408, "body_timeout"));
    let mut broken = listener.connect();
    broken.write_all(&whole[..whole.len() - 1]).unwrap();
    broken.shutdown(Shutdown::Write).unwrap();
    read(&mut broken);
    let said = listener.terminate();
    assert_eq!(codes(&said.stdout).first().map(String::as_str), Some("body_timeout"));
}

#[test]
fn oversized_body_is_413() {
    let listener = Listener::start(&["--max-body", "1000", "--output", "ndjson"]);
    let head = "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n";
    let plain = |length: usize| {
        let mut bytes = format!("{head}Content-Length: {length}\r\n\r\n").into_bytes();
        bytes.resize(bytes.len() + length, b'x');
        bytes
    };
    let chunked = |length: usize| {
        let mut bytes = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
        for _ in 0..length / 100 {
            bytes.extend(format!("64\r\n{}\r\n", "x".repeat(100)).bytes());
        }
        bytes.extend(b"0\r\n\r\n");
        bytes
    };
    // The sender waits for `100 Continue` and sends no body.
    let waits = |length: u64| {
        format!("{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n").into_bytes()
    };
    for (bytes, status) in [
        (plain(1_000), 401),
        (plain(1_001), 413),
        (plain(7_000), 413),
        (chunked(1_000), 401),
        (chunked(1_100), 413),
        (waits(1_001), 413),
        (waits(99_999_999_999), 413),
    ] {
        let answer = Answer(listener.exchange(&bytes));
        assert_eq!(answer.status(), status, "{}", answer.0);
        assert!(!answer.0.contains("100 Continue"), "{}", answer.0);
    }
    // The body is so large that the listener may close the connection before the sender reads the
    // response.
    listener.exchange(&chunked(1_000_000));
    let said = listener.terminate();
    assert!(codes(&said.stdout).iter().all(|code| code == "payload_too_large"));
    let records = records(&said.stdout);
    let sizes: Vec<_> =
        of_type(&records, "delivery").iter().map(|record| &record["body_size"]).collect();
    assert_eq!(sizes, [1_000, 1_000]);
}

#[test]
fn chunked_and_pipelined_requests_are_separated() {
    let listener = Listener::start(&["--output", "ndjson"]);
    let body = event("sub_1");
    let (one, two) = body.split_at(40);
    let header = signature(SECRET, 0, &body);
    let chunked = format!(
        "POST / HTTP/1.1\r\nHost: x\r\nX-Service-Signature: {header}\r\n\
         Transfer-Encoding: chunked\r\n\r\n28\r\n{one}\r\n{:x};a=b\r\n{two}\r\n0\r\nX-T: y\r\n\r\n",
        two.len()
    );
    let pipelined = [chunked.as_bytes(), &request("/second", &header, &body)].concat();
    let answers = listener.exchange(&pipelined);
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    // The same request in pieces of one byte.
    let mut stream = listener.connect();
    for byte in request("/third", &header, &body) {
        stream.write_all(&[byte]).unwrap();
    }
    assert!(read(&mut stream).starts_with("HTTP/1.1 200"));
    let said = listener.terminate();
    let records = records(&said.stdout);
    let told: Vec<_> = of_type(&records, "delivery")
        .iter()
        .map(|record| record["request_target"].as_str().unwrap())
        .collect();
    assert_eq!(told, ["/", "/second", "/third"]);
    assert!(of_type(&records, "delivery").iter().all(|record| record["valid"] == true));
}

#[test]
fn malformed_requests_are_refused() {
    let listener = Listener::start(&[]);
    let tls = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00";
    let many = format!("POST / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(1_000));
    let long = format!("POST /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    let two = "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx";
    let bad = "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n";
    for bytes in [
        &tls[..],
        b"\r\n\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        many.as_bytes(),
        long.as_bytes(),
        two.as_bytes(),
        bad.as_bytes(),
    ] {
        let mut stream = listener.connect();
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let answer = read(&mut stream);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    assert_eq!(listener.deliver(&event("sub_1")).status(), 200);
    assert_eq!(listener.terminate().code, Some(0));
}

#[test]
fn two_hundred_concurrent_deliveries_are_accepted() {
    let listener = Listener::start(&["--output", "ndjson"]);
    let streams: Vec<_> = (0..200)
        .map(|id| {
            let (mut stream, body) = (listener.connect(), event(&format!("sub_{id}")));
            let request = request("/", &signature(SECRET, 0, &body), &body);
            stream.write_all(&request[..request.len() - 1]).unwrap();
            (stream, request)
        })
        .collect();
    // All requests are in flight. Their last bytes are sent concurrently.
    let threads = streams.into_iter().map(|(mut stream, request)| {
        thread::spawn(move || {
            stream.write_all(&request[request.len() - 1..]).unwrap();
            read(&mut stream)
        })
    });
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        let answer = thread.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let said = listener.terminate();
    let records = records(&said.stdout);
    assert_eq!(of_type(&records, "delivery").len(), 200);
    assert_eq!(of_type(&records, "summary")[0]["received"], 200);
}

#[test]
fn excess_request_is_503_and_second_signal_ends_at_once() {
    // The request that is accepted first occupies the only slot.
    let flags = ["--max-in-flight", "1", "--respond-delay", "1h"];
    let mut listener = Listener::start(&flags);
    let body = event("sub_1");
    let (sent, came) = std::sync::mpsc::channel();
    for _ in 0..2 {
        let (sent, mut stream) = (sent.clone(), listener.connect());
        stream.write_all(&request("/", &signature(SECRET, 0, &body), &body)).unwrap();
        // The thread of the accepted request ends with the listener.
        thread::spawn(move || sent.send(read(&mut stream)));
    }
    let answer = Answer(came.recv_timeout(PATIENCE).unwrap());
    assert_eq!((answer.status(), answer.code().as_str()), (503, "busy"));
    assert!(answer.0.contains("retry-after: 1\r\n"), "{}", answer.0);
    // Without a second signal, the accepted request would delay the end by ten seconds.
    let ended = loop {
        crate::support::signal(listener.child(), "TERM");
        if let Some(ended) = listener.child().try_wait().unwrap() {
            break ended;
        }
        // Sleeps because polling without a pause slows down the process that the test waits for.
        thread::sleep(POLL);
    };
    assert_eq!(ended.code(), Some(143));
    assert_eq!(
        came.recv_timeout(PATIENCE).unwrap(),
        "",
        "the accepted request must get no response"
    );
}

#[test]
fn unread_output_is_503_and_loses_no_delivery() {
    let flags = ["--output", "ndjson", "--max-in-flight", "4"];
    let mut listener = Listener::unread(&flags, |command| {
        command.arg("--no-store").env("FORMSVC_SIGNING_SECRET", SECRET)
    });
    let filler = "x".repeat(20_000);
    let mut taken = 0;
    let refused = loop {
        let id = format!("sub_{taken}");
        let body = event(&id).replace("Ada", &filler);
        let answer = listener.deliver(&body);
        if answer.status() != 200 {
            break answer;
        }
        taken += 1;
    };
    assert_eq!((refused.status(), refused.code().as_str()), (503, "busy"));
    let mut stdout = listener.child().stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut told = String::new();
        stdout.read_to_string(&mut told).unwrap();
        told
    });
    let said = listener.terminate();
    let records = records(&reader.join().unwrap());
    assert_eq!(of_type(&records, "delivery").len(), taken, "{}", said.stderr);
    assert_eq!(of_type(&records, "summary")[0]["received"], taken);
}
