//! Refusals of the real program. The rules themselves are tested in the crate of the inspector.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

use super::listener::{Listener, event};

/// Longer than a response takes on a busy machine.
const RESPONSE_MAX: Duration = Duration::from_secs(30);

/// Sends a request byte for byte. Returns the response.
async fn exchange(host: &str, line: &str, headers: &str, body: &str) -> String {
    let request = format!(
        "{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    let read = stream.read_to_string(&mut response);
    tokio::time::timeout(RESPONSE_MAX, read).await.expect("a response").unwrap();
    response
}

#[tokio::test]
async fn unauthorized_requests_are_refused_without_details() {
    let listener = Listener::start(&[]).await;
    listener.deliver(event("sub_a", &json!({}))).await;
    let url = Url::parse(&listener.page.url).unwrap();
    let (host, path) = (format!("127.0.0.1:{}", url.port().unwrap()), url.path());
    let (query, token) = (url.query().unwrap(), url.query_pairs().next().unwrap().1);
    let ours = format!("host: {host}\r\n");
    let opened = exchange(&host, &format!("GET {path}?{query}"), &ours, "").await;
    assert!(opened.starts_with("HTTP/1.1 200 "), "{opened}");
    let expected =
        format!("set-cookie: inspector={token}; Path={path}; HttpOnly; SameSite=Strict\r\n");
    assert!(opened.contains(&expected), "{opened}");
    let cookie = format!("{ours}cookie: inspector={token}\r\n");
    let list = exchange(&host, &format!("GET {path}api/list"), &cookie, "").await;
    assert!(list.starts_with("HTTP/1.1 200 ") && list.contains("sub_a"), "{list}");

    let origin =
        |origin: &str| format!("{cookie}content-type: application/json\r\norigin: {origin}\r\n");
    let own = origin(&format!("http://{host}"));
    let replay = r#"{"number":1,"to":"listener","is_fresh":true,"body":null}"#;
    let (get, post) = (format!("GET {path}api/list"), format!("POST {path}api/replay"));
    let rebound = cookie.replacen("127.0.0.1", "rebound.example", 1);
    for (line, headers, status) in [
        (&get, ours.clone(), 403),
        (&format!("GET {path}"), ours.clone(), 403),
        (&format!("{get}?{query}"), ours.clone(), 403),
        (&format!("GET /?{query}"), ours.clone(), 403),
        (&get, format!("{ours}cookie: inspector={}\r\n", &token[1..]), 403),
        (&get, rebound, 421),
        (&get, format!("{cookie}sec-fetch-site: cross-site\r\n"), 403),
        (&format!("OPTIONS {path}api/replay"), cookie.clone(), 403),
        (&post, format!("{cookie}content-type: application/json\r\n"), 403),
        (&post, origin("http://other.example"), 403),
        (&post, origin("null"), 403),
        (&post, format!("{own}sec-fetch-site: cross-site\r\n"), 403),
        (&post, own.replace("application/json", "text/plain"), 403),
        (&post, own.replace("cookie", "x-cookie"), 403),
    ] {
        let body = if line.starts_with("POST") { replay } else { "" };
        let response = exchange(&host, line, &headers, body).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {response}");
        assert!(!response.contains(&*token) && !response.contains("sub_a"), "{response}");
        for header in ["content-security-policy: default-src 'none'; ", "cache-control: no-store"] {
            assert!(response.contains(header), "{header}: {response}");
        }
        assert!(!response.contains("access-control"), "{response}");
    }
    let replayed = exchange(&host, &post, &own, replay).await;
    assert!(
        replayed.starts_with("HTTP/1.1 200 ") && replayed.contains("\"status\":200"),
        "{replayed}"
    );
    let list = exchange(&host, &get, &cookie, "").await;
    assert_eq!(list.matches("\"capture\":").count(), 2, "one delivery and one replay: {list}");
}
