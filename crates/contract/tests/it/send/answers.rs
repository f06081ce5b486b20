//! Answers, and attempts without an answer.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use formsvc_contract::send::{HttpSender, HttpSenderOptions, SendErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{answering, closed_port, delivery, failure, listener, read_request, sender, url};

#[tokio::test]
async fn redirect_and_compressed_body_are_returned_unchanged() {
    let answer = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8bx";
    let (address, _) = answering(answer).await;
    let answer = sender().send(delivery(url(address, ""), b"")).await.unwrap();
    assert_eq!((answer.status.as_u16(), &*answer.body), (302, &b"\x1f\x8bx"[..]));
    assert_eq!(answer.headers["location"], "/x");
}

#[tokio::test]
async fn answer_body_is_cut_at_the_limit() {
    for (answer_max, body, truncated) in [(4, "abcd", true), (6, "abcdef", false)] {
        let (address, _) = answering(b"HTTP/1.1 500 No\r\nContent-Length: 6\r\n\r\nabcdef").await;
        let sender =
            HttpSender::new(HttpSenderOptions { answer_max, ..HttpSenderOptions::default() })
                .unwrap();
        let answer = sender.send(delivery(url(address, ""), b"")).await.unwrap();
        assert_eq!((&*answer.body, answer.truncated), (body.as_bytes(), truncated));
    }
}

#[tokio::test]
async fn closed_port_is_refused_with_host_and_port() {
    let address = closed_port().await;
    let (kind, message) = failure(&sender(), url(address, "/hook?secret")).await;
    assert_eq!(kind, SendErrorKind::Refused);
    assert_eq!(message, format!("nothing listens on {address}: is your server running?"));
    let port = address.port();
    for name in ["localhost", "forms.localhost"] {
        let url = format!("http://{name}:{port}").parse().unwrap();
        let (kind, message) = failure(&sender(), url).await;
        assert_eq!(kind, SendErrorKind::Refused, "{message}");
        assert_eq!(message, format!("nothing listens on {name}:{port}: is your server running?"));
    }
}

#[tokio::test]
async fn unknown_host_is_a_dns_error() {
    let (kind, message) = failure(&sender(), "http://nowhere.invalid/".parse().unwrap()).await;
    assert_eq!(kind, SendErrorKind::Dns, "{message}");
    assert!(message.contains("`nowhere.invalid`"), "{message}");
}

#[tokio::test]
async fn url_of_another_scheme_is_refused() {
    for text in ["ftp://localhost/secret", "data:,secret"] {
        let (kind, message) = failure(&sender(), text.parse().unwrap()).await;
        assert_eq!(kind, SendErrorKind::BadUrl, "{text}: {message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[tokio::test]
async fn incomplete_and_malformed_answers_differ_in_kind() {
    for (bytes, kind, text) in [
        (&b""[..], SendErrorKind::Closed, "{} closed the connection before it answered"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Len",
            SendErrorKind::Closed,
            "{} closed the connection before it answered",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
            SendErrorKind::Closed,
            "{} answered 200, but closed the connection before the end of the body",
        ),
        (
            b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
            SendErrorKind::BadAnswer,
            "the answer of {} is not HTTP: ",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            SendErrorKind::BadAnswer,
            "the answer of {} is not HTTP: ",
        ),
    ] {
        let (address, _) = answering(bytes).await;
        let (found, message) = failure(&sender(), url(address, "/?secret")).await;
        assert_eq!(found, kind, "{message}");
        assert!(message.contains(&text.replace("{}", &address.to_string())), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

#[tokio::test]
async fn other_protocol_error_names_tls_and_http_2() {
    for (bytes, is_other_protocol) in [
        // A TLS alert.
        (&b"\x15\x03\x01\x00\x02\x02\x46"[..], true),
        // SETTINGS and GOAWAY of a server that speaks only HTTP/2.
        (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x01", true),
        (b"HTTP/1.1 200 OK\r\nBroken Header\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false),
    ] {
        let (address, _) = answering(bytes).await;
        let (kind, message) = failure(&sender(), url(address, "/")).await;
        assert_eq!(kind, SendErrorKind::BadAnswer, "{message}");
        let expected = format!(
            "the answer of {address} is not HTTP: it does not begin with HTTP/1. An HTTP/1.1 request \
             was sent to http://{address}: if the server uses TLS, its URL is https://{address}; if it \
             speaks only HTTP/2, it cannot receive deliveries"
        );
        assert_eq!(message == expected, is_other_protocol, "{message}");
    }
}

#[tokio::test]
async fn answer_before_the_request_is_not_http() {
    let (listener, address) = listener().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"\0\0\0\x04\0\0\0\0\0").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap_or_default();
    });
    let (kind, message) = failure(&sender(), url(address, "/")).await;
    assert_eq!(kind, SendErrorKind::BadAnswer, "{message}");
    assert!(message.contains("if it speaks only HTTP/2, it cannot"), "{message}");
    server.await.unwrap();
}

/// Accepts one connection, answers after the first byte, and closes it without reading the rest. It has
/// a thread of its own, as a receiver is another process.
fn hasty(answer: &'static [u8]) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0]).unwrap();
        stream.write_all(answer).unwrap();
    });
    address
}

#[tokio::test]
async fn early_413_before_a_long_body_is_an_answer() {
    let too_large = b"HTTP/1.1 413 Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
    let body = vec![b'x'; 10 << 20];
    for _ in 0..24 {
        let answer = sender().send(delivery(url(hasty(too_large), ""), &body)).await.unwrap();
        assert_eq!((answer.status.as_u16(), &*answer.body), (413, &b"no"[..]));
    }
    let error = sender().send(delivery(url(hasty(b""), ""), &body)).await.unwrap_err();
    assert_eq!(error.kind, SendErrorKind::Closed, "{error}");
    assert!(error.to_string().contains("closed the connection before it answered"), "{error}");
}

#[tokio::test]
async fn timeout_covers_head_and_body_and_names_the_step() {
    let within = |millis| {
        let timeout = Duration::from_millis(millis);
        HttpSender::new(HttpSenderOptions { timeout, ..HttpSenderOptions::default() }).unwrap()
    };
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        let (mut silent, _) = listener.accept().await.unwrap();
        read_request(&mut silent).await;
        let (mut slow, _) = listener.accept().await.unwrap();
        read_request(&mut slow).await;
        slow.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nab").await.unwrap();
        // Until the sender has given up.
        let mut rest = Vec::new();
        slow.read_to_end(&mut rest).await.unwrap_or_default();
    });
    let (kind, message) = failure(&within(300), url(address, "")).await;
    assert_eq!(kind, SendErrorKind::Timeout);
    assert_eq!(message, format!("{address} did not answer within 300ms"));
    let (kind, message) = failure(&within(700), url(address, "")).await;
    assert_eq!(kind, SendErrorKind::Timeout);
    assert_eq!(message, format!("{address} answered 201, but its body did not end within 700ms"));
    task.await.unwrap();
}
