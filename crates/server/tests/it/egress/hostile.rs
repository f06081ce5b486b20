//! Endpoints that answer with something else than a short response.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use formsvc_server::egress::{BodyEnd, FailureCode, Phase, SNIPPET_MAX};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::receiver::{OK, Receiver, client, post, read_request};

/// What one connection can hold on its way, beside what the client reads.
const IN_FLIGHT_MAX: usize = 16 << 20;

/// An endpoint that writes the head and then the same bytes for as long as they are taken, and how
/// many bytes were.
async fn endless(head: &'static str, again: &'static [u8]) -> (Receiver, Arc<AtomicUsize>) {
    let written = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&written);
    let receiver = Receiver::start(move |mut stream| {
        let counter = Arc::clone(&counter);
        async move {
            read_request(&mut stream).await.unwrap();
            let mut taken = stream.write_all(head.as_bytes()).await;
            while taken.is_ok() {
                counter.fetch_add(again.len(), Ordering::Relaxed);
                taken = stream.write_all(again).await;
            }
        }
    })
    .await;
    (receiver, written)
}

async fn answering_once(answer: &'static [u8]) -> Receiver {
    Receiver::start(move |mut stream| async move {
        read_request(&mut stream).await.unwrap();
        stream.write_all(answer).await.unwrap();
        stream.shutdown().await.unwrap();
    })
    .await
}

