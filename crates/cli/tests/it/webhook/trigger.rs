//! `formsvc webhook trigger`

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_protocol::signature::{SigningSecret, verify};
use serde_json::Value;

use super::recorder::{Got, Recorder, answer};
use crate::support::{self, Said, Sandbox};

const SECRET: &str = "whsec_trigger_tests_0123456789";

/// A file that contains no certificate.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");

fn trigger(args: &[&str]) -> Command {
    let mut command = support::formsvc(&["webhook", "trigger"]);
    command.args(args).env("FORMSVC_SIGNING_SECRET", SECRET);
    command
}

fn run(args: &[&str]) -> Said {
    trigger(args).output().unwrap().into()
}

#[track_caller]
fn succeed(args: &[&str]) -> String {
    let said = run(args);
    assert_eq!(said.code, Some(0), "{args:?}: {}", said.stderr);
    said.stdout
}

/// Returns true if the delivery has a current signature of the secret.
fn is_signed(got: &Got) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let secret = SigningSecret::new(SECRET).unwrap();
    let header = got.header("x-service-signature").unwrap();
    verify(header, &got.body, &[secret], now, Duration::from_secs(300)).is_ok()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn trigger_sends_a_service_delivery_and_prints_the_response() {
    let receiver = Recorder::of(&[200]);
    let shown = json(&succeed(&[&receiver.url("/hook"), "--output", "json"]));
    let got = receiver.got();
    assert_eq!(got.line, "POST /hook HTTP/1.1");
    let mut names = got.names();
    names.sort_unstable();
    let expected = [
        "accept",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "x-service-event",
        "x-service-signature",
    ];
    assert_eq!(names, expected);
    assert_eq!(got.text("user-agent"), "service-webhooks/1.0");
    assert_eq!(got.text("x-service-event"), "submission.created");
    assert!(is_signed(&got));
    let body: Value = serde_json::from_slice(&got.body).unwrap();
    for field in ["event", "submission_id", "form_id", "form_title", "data", "created_at"] {
        assert!(!body[field].is_null(), "{field}");
    }
    assert_eq!(shown["submission_id"], body["submission_id"]);
    assert_eq!((&shown["status"], &shown["body"]), (&json("200"), &json("\"answer 1\"")));
    assert!(shown["took_ms"].is_f64() && shown["error"].is_null(), "{shown}");
}

#[test]
fn trigger_output_in_a_pipe_is_ndjson() {
    let receiver = Recorder::of(&[200]);
    let url = receiver.url("/");
    for count in ["1", "2"] {
        let output = succeed(&[&url, "--count", count]);
        let rows: Vec<Value> = output.lines().map(json).collect();
        assert_eq!(rows.len().to_string(), count, "{output}");
        assert!(rows.iter().all(|row| row["status"] == 200), "{output}");
    }
}

