//! A receiver on a socket, and raw HTTP requests.

use axum::Router;
use axum::routing::post;
use formsvc_receiver::test_util::submission_body;
use formsvc_receiver::{SubmissionCreated, Verified};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{SECRET, signed, verifier};

async fn axum_receiver() -> u16 {
    async fn hook(submission: Verified<SubmissionCreated>) -> String {
        submission.submission_id.to_string()
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = Router::new().route("/", post(hook)).with_state(verifier());
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

/// Sends bytes and returns the response up to the end of the connection.
async fn exchange(port: u16, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();
    String::from_utf8(response).unwrap()
}

fn request(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
    [head.as_bytes(), body].concat()
}

fn delivery(id: &str) -> Vec<u8> {
    let body = submission_body(id);
    let (signature, length) = (signed(&[SECRET], &body), body.len());
    request(&format!("Content-Length: {length}\r\nX-Service-Signature: {signature}\r\n"), &body)
}

#[tokio::test]
async fn delivery_over_a_socket_is_handled() {
    let port = axum_receiver().await;
    let response = exchange(port, &delivery("sub_31")).await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.ends_with("\r\n\r\nsub_31"), "{response}");
}

#[tokio::test]
async fn unsigned_request_is_answered_before_its_body() {
    let port = axum_receiver().await;
    // The announced 4 MiB are never sent.
    let response = exchange(port, &request("Content-Length: 4194304\r\n", b"")).await;
    assert!(response.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{response}");
    assert!(response.contains("\r\ncontent-type: application/json\r\n"), "{response}");
    assert!(response.contains("missing_signature"), "{response}");
    // No `100 Continue` either.
    let headers = "Content-Length: 4194304\r\nExpect: 100-continue\r\n";
    let response = exchange(port, &request(headers, b"")).await;
    assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
}

#[tokio::test]
async fn chunked_body_is_read_and_limited() {
    let body = submission_body("sub_32");
    let signature = signed(&[SECRET], &body);
    let headers = format!("Transfer-Encoding: chunked\r\nX-Service-Signature: {signature}\r\n");
    let chunk = |data: &[u8]| [format!("{:x}\r\n", data.len()).as_bytes(), data, b"\r\n"].concat();
    let port = axum_receiver().await;
    let chunks: Vec<u8> = body.iter().flat_map(|byte| chunk(&[*byte])).collect();
    let complete = [&chunks[..], b"0\r\n\r\n"].concat();
    let response = exchange(port, &request(&headers, &complete)).await;
    assert!(response.ends_with("sub_32"), "{response}");
    // One byte over the limit, without an end.
    let endless = chunk(&vec![b' '; (1 << 20) + 1]);
    let response = exchange(port, &request(&headers, &endless)).await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
}

#[tokio::test]
async fn repeated_signature_header_is_refused() {
    let text = String::from_utf8(delivery("sub_33")).unwrap();
    let repeated = text.replace("\r\nX-Service", "\r\nx-service-signature: t=1\r\nX-Service");
    let port = axum_receiver().await;
    let response = exchange(port, repeated.as_bytes()).await;
    assert!(response.contains("malformed_signature"), "{response}");
}
