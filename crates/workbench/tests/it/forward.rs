//! Forwarding to targets with real connections.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use formsvc_workbench::delivery::{
    Attempt, Delivery, DeliverySummary, EventNames, ForwardErrorKind, Source,
};
use formsvc_workbench::forward::{
    Forwarded, Forwarder, MAX_RESPONSE_BODY, Route, parse_added_header, relay,
    sender_for_entered_address,
};
use formsvc_workbench::http::as_received;
use formsvc_workbench::target;
use formsvc_workbench::verdict::{Verdict, VerdictCode};
use formsvc_workbench::warning::WarningCode;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use jiff::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const TIMEOUT: Duration = Duration::from_secs(10);
const BODY: &[u8] = b"{\xff\x00}\r\n";

fn delivery(request_target: &str, headers: &[(&'static str, &'static str)]) -> Delivery {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    Delivery {
        summary: DeliverySummary {
            number: None,
            received_at: Timestamp::UNIX_EPOCH,
            source: Source::Request(SocketAddr::from(([127, 0, 0, 1], 1))),
            method: Method::POST,
            request_target: request_target.to_owned(),
            body_size: BODY.len() as u64,
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age_secs: None },
            names: EventNames {
                event: Some("submission.created".to_owned()),
                submission_id: Some("sub_1".to_owned()),
                form_id: Some("frm_1".to_owned()),
            },
            attempt: Attempt::FIRST,
            response: None,
        },
        headers: map,
        body: Bytes::from_static(BODY),
        forwards: Vec::new(),
        relayed_forward: None,
    }
}

/// Creates a forwarder. A rule is a route or, without `=`, a target of all deliveries.
fn forwarder(max_in_flight: usize, rules: &[String]) -> Forwarder {
    let options = HttpSenderOptions {
        timeout: TIMEOUT,
        answer_max: MAX_RESPONSE_BODY,
        ..HttpSenderOptions::default()
    };
    let route = |rule: &String| match target::parse(rule) {
        Ok(target) if !rule.contains("=127.") => Route::all(target),
        _ => Route::parse(rule).unwrap(),
    };
    let routes = rules.iter().map(route).collect();
    Forwarder::new(HttpSender::new(options).unwrap(), routes, max_in_flight)
}

/// Responds to each request with a status and returns the requests, for as long as the test runs.
async fn target(status: u16) -> (SocketAddr, UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (requests, received) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let requests = requests.clone();
            tokio::spawn(async move {
                let mut request = Vec::new();
                while !request.ends_with(BODY) {
                    assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
                }
                let response = format!(
                    "HTTP/1.1 {status} X\r\nX-From: target\r\nContent-Length: 3\r\n\
                     Connection: close\r\n\r\n"
                );
                let response = [response.as_bytes(), b"ok\xff"].concat();
                stream.write_all(&response).await.unwrap();
                let _ = requests.send(request);
            });
        }
    });
    (address, received)
}

