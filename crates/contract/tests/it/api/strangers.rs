//! Servers that are not the service: clear verdicts, and no panic.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use formsvc_contract::api::{API_CHECKS, ApiResults};
use formsvc_contract::report::Outcome;
use futures_util::stream;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use url::Url;

use super::{KEY, REVOKED_KEY, ids, options, run};

/// Serves one answer on every path.
async fn serve(answer: fn(&HeaderMap) -> Response) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let router = Router::new().fallback(move |headers: HeaderMap| async move { answer(&headers) });
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// Only the gate fails, with this reason, and the other checks are skipped.
async fn assert_gate_fails(url: &Url, reason: &str) -> ApiResults {
    let results = run(&options(url)).await;
    assert_eq!(ids(&results, Outcome::Failed), ["me"], "{:#?}", results.reports);
    assert_eq!(ids(&results, Outcome::Skipped).len(), API_CHECKS.len() - 1);
    let found = &results.reports[0].found;
    assert!(found.contains(reason), "{found}");
    results
}

#[tokio::test]
async fn foreign_servers_fail_the_gate_with_a_reason() {
    type Row = (&'static str, fn(&HeaderMap) -> Response);
    let rows: [Row; 5] = [
        ("a redirect to /login", |_| Redirect::to("/login").into_response()),
        ("answered 200 with text/html", |_| Html("<form>Password</form>").into_response()),
        ("answered 404 without a Content-Type", |_| StatusCode::NOT_FOUND.into_response()),
        ("not 200 with a JSON object", |_| {
            ([(header::CONTENT_TYPE, "application/json")], "[1,2]").into_response()
        }),
        ("answered 401 `invalid_key`", |_| {
            let error = r#"{"error":{"code":"invalid_key","message":"no"}}"#;
            (StatusCode::UNAUTHORIZED, error).into_response()
        }),
    ];
    for (reason, answer) in rows {
        assert_gate_fails(&serve(answer).await, reason).await;
    }
}

#[tokio::test]
async fn unreachable_server_fails_the_gate_with_host_and_port() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = format!("http://{address}").parse().unwrap();
    assert_gate_fails(&url, &format!("nothing listens on {address}")).await;
}

#[tokio::test]
async fn server_without_http_fails_the_gate() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await.unwrap();
            stream.write_all(b"500 command not understood\r\n").await.unwrap();
            open.push(stream);
        }
    });
    assert_gate_fails(&url, "is not HTTP").await;
}

#[tokio::test]
async fn endless_answer_is_cut_and_fails_the_gate() {
    let url = serve(|_| {
        let piece = axum::body::Bytes::from_static(&[b' '; 16 << 10]);
        let endless = stream::repeat_with(move || Ok::<_, std::io::Error>(piece.clone()));
        Response::new(Body::from_stream(endless))
    });
    assert_gate_fails(&url.await, "answered 200").await;
}

#[tokio::test]
async fn reports_never_contain_the_key_or_controls() {
    let url = serve(|headers| {
        let key = headers.get(header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
        format!("\u{1b}[2J you sent {key}").into_response()
    });
    let results = assert_gate_fails(&url.await, "answered 200").await;
    let text = format!("{:?}", results.reports);
    let json = serde_json::to_string(&results.reports).unwrap();
    for text in [text, json] {
        assert!(!text.contains(KEY) && !text.contains("\\u{1b}") && text.contains("[secret]"));
        assert!(!text.contains("\\u001b"));
    }
}

/// Repeats the key in ids, cursors, errors and headers.
fn repeat_key(headers: &HeaderMap, path: &str) -> Response {
    let key = headers.get(header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
    let key = key.trim_start_matches("Bearer ").to_owned();
    let error = json!({"error": {"code": "invalid_key", "message": format!("unknown: {key}")}});
    let body = match path.rsplit('/').next().unwrap() {
        "me" if key != KEY => return (StatusCode::FORBIDDEN, error.to_string()).into_response(),
        "forms" => json!({"data": [{"id": "x".repeat(5000)}, {"id": key}]}),
        "submissions" => {
            let (row, cursor) = (json!({"id": key}), format!("{key}{}", "é".repeat(3000)));
            json!({"data": [row, row, row, row, row],
                "pagination": {"has_more": true, "next_cursor": cursor}})
        }
        _ => json!({"id": key}),
    };
    ([(header::CONTENT_ENCODING, key.clone())], body.to_string()).into_response()
}

#[tokio::test]
async fn repeated_key_is_masked_in_all_parts_of_results() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&sent);
    let router = Router::new().fallback(move |uri: Uri, headers: HeaderMap| async move {
        log.lock().unwrap().extend(headers.get(header::AUTHORIZATION).cloned());
        repeat_key(&headers, uri.path())
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    let results = run(&options(&url)).await;
    let keys: BTreeSet<String> = sent
        .lock()
        .unwrap()
        .iter()
        .map(|key| key.to_str().unwrap().trim_start_matches("Bearer ").to_owned())
        .collect();
    assert_eq!(keys.len(), 3, "valid, revoked and wrong: {keys:?}");
    let wrong = keys.iter().find(|key| ![KEY, REVOKED_KEY].contains(&&***key)).unwrap();
    assert_eq!((wrong.len(), &wrong[..4]), (KEY.len(), "fsk_"));
    let shared = wrong[4..].bytes().zip(KEY[4..].bytes()).filter(|(one, other)| one == other);
    assert!(shared.count() < 5, "{wrong}");
    let json = serde_json::to_string(&(&results.reports, &results.profile)).unwrap();
    let texts = format!("{:?}{:?}{json}", results.reports, results.profile);
    assert!(keys.iter().all(|key| !texts.contains(key)), "{json}");
    let longest = results.reports.iter().filter_map(|report| report.request.as_ref());
    assert!(longest.map(String::len).max().unwrap() < 300, "{json}");
    let end = results.reports.iter().find(|report| report.check.id == "list-end").unwrap();
    assert!(end.found.contains("longer than 1024 bytes"), "{end:?}");
}
