//! Limits of size and time of bodies.

use formsvc_workbench::listen::Refusal;
use tokio::io::AsyncWriteExt as _;

use super::*;

const CHUNKED: &str =
    "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";

/// Returns a chunked request with `count` chunks.
fn chunked(count: usize, chunk: &str) -> String {
    let chunk = format!("{:x}\r\n{chunk}\r\n", chunk.len());
    format!("{CHUNKED}{}0\r\n\r\n", chunk.repeat(count))
}

#[tokio::test]
async fn body_over_the_limit_gets_413_however_it_is_sent() {
    let running = start(|_, limits| limits.body = 1_000);
    let expects = |length: usize| {
        let headers = "Connection: close\r\nExpect: 100-continue\r\n";
        format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n")
    };
    let plain = |length: usize| last_request("", &"x".repeat(length));
    let hundred = "x".repeat(100);
    for (request, expected) in [
        (plain(1_000), 200),
        (plain(1_001), 413),
        (plain(7_000), 413),
        (chunked(10, &hundred), 200),
        (chunked(11, &hundred), 413),
        // The sender waits for `100 Continue` before it sends the body.
        (expects(1_001), 413),
        (expects(99_999_999_999), 413),
    ] {
        let response = running.exchange(&request).await;
        assert_eq!(status(&response), expected, "{response}");
        assert!(!response.contains("100 Continue"), "{response}");
    }
    // The connection may break before the response arrives.
    running.exchange(chunked(10_000, &hundred)).await;
    let (deliveries, refusals) = running.end().await;
    let sizes: Vec<_> = deliveries.iter().map(|delivery| delivery.summary.body_size).collect();
    assert_eq!(sizes, [1_000, 1_000]);
    assert_eq!(refusals, [Refusal::TooLarge; 6]);
}

#[tokio::test]
async fn sender_within_the_limit_gets_100_continue() {
    let running = start(|_, _| {});
    let mut stream = running.connect().await;
    let request = last_request("Expect: 100-continue\r\n", "body");
    let (head, body) = request.as_bytes().split_at(request.len() - 4);
    stream.write_all(head).await.unwrap();
    read_until(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n").await;
    stream.write_all(body).await.unwrap();
    assert_eq!(status(&read_to_end(&mut stream).await), 200);
}

#[tokio::test]
async fn body_byte_by_byte_is_complete() {
    let mut running = start(|rules, _| verified(rules));
    let body = event("sub_1");
    let mut stream = running.connect().await;
    for byte in last_request(&signature(&body), &body).bytes() {
        stream.write_all(&[byte]).await.unwrap();
    }
    assert_eq!(status(&read_to_end(&mut stream).await), 200);
    assert_eq!(running.delivered().await.body, body);
    let response = running.exchange(chunked(5_000, "y")).await;
    assert_eq!(status(&response), 401, "{response}");
    assert_eq!(running.delivered().await.body, "y".repeat(5_000));
}

#[tokio::test]
async fn slow_body_gets_408_and_delays_no_other() {
    let mut running = start(|_, limits| limits.read_timeout = Duration::from_millis(100));
    let request = last_request("", "body");
    let mut slow = running.connect().await;
    slow.write_all(&request.as_bytes()[..request.len() - 1]).await.unwrap();
    assert_eq!(status(&running.exchange(&request).await), 200);
    let response = read_to_end(&mut slow).await;
    assert_eq!((status(&response), code(&response)), (408, "body_timeout"));
    running.delivered().await;
    let mut broken = running.connect().await;
    broken.write_all(&request.as_bytes()[..request.len() - 1]).await.unwrap();
    broken.shutdown().await.unwrap();
    read_to_end(&mut broken).await;
    assert!(running.end().await.0.is_empty());
}

#[tokio::test]
async fn exhausted_memory_closes_the_slowest_body() {
    // Four bodies use the memory limit of 256 MiB.
    let running = start(|_, limits| {
        limits.body = 64 << 20;
        limits.read_timeout = Duration::from_secs(3_600);
    });
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = running.connect().await;
        let headers = "Expect: 100-continue\r\nContent-Length: 67108864\r\n";
        stream
            .write_all(format!("POST / HTTP/1.1\r\nHost: x\r\n{headers}\r\n").as_bytes())
            .await
            .unwrap();
        // The listener reads the body, so it has acquired the memory.
        read_until(&mut stream, "HTTP/1.1 100 Continue\r\n\r\n").await;
        slow.push(stream);
    }
    assert_eq!(status(&running.exchange(last_request("", "{}")).await), 200);
    assert_eq!(read_to_end(&mut slow[0]).await, "", "the first one was closed");
    let open = timeout(Duration::ZERO, read_to_end(&mut slow[1])).await;
    assert!(open.is_err(), "{open:?}");
}
