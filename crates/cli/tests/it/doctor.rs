//! `formsvc doctor`

use std::time::{Duration, SystemTime};

use crate::support::{Canned, Said, Sandbox, answer, formsvc, run};
use crate::terminal::Terminal;
use serde_json::Value;

/// Returns the outcome and the reason of a check.
#[track_caller]
fn check(said: &Said, name: &str) -> (String, String) {
    let checks: Vec<Value> = serde_json::from_str(&said.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", said.stdout, said.stderr));
    let check = checks.iter().find(|check| check["check"] == name);
    let check = check.unwrap_or_else(|| panic!("no check {name}: {}", said.stdout));
    let text = |field: &str| check[field].as_str().unwrap().to_owned();
    (text("outcome"), text("found"))
}

#[track_caller]
fn outcome(said: &Said, name: &str) -> String {
    check(said, name).0
}

const JSON: [&str; 3] = ["doctor", "--output", "json"];
const USER: &str = r#"{"id":"usr_1","email":"ada@example.org","name":"Ada"}"#;

/// Runs the command with an empty home folder.
fn at_home(base_url: &str, key: Option<&str>, args: &[&str]) -> Said {
    let home = tempfile::tempdir().unwrap();
    let mut command = formsvc(args);
    command.env("HOME", home.path()).env("FORMSVC_BASE_URL", base_url);
    if let Some(key) = key {
        command.env("FORMSVC_API_KEY", key);
    }
    command.output().unwrap().into()
}

fn date(ahead_of_now: i64) -> String {
    let by = Duration::from_secs(ahead_of_now.unsigned_abs());
    let now = SystemTime::now();
    let at = if ahead_of_now < 0 { now - by } else { now + by };
    format!("date: {}\r\n", httpdate::fmt_http_date(at))
}

#[test]
fn working_service_passes_all_checks() {
    let sandbox = Sandbox::start(&[]);
    let said = at_home(&sandbox.base_url, Some(&sandbox.api_key), &JSON);
    for name in ["connection", "tls", "account", "clock"] {
        assert_eq!(outcome(&said, name), "passed", "{name}: {}", said.stdout);
    }
    assert!(check(&said, "account").1.starts_with("sandbox@formsvc.invalid (usr_"));
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert!(!said.stdout.contains(&sandbox.api_key) && !said.stderr.contains(&sandbox.api_key));
}

#[test]
fn demo_passes_all_checks_of_the_service() {
    let said = run(&["--demo", "doctor", "--output", "json"]);
    assert_eq!(
        (said.code, outcome(&said, "account")),
        (Some(0), "passed".into()),
        "{}",
        said.stderr
    );
    let table = run(&["--demo", "doctor", "--output", "table"]);
    assert_eq!(table.code, Some(0), "{}", table.stderr);
}

#[test]
fn clock_difference_is_a_warning_then_a_failure() {
    for (ahead, expected, code) in [
        (0, "passed", 0),
        (-30, "passed", 0),
        (-90, "warning", 0),
        (290, "warning", 0),
        (-400, "failed", 1),
        (400, "failed", 1),
    ] {
        let service = Canned::start(vec![answer("200 OK", &date(ahead), USER)]);
        let said = at_home(&service.base_url, Some("fsk_x"), &JSON);
        assert_eq!(
            (outcome(&said, "clock").as_str(), said.code),
            (expected, Some(code)),
            "{}",
            said.stdout
        );
    }
    let service = Canned::start(vec![answer("200 OK", "", USER)]);
    let said = at_home(&service.base_url, Some("fsk_x"), &JSON);
    assert_eq!(outcome(&said, "clock"), "warning");
}

#[test]
fn missing_key_does_not_prevent_the_service_checks() {
    let sandbox = Sandbox::start(&[]);
    let said = at_home(&sandbox.base_url, None, &JSON);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert_eq!(outcome(&said, "key"), "failed");
    assert_eq!(
        (outcome(&said, "account"), outcome(&said, "clock")),
        ("skipped".into(), "passed".into())
    );
}

#[test]
fn refused_key_fails_and_used_up_limit_warns() {
    let sandbox = Sandbox::start(&[]);
    let said = at_home(&sandbox.base_url, Some("fsk_unknown"), &JSON);
    assert_eq!((said.code, outcome(&said, "account")), (Some(1), "failed".into()));
    assert!(check(&said, "account").1.contains("invalid_key"), "{}", said.stdout);
    let headers = format!("retry-after: 0\r\n{}", date(0));
    let service = Canned::start(vec![answer("429 Too Many Requests", &headers, "{}")]);
    let said = at_home(&service.base_url, Some("fsk_x"), &JSON);
    assert_eq!(
        (said.code, outcome(&said, "account")),
        (Some(0), "warning".into()),
        "{}",
        said.stdout
    );
}

#[test]
fn unreachable_service_skips_the_checks_of_its_response() {
    let port = crate::support::closed_address().port();
    let said = at_home(&format!("http://127.0.0.1:{port}"), Some("fsk_x"), &JSON);
    assert_eq!((said.code, outcome(&said, "connection")), (Some(1), "failed".into()));
    assert!(
        check(&said, "connection").1.contains("nothing listens on 127.0.0.1:"),
        "{}",
        said.stdout
    );
    for name in ["account", "clock"] {
        assert_eq!(outcome(&said, name), "skipped", "{}", said.stdout);
        assert!(check(&said, name).1.starts_with("not checked: "), "{}", said.stdout);
    }
    let silent = Canned::start(vec![None]);
    let quick = [&JSON[..], &["--timeout", "100ms"]].concat();
    let said = at_home(&silent.base_url, Some("fsk_x"), &quick);
    assert_eq!((said.code, outcome(&said, "connection")), (Some(1), "failed".into()));
    // The server does not speak TLS.
    let plain = Canned::start(vec![answer("200 OK", "", USER)]);
    let said = at_home(&plain.base_url.replace("http:", "https:"), Some("fsk_x"), &quick);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    let nowhere = Said::from(formsvc(&JSON).env("HOME", "/nonexistent").output().unwrap());
    assert_eq!(nowhere.code, Some(1), "{}", nowhere.stderr);
    assert_eq!(outcome(&nowhere, "service"), "skipped");
}

#[test]
fn failed_checks_exit_1_with_code_check_failed() {
    let home = tempfile::tempdir().unwrap();
    let doctor = |format: &str| -> Said {
        let mut command = formsvc(&["doctor", "--error-format", format]);
        // The port is closed, and there is no key.
        command.env("HOME", home.path()).env("FORMSVC_BASE_URL", "http://127.0.0.1:1");
        command.output().unwrap().into()
    };
    let json = doctor("json");
    let error: Value = serde_json::from_str(&json.stderr).unwrap();
    assert_eq!((json.code, &error["error"]["exit"]), (Some(1), &1.into()));
    assert_eq!(error["error"]["code"], "check_failed", "{}", json.stderr);
    let failed = json.stdout.matches("\tfailed\t").count();
    let text = doctor("text").stderr;
    let all = json.stdout.lines().count();
    assert!(text.starts_with(&format!("error: {failed} of {all} checks failed: key")), "{text}");
}

#[test]
fn escape_sequences_of_the_service_are_removed() {
    let user = USER.replace("ada@", "\\u001b[2Jada@");
    let service = Canned::start(vec![answer("200 OK", &date(0), &user)]);
    let said = at_home(&service.base_url, Some("fsk_x"), &["doctor", "--output", "table"]);
    assert!(!said.stdout.contains('\u{1b}'), "{}", said.stdout);
}

#[test]
fn terminal_shows_each_finding_once_and_uncut() {
    let home = tempfile::tempdir().unwrap();
    for width in [40, 80, 200] {
        let mut command = formsvc(&["doctor"]);
        command.env("HOME", home.path()).env("TERM", "xterm").env("NO_COLOR", "1");
        let mut terminal = Terminal::start(command, (width, 60));
        assert_eq!(terminal.finish(), Some(1));
        let screen = terminal.screen();
        assert!(!screen.contains('…'), "{width}:\n{screen}");
        let words: Vec<&str> = screen.split_whitespace().collect();
        let text = words.join(" ");
        assert_eq!(text.matches("no service address").count(), 1, "{width}:\n{screen}");
        assert!(text.contains("failed profile: no service address hint: "), "{width}:\n{screen}");
        let [.., counts, error] = &terminal.lines()[..] else { panic!("{screen}") };
        assert!(counts.ends_with(" 1 failed, 2 skipped"), "{counts}");
        assert_eq!(error, "error: 1 of 9 checks failed: profile");
    }
}
