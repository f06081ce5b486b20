//! Senders against real sockets.

use std::net::SocketAddr;
use std::sync::Arc;

use proptest::prelude::*;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::stream::Stream;
use super::*;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn sender() -> Sender {
    Sender::new(SenderOptions::default()).unwrap()
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

/// Takes one connection, reads one request whole, answers with these bytes and closes.
async fn answering(answer: &'static [u8]) -> (SocketAddr, JoinHandle<Vec<u8>>) {
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = request(&mut stream).await;
        stream.write_all(answer).await.unwrap();
        request
    });
    (address, task)
}

/// One request, to the end of the body that its `Content-Length` tells of.
async fn request(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
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
        assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0, "a request ends");
    }
}

/// A port that nothing listens on: it was given to a listener, which is gone.
async fn dead() -> SocketAddr {
    listener().await.1
}

async fn failure(sender: &Sender, url: Url) -> (SendErrorKind, String) {
    failure_of(sender, delivery(url, b"{}")).await
}

async fn failure_of(sender: &Sender, outgoing: Outgoing) -> (SendErrorKind, String) {
    let error = sender.send(outgoing).await.unwrap_err();
    (error.kind, error.to_string())
}

#[tokio::test]
async fn what_arrives_is_what_was_given_and_nothing_else() {
    let (address, got) = answering(OK).await;
    let answer =
        sender().send(delivery(url(address, "/hook?a=%20b"), b"{\"a\":1}\n")).await.unwrap();
    assert_eq!((answer.status.as_u16(), &*answer.body, answer.truncated), (200, &b"ok"[..], false));
    let got = String::from_utf8(got.await.unwrap()).unwrap();
    let expected = format!(
        "POST /hook?a=%20b HTTP/1.1\r\n\
         Content-Type: application/json\r\n\
         User-Agent: service-webhooks/1.0\r\n\
         X-Service-Event: submission.created\r\n\
         X-Service-Signature: t=1,v1=00\r\n\
         Host: {address}\r\n\
         Content-Length: 8\r\n\r\n\
         {{\"a\":1}}\n"
    );
    assert_eq!(got, expected);
}

#[tokio::test]
async fn headers_of_the_sender_stand_in_place_of_those_of_the_request() {
    let (address, got) = answering(OK).await;
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("user-agent", "me"),
        ("x-twice", "1"),
        ("x-twice", "2"),
        ("content-length", "999"),
        ("host", "shop.test"),
    ] {
        headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let sender = Sender::new(SenderOptions { headers, ..SenderOptions::default() }).unwrap();
    let url = format!("http://al%69:p%3aw@{address}/#part").parse().unwrap();
    sender.send(delivery(url, b"x")).await.unwrap();
    let got = String::from_utf8(got.await.unwrap()).unwrap();
    for line in [
        "POST / HTTP/1.1",
        "User-Agent: me",
        "X-Twice: 1\r\nX-Twice: 2",
        "Content-Length: 1",
        "Host: shop.test",
        // ali:p:w
        "Authorization: Basic YWxpOnA6dw==",
    ] {
        assert!(got.contains(&format!("{line}\r\n")), "{line}: {got}");
    }
    assert!(!got.contains("service-webhooks"), "{got}");
}

#[tokio::test]
async fn a_path_can_be_sent_as_it_is_spelled() {
    for target in ["/a/../b/%2e%2E/c\\d?x=/../y", "//other.test/x", "/%c3%A9|^{}?"] {
        let (address, got) = answering(OK).await;
        let answer = sender().send_at(delivery(url(address, "/own"), b"x"), target).await;
        assert_eq!(answer.unwrap().status, 200, "{target}");
        let got = String::from_utf8(got.await.unwrap()).unwrap();
        assert!(got.starts_with(&format!("POST {target} HTTP/1.1\r\n")), "{target}: {got}");
        assert!(got.contains(&format!("Host: {address}\r\n")), "{got}");
    }
    let outgoing = delivery("http://localhost:1/".parse().unwrap(), b"");
    let error = sender().send_at(outgoing, "/a b").await.unwrap_err();
    assert_eq!(error.kind, SendErrorKind::BadUrl);
}