#[test]
fn event_as_argument_is_refused_with_its_flag() {
    let url = "http://localhost:9000/a b";
    for args in [
        &["submission.created"][..],
        &[url, "submission.created"],
        &["--secret-file", "s.txt", "submission.created"],
    ] {
        let said = run(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        let hint = "hint: did you mean `--event submission.created`?\n";
        assert!(said.stderr.ends_with(hint), "{args:?}: {}", said.stderr);
    }
    let other = run(&["--event", "submission.created", "4242", "--banana"]);
    assert!(other.stderr.contains("has no flag `--banana`"), "{}", other.stderr);
}

#[test]
fn unexpected_status_exits_11_with_the_response() {
    let receiver =
        Recorder::start(Arc::new(|_, _| Some(answer(401, "", "bad\u{1b}[31m signature"))));
    let url = receiver.url("/");
    let said = run(&[&url]);
    assert_eq!(said.code, Some(11));
    assert!(
        said.stderr.contains("expected status 2xx, but 1 of 1 response had another, such as 401"),
        "{}",
        said.stderr
    );
    assert!(said.stdout.contains("401") && said.stdout.contains("signature"), "{}", said.stdout);
    for right in ["401", "4xx"] {
        succeed(&[&url, "--expect", right]);
    }
    assert_eq!(run(&[&url, "--expect", "403"]).code, Some(11));
}

#[test]
fn closed_port_is_named_with_exit_6() {
    let port = support::closed_address().port();
    let said = run(&[&port.to_string()]);
    assert_eq!(said.code, Some(6));
    let told = format!("nothing listens on localhost:{port}: is your server running?");
    assert!(said.stderr.contains(&told), "{}", said.stderr);
}

#[test]
fn trigger_uses_the_proxy_except_for_loopback() {
    let (proxy, receiver) = (Recorder::of(&[200]), Recorder::of(&[200]));
    let send = |url: &str| -> Said {
        trigger(&[url]).env("ALL_PROXY", proxy.url("")).output().unwrap().into()
    };
    let said = send("http://receiver.test/hook");
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let got = proxy.got();
    assert_eq!(got.line, "POST http://receiver.test/hook HTTP/1.1");
    assert!(is_signed(&got));
    let said = send(&receiver.url("/hook"));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(receiver.got().line, "POST /hook HTTP/1.1");
    assert!(proxy.is_silent());
}

#[test]
fn proxy_407_ends_trigger_with_exit_6_and_a_hint() {
    let proxy = Recorder::of(&[407]);
    let address = proxy.address;
    for url in ["http://receiver.test/hook", "https://receiver.test/hook"] {
        let mut command = trigger(&[url]);
        let said: Said = command.env("ALL_PROXY", proxy.url("")).output().unwrap().into();
        assert_eq!(said.code, Some(6), "{url}: {}", said.stderr);
        let cause = format!("the proxy http://{address} (ALL_PROXY) requires a user name");
        assert!(said.stderr.contains(&cause), "{url}: {}", said.stderr);
        assert!(said.stderr.contains("://user:password@host:port"), "{url}: {}", said.stderr);
    }
}

#[test]
fn file_is_sent_byte_for_byte_except_changes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("body.json");
    let body = " {\r\n \"event\":\"x.y\", \"submission_id\":\"s\",\"n\":1.50,\"u\":\"\\u00e9\\/\",\"n\":2e400 }\n";
    std::fs::write(&path, body).unwrap();
    let (receiver, path) = (Recorder::of(&[200]), path.to_str().unwrap());
    let url = receiver.url("/");
    succeed(&[&url, "--file", path]);
    let got = receiver.got();
    assert_eq!((got.text("x-service-event"), &*got.body), ("x.y", body.as_bytes()));
    assert!(is_signed(&got));

    succeed(&[
        &url,
        "--file",
        path,
        "--set",
        "u=Zoë",
        "--set",
        "new.one=[1]",
        "--unset",
        "submission_id",
    ]);
    let got = receiver.got();
    let changed =
        " {\r\n \"event\":\"x.y\",\"n\":1.50,\"u\":\"Zoë\",\"n\":2e400,\"new\":{\"one\":[1]} }\n";
    assert_eq!(String::from_utf8_lossy(&got.body), changed);

    succeed(&[&url, "--file", path, "--event", "form.closed"]);
    let got = receiver.got();
    assert_eq!(got.text("x-service-event"), "form.closed");
    assert_eq!(got.body, body.replace("x.y", "form.closed").as_bytes());

    // A body may be any bytes.
    let mut child = trigger(&[&url, "--file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"\xff\0\n").unwrap();
    assert!(child.wait().unwrap().success());
    let got = receiver.got();
    assert_eq!((&*got.body, got.text("x-service-event")), (&b"\xff\0\n"[..], "submission.created"));
    let said = run(&[&url, "--file", path, "--set", "n.x=1"]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("`n` is a number, which has no member `x`"), "{}", said.stderr);
    assert!(receiver.is_silent());
}

#[test]
fn from_submission_sends_the_data_of_the_service() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let receiver = Recorder::of(&[200]);
    let run = |args: &[&str]| -> Said {
        let mut command = sandbox.formsvc(&["webhook", "trigger", &receiver.url("/")]);
        command.args(args).env("FORMSVC_SIGNING_SECRET", SECRET).output().unwrap().into()
    };
    let listed =
        sandbox.run(&["submissions", "list", "penguins", "--limit", "3", "--output", "ndjson"]);
    let listed: Vec<&str> = listed.stdout.lines().collect();
    let third = json(listed[2]);
    let id = third["id"].as_str().unwrap();
    let said = run(&[
        "--from-submission",
        &format!("penguins/{id}"),
        "--from-submission",
        "penguins",
        "--count",
        "3",
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let bodies = [0; 3].map(|_| String::from_utf8(receiver.got().body).unwrap());
    for (body, listed) in bodies.iter().zip([listed[2], listed[0], listed[2]]) {
        let data =
            &listed[listed.find("\"data\":").unwrap()..listed.find(",\"created_at\"").unwrap()];
        assert!(body.contains(data), "{body} {data}");
        assert!(body.contains("\"form_title\":\"Palmer penguins\",\"data\":"), "{body}");
    }
    assert_eq!(bodies[0], bodies[2]);
    let (time, name) = (third["created_at"].as_str().unwrap(), format!("penguins/{id}"));
    assert_eq!(run(&["--from-submission", &name, "--around", time]).code, Some(0));
    assert_eq!(String::from_utf8(receiver.got().body).unwrap(), bodies[0]);
    assert_eq!(run(&["--from-submission", &name, "--around", "2020-01-01"]).code, Some(3));
    let newest = run(&["--from-submission", "penguins", "--around", time]);
    assert_eq!(newest.code, Some(2), "{}", newest.stderr);
    assert_eq!(run(&["--from-submission", "penguins/sub_none"]).code, Some(3));
    let said = run(&["--from-submission", id]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains(&format!("hint: name the form: `FORM/{id}`")), "{}", said.stderr);
}

#[test]
fn simulate_sender_retries_one_body_with_new_signatures() {
    let receiver = Recorder::of(&[503, 500, 200]);
    let args = ["--simulate-sender", "--time-scale", "100000", "--output", "ndjson"];
    let said = run(&[&[&*receiver.url("/")][..], &args].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let statuses: Vec<Value> =
        said.stdout.lines().map(|line| json(line)["status"].clone()).collect();
    assert_eq!(statuses, [503, 500, 200]);
    let all = [0; 3].map(|_| receiver.got());
    assert!(all.iter().all(is_signed));
    assert!(all.iter().all(|got| got.body == all[0].body));

    let receiver = Recorder::of(&[503]);
    let said = run(&[&[&*receiver.url("/")][..], &args].concat());
    assert_eq!(said.code, Some(11));
    assert!(said.stderr.contains("1 of 1 delivery failed after all retries"), "{}", said.stderr);
    assert_eq!((said.stdout.lines().count(), [0; 4].map(|_| receiver.got()).len()), (4, 4));
}

#[test]
fn invalid_values_are_refused_before_the_first_request() {
    let receiver = Recorder::of(&[200]);
    let url = receiver.url("/");
    succeed(&[&url, "-H", "X-Tenant: a: b", "-H", "user-agent: mine"]);
    let got = receiver.got();
    assert_eq!((got.text("x-tenant"), got.text("user-agent")), ("a: b", "mine"));
    for (args, why) in [
        (&["-H", "A=1"][..], "a header is a name, a colon and a value"),
        (&["--expect", "6xx"], "expected `ok`, `failed`, a status from 100 to 599"),
        (&["--set", "x"], "expected PATH=VALUE"),
        (&["--cacert", MANIFEST], "contains no certificate"),
        (&["--simulate-sender", "--time-scale", "0"], "expected a number from 0.001"),
        (&["--simulate-sender", "--expect", "401"], "cannot be used together"),
    ] {
        let said = run(&[&[&*url], args].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(why), "{args:?}: {}", said.stderr);
    }
    let said: Said = support::formsvc(&["webhook", "trigger", &url]).output().unwrap().into();
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("signing needs a signing secret"), "{}", said.stderr);
    let hint = "this command never uses stored secrets";
    assert!(said.stderr.contains(hint), "{}", said.stderr);
    assert!(receiver.is_silent());
}

#[test]
fn words_of_stripes_tool_have_hints() {
    for (args, hint) in [
        (&["webhook", "events", "resend", "17"][..], "`formsvc webhook replay N`"),
        (&["webhook", "resend", "17"], "`formsvc webhook replay N`"),
        (&["webhook", "listen", "--skip-verify"], "signatures: `--on-invalid accept`"),
        (&["webhook", "listen", "-f", "4242"], "did you mean `--forward-to`?"),
        (&["webhook", "listen", "--events", "a"], "`--route 'event=NAME=URL'`"),
        (&["webhook", "listen", "--print-json"], "did you mean `--output ndjson`?"),
        (&["webhook", "trigger", "4242", "--add", "a=1"], "did you mean `--set`?"),
        (&["webhook", "trigger", "4242", "--override", "a=1"], "did you mean `--set`?"),
        (&["webhook", "trigger", "4242", "--remove", "a"], "did you mean `--unset`?"),
        (&["webhook", "trigger", "4242", "--raw", "{}"], "did you mean `--file`?"),
        (&["webhook", "secret", "add", "--secret-stdin"], "it reads standard input"),
    ] {
        let said = support::run(args);
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains(hint), "{args:?}: {}", said.stderr);
    }
}
