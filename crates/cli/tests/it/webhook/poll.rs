//! `formsvc webhook listen --poll`: across restarts and outages.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use formsvc_protocol::signature::{SigningSecret, verify};
use serde_json::Value;

use super::listen::listener::{Listener, SECRET, now, of_type, records};
use super::recorder::{Got, Recorder, answer};
use crate::support::{self, Between, PATIENCE, Said, Sandbox, formsvc, request, within};

/// States of the service's API.
const AVAILABLE: u8 = 0;
const UNAVAILABLE: u8 = 1;
const KEY_REVOKED: u8 = 2;

/// A service with an API that can fail, a receiver, and the state folder of a listener.
struct PollSetup {
    sandbox: Sandbox,
    between: Between,
    api_state: Arc<AtomicU8>,
    /// The number of requests with a 401 response.
    refused: Arc<AtomicU8>,
    receiver: Recorder,
    state: tempfile::TempDir,
}

impl PollSetup {
    fn new(statuses: &'static [u16]) -> Self {
        Self::with(Recorder::of(statuses))
    }

    fn with(receiver: Recorder) -> Self {
        let sandbox = Sandbox::start(&["--rate-limit", "off"]);
        let api_state = Arc::new(AtomicU8::new(AVAILABLE));
        let refused = Arc::new(AtomicU8::new(0));
        let (current, counter) = (Arc::clone(&api_state), Arc::clone(&refused));
        let between =
            Between::start(&sandbox.base_url, move |head| match current.load(Ordering::SeqCst) {
                AVAILABLE => Ok(head),
                UNAVAILABLE => Err(support::answer("503 Away", "", "").unwrap()),
                _ => {
                    counter.fetch_add(1, Ordering::SeqCst);
                    let error =
                        r#"{"error":{"code":"unauthorized","message":"the key is revoked"}}"#;
                    Err(support::answer("401 Unauthorized", "", error).unwrap())
                }
            });
        Self { sandbox, between, api_state, refused, receiver, state: tempfile::tempdir().unwrap() }
    }

    fn set_api_state(&self, api_state: u8) {
        self.api_state.store(api_state, Ordering::SeqCst);
    }

    fn listener(&self, more: &[&str]) -> Listener {
        let url = self.receiver.url("/hook");
        let args = ["--poll", "contact", "--poll-interval", "50ms", "--forward-to", &url];
        let args = [&args[..], &["--retry-base", "1ms"], more].concat();
        Listener::with(&args, |command| {
            command
                .env("FORMSVC_SIGNING_SECRET", SECRET)
                .env("FORMSVC_BASE_URL", &self.between.base_url)
                .env("FORMSVC_API_KEY", &self.sandbox.api_key)
                .env("FORMSVC_STATE_DIR", self.state.path())
        })
    }

    /// Posts a submission with this name.
    fn submit(&self, name: &str) {
        let answers = format!("{{\"Name\":\"{name}\",\"E-mail\":\"a@example.org\"}}");
        let headers = "content-type: application/json\r\n";
        let sent = request(&self.sandbox.base_url, "POST /f/contact", headers, &answers);
        assert!(sent.starts_with("HTTP/1.1 201"), "{sent}");
    }
}

fn is_signed_by(secret: &str, got: &Got) -> bool {
    let secret = SigningSecret::new(secret).unwrap();
    let header = got.header("x-service-signature").unwrap();
    let tolerance = std::time::Duration::from_secs(300);
    verify(header, &got.body, &[secret], now(), tolerance).is_ok()
}

/// Returns the name in a delivery, after checking its headers and its signature.
#[track_caller]
fn name_in(got: &Got) -> String {
    assert_eq!(got.line, "POST /hook HTTP/1.1");
    assert_eq!(got.text("x-formsvc-synthetic"), "poll");
    assert_eq!(got.text("x-service-event"), "submission.created");
    assert!(is_signed_by(SECRET, got));
    let body: Value = serde_json::from_slice(&got.body).unwrap();
    assert_eq!(body["form_title"], "Contact us");
    body["data"]["Name"].as_str().unwrap().to_owned()
}

