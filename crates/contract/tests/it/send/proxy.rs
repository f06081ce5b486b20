//! Proxies: which requests they get, and failures that are theirs.

use std::net::SocketAddr;

use formsvc_client::network::NetworkSettings;
use formsvc_contract::send::{HttpSender, HttpSenderOptions, SendErrorKind};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::{OK, answering, closed_port, delivery, failure, listener};

/// A sender that has this proxy for every scheme, and these variables.
fn through(proxy: SocketAddr, vars: &'static [(&str, &str)]) -> HttpSender {
    let network = NetworkSettings::from_vars(|name| match name {
        "HTTP_PROXY" | "HTTPS_PROXY" | "ALL_PROXY" => Some(format!("http://{proxy}").into()),
        name => vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()),
    });
    let network = network.unwrap();
    HttpSender::new(HttpSenderOptions { network, ..HttpSenderOptions::default() }).unwrap()
}

/// A proxy that logs the head of each request and gives the same answer to all.
async fn proxy(answer: &'static [u8]) -> (SocketAddr, UnboundedReceiver<String>) {
    let (listener, address) = listener().await;
    let (log, logged) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.windows(4).any(|window| window == b"\r\n\r\n") {
                assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0);
            }
            log.send(String::from_utf8(head).unwrap()).unwrap();
            stream.write_all(answer).await.unwrap();
        }
    });
    (address, logged)
}

#[tokio::test]
async fn loopback_is_never_sent_to_a_proxy() {
    let (proxy, mut logged) = proxy(OK).await;
    for host in ["127.0.0.1", "localhost", "shop.localhost"] {
        let (address, request) = answering(OK).await;
        let url = format!("http://{host}:{}/hook", address.port()).parse().unwrap();
        let sent = through(proxy, &[]).send(delivery(url, b"{}")).await;
        assert_eq!(sent.unwrap().status, 200, "{host}");
        let request = String::from_utf8(request.await.unwrap()).unwrap();
        assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    }
    assert!(logged.try_recv().is_err());
}

#[tokio::test]
async fn http_request_to_another_host_goes_to_the_proxy() {
    let (address, mut logged) = proxy(OK).await;
    let url = "http://receiver.test/hook?a=1".parse().unwrap();
    let answer = through(address, &[]).send(delivery(url, b"{}")).await.unwrap();
    assert_eq!(answer.status, 200);
    let head = logged.recv().await.unwrap();
    assert!(head.starts_with("POST http://receiver.test/hook?a=1 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Host: receiver.test\r\n"), "{head}");
    assert!(head.contains("X-Service-Signature: t=1,v1=00\r\n"), "{head}");
}

#[tokio::test]
async fn https_request_is_tunneled_and_a_refusal_is_named() {
    let (address, mut logged) = proxy(b"HTTP/1.1 403 Forbidden\r\n\r\n").await;
    let url = "https://receiver.test/hook?secret".parse().unwrap();
    let (kind, message) = failure(&through(address, &[]), url).await;
    assert_eq!(kind, SendErrorKind::Proxy, "{message}");
    assert!(message.contains(&address.to_string()), "{message}");
    assert!(message.contains("receiver.test:443") && !message.contains("secret"), "{message}");
    let head = logged.recv().await.unwrap();
    assert!(head.starts_with("CONNECT receiver.test:443 HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains("Signature"), "{head}");
}

#[tokio::test]
async fn no_proxy_host_is_connected_directly() {
    let (address, mut logged) = proxy(OK).await;
    let sender = through(address, &[("NO_PROXY", "receiver.invalid")]);
    let (kind, message) = failure(&sender, "http://receiver.invalid/".parse().unwrap()).await;
    assert_eq!(kind, SendErrorKind::Dns, "{message}");
    assert!(logged.try_recv().is_err());
}

#[tokio::test]
async fn proxy_407_is_a_proxy_error() {
    let (address, _logged) =
        proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n").await;
    for url in ["http://receiver.test/", "https://receiver.test/"] {
        let (kind, message) = failure(&through(address, &[]), url.parse().unwrap()).await;
        assert_eq!(kind, SendErrorKind::Proxy, "{url}: {message}");
        assert!(message.contains("requires a user name and a password (407)"), "{url}: {message}");
    }
}

#[tokio::test]
async fn direct_407_is_an_answer() {
    let (address, _) = answering(b"HTTP/1.1 407 Odd\r\nContent-Length: 0\r\n\r\n").await;
    let sender = through(closed_port().await, &[]);
    let answer = sender.send(delivery(super::url(address, "/"), b"{}")).await.unwrap();
    assert_eq!(answer.status, 407);
}

#[tokio::test]
async fn unreachable_proxy_is_a_proxy_error() {
    let address = closed_port().await;
    for url in ["http://receiver.test/", "https://receiver.test/"] {
        let (kind, message) = failure(&through(address, &[]), url.parse().unwrap()).await;
        assert_eq!(kind, SendErrorKind::Proxy, "{url}: {message}");
        assert!(message.contains(&format!("the proxy http://{address}")), "{url}: {message}");
    }
}
