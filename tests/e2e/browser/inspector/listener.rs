//! A listener with its page, in a process of its own.

use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use formsvc_protocol::signature::{HEADER, SigningSecret, sign};
use formsvc_tests::browser::{Browser, Screen, Theme};
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::AbortHandle;

/// What deliveries are signed with.
pub(super) const SECRET: &str = "whsec_of_the_tests_of_the_inspector";
/// Longer than a listener takes to start on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

/// A listener; killed when it is dropped.
pub(super) struct Listener {
    /// Where deliveries go.
    pub(super) url: String,
    /// The address of the page, token included.
    pub(super) page: String,
    http: Client<HttpConnector, Full<Bytes>>,
    reading: AbortHandle,
    _child: Child,
    _folder: TempDir,
}

impl Listener {
    /// Starts one, with more arguments.
    pub(super) async fn start(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret.txt");
        std::fs::write(&secret, SECRET).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_command"));
        command.env_clear().env("HOME", folder.path()).env("FORMSVC_STATE_DIR", folder.path());
        command.args(["webhook", "listen", "--port", "0", "--ui", "--output", "ndjson"]);
        command.arg("--secret-file").arg(secret).args(more);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = tokio::time::timeout(START_MAX, told.next_line()).await;
        let first = first.expect("it starts").unwrap().expect("it tells that it is ready");
        let ready: Value = serde_json::from_str(&first).unwrap();
        assert_eq!(ready["type"], "ready", "{ready}");
        // A listener whose reader does not read takes nothing.
        let reading =
            tokio::spawn(async move { while let Ok(Some(_)) = told.next_line().await {} });
        Self {
            url: ready["url"].as_str().unwrap().to_owned(),
            page: ready["ui_url"].as_str().unwrap().to_owned(),
            http: Client::builder(TokioExecutor::new()).build_http(),
            reading: reading.abort_handle(),
            _child: child,
            _folder: folder,
        }
    }

    /// Whether an address is below that of the page.
    pub(super) fn is_ours(&self, url: &str) -> bool {
        url.starts_with(&self.page) || url == "about:blank" || url == "data:,"
    }

    /// Delivers a body, signed now; gives the status.
    pub(super) async fn deliver(&self, body: impl Into<Bytes>) -> u16 {
        let body = body.into();
        let signature = signature(&body);
        self.send("", &[(HEADER, &signature)], body).await
    }

    /// Sends a request to a path below the listener's address; gives the status.
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

    /// What the page's script reads at a path below the token.
    pub(super) async fn read(&self, path: &str) -> Bytes {
        let answer = self.http.get(format!("{}{path}", self.page).parse().unwrap()).await.unwrap();
        answer.into_body().collect().await.unwrap().to_bytes()
    }

    /// Opens the page where there is room for all of it, and waits until it follows.
    pub(super) async fn open(&self, browser: &Browser) {
        browser.look_with(Screen::Desktop, Theme::Light).await;
        browser.open(&self.page).await;
        browser.until("return document.getElementById('live').dataset.state === 'live'").await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// A delivery of a submission, as the service sends it.
pub(super) fn event(id: &str, data: &Value) -> String {
    json!({
        "event": "submission.created", "submission_id": id, "form_id": "frm_contact",
        "form_title": "Contact", "data": data, "created_at": "2026-01-01T00:00:00.000Z",
    })
    .to_string()
}

/// The signature header of a body, of now.
pub(super) fn signature(body: &[u8]) -> String {
    signature_of(0, body)
}

/// The signature header of a body, made so many seconds ago.
pub(super) fn signature_of(ago: u64, body: &[u8]) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    sign([&SigningSecret::new(SECRET).unwrap()], now - ago, body)
}

/// Shows the delivery of a number, and waits for its body.
pub(super) async fn show(browser: &Browser, number: u64) {
    browser.run(&format!("location.hash = '#{number}'")).await;
    let there = format!(
        "return (document.getElementById('detail-title')?.textContent ?? '').startsWith('#{number} ') \
         && !document.body.innerText.includes('Loading…')"
    );
    browser.until(&there).await;
}

/// Waits until the body that is shown has a text; not all of a long one is laid out.
pub(super) async fn body_has(browser: &Browser, text: &str) {
    let text = serde_json::to_string(text).unwrap();
    let has = "return document.querySelector('.bytes pre')?.textContent.includes";
    browser.until(&format!("{has}({text}) === true")).await;
}
