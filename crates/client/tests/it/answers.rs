//! Answers as services and proxies send them: compressed, with a byte order mark, with a fraction in
//! `Retry-After`, or from another program.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use formsvc_client::{Error, ErrorCode, ErrorKind, RetryPolicy};
use wiremock::ResponseTemplate;

use crate::support::bodies::{USER, error, last, page};
use crate::support::builder;
use crate::support::served::{Served, answer};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// An answer that declares this content encoding.
fn encoded(code: u16, encoding: &str, body: Vec<u8>) -> ResponseTemplate {
    let answer = ResponseTemplate::new(code).set_body_raw(body, "application/json");
    answer.insert_header("content-encoding", encoding)
}

/// The error of a single request that is answered so.
async fn failure(answer: ResponseTemplate) -> Error {
    let served = Served::script([answer]).await;
    let client = builder().base_url(served.url()).max_body(1 << 20).retry(RetryPolicy::none());
    client.build().unwrap().me().await.unwrap_err()
}

#[tokio::test]
async fn gzip_answer_is_decoded() {
    let served = Served::script([
        encoded(200, "gzip", gzip(USER.as_bytes())),
        encoded(200, "gzip", gzip(page([0, 1], "2026-01-01T00:00:00+02:00").as_bytes())),
        encoded(200, "gzip", gzip(last([2]).as_bytes())),
    ])
    .await;
    let client = served.client();
    client.me().await.unwrap();
    let mut items = client.form("frm_1").submissions().items();
    assert_eq!(items.try_collect_max(9).await.unwrap().len(), 3);
    for request in served.requests().await {
        assert_eq!(request.headers["accept-encoding"], "gzip");
    }
}

#[tokio::test]
async fn gzip_error_keeps_code_and_message() {
    let body = gzip(error("form_not_found", "no such form").as_bytes());
    let error = failure(encoded(404, "gzip", body)).await;
    assert_eq!(error.code(), Some(&ErrorCode::FormNotFound));
    assert_eq!(error.message(), Some("no such form"));
}

#[tokio::test]
async fn gzip_bomb_is_too_large() {
    let bomb = gzip(&vec![b' '; 16 << 20]);
    assert!(bomb.len() < 1 << 20, "{} bytes are sent", bomb.len());
    let error = failure(encoded(200, "gzip", bomb)).await;
    println!("{error}");
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::TooLarge, false));
    assert_eq!(error.status().unwrap().as_u16(), 200);
}

#[tokio::test]
async fn cut_gzip_answer_is_requested_again() {
    let whole = gzip(USER.as_bytes());
    let cut = whole[..whole.len() - 9].to_vec();
    let served = Served::script([encoded(200, "gzip", cut), encoded(200, "gzip", whole)]).await;
    assert_eq!(served.client().me().await.unwrap().attempts(), 2);
}

#[tokio::test]
async fn undecodable_answer_is_an_error_without_answers() {
    for encoding in ["br", "zstd"] {
        let error = failure(encoded(200, encoding, b"\x0b\x02\x80{}\x03".to_vec())).await;
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Decode, false));
    }
    let error = failure(encoded(200, "gzip", USER.into())).await;
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(!format!("{error} {error:?}").contains("ada"), "{error:?}");
}

#[tokio::test]
async fn error_shows_status_content_type_and_first_bytes() {
    let page = "<!doctype html>\n<title>Log in</title>\u{1b}[2J";
    let cases = [
        (
            ResponseTemplate::new(200).set_body_raw(page, "text/html; charset=utf-8"),
            "me: the response is not JSON: status 200, content type `text/html; charset=utf-8`, begins \
             with `<!doctype html>\\n<title>Log in</title>\\u{1b}[2J` (1 attempt)",
        ),
        (
            ResponseTemplate::new(200).set_body_raw(gzip(b"{}"), "application/json"),
            "me: the response is not JSON: status 200, content type `application/json`, begins with \
             `\\u{1f}\u{fffd}\\u{8}\\u{0}",
        ),
        (
            ResponseTemplate::new(200).set_body_raw("", "application/json"),
            "me: the response is not JSON: status 200, content type `application/json`, empty body \
             (1 attempt)",
        ),
        (
            ResponseTemplate::new(404).set_body_raw("<h1>Not here</h1>", "text/html"),
            "me: 404 Not Found, content type `text/html`, begins with `<h1>Not here</h1>` (1 attempt)",
        ),
        (
            answer(200, r#"{"id":7,"email":"ada@example.org"}"#),
            "me: the response violates the API at `id`: status 200, content type \
             `application/json` (1 attempt)",
        ),
    ];
    for (answer, expected) in cases {
        let error = failure(answer).await;
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}