#[test]
fn submission_is_delivered_once_across_restarts_and_outages() {
    let world = PollSetup::new(&[200]);
    // A submission from before the first start is not new.
    world.submit("before");
    let mut listener = world.listener(&["--output", "ndjson"]);
    listener.wait_for("starts with the next new submission");
    world.submit("one");
    assert_eq!(name_in(&world.receiver.got()), "one");

    world.set_api_state(UNAVAILABLE);
    world.submit("two");
    listener.wait_for("retrying until the service responds");
    world.set_api_state(AVAILABLE);
    assert_eq!(name_in(&world.receiver.got()), "two");
    listener.wait_for("the service is back");
    let said = listener.terminate();
    let records = records(&said.stdout);
    let sources: Vec<_> =
        of_type(&records, "delivery").iter().map(|record| record["source"].clone()).collect();
    assert_eq!(sources, ["poll", "poll"]);

    // No listener runs at this time.
    world.submit("three");
    world.submit("four");
    let mut listener = world.listener(&[]);
    listener.wait_for("continues where the previous run ended");
    // Both deliveries are sent concurrently, in any order.
    let mut names = [0; 2].map(|_| name_in(&world.receiver.got()));
    names.sort_unstable();
    assert_eq!(names, ["four", "three"]);
    listener.terminate();
    assert!(world.receiver.is_silent());
}

#[test]
fn failed_delivery_is_retried() {
    let world = PollSetup::new(&[503, 500, 200]);
    let listener = world.listener(&["--count", "3", "--output", "ndjson"]);
    world.submit("one");
    let all = [0; 3].map(|_| world.receiver.got());
    assert!(all.iter().all(|got| name_in(got) == "one" && got.body == all[0].body));
    let said = listener.finish();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let records = records(&said.stdout);
    assert_eq!(of_type(&records, "summary")[0]["retries"], 2);
    assert!(world.receiver.is_silent());
}

#[test]
fn submission_without_retries_left_is_a_warning() {
    let world = PollSetup::new(&[500]);
    let mut listener = world.listener(&["--output", "ndjson"]);
    world.submit("one");
    listener.wait_for("warning: submission sub_");
    let said = listener.terminate();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let cause = "is given up after 4 attempts: the target responded with 500";
    assert!(said.stderr.contains(cause), "{}", said.stderr);
    let records = records(&said.stdout);
    let warnings = of_type(&records, "warning");
    let codes: Vec<_> = warnings.iter().map(|warning| &warning["code"]).collect();
    assert_eq!(codes, ["given_up"]);
    // The next run does not repeat the delivery.
    let mut listener = world.listener(&[]);
    listener.wait_for("continues where the previous run ended");
    world.submit("two");
    assert_eq!([0; 5].map(|_| name_in(&world.receiver.got())), ["one", "one", "one", "one", "two"]);
    listener.terminate();
}

#[test]
fn retry_after_of_a_target_is_respected() {
    let receiver = Recorder::start(Arc::new(|at, _| {
        Some(answer([503, 200][at.min(1)], "Retry-After: 1\r\n", ""))
    }));
    let world = PollSetup::with(receiver);
    let listener = world.listener(&["--count", "2", "--output", "ndjson"]);
    world.submit("one");
    let said = listener.finish();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let records = records(&said.stdout);
    let second = of_type(&records, "delivery")[1];
    assert_eq!(second["status"], 200);
    // Without the `Retry-After` header, the gap would be 20 ms.
    assert!(second["gap_ms"].as_f64().unwrap() >= 990.0, "{second}");
}

#[test]
fn refused_key_ends_polling_after_deliveries_in_flight() {
    let ((came, comes), (go, goes)) = (channel(), channel::<()>());
    let both = Mutex::new((came, goes));
    let receiver = Recorder::start(Arc::new(move |at, _| {
        let (came, goes) = &*both.lock().unwrap();
        came.send(()).unwrap();
        // The first response waits until the test continues.
        if at == 0 {
            goes.recv().unwrap();
        }
        Some(answer(200, "", ""))
    }));
    let world = PollSetup::with(receiver);
    let listener = world.listener(&["--output", "ndjson", "--count", "9"]);
    world.submit("one");
    comes.recv_timeout(PATIENCE).unwrap();
    world.set_api_state(KEY_REVOKED);
    within("a refused request", || world.refused.load(Ordering::SeqCst) > 0);
    go.send(()).unwrap();
    let said = listener.finish();
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("the key is revoked"), "{}", said.stderr);
    let records = records(&said.stdout);
    let delivery = of_type(&records, "delivery")[0];
    assert_eq!((&delivery["source"], &delivery["status"]), (&"poll".into(), &200.into()));
    let last = records.last().unwrap();
    assert_eq!((&last["type"], &last["ended"]), (&"summary".into(), &"poll_ended".into()));

    // The completed delivery is not sent again.
    world.set_api_state(AVAILABLE);
    world.submit("two");
    let listener = world.listener(&["--count", "1"]);
    assert_eq!(listener.finish().code, Some(0));
    assert_eq!([0; 2].map(|_| name_in(&world.receiver.got())), ["one", "two"]);
    assert!(world.receiver.is_silent());
}

