//! A listener and its inspector, as processes of their own.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::signature::{HEADER, SigningSecret, sign};
use formsvc_tests::browser::{Browser, Screen, Theme};
use http::{Method, Request};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::AbortHandle;

/// The signing secret of the listener.
pub(super) const SECRET: &str = "whsec_of_the_tests_of_the_inspector";
/// Longer than a program takes to start on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// A listener with a store in a temporary folder. It is killed when it is dropped.
pub(super) struct Listener {
    /// Receives deliveries.
    pub(super) url: String,
    pub(super) page: Page,
    http: Client<HttpConnector, Full<Bytes>>,
    reading: AbortHandle,
    _child: Child,
    folder: TempDir,
}

/// The page of an inspector.
pub(super) struct Page {
    /// With the token.
    pub(super) url: String,
}

/// The page of `formsvc webhook events open`. The program is killed when this is dropped.
pub(super) struct StorePage {
    pub(super) page: Page,
    _child: Child,
}

impl Listener {
    /// Starts a listener with additional arguments.
    pub(super) async fn start(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let arguments = ["listen", "--port", "0", "--ui", "--output", "ndjson"];
        let (child, mut lines, first) = spawn(folder.path(), &[&arguments, more].concat()).await;
        let ready: Value = serde_json::from_str(&first).unwrap();
        assert_eq!(ready["type"], "ready", "{ready}");
        // A listener whose output is not read stops accepting deliveries.
        let reading =
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Self {
            url: ready["url"].as_str().unwrap().to_owned(),
            page: Page { url: ready["ui_url"].as_str().unwrap().to_owned() },
            http: Client::builder(TokioExecutor::new()).build_http(),
            reading: reading.abort_handle(),
            _child: child,
            folder,
        }
    }

    /// Starts `formsvc webhook events open` with the store of the listener.
    pub(super) async fn open_store(&self) -> StorePage {
        let (child, _, url) = spawn(self.folder.path(), &["events", "open"]).await;
        StorePage { page: Page { url }, _child: child }
    }

    /// Delivers a body with a fresh signature. Returns the status.
    pub(super) async fn deliver(&self, body: impl Into<Bytes>) -> u16 {
        let body = body.into();
        let signature = signature(&body);
        self.send("", &[(HEADER, &signature)], body).await
    }

    /// Sends a request to a path, relative to the listener's URL. Returns the status.
    pub(super) async fn send(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> u16 {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}{path}", self.url))
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, value.as_bytes());
        }
        let request = request.body(Full::new(body.into())).unwrap();
        self.http.request(request).await.unwrap().status().as_u16()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Page {
    /// Opens the page on a wide screen, and waits until it follows the deliveries.
    pub(super) async fn open(&self, browser: &Browser) {
        browser.look_with(Screen::Desktop, Theme::Light).await;
        browser.open(&self.url).await;
        browser.until("return document.getElementById('live').dataset.state === 'live'").await;
    }

    /// Returns true for URLs of the page and its files.
    pub(super) fn contains(&self, url: &str) -> bool {
        let base = self.url.split('?').next().unwrap();
        url.starts_with(base) || url == "about:blank" || url == "data:,"
    }

    /// Asserts that the browser requested only files of the page and reported no error.
    pub(super) async fn assert_undisturbed(&self, browser: &Browser) {
        browser.seen().await.assert_inert(|url| self.contains(url));
    }
}

/// Starts a webhook command that prints something when it is ready. Returns its first line too.
async fn spawn(
    folder: &Path,
    arguments: &[&str],
) -> (Child, Lines<BufReader<ChildStdout>>, String) {
    let secret = folder.join("secret.txt");
    std::fs::write(&secret, SECRET).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_command"));
    command.env_clear().env("HOME", folder).env("FORMSVC_STATE_DIR", folder);
    command.arg("webhook").args(arguments).arg("--secret-file").arg(secret);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = tokio::time::timeout(START_MAX, lines.next_line()).await;
    let first = first.expect("the command starts").unwrap().expect("it prints a line");
    (child, lines, first)
}

/// Returns the body of a delivery.
pub(super) fn event(id: &str, data: &Value) -> String {
    json!({
        "event": "submission.created", "submission_id": id, "form_id": "frm_contact",
        "form_title": "Contact", "data": data, "created_at": "2026-01-01T00:00:00.000Z",
    })
    .to_string()
}

/// Returns a fresh signature of a body.
pub(super) fn signature(body: &[u8]) -> String {
    signature_of_age(0, body)
}

/// Returns a signature of a body that was made some seconds ago.
pub(super) fn signature_of_age(secs: u64, body: &[u8]) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    sign([&SigningSecret::new(SECRET).unwrap()], now - secs, body)
}

/// Shows a delivery, and waits for its body.
pub(super) async fn show(browser: &Browser, number: u64) {
    browser.run(&format!("location.hash = '#{number}'")).await;
    let is_shown = format!(
        "return (document.getElementById('detail-title')?.textContent ?? '').startsWith('#{number} ') \
         && !document.body.innerText.includes('Loading…')"
    );
    browser.until(&is_shown).await;
}

/// Returns to the list, which discards the delivery that is shown.
pub(super) async fn close_delivery(browser: &Browser) {
    browser.run("location.hash = ''").await;
    browser.until("return document.getElementById('detail-body').hidden").await;
}

/// Waits until the list has this many rows.
pub(super) async fn wait_for_rows(browser: &Browser, count: usize) {
    browser.until(&format!("return document.querySelectorAll('.row').length === {count}")).await;
}

/// Waits until the visible body contains a text. `innerText` lacks the parts of a long body that the browser
/// did not lay out.
pub(super) async fn wait_for_body(browser: &Browser, text: &str) {
    let text = serde_json::to_string(text).unwrap();
    let contains = "return document.querySelector('.bytes pre')?.textContent.includes";
    browser.until(&format!("{contains}({text}) === true")).await;
}

/// Asserts that the page shows all texts.
pub(super) async fn assert_shows(browser: &Browser, expected: &[&str]) {
    let text = browser.text().await;
    for expected in expected {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}
