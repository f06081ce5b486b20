//! Slow, half-open, oversized, malformed and concurrent requests: no sender delays another one.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::thread;

use super::listener::{Listener, SECRET, event, of_type, read, records, request, signature};
use crate::support::POLL;

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
fn second_signal_ends_a_delivery_in_flight() {
    let mut listener = Listener::start(&["--respond-delay", "1h"]);
    let (body, mut stream) = (event("sub_1"), listener.connect());
    let request = request("/", &signature(SECRET, 0, &body), &body);
    let request = String::from_utf8(request).unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    stream.write_all(format!("{head}\r\nExpect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    // The delivery is in flight when the listener asks for the body.
    stream.read_exact(&mut [0; "HTTP/1.1 100 Continue\r\n\r\n".len()]).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    // Without a second signal, the delivery would delay the end by ten seconds.
    let ended = loop {
        crate::support::signal(listener.child(), "TERM");
        if let Some(ended) = listener.child().try_wait().unwrap() {
            break ended;
        }
        // Sleeps because polling without a pause slows down the process that the test waits for.
        thread::sleep(POLL);
    };
    assert_eq!(ended.code(), Some(143));
    assert_eq!(read(&mut stream), "", "the delivery must get no response");
}

#[test]
fn unread_output_is_503_and_loses_no_delivery() {
    let flags = ["--output", "ndjson"];
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