/// Accepts connections in the backlog only, and never responds.
async fn silent_target() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[tokio::test]
async fn forward_keeps_body_and_end_to_end_headers() {
    let (address, mut requests) = target(201).await;
    let forwarder = forwarder(512, &[format!("http://user:pw@{address}/in?x=1")]);
    let headers = [
        ("host", "listener"),
        ("connection", "close, X-Named"),
        ("x-named", "hop"),
        ("keep-alive", "1"),
        ("te", "trailers"),
        ("content-length", "2"),
        ("x-service-signature", "t=1,v1=2"),
        ("x-twice", "a"),
        ("x-twice", "b"),
        ("user-agent", "service-webhooks/1.0"),
    ];
    let results = forwarder.forward(&delivery("/from?y=2", &headers)).await;
    assert_eq!(results.relayed, Some(0));
    let [forward] = &results.forwards[..] else { panic!("{results:?}") };
    assert_eq!(forward.url, format!("http://{address}/in?x=1"));
    let response = forward.result.as_ref().unwrap();
    assert_eq!((response.status, &response.body[..]), (201, &b"ok\xff"[..]));
    assert!(!response.is_truncated);
    let relayed = relay(forward);
    assert_eq!((relayed.status().as_u16(), &relayed.body()[..]), (201, &b"ok\xff"[..]));
    assert_eq!(relayed.headers().len(), 1, "{relayed:?}");
    assert_eq!(relayed.headers()["x-from"], "target");

    let request = requests.recv().await.unwrap();
    let head = request.strip_suffix(BODY).unwrap();
    let head = String::from_utf8(head.to_vec()).unwrap().to_ascii_lowercase();
    let mut lines: Vec<&str> = head.trim_end().lines().collect();
    lines.sort_unstable();
    let host = format!("host: {address}");
    let mut expected = [
        "accept: */*",
        "authorization: basic dxnlcjpwdw==",
        "content-length: 6",
        &host,
        "post /in?x=1 http/1.1",
        "user-agent: service-webhooks/1.0",
        "x-service-signature: t=1,v1=2",
        "x-twice: a",
        "x-twice: b",
    ];
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn target_without_path_gets_the_path_of_the_delivery() {
    let (address, mut requests) = target(200).await;
    for (path, request_target, sent) in [
        ("", "/a%20b/%C3%A9|^?x=%20&y=/../z", "/a%20b/%C3%A9|^?x=%20&y=/../z"),
        // Dot segments are resolved.
        ("", "/a/../b?x=1", "/b?x=1"),
        // Two slashes or an absolute URL do not change the host.
        ("", "//evil.test/x", "//evil.test/x"),
        ("", "http://evil.test/x", "/"),
        ("/own", "/hook", "/own"),
        ("?a", "/hook", "/?a"),
    ] {
        let forwarder = forwarder(512, &[format!("{address}{path}")]);
        let results = forwarder.forward(&delivery(request_target, &[])).await;
        assert_eq!(results.forwards[0].url, format!("http://{address}{sent}"));
        let request = requests.recv().await.unwrap();
        let line = format!("POST {sent} HTTP/1.1\r\n");
        assert!(request.starts_with(line.as_bytes()), "{request_target}");
    }
}

#[tokio::test]
async fn sender_for_entered_address_has_no_extra_headers() {
    let (address, mut requests) = target(200).await;
    let headers = HeaderMap::from_iter([parse_added_header("X-Tenant: 7").unwrap()]);
    let options = HttpSenderOptions { headers, ..HttpSenderOptions::default() };
    let sender = HttpSender::new(options).unwrap();
    let entered = sender_for_entered_address(&sender).unwrap();
    for (sender, expected) in [(sender, true), (entered, false)] {
        let url = target::parse(&address.to_string()).unwrap();
        sender.send(as_received(&delivery("/", &[]), url)).await.unwrap();
        let request = requests.recv().await.unwrap();
        let has_header = String::from_utf8_lossy(&request).contains("X-Tenant: 7");
        assert_eq!(has_header, expected);
    }
}

#[tokio::test]
async fn matching_target_gets_a_delivery_once() {
    let (one, mut requests_of_one) = target(200).await;
    let (two, mut requests_of_two) = target(500).await;
    let rules = [
        format!("form_id=frm_1={two}"),
        one.to_string(),
        format!("event=submission.*={two}"),
        format!("event=other={one}/never"),
    ];
    let forwarder = forwarder(512, &rules);
    assert_eq!(forwarder.targets().count(), 3);
    let results = forwarder.forward(&delivery("/", &[])).await;
    let statuses: Vec<_> =
        results.forwards.iter().map(|forward| forward.result.as_ref().unwrap().status).collect();
    assert_eq!((&statuses[..], results.relayed), (&[500, 200][..], Some(0)));
    requests_of_one.recv().await.unwrap();
    requests_of_two.recv().await.unwrap();
    assert!(requests_of_one.try_recv().is_err() && requests_of_two.try_recv().is_err());

    let mut other = delivery("/", &[]);
    other.summary.names = EventNames::default();
    let only_route = self::forwarder(512, &[format!("form_id=frm_1={two}")]);
    let results = only_route.forward(&other).await;
    assert!(results.forwards.is_empty() && results.relayed.is_none());
}

#[tokio::test]
async fn target_that_goes_down_and_up_is_reported_once() {
    // No process listens on this port, but it is bound, so no other process can use it.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let forwarder = forwarder(512, &[address.to_string()]);
    let delivery = delivery("/", &[]);
    let warnings = async || {
        let results = forwarder.forward(&delivery).await;
        let warnings = results.warnings.into_iter();
        let warnings: Vec<_> = warnings.map(|warning| (warning.code, warning.message)).collect();
        (results.forwards[0].result.is_ok(), warnings)
    };
    let cause = format!("nothing listens on {address}: is your server running?");
    assert_eq!(warnings().await, (false, vec![(WarningCode::TargetDown, cause)]));
    assert_eq!(warnings().await, (false, vec![]));
    let listener = socket.listen(8).unwrap();
    let server = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(BODY) {
                assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
            }
            let response = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.write_all(response).await.unwrap();
        }
    });
    let again = format!("http://{address}/ responds again");
    assert_eq!(warnings().await, (true, vec![(WarningCode::TargetUp, again)]));
    assert_eq!(warnings().await, (true, vec![]));
    server.await.unwrap();
}