#[tokio::test]
async fn redirects_and_compressed_bodies_are_answers_like_any_other() {
    let answer = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8bx";
    let (address, _) = answering(answer).await;
    let answer = sender().send(delivery(url(address, ""), b"")).await.unwrap();
    assert_eq!((answer.status.as_u16(), &*answer.body), (302, &b"\x1f\x8bx"[..]));
    assert_eq!(answer.headers["location"], "/x");
}

#[tokio::test]
async fn of_a_long_body_the_beginning_is_read() {
    let (address, _) = answering(b"HTTP/1.1 500 No\r\nContent-Length: 6\r\n\r\nabcdef").await;
    let sender = Sender::new(SenderOptions { answer_max: 4, ..SenderOptions::default() }).unwrap();
    let answer = sender.send(delivery(url(address, ""), b"")).await.unwrap();
    assert_eq!((&*answer.body, answer.truncated), (&b"abcd"[..], true));
}

#[tokio::test]
async fn where_nothing_listens_every_place_that_was_tried_is_named() {
    let address = dead().await;
    let sender = sender();
    let (kind, told) = failure(&sender, url(address, "/hook?secret")).await;
    assert_eq!(kind, SendErrorKind::Refused);
    assert_eq!(told, format!("nothing listens on {address}: is your server running?"));
    let port = address.port();
    for name in ["localhost", "forms.localhost"] {
        let (kind, told) = failure(&sender, format!("http://{name}:{port}").parse().unwrap()).await;
        assert_eq!(kind, SendErrorKind::Refused, "{told}");
        let expected =
            format!("nothing listens on 127.0.0.1:{port} or [::1]:{port}: is your server running?");
        assert_eq!(told, expected);
    }
}

#[tokio::test]
async fn localhost_is_also_tried_where_only_ipv6_listens() {
    let Ok(listener) = TcpListener::bind("[::1]:0").await else {
        // A machine without IPv6 has nothing to show here.
        return;
    };
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(OK).await.unwrap();
    });
    let url = format!("http://my.localhost:{port}/").parse().unwrap();
    assert_eq!(sender().send(delivery(url, b"{}")).await.unwrap().status, 200);
    task.await.unwrap();
}

#[tokio::test]
async fn a_name_without_an_address_and_urls_that_are_none_are_told() {
    let sender = sender();
    let (kind, told) = failure(&sender, "http://nowhere.invalid/".parse().unwrap()).await;
    assert_eq!(kind, SendErrorKind::Dns, "{told}");
    assert!(told.starts_with("no address was found for the name nowhere.invalid: "), "{told}");
    for text in ["ftp://localhost/", "data:,x", "http://localhost:0/"] {
        let (kind, told) = failure(&sender, text.parse().unwrap()).await;
        assert_eq!(kind, SendErrorKind::BadUrl, "{text}: {told}");
    }
}

#[tokio::test]
async fn connections_that_end_and_answers_that_are_none_are_told_apart() {
    for (bytes, kind, start) in [
        (&b""[..], SendErrorKind::Closed, " ended the connection before it answered"),
        (
            b"HTTP/1.1 200 OK\r\nContent-Len",
            SendErrorKind::Closed,
            " ended the connection before it answered",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
            SendErrorKind::Closed,
            " answered 200, and ended the connection before the end of its body",
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", SendErrorKind::BadAnswer, " sent is no HTTP answer: "),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            SendErrorKind::BadAnswer,
            " sent is no HTTP answer: ",
        ),
    ] {
        let (address, _) = answering(bytes).await;
        let (found, told) = failure(&sender(), url(address, "/?secret")).await;
        assert_eq!(found, kind, "{told}");
        assert!(told.contains(&format!("{address}{start}")), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
}

/// Takes one connection, answers it after the first byte, and closes it with the rest unread.
async fn hasty(answer: &'static [u8]) -> (SocketAddr, JoinHandle<()>) {
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
        stream.write_all(answer).await.unwrap();
    });
    (address, task)
}

const TOO_LARGE: &[u8] = b"HTTP/1.1 413 Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";

