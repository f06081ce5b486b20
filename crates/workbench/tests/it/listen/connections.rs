//! Connections of slow, silent and malformed peers, and the end of the listener.

use std::io;
use std::net::Ipv6Addr;

use formsvc_workbench::listen::Faults;
use http::{HeaderMap, Method};
use tokio::io::AsyncWriteExt as _;

use super::*;

const HALF_HEAD: &str = "POST / HTTP/1.1\r\nHost: x\r\n";

#[tokio::test]
async fn incomplete_head_is_closed_and_delays_no_other() {
    let running = start(|_, limits| limits.read_timeout = Duration::from_millis(100));
    let mut streams = Vec::new();
    for sent in ["", "POST / HT", HALF_HEAD] {
        let mut stream = running.connect().await;
        stream.write_all(sent.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    assert_eq!(status(&running.exchange(last_request("", "{}")).await), 200);
    for stream in &mut streams {
        assert_eq!(read_to_end(stream).await, "");
    }
    // The same limit applies to the next request of a connection.
    for next in ["", "GET /hea"] {
        let health = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n{next}");
        assert_eq!(status(&running.exchange(health).await), 200);
    }
}

#[tokio::test]
async fn connection_is_kept_alive() {
    let mut running = start(|rules, _| verified(rules));
    let (mut stream, body) = (running.connect().await, event("sub_1"));
    let signature = signature(&body);
    for path in ["/first", "/second"] {
        stream.write_all(request(path, &signature, &body).as_bytes()).await.unwrap();
        assert_eq!(status(&read_until(&mut stream, "}").await), 200);
    }
    // A chunked body, and the next request in the same packet.
    let (one, two) = body.split_at(40);
    let chunked = format!(
        "POST /third HTTP/1.1\r\nHost: x\r\n{signature}Transfer-Encoding: chunked\r\n\r\n\
         28\r\n{one}\r\n{:x};a=b\r\n{two}\r\n0\r\nX-T: y\r\n\r\n",
        two.len()
    );
    let both = chunked + &last_request(&signature, &body);
    stream.write_all(both.as_bytes()).await.unwrap();
    assert_eq!(read_to_end(&mut stream).await.matches("HTTP/1.1 200").count(), 2);
    for target in ["/first", "/second", "/third", "/"] {
        let delivery = running.delivered().await;
        assert_eq!(
            (delivery.summary.request_target.as_str(), &*delivery.body),
            (target, body.as_bytes())
        );
    }
}

#[tokio::test]
async fn silent_connections_do_not_shut_out_a_sender() {
    let running = start(|_, limits| {
        limits.connections = 4;
        limits.read_timeout = Duration::from_secs(3_600);
    });
    let half_body = request("/", "", "body");
    let mut silent = Vec::new();
    for sent in ["", "PO", HALF_HEAD, &half_body[..half_body.len() - 1]].repeat(5) {
        let mut stream = running.connect().await;
        stream.write_all(sent.as_bytes()).await.unwrap();
        silent.push(stream);
    }
    assert_eq!(status(&running.exchange(last_request("", "{}")).await), 200);
    assert_eq!(read_to_end(&mut silent[0]).await, "", "the first one was closed");
    // The last connection has waited for the shortest time, so it is still open.
    let last = silent.last_mut().unwrap();
    last.write_all(b"y").await.unwrap();
    assert_eq!(status(&read_until(last, "}").await), 200);
}

#[tokio::test]
async fn malformed_requests_are_refused() {
    let running = start(|_, _| {});
    let many = format!("POST / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(1_000));
    let long = format!("POST /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    for bytes in [
        "\x16\x03\x01\x02\0\x01\0\x01",
        "\0\0\0\0\r\n\r\n",
        &many,
        &long,
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
        "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ] {
        let response = running.exchange(bytes).await;
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 4"), "{response}");
    }
    assert_eq!(status(&running.exchange(last_request("", "{}")).await), 200);
}

#[tokio::test]
async fn shutdown_answers_deliveries_in_flight() {
    let mut running = start(|rules, _| {
        rules.faults = Faults { delay: Some(Duration::from_millis(200)), ..Faults::default() };
    });
    let handle = running.listener.handle();
    let mut stored = handle.deliveries().subscribe();
    let (mut in_flight, mut half) = (running.connect().await, running.connect().await);
    half.write_all(HALF_HEAD.as_bytes()).await.unwrap();
    in_flight.write_all(request("/", "", "{}").as_bytes()).await.unwrap();
    stored.recv().await.unwrap();
    running.listener.shutdown(PATIENCE).await;
    let response = read_to_end(&mut in_flight).await;
    assert_eq!(status(&response), 200, "{response}");
    assert!(response.contains("connection: close\r\n"), "{response}");
    assert_eq!(read_to_end(&mut half).await, "");
    let event = running.events.try_recv().unwrap();
    assert!(matches!(event, ListenerEvent::Delivered { .. }));
    assert!(TcpStream::connect(running.address).await.is_err());
    let late = handle.deliver(Method::POST, "/".into(), HeaderMap::new(), "{}".into()).await;
    assert_eq!(late.unwrap_err(), Refusal::Stopping);
}

#[tokio::test]
async fn shutdown_ends_after_the_grace_period() {
    let running = start(|rules, _| {
        rules.faults = Faults { delay: Some(Duration::MAX), ..Faults::default() };
    });
    let mut stored = running.listener.handle().deliveries().subscribe();
    let mut in_flight = running.connect().await;
    in_flight.write_all(request("/", "", "{}").as_bytes()).await.unwrap();
    stored.recv().await.unwrap();
    running.listener.shutdown(Duration::ZERO).await;
    assert_eq!(read_to_end(&mut in_flight).await, "");
}

#[tokio::test]
async fn both_loopback_addresses_are_open() {
    let mut running = start(|_, _| {});
    running.address.set_ip(Ipv6Addr::LOCALHOST.into());
    // A machine without IPv6 has only the IPv4 address.
    if std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        assert_eq!(status(&running.exchange(last_request("", "{}")).await), 200);
    }
}

#[tokio::test]
async fn port_in_use_on_the_ipv6_loopback_is_an_error() {
    // Skip the test on a machine without IPv6.
    let Ok(other) = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else { return };
    let error = Sockets::open(None, other.local_addr().unwrap().port()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
}

#[tokio::test]
async fn port_in_use_is_an_error() {
    let running = start(|_, _| {});
    let port = running.address.port();
    let error = Sockets::open(None, port).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
}