#[tokio::test]
async fn silent_target_delays_no_other_target() {
    let (_listener, silent) = silent_target().await;
    let (live, mut requests) = target(200).await;
    let rules = [format!("path=/silent={silent}"), format!("path=/live={live}/in")];
    let forwarder = forwarder(512, &rules);
    let (to_silent, to_live) = (delivery("/silent", &[]), delivery("/live", &[]));
    // More deliveries than the maximum number of requests in flight to one target.
    let to_silent = join_all((0..200).map(|_| forwarder.forward(&to_silent)));
    let to_live = join_all((0..50).map(|_| forwarder.forward(&to_live)));
    let mut to_silent = std::pin::pin!(to_silent);
    let to_live = tokio::select! {
        biased;
        _ = to_silent.as_mut() => panic!("the deliveries to the silent target ended first"),
        results = to_live => results,
    };
    assert!(to_live.iter().all(|results| results.forwards[0].is_success()));
    for _ in 0..50 {
        requests.recv().await.unwrap();
    }
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    let timed_out = to_silent.await;
    assert!(started.elapsed() <= TIMEOUT, "waiting and sending share one limit");
    for results in &timed_out {
        let error = results.forwards[0].result.as_ref().unwrap_err();
        assert_eq!(error.kind, ForwardErrorKind::Timeout, "{error:?}");
        assert_eq!(relay(&results.forwards[0]).status(), 504);
    }
    let is_queued = |results: &&Forwarded| {
        let error = results.forwards[0].result.as_ref().unwrap_err();
        error.message.contains("while 128 deliveries are in flight")
    };
    assert!(timed_out.iter().filter(is_queued).count() >= 200 - 128);
    let warnings = timed_out.iter().map(|results| results.warnings.len()).sum::<usize>();
    assert_eq!(warnings, 1);
}

#[tokio::test]
async fn silent_target_gets_only_its_share_of_deliveries() {
    let (_listener, silent) = silent_target().await;
    let delivery = delivery("/", &[]);
    let other = || Some("path=/other=127.0.0.1:4242".to_owned());
    for (max_in_flight, other, share) in
        [(16, other(), 14), (16, None, 16), (4, other(), 3), (1, other(), 1), (1, None, 1)]
    {
        let rules: Vec<_> = [silent.to_string()].into_iter().chain(other).collect();
        let forwarder = forwarder(max_in_flight, &rules);
        let waiting = join_all((0..share).map(|_| forwarder.forward(&delivery)));
        let mut waiting = std::pin::pin!(waiting);
        tokio::select! {
            biased;
            _ = waiting.as_mut() => panic!("no delivery can end"),
            () = std::future::ready(()) => {}
        }
        let excess = forwarder.forward(&delivery).await;
        let error = excess.forwards[0].result.as_ref().unwrap_err();
        assert_eq!(error.kind, ForwardErrorKind::Overloaded);
        assert_eq!(relay(&excess.forwards[0]).status(), 503);
        assert!(error.message.contains("too many deliveries wait"), "{error:?}");
        assert!(excess.warnings.is_empty());
    }
}

#[tokio::test]
async fn dead_target_does_not_delay_200_deliveries_in_flight() {
    let (_listener, silent) = silent_target().await;
    let (live, _requests) = target(200).await;
    let rules = [format!("path=/silent={silent}"), format!("path=/live={live}")];
    let forwarder = forwarder(200, &rules);
    let (to_silent, to_live) = (delivery("/silent", &[]), delivery("/live", &[]));
    let to_silent = join_all((0..175).map(|_| forwarder.forward(&to_silent)));
    let mut to_silent = std::pin::pin!(to_silent);
    tokio::select! {
        biased;
        _ = to_silent.as_mut() => panic!("no delivery can end"),
        () = std::future::ready(()) => {}
    }
    for _ in 0..8 {
        let results = join_all((0..25).map(|_| forwarder.forward(&to_live))).await;
        for results in &results {
            let forward = &results.forwards[0];
            assert!(forward.is_success() && forward.took < TIMEOUT / 2, "{forward:?}");
        }
    }
}

#[tokio::test]
async fn target_of_another_protocol_is_explained() {
    let (listener, address) = silent_target().await;
    let delivery = delivery("/", &[]);
    let tls = forwarder(1, &[format!("https://{address}")]);
    let http = forwarder(1, &[address.to_string()]);
    tokio::time::pause();
    let results = tls.forward(&delivery).await;
    let error = results.forwards[0].result.as_ref().unwrap_err();
    assert_eq!(error.kind, ForwardErrorKind::Timeout);
    assert!(error.message.contains("TLS was tried and nothing came back"), "{error:?}");
    assert!(error.message.ends_with(&format!("its URL is http://{address}")), "{error:?}");
    assert_eq!(results.warnings[0].message, error.message);
    assert_eq!(relay(&results.forwards[0]).status(), 504);
    tokio::time::resume();

    let server = tokio::spawn(async move {
        // The first connection is for the TLS target.
        let _ = listener.accept().await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        // The SETTINGS frame of a server that supports only HTTP/2.
        stream.write_all(b"\0\0\0\x04\0\0\0\0\0").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap_or_default();
    });
    let results = http.forward(&delivery).await;
    let error = results.forwards[0].result.as_ref().unwrap_err();
    assert_eq!(error.kind, ForwardErrorKind::NotHttp, "{error:?}");
    assert!(error.message.contains("if it speaks only HTTP/2"), "{error:?}");
    assert_eq!(relay(&results.forwards[0]).status(), 502);
    server.await.unwrap();
}
