//! What goes over the wire (SPEC §6), and what is told of the answer.

use std::time::Duration;

use bytes::Bytes;
use formsvc_server::egress::{BodyEnd, FailureCode, Phase};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use super::receiver::{OK, PATIENCE, Receiver, client, post, post_body, read_request, url};

#[tokio::test]
async fn a_delivery_is_the_request_of_the_specification_to_the_byte() {
    let (sender, mut requests) = mpsc::unbounded_channel();
    let receiver = Receiver::start(move |mut stream| {
        let sender = sender.clone();
        async move {
            sender.send(read_request(&mut stream).await.unwrap()).unwrap();
            stream.write_all(OK.as_bytes()).await.unwrap();
        }
    })
    .await;
    let url = url(&format!("http://{}/hook/a%20b?token=x&y=", receiver.addr));
    let response = post(&client(), &url).await.unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.peer, receiver.addr);
    assert_eq!((&*response.snippet, response.body_end), (&b"ok"[..], BodyEnd::Complete));
    assert_eq!((response.retry_after, response.reused), (None, false));
    let expected = format!(
        "POST /hook/a%20b?token=x&y= HTTP/1.1\r\n\
         Content-Type: application/json\r\n\
         User-Agent: service-webhooks/1.0\r\n\
         X-Service-Event: submission.created\r\n\
         X-Service-Signature: t=1700000000,v1=00\r\n\
         Host: {}\r\n\
         Content-Length: 2\r\n\
         \r\n\
         {{}}",
        receiver.addr
    );
    assert_eq!(requests.recv().await.unwrap(), expected);
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_delivery() {
    let receiver = Receiver::answering(OK).await;
    let (client, url) = (client(), receiver.url());
    assert!(!post(&client, &url).await.unwrap().reused);
    for _ in 0..5 {
        assert!(post(&client.clone(), &url).await.unwrap().reused);
    }
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_costs_no_delivery() {
    let (sender, mut closed) = mpsc::unbounded_channel();
    let receiver = Receiver::start(move |mut stream| {
        let sender = sender.clone();
        async move {
            read_request(&mut stream).await.unwrap();
            stream.write_all(OK.as_bytes()).await.unwrap();
            drop(stream);
            sender.send(()).unwrap();
        }
    })
    .await;
    let (client, url) = (client(), receiver.url());
    for connections in 1..=50 {
        assert_eq!(post(&client, &url).await.unwrap().status, 200);
        assert_eq!(receiver.connections(), connections);
        closed.recv().await.unwrap();
    }
}

#[tokio::test]
async fn deliveries_at_the_same_time_have_connections_of_their_own_and_few_are_kept() {
    let receiver = Receiver::answering(OK).await;
    let (client, url) = (client(), receiver.url());
    let at_once = || futures_util::future::join_all((0..20).map(|_| post(&client, &url)));
    for outcome in at_once().await {
        assert!(!outcome.unwrap().reused);
    }
    assert_eq!(receiver.connections(), 20);
    // Those that came to the pool late were closed.
    let kept = at_once().await.into_iter().filter(|outcome| outcome.as_ref().unwrap().reused);
    assert!((1..20).contains(&kept.count()));
}

#[tokio::test]
async fn retry_after_is_told_as_it_came() {
    for (value, told) in [
        ("120", "120"),
        ("Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 1999 23:59:59 GMT"),
        (" \t 1 ", "1"),
        ("", ""),
    ] {
        let answer =
            format!("HTTP/1.1 503 Busy\r\nretry-after:{value}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::answering(answer).await;
        let response = post(&client(), &receiver.url()).await.unwrap();
        assert_eq!(
            (response.status.as_u16(), response.retry_after.unwrap().to_str().unwrap()),
            (503, told)
        );
    }
}

#[tokio::test]
async fn an_answer_before_the_end_of_a_large_request_is_the_answer() {
    let receiver = Receiver::start(|mut stream| async move {
        stream.read_exact(&mut [0; 64]).await.unwrap();
        stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        // Held open and not read: most of the request never leaves.
        std::future::pending::<()>().await;
    })
    .await;
    let body = Bytes::from(vec![b' '; 64 << 20]);
    let response = post_body(&client(), &receiver.url(), body, PATIENCE).await.unwrap();
    assert_eq!(response.status, 413);
}

#[tokio::test]
async fn an_endpoint_that_does_not_read_is_a_timeout() {
    let receiver = Receiver::start(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let body = Bytes::from(vec![b' '; 64 << 20]);
    let within = Duration::from_millis(300);
    let failure = post_body(&client(), &receiver.url(), body, within).await.unwrap_err();
    assert_eq!((failure.code, failure.phase), (FailureCode::Timeout, Phase::Response));
}