#[tokio::test]
async fn an_answer_can_be_read_after_the_connection_ended_under_what_is_written() {
    let (address, task) = hasty(TOO_LARGE).await;
    let mut stream = Stream::plain(tokio::net::TcpStream::connect(address).await.unwrap());
    stream.write_all(b"POST / HTTP/1.1").await.unwrap();
    task.await.unwrap();
    for _ in 0..3 {
        stream.write_all(&[b'x'; 1_000]).await.unwrap();
        stream.flush().await.unwrap();
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert_eq!(answer, TOO_LARGE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_comes_before_a_long_body_has_gone_is_an_answer() {
    let body = vec![b'x'; 10 << 20];
    for _ in 0..8 {
        let (address, _) = hasty(TOO_LARGE).await;
        let answer = sender().send(delivery(url(address, ""), &body)).await.unwrap();
        assert_eq!((answer.status.as_u16(), &*answer.body), (413, &b"no"[..]));
        let (address, _) = hasty(b"").await;
        let (kind, told) = failure_of(&sender(), delivery(url(address, ""), &body)).await;
        assert_eq!(kind, SendErrorKind::Closed, "{told}");
        assert!(told.contains("ended the connection before it answered"), "{told}");
    }
}

#[tokio::test]
async fn tls_is_asked_about_only_where_an_answer_begins_like_no_http() {
    for (bytes, is_asked) in [
        (&b"\x15\x03\x01\x00\x02\x02\x46"[..], true),
        (b"HTTP/1.1 200 OK\r\nBroken Header\r\n\r\n", false),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false),
    ] {
        let (address, _) = answering(bytes).await;
        let (kind, told) = failure(&sender(), url(address, "/")).await;
        assert_eq!(kind, SendErrorKind::BadAnswer, "{told}");
        assert_eq!(told.contains("Is its URL https://"), is_asked, "{told}");
        assert!(!told.ends_with('.'), "{told}");
    }
}

#[tokio::test]
async fn the_time_is_one_for_everything_and_says_how_far_it_came() {
    let within = |millis| {
        let timeout = Duration::from_millis(millis);
        Sender::new(SenderOptions { timeout, ..SenderOptions::default() }).unwrap()
    };
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        let (mut silent, _) = listener.accept().await.unwrap();
        request(&mut silent).await;
        let (mut slow, _) = listener.accept().await.unwrap();
        request(&mut slow).await;
        slow.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nab").await.unwrap();
        // Until the sender has given up.
        let mut rest = Vec::new();
        slow.read_to_end(&mut rest).await.unwrap_or_default();
    });
    let (kind, told) = failure(&within(40), url(address, "")).await;
    assert_eq!(
        (kind, told),
        (SendErrorKind::Timeout, format!("{address} did not answer within 40ms"))
    );
    let (kind, told) = failure(&within(700), url(address, "")).await;
    let expected = format!("{address} answered 201, and its body did not end within 700ms");
    assert_eq!((kind, told), (SendErrorKind::Timeout, expected));
    task.await.unwrap();
}

/// A TLS server with a certificate of its own, as `openssl req -x509` makes one or as a leaf.
struct Secure {
    address: SocketAddr,
    pem: String,
    task: JoinHandle<()>,
}

async fn secure(name: &str, is_authority: bool) -> Secure {
    secure_until(name, is_authority, 4000).await
}

async fn secure_until(name: &str, is_authority: bool, year: i32) -> Secure {
    let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.not_after = rcgen::date_time_ymd(year, 1, 1);
    if is_authority {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    }
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_no_client_auth()
    .with_single_cert(
        vec![certificate.der().clone()],
        PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
    )
    .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // A sender that does not trust it ends the connection.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            request(&mut stream).await;
            stream.write_all(OK).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    Secure { address, pem: certificate.pem(), task }
}

fn trusting(pem: &str) -> Sender {
    let ca_certificates = Some(pem.as_bytes().to_vec());
    Sender::new(SenderOptions { ca_certificates, ..SenderOptions::default() }).unwrap()
}

