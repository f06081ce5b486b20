//! HTTP as bytes, over real sockets.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use formsvc_server::serve::{Running, ServeOptions, Server};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Longer than anything here takes, so that a hang fails instead of hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn serve(options: ServeOptions) -> Running {
    let router = Router::new().route("/page", get(async || "page"));
    Server::bind_router(options, router).await.unwrap()
}

pub(super) async fn connect(running: &Running) -> TcpStream {
    TcpStream::connect(running.local_addr()).await.unwrap()
}

/// Everything until the server closes.
pub(super) async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after the response counts as the end.
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Reads until `end` has been received.
pub(super) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(end) {
        let read = stream.read_buf(&mut bytes);
        let read = tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        assert_ne!(read, 0, "closed after {}", String::from_utf8_lossy(&bytes));
    }
    String::from_utf8(bytes).unwrap()
}

async fn exchange(request: &str) -> String {
    let running = serve(ServeOptions::default()).await;
    let mut stream = connect(&running).await;
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    read_all(&mut stream).await
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let answers = exchange(
        "GET /page HTTP/1.1\r\nhost: x\r\n\r\nGET /no HTTP/1.1\r\nhost: x\r\n\r\n\
         HEAD /page HTTP/1.1\r\nhost: x\r\n\r\nGET /page HTTP/1.1\r\nhost: x\r\n\r\n",
    )
    .await;
    let statuses: Vec<_> =
        answers.match_indices("HTTP/1.1 ").map(|(at, _)| &answers[at + 9..at + 12]).collect();
    assert_eq!(statuses, ["200", "404", "200", "200"]);
    assert_eq!(answers.matches("\r\n\r\npage").count(), 2);
    assert_eq!(answers.matches("x-request-id: req_").count(), 4);
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_closed() {
    for request in [
        "hello\r\n\r\n",
        "GET /page\r\n\r\n",
        "GET /page HTTP/9.9\r\n\r\n",
        "GET /page HTTP/1.1\r\nhost x\r\n\r\n",
        "GET /page HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        "GET /page HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        "GET /pa ge HTTP/1.1\r\nhost: x\r\n\r\n",
        "GET /page HTTP/1.1\r\nhost: x\r\na\0: b\r\n\r\n",
    ] {
        let answer = exchange(request).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request:?}: {answer}");
        assert!(answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn heads_beyond_the_limits_are_refused_before_they_are_kept() {
    let many: String = (0..200).map(|n| format!("h{n}: v\r\n")).collect::<Vec<_>>().concat();
    let long = format!("h: {}\r\n", "v".repeat(100_000));
    for headers in [many, long] {
        let answer = exchange(&format!("GET /page HTTP/1.1\r\nhost: x\r\n{headers}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
}

#[tokio::test]
async fn a_request_without_host_gets_the_error_shape() {
    let answer = exchange("GET /page HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains(r#""code":"bad_request""#));
    let answer = exchange("GET /page HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
}

#[tokio::test]
async fn the_absolute_form_is_understood() {
    let answer = exchange("GET http://x/page HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    for odd in ["OPTIONS * HTTP/1.1", "CONNECT x:80 HTTP/1.1"] {
        let answer = exchange(&format!("{odd}\r\nhost: x\r\n\r\n")).await;
        assert!(answer.contains(r#"{"error":{"code":""#), "{odd}: {answer}");
    }
}

#[tokio::test]
async fn bodies_nobody_asked_for_are_not_read() {
    let small = "GET /page HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello\
                 GET /page HTTP/1.1\r\nhost: x\r\n\r\n";
    assert_eq!(exchange(small).await.matches("HTTP/1.1 200 ").count(), 2);
    let announced = "GET /page HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n";
    let answer = exchange(announced).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("payload_too_large"));
    let endless = format!(
        "GET /page HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{}",
        "400\r\n".to_owned() + &"x".repeat(1024) + "\r\n"
    );
    assert!(exchange(&endless).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn an_error_to_head_has_no_body() {
    let answer = exchange("HEAD /no HTTP/1.1\r\nhost: x\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 404 ") && answer.ends_with("\r\n\r\n"), "{answer}");
}
