//! Faults over a socket: what they do to the bytes, and who may set them.

use std::sync::Arc;

use formsvc_server::admin::Admin;
use formsvc_server::faults::{CONTROL, FAULTS, Faults};
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::AsyncWriteExt;

use super::wire::{connect, read_all};

struct Sandbox {
    running: Running,
    faults: Faults,
    key: SecretString,
}

impl Sandbox {
    async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("owner@example.org", "Owner").await.unwrap();
        let key = admin.create_key(&user.id, "tests").await.unwrap().secret;
        let faults = Faults::new();
        let around = |router| faults.around(router);
        let running = Server::bind_with(ServeOptions::default(), store, around).await.unwrap();
        Self { running, faults, key }
    }

    /// A request with more header lines and a body; the whole response.
    async fn ask(&self, line: &str, headers: &str, body: &str) -> String {
        let mut stream = connect(&self.running).await;
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        read_all(&mut stream).await
    }

    async fn control(&self, line: &str, body: &str) -> String {
        self.ask(line, "host: localhost\r\n", body).await
    }

    async fn me(&self) -> String {
        let key = self.key.expose_secret();
        self.ask("GET /api/v1/me", &format!("host: x\r\nauthorization: Bearer {key}\r\n"), "").await
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

fn body(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").unwrap().1
}

/// Those that are set, with their values.
fn set(answer: &str) -> Vec<(String, String)> {
    assert_eq!(status(answer), "200", "{answer}");
    let list: serde_json::Value = serde_json::from_str(body(answer)).unwrap();
    let rows = list["data"].as_array().unwrap();
    assert_eq!(rows.len(), FAULTS.len());
    let text = |row: &serde_json::Value, name: &str| row[name].as_str().map(str::to_owned);
    rows.iter().filter_map(|row| Some((text(row, "name")?, text(row, "value")?))).collect()
}

#[tokio::test]
async fn faults_are_set_and_ended_at_run_time() {
    let sandbox = Sandbox::new().await;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(set(&sandbox.control("GET /_sandbox/faults", "").await), []);
    assert_eq!(status(&sandbox.me().await), "200");
    let one = set(&sandbox.control("PUT /_sandbox/faults/rate-limited", "7\n").await);
    assert_eq!(one, [pair("rate-limited", "7")]);
    let refused = sandbox.me().await;
    assert_eq!(status(&refused), "429");
    assert!(refused.contains("\r\nretry-after: 7\r\n"), "{refused}");
    // Without a value, the table's.
    let two = set(&sandbox.control("PUT /_sandbox/faults/errors", "").await);
    assert_eq!(two, [pair("errors", "50%"), pair("rate-limited", "7")]);
    let one = set(&sandbox.control("DELETE /_sandbox/faults/rate-limited", "").await);
    assert_eq!(one, [pair("errors", "50%")]);
    assert_eq!(set(&sandbox.control("DELETE /_sandbox/faults", "").await), []);
    assert_eq!(status(&sandbox.me().await), "200");
}

#[tokio::test]
async fn a_wrong_name_or_value_is_refused_and_changes_nothing() {
    let sandbox = Sandbox::new().await;
    for (line, value, code, told) in [
        ("PUT /_sandbox/faults/latancy", "1s", "404", "did you mean `latency`?"),
        ("PUT /_sandbox/faults/latency", "soon", "400", "`latency` cannot be `soon`"),
        ("PUT /_sandbox/faults/html", &"1".repeat(65), "400", "at most 64 bytes"),
        ("DELETE /_sandbox/faults/nothing", "", "404", "there is no fault `nothing`"),
    ] {
        let answer = sandbox.control(line, value).await;
        assert_eq!(status(&answer), code, "{answer}");
        assert!(answer.contains(told), "{answer}");
    }
    assert_eq!(status(&sandbox.control("POST /_sandbox/faults", "").await), "405");
    assert_eq!(sandbox.faults.list(), []);
}

#[tokio::test]
async fn a_page_in_a_browser_cannot_control_faults() {
    let sandbox = Sandbox::new().await;
    let port = sandbox.running.local_addr().port();
    for headers in [
        format!("host: evil.example:{port}\r\n"),
        format!("host: localhost:{port}\r\norigin: http://evil.example\r\n"),
        format!("host: localhost:{port}\r\norigin: null\r\n"),
        format!("host: localhost:{port}\r\norigin: http://localhost:3000\r\n"),
    ] {
        for line in [
            "GET /_sandbox/faults",
            "PUT /_sandbox/faults/html",
            "DELETE /_sandbox/faults/html",
            "DELETE /_sandbox/faults",
        ] {
            sandbox.faults.set("latency=1ms".parse().unwrap());
            let answer = sandbox.ask(line, &headers, "").await;
            assert_eq!(status(&answer), "403", "{line} {headers}: {answer}");
            assert!(answer.contains("\"origin_not_allowed\""), "{answer}");
            assert_eq!(sandbox.faults.list().len(), 1, "{line} {headers}");
            assert!(!answer.contains("latency"), "{answer}");
        }
    }
    let ours = format!("host: localhost:{port}\r\norigin: http://localhost:{port}\r\n");
    assert_eq!(status(&sandbox.ask("GET /_sandbox/faults", &ours, "").await), "200");
}

#[tokio::test]
async fn what_is_not_the_api_is_spared() {
    let sandbox = Sandbox::new().await;
    for fault in ["latency=10m", "errors=100%", "html=100%", "truncated=100%"] {
        sandbox.faults.set(fault.parse().unwrap());
    }
    for line in ["GET /livez", "GET /readyz", "GET /metrics", "GET /_sandbox/faults"] {
        let answer = sandbox.control(line, "").await;
        assert_eq!(status(&answer), "200", "{line}: {answer}");
    }
    assert_eq!(set(&sandbox.control(&format!("DELETE {CONTROL}"), "").await), []);
}

#[tokio::test]
async fn a_truncated_answer_promises_more_than_it_sends() {
    let sandbox = Sandbox::new().await;
    let whole = sandbox.me().await;
    sandbox.faults.set("truncated=100%".parse().unwrap());
    let cut = sandbox.me().await;
    let promised = format!("content-length: {}\r\n", body(&whole).len());
    assert!(whole.contains(&promised) && cut.contains(&promised), "{cut}");
    assert_eq!(body(&cut), &body(&whole)[..body(&whole).len() / 2]);
}

#[tokio::test]
async fn a_page_of_html_has_status_200_and_the_headers_of_every_answer() {
    let sandbox = Sandbox::new().await;
    sandbox.faults.set("html=100%".parse().unwrap());
    let answer = sandbox.me().await;
    assert_eq!(status(&answer), "200");
    assert!(answer.contains("\r\ncontent-type: text/html; charset=utf-8\r\n"), "{answer}");
    assert!(answer.contains("\r\nx-request-id: req_"), "{answer}");
    assert!(body(&answer).starts_with("<!doctype html>"));
}