#[test]
fn listener_is_ready_after_its_first_poll() {
    let world = PollSetup::new(&[200]);
    let run = |form: &str, more: &[&str]| -> Said {
        let mut command = formsvc(&["webhook", "listen", "--port", "0", "--no-store"]);
        command.args(["--poll", form, "--poll-interval", "20ms"]).args(more);
        command
            .env("FORMSVC_BASE_URL", &world.between.base_url)
            .env("FORMSVC_API_KEY", &world.sandbox.api_key)
            .env("FORMSVC_SIGNING_SECRET", SECRET)
            .env("FORMSVC_STATE_DIR", world.state.path());
        command.output().unwrap().into()
    };
    let is_not_ready = |said: &Said, code: i32| {
        assert_eq!(said.code, Some(code), "{}", said.stderr);
        assert!(!said.stderr.contains("ready:"), "{}", said.stderr);
    };
    is_not_ready(&run("nosuch", &[]), 3);
    world.set_api_state(KEY_REVOKED);
    is_not_ready(&run("contact", &[]), 4);
    world.set_api_state(UNAVAILABLE);
    let said = run("contact", &["--max-time", "100ms"]);
    is_not_ready(&said, 8);
    assert!(said.stderr.contains("the time limit of `--max-time` was reached"), "{}", said.stderr);
    world.set_api_state(AVAILABLE);
    // No submission arrived within the time limit.
    let said = run("contact", &["--max-time", "1s"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("ready:"), "{}", said.stderr);
    assert!(said.stderr.lines().all(|line| line.len() <= 80), "{}", said.stderr);
}

#[test]
fn demo_can_be_polled() {
    let receiver = Recorder::of(&[200]);
    let url = receiver.url("/hook");
    let said: Said = formsvc(&["--demo", "webhook", "listen", "--no-store", "--count", "1"])
        .args(["--poll", "contact", "--poll-interval", "50ms", "--forward-to", &url])
        .args(["--output", "ndjson"])
        .env("FORMSVC_SIGNING_SECRET", SECRET)
        .output()
        .unwrap()
        .into();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let records = records(&said.stdout);
    let delivery = of_type(&records, "delivery")[0];
    assert_eq!((&delivery["source"], &delivery["verdict"]), (&"poll".into(), &"valid".into()));
    // The listener signs with the secret from its environment.
    assert!(is_signed_by(SECRET, &receiver.got()));
}

#[test]
fn demo_signs_with_the_given_secret_or_prints_one() {
    let receiver = Recorder::of(&[200]);
    let url = receiver.url("/hook");
    let state = tempfile::tempdir().unwrap();
    let listen = |more: &[&str], secret: &str| -> Said {
        let mut command = formsvc(&["--demo", "webhook", "listen", "--count", "1"]);
        command.args(["--forward-to", &url]).args(more).env("FORMSVC_STATE_DIR", state.path());
        command.env("FORMSVC_SIGNING_SECRET", secret).output().unwrap().into()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret.txt");
    std::fs::write(&file, SECRET).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let flag = ["--secret-file", file.to_str().unwrap()];
    for (more, variable) in [(&flag[..], ""), (&[], SECRET)] {
        let said = listen(more, variable);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(is_signed_by(SECRET, &receiver.got()));
        assert!(!said.stderr.contains("whsec_"), "{}", said.stderr);
    }
    let said = listen(&[], "");
    let line = "export FORMSVC_SIGNING_SECRET=";
    let secrets: Vec<_> = said.stderr.lines().filter_map(|text| text.strip_prefix(line)).collect();
    assert_eq!(secrets.len(), 1, "{}", said.stderr);
    assert!(is_signed_by(secrets[0], &receiver.got()));
    assert_eq!(state.path().read_dir().unwrap().count(), 0, "nothing is stored");
}

#[test]
fn polling_needs_a_secret_and_an_unpolled_form() {
    let world = PollSetup::new(&[200]);
    let listener = world.listener(&[]);
    let run = |form: &str, secret: &str| {
        let mut command =
            formsvc(&["webhook", "listen", "--port", "0", "--no-store", "--poll", form]);
        command
            .env("FORMSVC_BASE_URL", &world.between.base_url)
            .env("FORMSVC_API_KEY", &world.sandbox.api_key)
            .env("FORMSVC_SIGNING_SECRET", secret)
            .env("FORMSVC_STATE_DIR", world.state.path());
        let said: Said = command.output().unwrap().into();
        (said.code, said.stderr)
    };
    let (code, stderr) = run("contact", SECRET);
    assert_eq!(code, Some(10), "{stderr}");
    assert!(stderr.contains("another listener polls this form"), "{stderr}");
    let (code, stderr) = run("contact", "");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("hint: pass `--secret-file PATH`"), "{stderr}");
    listener.terminate();
}