#[tokio::test]
async fn a_redirect_is_a_response_and_is_not_followed() {
    let target = Receiver::answering(OK).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Again", "308 Always"] {
        let head = format!("HTTP/1.1 {status}\r\nlocation: {}\r\n", target.url());
        let receiver = Receiver::answering(head + "content-length: 0\r\n\r\n").await;
        let response = post(&client(), &receiver.url()).await.unwrap();
        assert_eq!(response.status.as_str(), &status[..3]);
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn what_is_no_http_is_malformed() {
    for garbage in [
        b"SSH-2.0-OpenSSH_9.9\r\n".as_slice(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/0.9 200 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
        b"<html>200 OK</html>",
        &[0; 64],
    ] {
        let receiver = answering_once(garbage).await;
        let failure = post(&client(), &receiver.url()).await.unwrap_err();
        let told = String::from_utf8_lossy(garbage);
        assert_eq!(failure.code, FailureCode::ResponseMalformed, "{told}: {failure:?}");
        assert_eq!((failure.phase, failure.peer), (Phase::Response, Some(receiver.addr)), "{told}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_before_the_response_is_lost() {
    for begun in ["", "HTTP/1.1", "HTTP/1.1 200 OK\r\ncontent-"] {
        let closing = answering_once(begun.as_bytes()).await;
        let resetting = Receiver::start(move |mut stream: TcpStream| async move {
            read_request(&mut stream).await.unwrap();
            stream.write_all(begun.as_bytes()).await.unwrap();
            stream.set_zero_linger().unwrap();
        })
        .await;
        for receiver in [closing, resetting] {
            let failure = post(&client(), &receiver.url()).await.unwrap_err();
            assert_eq!(failure.code, FailureCode::ConnectionLost, "{begun}: {failure:?}");
            assert_eq!(failure.peer, Some(receiver.addr));
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_reset_at_once_is_lost() {
    let receiver = Receiver::start(|stream: TcpStream| async move {
        stream.set_zero_linger().unwrap();
    })
    .await;
    let failure = post(&client(), &receiver.url()).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::ConnectionLost, "{failure:?}");
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut_off() {
    for (head, again) in [
        ("HTTP/1.1 200 OK\r\n", b"x-a: 0123456789abcdef\r\n".as_slice()),
        ("HTTP/1.1 200 OK\r\nx-a: ", b"0123456789abcdef"),
        ("HTTP/1.1 200 ", b"0123456789abcdef"),
        ("HTTP/1.1 200 OK\r\n", b"x-0: a\r\nx-1: b\r\n"),
    ] {
        let (receiver, written) = endless(head, again).await;
        let failure = post(&client(), &receiver.url()).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::ResponseMalformed, "{head}: {failure:?}");
        assert!(written.load(Ordering::Relaxed) < IN_FLIGHT_MAX);
    }
}

#[tokio::test]
async fn a_hundred_headers_are_read_and_one_more_is_malformed() {
    for (count, is_read) in [(99, true), (100, false)] {
        let headers = "x-a: b\r\n".repeat(count);
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{headers}\r\n");
        let receiver = Receiver::answering(answer).await;
        let outcome = post(&client(), &receiver.url()).await;
        assert_eq!(outcome.is_ok(), is_read, "{count}: {outcome:?}");
    }
}

#[tokio::test]
async fn endless_body_is_read_to_the_limit_and_closed() {
    static PIECE: [u8; 32 << 10] = [b'x'; 32 << 10];
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n",
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n40000000\r\n",
    ] {
        let (receiver, written) = endless(head, &PIECE).await;
        let client = client();
        for connections in 1..=2 {
            let response = post(&client, &receiver.url()).await.unwrap();
            assert_eq!(response.status, 200);
            assert_eq!(response.snippet, PIECE[..SNIPPET_MAX]);
            assert_eq!((response.body_end, response.reused), (BodyEnd::LimitReached, false));
            assert_eq!(receiver.connections(), connections);
        }
        assert!(written.load(Ordering::Relaxed) < 2 * IN_FLIGHT_MAX);
    }
}

#[tokio::test]
async fn body_of_exactly_the_limit_is_complete_and_kept() {
    let fits = "x".repeat(SNIPPET_MAX);
    let half = "x".repeat(SNIPPET_MAX / 2);
    for (answer, end) in [
        (format!("content-length: {SNIPPET_MAX}\r\n\r\n{fits}"), BodyEnd::Complete),
        (format!("content-length: {}\r\n\r\n{fits}x", SNIPPET_MAX + 1), BodyEnd::LimitReached),
        (
            format!(
                "transfer-encoding: chunked\r\n\r\n2000\r\n{half}\r\n2000\r\n{half}\r\n0\r\n\r\n"
            ),
            BodyEnd::Complete,
        ),
        (
            format!("transfer-encoding: chunked\r\n\r\n4000\r\n{fits}\r\n1\r\nx\r\n0\r\n\r\n"),
            BodyEnd::LimitReached,
        ),
        ("content-length: 0\r\n\r\n".to_owned(), BodyEnd::Complete),
    ] {
        let receiver = Receiver::answering(format!("HTTP/1.1 200 OK\r\n{answer}")).await;
        let client = client();
        let first = post(&client, &receiver.url()).await.unwrap();
        let expected = if answer.contains("-length: 0") { 0 } else { SNIPPET_MAX };
        assert_eq!((&first.body_end, first.snippet.len()), (&end, expected));
        let second = post(&client, &receiver.url()).await.unwrap();
        assert!(second.reused || end == BodyEnd::LimitReached);
    }
}

#[tokio::test]
async fn a_compressed_body_stays_as_it_came() {
    // 10 MiB of zeros, the first bytes of it.
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n".to_vec();
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xec, 0xc1, 1, 1, 0, 0, 0, 0x80, 0x90, 0xfe];
    answer.extend(gzip);
    let receiver = answering_once(answer.leak()).await;
    let response = post(&client(), &receiver.url()).await.unwrap();
    assert_eq!(response.snippet, gzip);
}

#[tokio::test]
async fn broken_body_does_not_change_the_response() {
    for status in [200, 204, 429, 500] {
        for (answer, read) in [
            ("content-length: 10\r\n\r\nshort", "short"),
            ("transfer-encoding: chunked\r\n\r\n5\r\nshort\r\n", "short"),
            ("transfer-encoding: chunked\r\n\r\n5\r\nsho", "sho"),
            ("transfer-encoding: chunked\r\n\r\nfive\r\nshort\r\n", ""),
            ("transfer-encoding: chunked\r\n\r\n5\r\nshorter\r\n", "short"),
        ] {
            let head = format!("HTTP/1.1 {status} Any\r\nretry-after: 7\r\n{answer}");
            let receiver = answering_once(head.leak().as_bytes()).await;
            let response = post(&client(), &receiver.url()).await.unwrap();
            assert_eq!((response.status.as_u16(), response.peer), (status, receiver.addr));
            assert_eq!(response.retry_after.unwrap(), "7");
            if status == 204 {
                // A 204 has no body by definition.
                assert_eq!((&*response.snippet, response.body_end), (&b""[..], BodyEnd::Complete));
                continue;
            }
            assert_eq!(response.snippet, read.as_bytes(), "{answer}");
            let problem = response.body_end.problem().unwrap().into_owned();
            assert!(problem.starts_with("cut off or malformed: "), "{answer}: {problem}");
        }
    }
}

#[tokio::test]
async fn informational_responses_are_not_the_answer() {
    for (answer, status) in [
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: a\r\n\r\n", 204),
        ("", 204),
        ("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", 101),
    ] {
        let answer = format!("{answer}HTTP/1.1 204 No Content\r\n\r\n");
        let receiver = answering_once(answer.leak().as_bytes()).await;
        let response = post(&client(), &receiver.url()).await.unwrap();
        assert_eq!(response.status, status);
    }
}

#[tokio::test]
async fn a_second_response_is_not_the_answer_to_the_next_delivery() {
    let answer = format!("{OK}HTTP/1.1 500 Smuggled\r\ncontent-length: 0\r\n\r\n");
    let receiver = answering_once(answer.leak().as_bytes()).await;
    let client = client();
    for connections in 1..=3 {
        assert_eq!(post(&client, &receiver.url()).await.unwrap().status, 200);
        assert_eq!(receiver.connections(), connections);
    }
}

#[tokio::test]
async fn what_a_failure_tells_is_short_and_safe_to_show() {
    let receiver =
        answering_once("HTTP/1.1 200 OK\r\n\u{1b}[31m\u{202e}: x\r\n\r\n".as_bytes()).await;
    let url = format!("http://{}/s3cret?token=s3cret", receiver.addr).parse().unwrap();
    let failure = post(&client(), &url).await.unwrap_err();
    let told = format!("{failure} {failure:?}");
    assert!(told.chars().all(|c| (' '..='~').contains(&c)), "{told}");
    assert!(!told.contains("s3cret") && told.len() < 1000, "{told}");
}
