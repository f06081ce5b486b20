//! `formsvc webhook listen --poll`: across restarts and outages.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use formsvc_protocol::signature::{SigningSecret, verify};
use serde_json::Value;

use super::listen::listener::{Listener, SECRET, now, of_type, records};
use super::recorder::{Got, Recorder};
use crate::support::{Between, Sandbox, entries, formsvc, request, within};

/// A service that can be away, a receiver, and a listener's state.
struct World {
    sandbox: Sandbox,
    between: Between,
    is_away: Arc<AtomicBool>,
    receiver: Recorder,
    state: tempfile::TempDir,
}

impl World {
    fn new(statuses: &'static [u16]) -> Self {
        let sandbox = Sandbox::start(&["--rate-limit", "off"]);
        let is_away = Arc::new(AtomicBool::new(false));
        let away = Arc::clone(&is_away);
        let between = Between::start(&sandbox.base_url, move |head| {
            if away.load(Ordering::SeqCst) {
                Err("HTTP/1.1 503 Away\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    .to_owned())
            } else {
                Ok(head)
            }
        });
        let receiver = Recorder::of(statuses);
        Self { sandbox, between, is_away, receiver, state: tempfile::tempdir().unwrap() }
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

    /// Waits until it is remembered where the list begins: what comes later is new.
    fn wait_for_mark(&self) {
        let folder = self.state.path().join("poll");
        let is_there = |folder: &Path| {
            let ends = |name: &String| Path::new(name).extension().is_some_and(|end| end == "json");
            folder.exists() && entries(folder).iter().any(ends)
        };
        within("a mark", || is_there(&folder));
    }

    /// Submits a name.
    fn submit(&self, name: &str) {
        let answers = format!("{{\"Name\":\"{name}\",\"E-mail\":\"a@example.org\"}}");
        let headers = "content-type: application/json\r\n";
        let sent = request(&self.sandbox.base_url, "POST /f/contact", headers, &answers);
        assert!(sent.starts_with("HTTP/1.1 201"), "{sent}");
    }
}

/// The name that a delivery is of, which is marked and signed.
#[track_caller]
fn name_in(got: &Got) -> String {
    assert_eq!(got.line, "POST /hook HTTP/1.1");
    assert_eq!(got.text("x-formsvc-synthetic"), "poll");
    assert_eq!(got.text("x-service-event"), "submission.created");
    let secret = SigningSecret::new(&SECRET.into()).unwrap();
    let header = got.header("x-service-signature").unwrap();
    let tolerance = std::time::Duration::from_secs(300);
    verify(header, &got.body, &[secret], now(), tolerance).unwrap();
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
    listener.wait_for("begins with what is new from now on");
    world.wait_for_mark();
    world.submit("one");
    assert_eq!(name_in(&world.receiver.got()), "one");

    world.is_away.store(true, Ordering::SeqCst);
    world.submit("two");
    listener.wait_for("asking again until the service answers");
    world.is_away.store(false, Ordering::SeqCst);
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
    listener.wait_for("goes on after 20");
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
    let listener = world.listener(&["--count", "3"]);
    world.wait_for_mark();
    world.submit("one");
    let all = [0; 3].map(|_| world.receiver.got());
    assert!(all.iter().all(|got| name_in(got) == "one" && got.body == all[0].body));
    listener.terminate();
    assert!(world.receiver.is_silent());
}

#[test]
fn polling_needs_a_secret_and_a_form_and_is_one_listeners_alone() {
    let world = World::new(&[200]);
    let listener = world.listener(&[]);
    world.wait_for_mark();
    let run = |form: &str, secret: &str| {
        let mut command =
            formsvc(&["webhook", "listen", "--port", "0", "--no-store", "--poll", form]);
        command
            .env("FORMSVC_BASE_URL", &world.between.base_url)
            .env("FORMSVC_API_KEY", &world.sandbox.api_key)
            .env("FORMSVC_SIGNING_SECRET", secret)
            .env("FORMSVC_STATE_DIR", world.state.path());
        let said: crate::support::Said = command.output().unwrap().into();
        (said.code, said.stderr)
    };
    let (code, stderr) = run("contact", SECRET);
    assert_eq!(code, Some(10), "{stderr}");
    assert!(stderr.contains("another listener polls this form"), "{stderr}");
    let (code, stderr) = run("nosuch", SECRET);
    assert_eq!(code, Some(3), "{stderr}");
    let (code, stderr) = run("contact", "");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("no signing secret, which `--poll`"), "{stderr}");
    listener.terminate();
}
