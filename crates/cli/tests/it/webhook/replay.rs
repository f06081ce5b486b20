//! `formsvc webhook replay`: sends captures again.

use serde_json::Value;

use super::kept::{Home, Listener};
use super::recorder::{Recorder, answer};
use super::support::{BODY, SECRET};
use crate::support::Said;

use std::time::{SystemTime, UNIX_EPOCH};

use formsvc_protocol::signature::{SigningSecret, verify};

/// A home folder with two deliveries in its store.
fn two_deliveries() -> Home {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.send("/hook", &[("x-mine", b"Zo\xeb")], BODY.as_bytes()), 200);
    assert_eq!(listener.deliver(b"no event"), 200);
    assert_eq!(listener.end(), Some(0));
    home
}

fn replay(home: &Home, args: &[&str]) -> Said {
    home.run(&[&["webhook", "replay"], args].concat())
}

fn rows(said: &Said) -> Vec<Value> {
    said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn replay_has_a_fresh_signature_and_the_recorded_rest() {
    let home = two_deliveries();
    let recorder = Recorder::of(&[200]);
    let to = recorder.url("/other?x=1");
    let said = replay(&home, &["1", "2", "--to", &to, "--secret-file", "secret.txt"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let rows = rows(&said);
    assert_eq!((&rows[0]["capture"], &rows[1]["capture"]), (&1.into(), &2.into()));
    assert_eq!((&rows[0]["before"], &rows[0]["status"]), (&200.into(), &200.into()));
    assert_eq!(rows[0]["submission_id"], "sub_1");
    for body in [BODY.as_bytes(), b"no event"] {
        let got = recorder.got();
        assert_eq!((&*got.line, &got.body[..]), ("POST /other?x=1 HTTP/1.1", body));
        let secret = SigningSecret::new(SECRET).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let signature = got.header("x-service-signature").unwrap();
        let tolerance = std::time::Duration::from_secs(300);
        verify(signature, &got.body, &[secret], now.as_secs(), tolerance).unwrap();
        if body == BODY.as_bytes() {
            assert_eq!(got.header("x-mine"), Some(&b"Zo\xeb"[..]));
        }
        assert_eq!(got.text("host"), recorder.address.to_string());
    }
}

#[test]
fn conditions_skip_captures_without_a_valid_signature() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(BODY.as_bytes()), 200);
    // A second, invalid signature header makes the signature invalid.
    let second = ("x-service-signature", &b"t=1,v1=00"[..]);
    assert_eq!(listener.send("/hook", &[second], BODY.as_bytes()), 200);
    assert_eq!(listener.deliver(BODY.as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    let recorder = Recorder::of(&[200]);
    let to = recorder.url("/");
    let sent = |which: &[&str]| {
        let said = replay(&home, &[which, &["--to", &to, "--secret-file", "secret.txt"]].concat());
        assert_eq!(said.code, Some(0), "{which:?}: {}", said.stderr);
        let got: Vec<_> = rows(&said).iter().map(|row| row["capture"].as_u64().unwrap()).collect();
        for _ in &got {
            recorder.got();
        }
        let warning = "captures without a valid signature are signed with your secret now: 2";
        assert_eq!(said.stderr.contains(warning), got == [2], "{}", said.stderr);
        (got, said.stderr.contains("skipped 1 delivery that may not be from the service"))
    };
    assert_eq!(sent(&["--last", "3"]), (vec![1, 3], true), "oldest first");
    assert_eq!(sent(&["--since", "1h", "--status", "ok"]), (vec![1, 3], true));
    assert_eq!(sent(&["2"]), (vec![2], false));
    assert_eq!(sent(&["--verdict", "invalid"]), (vec![2], false));
    let none = replay(&home, &["--last", "2", "--event", "x", "--to", &to]);
    assert!(none.stderr.contains("no captures match"), "{}", none.stderr);
    assert!(recorder.is_silent());
}

#[test]
fn set_and_unset_change_one_value_and_are_signed() {
    let home = two_deliveries();
    let recorder = Recorder::of(&[200]);
    let to = recorder.url("/");
    let set = ["--set", "data.n=1", "--unset", "data.price", "--set", "event=form.closed"];
    let said =
        replay(&home, &[&["1", "--to", &to, "--secret-file", "secret.txt"], &set[..]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let changed = BODY
        .replace("9007199254740993", "1")
        .replace(r#","price":1.10"#, "")
        .replace("submission.created", "form.closed");
    let got = recorder.got();
    assert_eq!(String::from_utf8(got.body.clone()).unwrap(), changed);
    assert_eq!(got.text("x-service-event"), "form.closed");
    let both = replay(&home, &["1", "--to", &to, "--keep-signature", "--set", "data.n=1"]);
    assert_eq!(both.code, Some(2));
    let no_text = replay(&home, &["2", "--to", &to, "--secret-file", "secret.txt", "--set", "a=1"]);
    assert_eq!(no_text.code, Some(2));
    assert!(no_text.stderr.contains("is not JSON"), "{}", no_text.stderr);
    assert!(recorder.is_silent());
}

#[test]
fn missing_target_or_secret_has_a_hint() {
    let home = two_deliveries();
    let nowhere = replay(&home, &["1", "--secret-file", "secret.txt"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(nowhere.stderr.contains("capture 1 was not forwarded to a target"), "{nowhere:?}");
    assert!(nowhere.stderr.contains("`--to 4242/hook`"), "{nowhere:?}");
    let unsigned = replay(&home, &["1", "--to", "4242"]);
    assert_eq!(unsigned.code, Some(2));
    for way in ["--secret-file", "--secret-stdin", "FORMSVC_SIGNING_SECRET", "--keep-signature"] {
        assert!(unsigned.stderr.contains(way), "{way}: {}", unsigned.stderr);
    }
    assert_eq!(replay(&home, &["9", "--to", "4242", "--keep-signature"]).code, Some(3));
    assert_eq!(replay(&home, &["--to", "4242"]).code, Some(2));
    assert_eq!(replay(&home, &["1", "--last", "1", "--to", "4242"]).code, Some(2));
    let none = replay(&home, &["--status", "503", "--to", "4242"]);
    assert_eq!(none.code, Some(0));
    assert!(none.stderr.contains("no captures match"), "{}", none.stderr);
}

#[test]
fn unexpected_status_exits_11_and_no_response_6() {
    let home = two_deliveries();
    let recorder = Recorder::of(&[500, 401]);
    let to = recorder.url("/");
    let base = ["--to", &*to, "--secret-file", "secret.txt"];
    let failed = replay(&home, &[&["1", "2"], &base[..]].concat());
    assert_eq!(failed.code, Some(11));
    assert!(failed.stderr.contains("2 of 2 responses had another, such as 500"), "{failed:?}");
    let expected = replay(&home, &[&["1", "--expect", "401"], &base[..]].concat());
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    let closed = crate::support::closed_address();
    let silent = replay(&home, &["1", "--to", &format!("http://{closed}/"), "--keep-signature"]);
    assert_eq!(silent.code, Some(6));
    assert!(silent.stderr.contains("is your server running?"), "{}", silent.stderr);
    assert!(rows(&silent)[0]["error"].as_str().unwrap().contains("nothing listens"));
}

#[test]
fn kept_invalid_signature_that_is_refused_has_its_cause() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &["--on-invalid", "accept"]);
    let second = ("x-service-signature", &b"t=1,v1=00"[..]);
    assert_eq!(listener.send("/hook", &[second], BODY.as_bytes()), 200);
    assert_eq!(listener.deliver(BODY.as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    let to = Recorder::of(&[401]);
    for (number, hint) in [
        ("1", "hint: the recorded signature was not valid when the delivery arrived"),
        ("2", "hint: receivers refuse signatures older than 5 minutes"),
    ] {
        let said = replay(&home, &[number, "--to", &to.url("/"), "--keep-signature"]);
        assert_eq!(said.code, Some(11), "{}", said.stderr);
        assert!(said.stderr.contains(hint), "{number}: {}", said.stderr);
    }
}

#[test]
fn capture_that_was_not_forwarded_is_skipped() {
    let home = two_deliveries();
    for which in
        [&["--last", "2"][..], &["--since", "1h"], &["--status", "ok", "--verdict", "valid"]]
    {
        let said = replay(&home, &[which, &["--secret-file", "secret.txt"]].concat());
        assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{which:?}: {}", said.stderr);
        assert!(
            said.stderr
                .contains("that the listener did not forward; pass the URL: `--to 4242/hook`"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn replay_goes_to_the_forward_target_of_the_capture() {
    let home = Home::new();
    let answers = |at: usize| match at {
        0 => answer(500, "X-Try: 1\r\n", r#"{"error":"locked","n":1}"#),
        _ => answer(200, "X-Try: 2\r\n", r#"{"n":1}"#),
    };
    let recorder = Recorder::start(std::sync::Arc::new(move |at, _| Some(answers(at))));
    let to = recorder.url("/app");
    let mut listener = Listener::start(&home, &["--forward-to", &to]);
    assert_eq!(listener.deliver(BODY.as_bytes()), 500);
    assert_eq!(listener.end(), Some(0));
    let said = replay(&home, &["--status", "failed", "--secret-file", "secret.txt"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let row = &rows(&said)[0];
    assert_eq!((&row["before"], &row["status"]), (&500.into(), &200.into()));
    assert_eq!(row["to"], to.as_str());
    assert_eq!(recorder.got().body, BODY.as_bytes());
    assert_eq!(recorder.got().body, BODY.as_bytes());
    let lines = replay(&home, &["1", "--secret-file", "secret.txt", "--output", "table"]);
    assert!(lines.stdout.contains("→ 200 (before: 500) "), "{}", lines.stdout);
}
