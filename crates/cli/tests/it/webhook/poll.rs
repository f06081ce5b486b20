//! `formsvc webhook listen --poll`: across restarts and outages.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use formsvc_protocol::signature::{SigningSecret, verify};
use serde_json::Value;

use super::listen::listener::{Listener, SECRET, now, of_type, records};
use super::recorder::{Got, Recorder, answer};
use crate::support::{self, Between, PATIENCE, Said, Sandbox, formsvc, request, within};

/// What the service says to requests for its API.
const WELL: u8 = 0;
const AWAY: u8 = 1;
const KEY_REVOKED: u8 = 2;

/// A service that can be away, a receiver, and a listener's state.
struct World {
    sandbox: Sandbox,
    between: Between,
    says: Arc<AtomicU8>,
    /// Requests that were answered with 401.
    refused: Arc<AtomicU8>,
    receiver: Recorder,
    state: tempfile::TempDir,
}

impl World {
    fn new(statuses: &'static [u16]) -> Self {
        Self::with(Recorder::of(statuses))
    }

    fn with(receiver: Recorder) -> Self {
        let sandbox = Sandbox::start(&["--rate-limit", "off"]);
        let says = Arc::new(AtomicU8::new(WELL));
        let refused = Arc::new(AtomicU8::new(0));
        let (said, counter) = (Arc::clone(&says), Arc::clone(&refused));
        let between =
            Between::start(&sandbox.base_url, move |head| match said.load(Ordering::SeqCst) {
                WELL => Ok(head),
                AWAY => Err(support::answer("503 Away", "", "").unwrap()),
                _ => {
                    counter.fetch_add(1, Ordering::SeqCst);
                    let error =
                        r#"{"error":{"code":"unauthorized","message":"the key is revoked"}}"#;
                    Err(support::answer("401 Unauthorized", "", error).unwrap())
                }
            });
        Self { sandbox, between, says, refused, receiver, state: tempfile::tempdir().unwrap() }
    }

    fn says(&self, what: u8) {
        self.says.store(what, Ordering::SeqCst);
    }

    fn listener(&self, more: &[&str]) -> Listener {
        let url = self.receiver.url("/hook");
        let args = ["--poll", "contact", "--poll-interval", "50ms", "--forward-to", &url];
        let args = [&args[..], &["--retry-base", "20ms", "--retry-factor", "1"], more].concat();
        Listener::with(&args, |command| {
            command
                .env("FORMSVC_SIGNING_SECRET", SECRET)
                .env("FORMSVC_BASE_URL", &self.between.base_url)
                .env("FORMSVC_API_KEY", &self.sandbox.api_key)
                .env("FORMSVC_STATE_DIR", self.state.path())
        })
    }

    /// Submits a name.
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

/// The name that a delivery is of, which is marked and signed.
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
fn each_submission_comes_once_across_restarts_and_outages() {
    let world = World::new(&[200]);
    // What is there before it begins is not new.
    world.submit("before");
    let mut listener = world.listener(&["--output", "ndjson"]);
    listener.wait_for("starts with the next new submission");
    world.submit("one");
    assert_eq!(name_in(&world.receiver.got()), "one");

    world.says(AWAY);
    world.submit("two");
    listener.wait_for("retrying until the service responds");
    world.says(WELL);
    assert_eq!(name_in(&world.receiver.got()), "two");
    listener.wait_for("the service is back");
    let said = listener.terminate();
    let records = records(&said.stdout);
    let sources: Vec<_> =
        of_type(&records, "delivery").iter().map(|told| told["source"].clone()).collect();
    assert_eq!(sources, ["poll", "poll"]);

    // While nobody listened.
    world.submit("three");
    world.submit("four");
    let mut listener = world.listener(&[]);
    listener.wait_for("continues where the previous run ended");
    // Side by side, so that either may come first.
    let mut names = [0; 2].map(|_| name_in(&world.receiver.got()));
    names.sort_unstable();
    assert_eq!(names, ["four", "three"]);
    listener.terminate();
    assert!(world.receiver.is_silent());
}

#[test]
fn what_fails_is_attempted_again_as_the_service_would() {
    let world = World::new(&[503, 500, 200]);
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
fn a_target_that_asks_for_time_gets_it() {
    let receiver = Recorder::start(Arc::new(|at, _| {
        Some(answer([503, 200][at.min(1)], "Retry-After: 1\r\n", ""))
    }));
    let world = World::with(receiver);
    let listener = world.listener(&["--count", "2", "--output", "ndjson"]);
    world.submit("one");
    let said = listener.finish();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let records = records(&said.stdout);
    let second = of_type(&records, "delivery")[1];
    assert_eq!(second["status"], 200);
    // Twenty milliseconds, but for what was asked.
    assert!(second["gap_ms"].as_f64().unwrap() >= 990.0, "{second}");
}

#[test]
fn the_end_of_polling_lets_what_is_under_way_finish_and_sums_up() {
    let ((came, comes), (go, goes)) = (channel(), channel::<()>());
    let both = Mutex::new((came, goes));
    let receiver = Recorder::start(Arc::new(move |at, _| {
        let (came, goes) = &*both.lock().unwrap();
        came.send(()).unwrap();
        // The first is held until the test says so.
        if at == 0 {
            goes.recv().unwrap();
        }
        Some(answer(200, "", ""))
    }));
    let world = World::with(receiver);
    let listener = world.listener(&["--output", "ndjson", "--count", "9"]);
    world.submit("one");
    comes.recv_timeout(PATIENCE).unwrap();
    world.says(KEY_REVOKED);
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

    // What was finished then does not come again.
    world.says(WELL);
    world.submit("two");
    let listener = world.listener(&["--once"]);
    assert_eq!(listener.finish().code, Some(0));
    assert_eq!([0; 2].map(|_| name_in(&world.receiver.got())), ["one", "two"]);
    assert!(world.receiver.is_silent());
}

#[test]
fn it_is_ready_once_it_has_polled() {
    let world = World::new(&[200]);
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
    world.says(KEY_REVOKED);
    is_not_ready(&run("contact", &[]), 4);
    world.says(AWAY);
    let said = run("contact", &["--max-time", "100ms"]);
    is_not_ready(&said, 8);
    assert!(said.stderr.contains("the time limit of `--max-time` was reached"), "{}", said.stderr);
    world.says(WELL);
    // Nothing came before the time was over.
    let said = run("contact", &["--max-time", "1s"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("ready:"), "{}", said.stderr);
    assert!(said.stderr.lines().all(|line| line.len() <= 80), "{}", said.stderr);
}

#[test]
fn a_demo_can_be_polled() {
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
    // Signed with what its target was given.
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
fn polling_needs_a_secret_and_is_one_listeners_alone() {
    let world = World::new(&[200]);
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
    assert!(stderr.contains("polled deliveries need a signing secret"), "{stderr}");
    listener.terminate();
}
