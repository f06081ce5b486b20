//! Captures are sent once more.

use serde_json::Value;

use super::kept::{Home, Listener};
use super::recorder::{Recorder, answer};
use super::support::{BODY, SECRET};
use crate::support::Said;

use std::time::{SystemTime, UNIX_EPOCH};

use formsvc_protocol::signature::{SigningSecret, verify};

/// A home whose store has two deliveries.
fn two() -> Home {
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
fn a_replay_is_signed_now_and_else_as_it_came() {
    let home = two();
    let recorder = Recorder::of(&[200]);
    let to = recorder.url("/other?x=1");
    let said = replay(&home, &["1-2", "--to", &to, "--secret-file", "secret.txt"]);
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
fn what_a_stranger_sent_is_not_signed_unless_it_is_meant() {
    let home = Home::new();
    let mut listener = Listener::start(&home, &[]);
    assert_eq!(listener.deliver(BODY.as_bytes()), 200);
    // Two signatures are none.
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
        (got, said.stderr.contains("skipped 1 delivery without a valid signature"))
    };
    assert_eq!(sent(&["--last", "3"]), (vec![1, 3], true), "oldest first");
    assert_eq!(sent(&["--since", "1h", "--status", "ok"]), (vec![1, 3], true));
    assert_eq!(sent(&["2"]), (vec![2], false));
    assert_eq!(sent(&["--verdict", "invalid"]), (vec![2], false));
    let none = replay(&home, &["--last", "2", "--event", "x", "--to", &to, "--dry-run"]);
    assert!(none.stderr.contains("no captures match"), "{}", none.stderr);
    assert!(recorder.is_silent());
}

#[test]
fn a_change_is_made_in_one_place_and_signed() {
    let home = two();
    let recorder = Recorder::of(&[200]);
    let to = recorder.url("/");
    let set = ["--set", "data.n=1", "--unset", "data.price", "--set", "event=form.closed"];
    let said = replay(
        &home,
        &[&["1", "--to", &to, "--secret-file", "secret.txt", "--times", "2"], &set[..]].concat(),
    );
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let changed = BODY
        .replace("9007199254740993", "1")
        .replace(r#","price":1.10"#, "")
        .replace("submission.created", "form.closed");
    for _ in 0..2 {
        let got = recorder.got();
        assert_eq!(String::from_utf8(got.body.clone()).unwrap(), changed);
        assert_eq!(got.text("x-service-event"), "form.closed");
    }
    let both = replay(&home, &["1", "--to", &to, "--keep-signature", "--set", "data.n=1"]);
    assert_eq!(both.code, Some(2));
    let no_text = replay(&home, &["2", "--to", &to, "--secret-file", "secret.txt", "--set", "a=1"]);
    assert_eq!(no_text.code, Some(2));
    assert!(no_text.stderr.contains("is not JSON"), "{}", no_text.stderr);
    assert!(recorder.is_silent());
}

#[test]
fn what_is_missing_is_said_with_how_to_give_it() {
    let home = two();
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
fn another_answer_than_expected_is_exit_11_and_none_is_exit_6() {
    let home = two();
    let recorder = Recorder::of(&[500, 401]);
    let to = recorder.url("/");
    let base = ["--to", &*to, "--secret-file", "secret.txt"];
    let failed = replay(&home, &[&["1-2"], &base[..]].concat());
    assert_eq!(failed.code, Some(11));
    assert!(failed.stderr.contains("2 of 2 responses have another, such as 500"), "{failed:?}");
    let expected = replay(&home, &[&["1", "--expect", "401"], &base[..]].concat());
    assert_eq!(expected.code, Some(0), "{}", expected.stderr);
    let closed = crate::support::closed_address();
    let silent = replay(&home, &["1", "--to", &format!("http://{closed}/"), "--keep-signature"]);
    assert_eq!(silent.code, Some(6));
    assert!(silent.stderr.contains("is your server running?"), "{}", silent.stderr);
    assert!(rows(&silent)[0]["error"].as_str().unwrap().contains("nothing listens"));
}

#[test]
fn a_dry_run_sends_nothing() {
    let home = two();
    let recorder = Recorder::of(&[200]);
    let said = replay(&home, &["1-2", "--to", &recorder.url("/"), "--dry-run"]);
    assert_eq!((said.code, rows(&said).len()), (Some(0), 2), "{}", said.stderr);
    assert!(recorder.is_silent());
}

/// However they were chosen, what cannot be sent is left out, and said.
#[test]
fn what_flags_choose_and_was_not_forwarded_is_left_out() {
    let home = two();
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
        assert!(!said.stderr.contains("others went"), "{}", said.stderr);
    }
    // Where another one went, this one is likely meant to go.
    let target = Recorder::of(&[200]);
    let to = target.url("/app");
    let mut listener = Listener::start(&home, &["--forward-to", &to]);
    assert_eq!(listener.deliver(BODY.as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    let flag = format!("`--to {to}`");
    let named = replay(&home, &["1", "--secret-file", "secret.txt"]);
    let chosen = ["--status", "ok", "--secret-file", "secret.txt", "--dry-run"];
    let chosen = replay(&home, &chosen);
    for (said, code) in [(named, 2), (chosen, 0)] {
        assert_eq!(said.code, Some(code), "{}", said.stderr);
        assert!(said.stderr.contains(&flag), "{}", said.stderr);
    }
}

/// What an editor does with the file it is given.
fn edit_by(home: &Home, script: &str, args: &[&str]) -> Said {
    use std::os::unix::fs::PermissionsExt;
    let editor = home.path().join("my editor");
    std::fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o700)).unwrap();
    let mut command = home.formsvc(&[&["webhook", "replay", "1", "--edit"], args].concat());
    let editor = format!("'{}' --wait", editor.display());
    command.env("EDITOR", editor).env("PATH", "/usr/bin:/bin").output().unwrap().into()
}

#[test]
fn what_an_editor_makes_of_the_body_is_signed_and_sent() {
    let home = two();
    let recorder = Recorder::of(&[200]);
    let to = recorder.url("/");
    let args = ["--to", &*to, "--secret-file", "secret.txt"];
    // The file comes last, laid out, for nobody else's eyes, and without the secret in the environment.
    let script = "test \"$1\" = --wait && test \"$(stat -c %a \"$2\")\" = 600 &&\n\
                  test -z \"$FORMSVC_SIGNING_SECRET\" && sed -i 's/\"sub_1\"/\"sub_2\"/' \"$2\"";
    let said = edit_by(&home, script, &args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let got = recorder.got();
    let body: Value = serde_json::from_slice(&got.body).unwrap();
    assert_eq!(body["submission_id"], "sub_2");
    let secret = SigningSecret::new(SECRET).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let tolerance = std::time::Duration::from_secs(300);
    verify(got.header("x-service-signature").unwrap(), &got.body, &[secret], now, tolerance)
        .unwrap();
    // Left as it is shown, it is sent to the byte as it came.
    assert_eq!(edit_by(&home, "true", &args).code, Some(0));
    assert_eq!(recorder.got().body, BODY.as_bytes());
    let failed = edit_by(&home, "exit 3", &args);
    assert_eq!(failed.code, Some(10), "{}", failed.stderr);
    assert!(failed.stderr.contains("nothing was sent"), "{}", failed.stderr);
    assert!(recorder.is_silent());
}

/// A target that says again what it was asked gives nothing away, and its clock is no difference.
#[test]
fn a_comparison_of_answers_shows_no_secret_and_no_date() {
    let home = Home::new();
    let echo = |at: usize, got: &super::recorder::Got| {
        let signature = got.text("x-service-signature");
        let headers = format!(
            "Date: Thu, 01 Jan 2026 00:00:0{at} GMT\r\nSet-Cookie: session={at}{at}{at}\r\n\
             Authorization: Bearer token{at}\r\nX-Copy: {signature}\r\n"
        );
        // Another place each time, so that both are shown.
        Some(answer(200, &headers, &format!("{{\"asked{at}\":\"{signature}\"}}")))
    };
    let recorder = Recorder::start(std::sync::Arc::new(echo));
    let mut listener = Listener::start(&home, &["--forward-to", &recorder.url("/")]);
    assert_eq!(listener.deliver(BODY.as_bytes()), 200);
    assert_eq!(listener.end(), Some(0));
    recorder.got();
    for output in ["ndjson", "table"] {
        let args = ["1", "--secret-file", "secret.txt", "--diff", "--output", output];
        let said = replay(&home, &args);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let told = said.stdout + &said.stderr;
        let signature = recorder.got().text("x-service-signature").to_owned();
        for secret in [&signature[signature.len() - 64..], "session=", "token1", "token2", "GMT"] {
            assert!(!told.contains(secret), "{output}: {secret}: {told}");
        }
        for shown in ["set-cookie", "authorization"] {
            assert!(told.contains(shown), "{output}: {told}");
        }
    }
    let reveal = ["1", "--secret-file", "secret.txt", "--diff", "--reveal"];
    assert!(replay(&home, &reveal).stdout.contains("session="));
}

#[test]
fn it_goes_where_it_was_forwarded_and_the_answers_are_compared() {
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
    let said = replay(&home, &["--status", "failed", "--secret-file", "secret.txt", "--diff"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let row = &rows(&said)[0];
    assert_eq!((&row["before"], &row["status"]), (&500.into(), &200.into()));
    assert_eq!(row["to"], to.as_str());
    let diff = row["diff"].to_string();
    for part in ["x-try", r#""path":"error""#, r#""change":"removed""#] {
        assert!(diff.contains(part), "{part}: {diff}");
    }
    assert_eq!(recorder.got().body, BODY.as_bytes());
    assert_eq!(recorder.got().body, BODY.as_bytes());
    let lines = replay(&home, &["1", "--secret-file", "secret.txt", "--diff", "--output", "table"]);
    assert!(lines.stdout.contains("500     200"), "{}", lines.stdout);
    assert!(lines.stdout.contains("    - error: \"locked\""), "{}", lines.stdout);
}
