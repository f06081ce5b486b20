//! The bytes that arrive at a receiver.

use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use proptest::prelude::*;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::{OK, answering, delivery, read_request, sender, url};

#[tokio::test]
async fn delivery_arrives_with_its_own_headers_only() {
    let (address, request) = answering(OK).await;
    let sent = delivery(url(address, "/hook?a=%20b#part"), b"{\"a\":1}\n");
    let answer = sender().send(sent).await.unwrap();
    assert_eq!((answer.status.as_u16(), &*answer.body, answer.truncated), (200, &b"ok"[..], false));
    let request = String::from_utf8(request.await.unwrap()).unwrap();
    let expected = format!(
        "POST /hook?a=%20b HTTP/1.1\r\n\
         Content-Type: application/json\r\n\
         User-Agent: service-webhooks/1.0\r\n\
         X-Service-Event: submission.created\r\n\
         X-Service-Signature: t=1,v1=00\r\n\
         Content-Length: 8\r\n\
         Accept: */*\r\n\
         Host: {address}\r\n\r\n\
         {{\"a\":1}}\n"
    );
    assert_eq!(request, expected);
}

#[tokio::test]
async fn get_without_body_has_no_content_length() {
    let (address, request) = answering(OK).await;
    let mut outgoing = delivery(url(address, "/"), b"");
    (outgoing.method, outgoing.headers) = (Method::GET, HeaderMap::new());
    outgoing.headers.insert("accept", HeaderValue::from_static("text/plain"));
    sender().send(outgoing).await.unwrap();
    let request = String::from_utf8(request.await.unwrap()).unwrap();
    let expected = format!("GET / HTTP/1.1\r\nAccept: text/plain\r\nHost: {address}\r\n\r\n");
    assert_eq!(request, expected);
}

#[tokio::test]
async fn sender_headers_replace_request_headers() {
    let (address, request) = answering(OK).await;
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("user-agent", "me"),
        ("x-twice", "1"),
        ("x-twice", "2"),
        ("content-length", "999"),
        ("transfer-encoding", "chunked"),
        ("host", "shop.test"),
    ] {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let sender =
        HttpSender::new(HttpSenderOptions { headers, ..HttpSenderOptions::default() }).unwrap();
    let url = format!("http://al%69:p%3aw@{address}/").parse().unwrap();
    sender.send(delivery(url, b"x")).await.unwrap();
    let request = String::from_utf8(request.await.unwrap()).unwrap();
    for line in [
        "POST / HTTP/1.1",
        "User-Agent: me",
        "X-Twice: 1\r\nX-Twice: 2",
        "Content-Length: 1",
        "Host: shop.test",
        // ali:p:w
        "Authorization: Basic YWxpOnA6dw==",
    ] {
        assert!(request.contains(&format!("{line}\r\n")), "{line}: {request}");
    }
    for part in ["service-webhooks", "Transfer-Encoding"] {
        assert!(!request.contains(part), "{part}: {request}");
    }
}

#[tokio::test]
async fn given_authorization_replaces_that_of_the_url() {
    let (address, request) = answering(OK).await;
    let mut outgoing = delivery(format!("http://a:b@{address}/").parse().unwrap(), b"x");
    outgoing.headers.insert("authorization", HeaderValue::from_static("Bearer own"));
    sender().send(outgoing).await.unwrap();
    let request = String::from_utf8(request.await.unwrap()).unwrap();
    assert!(request.contains("Authorization: Bearer own\r\n"), "{request}");
    assert!(!request.contains("Basic"), "{request}");
}

#[tokio::test]
async fn long_body_arrives_complete() {
    let (address, request) = answering(OK).await;
    let body: Vec<u8> = (0..1_000_003_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
    sender().send(delivery(url(address, "/"), &body)).await.unwrap();
    let request = request.await.unwrap();
    assert!(request.ends_with(&[b"\r\n\r\n", &body[..]].concat()), "{} bytes", request.len());
}

#[tokio::test]
async fn localhost_name_reaches_ipv6_only_listener() {
    let Ok(listener) = TcpListener::bind("[::1]:0").await else {
        // A machine without IPv6 cannot show it.
        return;
    };
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(OK).await.unwrap();
    });
    let url = format!("http://my.localhost:{port}/").parse().unwrap();
    assert_eq!(sender().send(delivery(url, b"{}")).await.unwrap().status, 200);
    task.await.unwrap();
}

#[test]
fn outgoing_debug_contains_no_url_headers_or_body() {
    let outgoing = delivery("http://u:pw@localhost/?token".parse().unwrap(), b"body");
    let text = format!("{outgoing:?}");
    for secret in ["pw", "token", "v1=", "body\""] {
        assert!(!text.contains(secret), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn any_body_and_header_value_arrive_byte_for_byte(
        body in prop::collection::vec(any::<u8>(), 1..2_000),
        // Visible ASCII and all bytes above it.
        value in prop::collection::vec(prop_oneof![0x21..=0x7eu8, 0x80..=0xffu8], 0..100),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (address, request) = answering(OK).await;
            let mut outgoing = delivery(url(address, "/"), &body);
            outgoing.headers.insert("x-any", HeaderValue::from_bytes(&value).unwrap());
            sender().send(outgoing).await.unwrap();
            let request = request.await.unwrap();
            prop_assert!(request.ends_with(&[b"\r\n\r\n", &body[..]].concat()));
            let line = [b"\r\nX-Any: ", &value[..], b"\r\n"].concat();
            prop_assert!(request.windows(line.len()).any(|window| window == line));
            Ok(())
        })?;
    }
}
