//! Who is refused: whoever has no token, names another host, or is a page of elsewhere.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::listener::{Listener, event};

/// Longer than an answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The host of the page, and the token.
fn parts(listener: &Listener) -> (String, String) {
    let rest = listener.page.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    (host.to_owned(), path.trim_end_matches('/').to_owned())
}

/// Sends a request as it is, and reads until the answer ends, or has `until` in it.
async fn raw(host: &str, request: &str, until: Option<&str>) -> String {
    let mut stream = TcpStream::connect(host).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    let read = async {
        loop {
            let text = String::from_utf8_lossy(&answer);
            if until.is_some_and(|until| text.contains(until)) {
                break;
            }
            match stream.read(&mut buffer).await.unwrap() {
                0 => break,
                read => answer.extend_from_slice(&buffer[..read]),
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    };
    tokio::time::timeout(PATIENCE, read).await.expect("an answer")
}

async fn ask(host: &str, line: &str, headers: &str) -> String {
    raw(host, &format!("{line} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n"), None).await
}

/// The answer without what tells nothing of it.
fn told(answer: &str) -> String {
    let lines = answer.lines().filter(|line| !line.starts_with("date:"));
    lines.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn only_who_has_the_token_and_names_loopback_gets_anything() {
    let listener = Listener::start(&[]).await;
    let (host, token) = parts(&listener);
    let ours = format!("host: {host}\r\n");
    let page = ask(&host, &format!("GET /{token}/"), &ours).await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let nothing = told(&ask(&host, "GET /", &ours).await);
    assert!(nothing.starts_with("HTTP/1.1 404 ") && nothing.ends_with("\nnot found"), "{nothing}");
    let wrong = token.chars().rev().collect::<String>();
    for line in [
        format!("GET /{wrong}/"),
        format!("GET /{wrong}/api/list"),
        format!("GET /{token}"),
        "GET /api/list".to_owned(),
        "GET /favicon.ico".to_owned(),
        format!("GET /{token}/none"),
        format!("OPTIONS /{token}/api/replay"),
        format!("PUT /{token}/api/replay"),
    ] {
        assert_eq!(told(&ask(&host, &line, &ours).await), nothing, "{line}");
    }
    let port = host.rsplit(':').next().unwrap();
    for rebound in
        [format!("evil.example:{port}"), "evil.example".to_owned(), "127.0.0.1".to_owned()]
    {
        let answer = ask(&host, &format!("GET /{token}/"), &format!("host: {rebound}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
        assert!(!answer.contains(&token), "{answer}");
    }
    for answer in [&page, &nothing] {
        for header in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "x-frame-options: DENY",
        ] {
            assert!(answer.contains(header), "{header}: {answer}");
        }
        assert!(!answer.contains("access-control"), "{answer}");
    }
}

#[tokio::test]
async fn only_the_page_itself_has_something_sent() {
    let listener = Listener::start(&[]).await;
    listener.deliver(event("sub_a", &serde_json::json!({}))).await;
    let (host, token) = parts(&listener);
    let body = r#"{"number":1,"to":"listener","signature":"fresh","body":null}"#;
    let post = async |path: &str, headers: &str| {
        let head = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
        let head = format!("{head}content-length: {}\r\n{headers}\r\n{body}", body.len());
        raw(&host, &head, None).await
    };
    let path = format!("/{token}/api/replay");
    let json = "content-type: application/json\r\n";
    let own = format!("{json}origin: http://{host}\r\n");
    let answer = post(&path, &own).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"status\":200"), "{answer}");
    for headers in [
        json.to_owned(),
        format!("{json}origin: null\r\n"),
        format!("{json}origin: http://evil.example\r\n"),
        format!("{own}sec-fetch-site: cross-site\r\n"),
        format!("content-type: text/plain\r\norigin: http://{host}\r\n"),
    ] {
        let answer = post(&path, &headers).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{headers}: {answer}");
    }
    let answer = post("/wrong/api/replay", &own).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    let list = String::from_utf8(listener.read("api/list").await.to_vec()).unwrap();
    assert_eq!(list.matches("\"key\"").count(), 2, "one came, and one was replayed: {list}");
}

#[tokio::test]
async fn a_stream_goes_on_where_a_browser_was() {
    let listener = Listener::start(&[]).await;
    let (host, token) = parts(&listener);
    for id in ["sub_a", "sub_b"] {
        listener.deliver(event(id, &serde_json::json!({}))).await;
    }
    let follow = |headers: &str| {
        format!("GET /{token}/api/events?after=0 HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n")
    };
    // Each delivery is told when it came and when it was answered.
    let all = raw(&host, &follow(""), Some("id: 4\n")).await;
    assert!(all.contains("text/event-stream") && all.contains("id: 1\n"), "{all}");
    let rest = raw(&host, &follow("last-event-id: 3\r\n"), Some("id: 4\n")).await;
    assert!(!rest.contains("id: 3\n") && rest.contains("sub_b"), "{rest}");
    // Of an earlier listener at this port: it loads the list anew.
    let lost = raw(&host, &follow("last-event-id: 9999\r\n"), Some("event: anew")).await;
    assert!(lost.contains("id: 4\nevent: anew"), "{lost}");
}
