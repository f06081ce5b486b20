//! Behaviour over a real socket.

use std::time::Duration;

use formsvc_client::{Error, ErrorKind, RetryPolicy, Timeouts};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use wiremock::ResponseTemplate;

use crate::support::bodies::{USER, last, page};
use crate::support::served::{Served, answer};
use crate::support::{KEY, builder, quick};

#[tokio::test]
async fn list_is_read_over_http() {
    let served = Served::script([
        answer(200, &page([0, 1], "2026-01-01T00:00:00+02:00")),
        answer(200, &last([2])),
    ])
    .await;
    let client = served.client();
    let mut items = client.form("frm_1").submissions().items();
    assert_eq!(items.try_collect_max(9).await.unwrap().len(), 3);
    let requests = served.requests().await;
    assert_eq!(requests[0].url.path(), "/api/v1/forms/frm_1/submissions");
    assert_eq!(requests[0].headers["authorization"], format!("Bearer {KEY}"));
    assert!(requests[0].headers.get("cookie").is_none() && requests[0].body.is_empty());
    let cursor = requests[1].url.query_pairs().find(|(name, _)| name == "cursor").unwrap().1;
    assert_eq!(cursor, "2026-01-01T00:00:00+02:00");
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let elsewhere = Served::script([]).await;
    let away = ResponseTemplate::new(302).insert_header("location", elsewhere.url());
    let served = Served::script([away]).await;
    let error = served.client().me().await.unwrap_err();
    assert_eq!(error.status().unwrap().as_u16(), 302);
}

#[tokio::test]
async fn retry_after_of_ten_hours_fails_at_once() {
    let throttled = answer(429, r#"{"error":{"code":"rate_limited","message":"wait"}}"#)
        .insert_header("retry-after", "36000");
    let served = Served::script([throttled]).await;
    let error = served.client().me().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimitWait);
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3_600)), "an hour counts");
}

/// Serves each connection the raw bytes of one answer, then closes it.
async fn raw<A: AsRef<[u8]> + Send + 'static>(
    answers: Vec<A>,
) -> (String, tokio::task::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut served = 0;
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer.as_ref()).await.unwrap();
            served += 1;
        }
        served
    });
    (url, task)
}

fn head(length: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nx-request-id: r1\r\ncontent-length: {length}\r\n\r\n")
}

async fn me_once(url: &str) -> Error {
    let client = builder().base_url(url).retry(RetryPolicy::none()).build().unwrap();
    client.me().await.unwrap_err()
}

#[tokio::test]
async fn cut_answer_is_requested_again() {
    let whole = format!("{}{USER}", head(USER.len()));
    let cut = whole[..whole.len() - 9].to_owned();
    let (url, served) = raw(vec![cut, String::new(), whole]).await;
    let client = builder().base_url(url).retry(quick()).build().unwrap();
    assert_eq!(client.me().await.unwrap().attempts(), 3);
    assert_eq!(served.await.unwrap(), 3);
}

#[tokio::test]
async fn cut_answer_error_has_status_and_request_id() {
    let (url, _served) = raw(vec![format!("{}{{\"id\":", head(500))]).await;
    let error = me_once(&url).await;
    assert_eq!((error.kind(), error.request_id()), (ErrorKind::Transport, Some("r1")));
    assert_eq!(error.status().unwrap().as_u16(), 200);
    assert!(error.is_retryable());
}

#[tokio::test]
async fn body_announced_over_max_body_is_not_read() {
    let (url, _served) = raw(vec![head(300 << 20)]).await;
    let error = me_once(&url).await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::TooLarge, false));
}

#[tokio::test]
async fn refused_connection_error_names_host_without_path() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = me_once(&url).await;
    assert_eq!(error.kind(), ErrorKind::Connect);
    assert_eq!(error.to_string(), format!("me: could not connect to {url} (1 attempt)"));
    assert!(!format!("{error:?}").contains("/api/v1"), "{error:?}");
}

#[tokio::test]
async fn missing_answer_is_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let timeouts = Timeouts::new().attempt(Duration::from_millis(30));
    let client = builder().base_url(url).timeouts(timeouts).retry(RetryPolicy::none());
    let error = client.build().unwrap().me().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn localhost_subdomain_connects_to_loopback() {
    let served = Served::script([answer(200, USER)]).await;
    let url = served.url().replace("127.0.0.1", "forms.localhost");
    let client = builder().base_url(url).build().unwrap();
    client.me().await.unwrap();
}

#[tokio::test]
async fn server_without_tls_is_final_connect_error() {
    let (url, _served) = raw_tls().await;
    let client = builder().base_url(url.clone()).retry(quick()).build().unwrap();
    let error = client.me().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connect, 1));
    let told = format!("me: could not agree on a secure connection with {url} (1 attempt)");
    assert_eq!(error.to_string(), told);
}

/// A peer that speaks plain HTTP where TLS is expected.
async fn raw_tls() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    (url, task)
}

#[tokio::test]
async fn error_body_is_read_up_to_64_kib() {
    // It announces ten megabytes and ends long before.
    let head = "HTTP/1.1 404 Not Found\r\ncontent-length: 10000000\r\n\r\n";
    let (url, task) = raw(vec![format!("{head}{}", "x".repeat(100_000))]).await;
    let error = builder().base_url(url).build().unwrap().me().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Api, 1));
    assert_eq!(error.body().unwrap().len(), 64 << 10);
    task.abort();
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn gzip_answer(body: &[u8], announced: usize) -> Vec<u8> {
    let encoding = "content-encoding: gzip\r\ncontent-type: application/json\r\n";
    let head = head(announced).replacen("\r\n", &format!("\r\n{encoding}"), 1);
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn damaged_gzip_body_is_named_and_requested_again() {
    let whole = gzip(USER);
    let mut bad_checksum = whole.clone();
    bad_checksum[whole.len() - 6] ^= 1;
    let mut bad_data = whole.clone();
    bad_data[14] ^= 0xff;
    let cut = |end: usize| whole[..end].to_vec();
    let damaged = [cut(5), cut(20), cut(whole.len() - 1), bad_checksum, bad_data, USER.into()];
    for body in damaged {
        let answers = vec![gzip_answer(&body, body.len()); 2];
        let (url, _served) = raw(answers).await;
        let twice = quick().max_attempts(2);
        let client = builder().base_url(url).retry(twice).build().unwrap();
        let error = client.me().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::Decode, 2));
        let text = "me: the gzip body of the response is truncated or damaged: status 200, content \
                    type `application/json` (request id r1, 2 attempts)";
        assert_eq!(error.to_string(), text);
        assert!(error.is_retryable() && std::error::Error::source(&error).is_some());
    }
    let (url, _served) = raw(vec![gzip_answer(&cut(20), whole.len())]).await;
    assert_eq!(me_once(&url).await.kind(), ErrorKind::Transport, "the connection broke");
    let answers = vec![gzip_answer(&cut(20), 20), gzip_answer(&whole, whole.len())];
    let (url, _served) = raw(answers).await;
    let client = builder().base_url(url).retry(quick()).build().unwrap();
    assert_eq!(client.me().await.unwrap().attempts(), 2);
}