#[tokio::test]
async fn a_certificate_of_ones_own_is_refused_unless_it_is_given_or_nothing_is_checked() {
    for is_authority in [false, true] {
        let server = secure("localhost", is_authority).await;
        let url: Url = format!("https://localhost:{}/", server.address.port()).parse().unwrap();
        let send = |sender: Sender| {
            let outgoing = delivery(url.clone(), b"{}");
            async move { sender.send(outgoing).await }
        };
        let error = send(sender()).await.unwrap_err();
        assert_eq!(error.kind, SendErrorKind::Untrusted, "{error}");
        let told = error.to_string();
        assert!(told.starts_with("the certificate of localhost:"), "{told}");
        assert!(told.ends_with("is of nobody who is trusted here"), "{told}");
        assert_eq!(send(trusting(&server.pem)).await.unwrap().status, 200);
        let insecure = SenderOptions { insecure: true, ..SenderOptions::default() };
        assert_eq!(send(Sender::new(insecure).unwrap()).await.unwrap().status, 200);
        // Another's is no reason to trust this one.
        let other = secure("localhost", is_authority).await;
        let error = send(trusting(&other.pem)).await.unwrap_err();
        assert_eq!(error.kind, SendErrorKind::Untrusted, "{error}");
        server.task.abort();
        other.task.abort();
    }
}

#[tokio::test]
async fn a_certificate_that_is_given_counts_for_its_own_name_only() {
    let server = secure("shop.localhost", true).await;
    let url = format!("https://localhost:{}/", server.address.port()).parse().unwrap();
    let (kind, told) = failure(&trusting(&server.pem), url).await;
    assert_eq!(kind, SendErrorKind::Untrusted, "{told}");
    assert!(told.ends_with("is of another name"), "{told}");
    server.task.abort();
}

#[tokio::test]
async fn a_certificate_that_is_given_counts_for_its_own_time_only() {
    for is_authority in [false, true] {
        let server = secure_until("localhost", is_authority, 2001).await;
        let url = format!("https://localhost:{}/", server.address.port()).parse().unwrap();
        let (kind, told) = failure(&trusting(&server.pem), url).await;
        assert_eq!(kind, SendErrorKind::Untrusted, "{told}");
        assert!(told.ends_with("has expired"), "{told}");
        server.task.abort();
    }
}

#[tokio::test]
async fn tls_where_there_is_none_is_told() {
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap_or_default();
    });
    let url = format!("https://{address}/").parse().unwrap();
    let (kind, told) = failure(&sender(), url).await;
    assert_eq!(kind, SendErrorKind::Tls, "{told}");
    assert_eq!(told, format!("{address} does not speak TLS: is its URL http://…?"));
    task.await.unwrap();
}

#[test]
fn certificates_that_are_none_are_told() {
    let told = |pem: &str| {
        let ca_certificates = Some(pem.as_bytes().to_vec());
        let error = Sender::new(SenderOptions { ca_certificates, ..SenderOptions::default() });
        std::error::Error::source(&error.unwrap_err()).unwrap().to_string()
    };
    assert!(told("").contains("there is no certificate"));
    assert!(
        told("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
            .contains("certificate 1")
    );
}

#[test]
fn nothing_of_a_request_is_in_its_debug() {
    let outgoing = delivery("http://u:pw@localhost/?token".parse().unwrap(), b"body");
    let shown = format!("{outgoing:?}");
    for secret in ["pw", "token", "v1=", "body\""] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_body_and_any_header_value_arrive_to_the_byte(
        body in prop::collection::vec(any::<u8>(), 0..2_000),
        // What a value may be: visible, spaces and tabs within, and all bytes above ASCII.
        value in prop::collection::vec(prop_oneof![0x21..=0x7eu8, 0x80..=0xffu8], 0..100),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (address, got) = answering(OK).await;
            let mut outgoing = delivery(url(address, "/"), &body);
            outgoing.headers.insert("x-any", HeaderValue::from_bytes(&value).unwrap());
            sender().send(outgoing).await.unwrap();
            let got = got.await.unwrap();
            prop_assert!(got.ends_with(&[b"\r\n\r\n", &body[..]].concat()));
            let line = [b"\r\nX-Any: ", &value[..], b"\r\n"].concat();
            prop_assert!(got.windows(line.len()).any(|window| window == line));
            Ok(())
        })?;
    }
}
