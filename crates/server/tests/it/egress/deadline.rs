//! One deadline for all of an attempt, and what it was doing then.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use formsvc_server::egress::{
    BodyEnd, ClientOptions, DeliveryClient, DeliveryFailure, EgressPolicy, FailureCode, Phase,
    Resolve, Resolved,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::receiver::{OK, PATIENCE, Receiver, client, post, post_within, read_request, url};

/// Time enough for what works, and short enough to wait for.
const SHORT: Duration = Duration::from_millis(400);

fn assert_timeout(failure: &DeliveryFailure, phase: Phase) {
    assert_eq!((failure.code, failure.phase), (FailureCode::Timeout, phase), "{failure:?}");
    assert!(failure.to_string().contains(phase.label()), "{failure}");
}

/// An endpoint that runs a function on each connection and tells when the client left it.
async fn left<F, T>(serve: F) -> (Receiver, mpsc::UnboundedReceiver<()>)
where
    F: Fn(TcpStream) -> T + Send + Copy + 'static,
    T: Future<Output = TcpStream> + Send + 'static,
{
    let (sender, left) = mpsc::unbounded_channel();
    let receiver = Receiver::start(move |stream| {
        let sender = sender.clone();
        let served = serve(stream);
        async move {
            let mut stream = served.await;
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            let _ = sender.send(());
        }
    })
    .await;
    (receiver, left)
}

#[tokio::test]
async fn an_endpoint_that_says_nothing_is_left_at_the_deadline() {
    let (receiver, mut left) = left(std::future::ready).await;
    let began = Instant::now();
    let failure = post_within(&client(), &receiver.url(), SHORT).await.unwrap_err();
    assert!(began.elapsed() >= SHORT);
    assert_timeout(&failure, Phase::Response);
    assert_eq!(failure.peer, Some(receiver.addr));
    // The connection went with it, and nothing comes late.
    tokio::time::timeout(PATIENCE, left.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_endpoint_that_hangs_on_a_kept_connection_is_known() {
    let receiver = Receiver::start(|mut stream: TcpStream| async move {
        read_request(&mut stream).await.unwrap();
        stream.write_all(OK.as_bytes()).await.unwrap();
        read_request(&mut stream).await.unwrap();
        let _ = stream.read_u8().await;
    })
    .await;
    let client = client();
    post(&client, &receiver.url()).await.unwrap();
    let failure = post_within(&client, &receiver.url(), SHORT).await.unwrap_err();
    assert_timeout(&failure, Phase::Response);
    assert_eq!(failure.peer, Some(receiver.addr));
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn body_slower_than_the_deadline_keeps_the_response() {
    let (receiver, mut left) = left(|mut stream: TcpStream| async move {
        read_request(&mut stream).await.unwrap();
        let mut taken = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n").await;
        while taken.is_ok() {
            taken = stream.write_all(b"x").await;
            // Sleeps because the test is about a slow body.
            tokio::time::sleep(SHORT / 40).await;
        }
        stream
    })
    .await;
    let began = Instant::now();
    let response = post_within(&client(), &receiver.url(), SHORT).await.unwrap();
    assert!(began.elapsed() >= SHORT);
    assert_eq!((response.status.as_u16(), response.peer), (200, receiver.addr));
    assert_eq!(response.body_end, BodyEnd::TimedOut);
    assert!(response.snippet.starts_with(b"x"), "{response:?}");
    tokio::time::timeout(PATIENCE, left.recv()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_head_that_drips_past_the_deadline_is_a_timeout() {
    for begin in ["HTTP/1.1 200 OK\r\nx-a: ", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 "] {
        let receiver = Receiver::start(move |mut stream: TcpStream| async move {
            read_request(&mut stream).await.unwrap();
            let mut taken = stream.write_all(begin.as_bytes()).await;
            while taken.is_ok() {
                taken = stream.write_all(b"x").await;
                // Sleeps because a head that drips is the point.
                tokio::time::sleep(SHORT / 40).await;
            }
        })
        .await;
        let failure = post_within(&client(), &receiver.url(), SHORT).await.unwrap_err();
        assert_timeout(&failure, Phase::Response);
    }
}

#[tokio::test]
async fn a_handshake_that_hangs_is_a_timeout_of_tls() {
    let (receiver, mut left) = left(std::future::ready).await;
    let url = url(&format!("https://{}/", receiver.addr));
    let failure = post_within(&client(), &url, SHORT).await.unwrap_err();
    assert_timeout(&failure, Phase::Tls);
    assert_eq!(failure.peer, Some(receiver.addr));
    tokio::time::timeout(PATIENCE, left.recv()).await.unwrap().unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_connection_that_is_not_answered_is_a_timeout_of_connecting() {
    // Once its queue is full, Linux drops what else wants to connect.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(0).unwrap();
    let addr = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    while let Ok(stream) = tokio::time::timeout(SHORT, TcpStream::connect(addr)).await {
        queue.push(stream.unwrap());
        assert!(queue.len() < 100);
    }
    let failure =
        post_within(&client(), &url(&format!("http://{addr}/")), SHORT).await.unwrap_err();
    assert_timeout(&failure, Phase::Connect);
    assert_eq!(failure.peer, Some(addr));
}

/// Answers the first look-up with a failure, and no other.
struct Silent;

impl Resolve for Silent {
    fn resolve(&self, host: &str) -> Resolved {
        if host == "absent.test" {
            let error = io::Error::new(io::ErrorKind::NotFound, "no such name");
            return Box::pin(std::future::ready(Err::<Vec<IpAddr>, _>(error)));
        }
        Box::pin(std::future::pending())
    }
}

fn without_names() -> DeliveryClient {
    DeliveryClient::new(ClientOptions {
        policy: EgressPolicy::dev(),
        resolver: Arc::new(Silent),
        ..Default::default()
    })
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_not_resolved_in_time_is_a_timeout_of_dns() {
    let began = Instant::now();
    let (client, url) = (without_names(), url("https://hangs.test/"));
    let failure = post_within(&client, &url, PATIENCE / 4).await.unwrap_err();
    assert_eq!(began.elapsed(), PATIENCE / 4);
    assert_timeout(&failure, Phase::Dns);
    assert_eq!(failure.peer, None);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_longer_than_a_connection_may_take_is_not_waited_for() {
    let began = Instant::now();
    let failure = post(&without_names(), &url("https://hangs.test/")).await.unwrap_err();
    assert_eq!(began.elapsed(), DELIVERY_TIMEOUT);
    assert_timeout(&failure, Phase::Dns);
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_told_from_one_that_is_denied() {
    let failure = post(&without_names(), &url("https://absent.test/")).await.unwrap_err();
    assert_eq!((failure.code, failure.phase), (FailureCode::DnsFailed, Phase::Dns));
    assert_eq!(failure.denied, None);
}

#[tokio::test]
async fn a_deadline_that_has_passed_sends_nothing() {
    let receiver = Receiver::answering(OK).await;
    let client = client();
    for _ in 0..2 {
        let failure = post_within(&client, &receiver.url(), Duration::ZERO).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::Timeout);
        assert_eq!(receiver.connections(), 0);
    }
    post(&client, &receiver.url()).await.unwrap();
    let failure = post_within(&client, &receiver.url(), Duration::ZERO).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::Timeout);
    assert!(post(&client, &receiver.url()).await.unwrap().reused);
}
