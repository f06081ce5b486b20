//! Receivers on real sockets, and senders that write HTTP by hand.

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use formsvc_receiver::test_util::submission_body;
use formsvc_receiver::{SubmissionCreated, VerifyLayer, Webhook};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::{ServiceBuilder, service_fn};

use crate::support::{SECRET, signed, verifier};

async fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// A receiver of axum, with the extractor.
async fn axum_receiver() -> u16 {
    async fn hook(Webhook(submission): Webhook<SubmissionCreated>) -> String {
        submission.submission_id.to_string()
    }
    let (listener, port) = listen().await;
    let router = Router::new().route("/", post(hook)).with_state(verifier());
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}

/// A receiver of bare hyper, with the layer.
async fn hyper_receiver() -> u16 {
    let (listener, port) = listen().await;
    let service = ServiceBuilder::new().layer(VerifyLayer::events(verifier())).service(service_fn(
        async |request: http::Request<Full<Bytes>>| {
            let event = request.extensions().get::<formsvc_receiver::Verified<_>>().cloned();
            let event: formsvc_receiver::Verified<formsvc_receiver::Event> = event.unwrap();
            let id = event.into_submission().unwrap().submission_id.to_string();
            Ok::<_, std::convert::Infallible>(http::Response::new(Full::<Bytes>::from(id)))
        },
    ));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = TowerToHyperService::new(service.clone());
            let http = hyper::server::conn::http1::Builder::new();
            tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
        }
    });
    port
}

/// What comes back for some bytes, up to the end of the connection.
async fn exchange(port: u16, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
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
async fn a_delivery_comes_through_both() {
    for port in [axum_receiver().await, hyper_receiver().await] {
        let answer = exchange(port, &delivery("sub_31")).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nsub_31"), "{answer}");
    }
}

#[tokio::test]
async fn an_unsigned_sender_is_answered_before_it_sends_its_body() {
    for port in [axum_receiver().await, hyper_receiver().await] {
        // Four megabytes are announced and never sent; the answer comes all the same.
        let answer = exchange(port, &request("Content-Length: 4194304\r\n", b"")).await;
        assert!(answer.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{answer}");
        assert!(answer.contains("\r\ncontent-type: application/json\r\n"), "{answer}");
        let body =
            r#"{"error":{"code":"missing_signature","message":"the signature header is missing"}}"#;
        assert!(answer.ends_with(body), "{answer}");
    }
}

#[tokio::test]
async fn a_sender_that_waits_to_be_asked_for_its_body_is_not_asked() {
    for port in [axum_receiver().await, hyper_receiver().await] {
        let headers = "Content-Length: 4194304\r\nExpect: 100-continue\r\n";
        let answer = exchange(port, &request(headers, b"")).await;
        assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
    }
}

#[tokio::test]
async fn a_body_in_chunks_is_gathered_and_bounded() {
    let body = submission_body("sub_32");
    let signature = signed(&[SECRET], &body);
    let headers = format!("Transfer-Encoding: chunked\r\nX-Service-Signature: {signature}\r\n");
    let chunk =
        |piece: &[u8]| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
    for port in [axum_receiver().await, hyper_receiver().await] {
        let chunks: Vec<u8> = body.iter().flat_map(|byte| chunk(&[*byte])).collect();
        let whole = [&chunks[..], b"0\r\n\r\n"].concat();
        let answer = exchange(port, &request(&headers, &whole)).await;
        assert!(answer.ends_with("sub_32"), "{answer}");
        // One byte over the cap, and no end: the answer does not wait for it.
        let endless = chunk(&vec![b' '; (1 << 20) + 1]);
        let answer = exchange(port, &request(&headers, &endless)).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
}

#[tokio::test]
async fn a_header_that_stands_twice_is_refused_even_if_one_is_right() {
    let text = String::from_utf8(delivery("sub_33")).unwrap();
    let twice = text.replace("\r\nX-Service", "\r\nx-service-signature: t=1\r\nX-Service");
    for port in [axum_receiver().await, hyper_receiver().await] {
        let answer = exchange(port, twice.as_bytes()).await;
        assert!(answer.contains("malformed_signature"), "{answer}");
    }
}
