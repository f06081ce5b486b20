//! Senders against real sockets.

mod answers;
mod proxy;
mod requests;
mod tls;

use std::net::SocketAddr;

use bytes::Bytes;
use formsvc_contract::send::{HttpSender, HttpSenderOptions, Outgoing, SendErrorKind};
use http::HeaderValue;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use url::Url;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn sender() -> HttpSender {
    HttpSender::new(HttpSenderOptions::default()).unwrap()
}

fn url(address: SocketAddr, rest: &str) -> Url {
    format!("http://{address}{rest}").parse().unwrap()
}

fn delivery(url: Url, body: &[u8]) -> Outgoing {
    let (event, signature) = ("submission.created", "t=1,v1=00");
    let [event, signature] = [event, signature].map(HeaderValue::from_static);
    Outgoing::delivery(url, event, signature, Bytes::copy_from_slice(body))
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// An address that nothing listens on: its listener was closed.
async fn closed_port() -> SocketAddr {
    listener().await.1
}

/// Accepts one connection, reads one request completely, answers with these bytes and closes.
async fn answering(answer: &'static [u8]) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read_request(&mut stream).await;
        stream.write_all(answer).await.unwrap();
        request
    });
    (address, task)
}

/// Reads one request with a body of `Content-Length`.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut request = Vec::new();
    loop {
        if let Some(head) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&request[..head]).into_owned();
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "))
                .map_or(0, |length| length.parse().unwrap());
            if request.len() == head + 4 + length {
                return request;
            }
        }
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0, "the request is incomplete");
    }
}

async fn failure(sender: &HttpSender, url: Url) -> (SendErrorKind, String) {
    let error = sender.send(delivery(url, b"{}")).await.unwrap_err();
    (error.kind, error.to_string())
}
