//! `formsvc doctor`

use std::time::{Duration, SystemTime};

use crate::support::{Canned, Said, Sandbox, answer, formsvc, run};
use crate::terminal::Terminal;
use serde_json::Value;

/// Outcome and finding of a check.
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

/// A run with a home that holds nothing.
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
fn a_service_that_works_passes_every_check_of_it() {
    let sandbox = Sandbox::start(&[]);
    let said = at_home(&sandbox.base_url, Some(&sandbox.api_key), &JSON);
    for name in ["version", "connection", "tls", "account", "clock", "rate limit", "cache folder"] {
        assert_eq!(outcome(&said, name), "ok", "{name}: {}", said.stdout);
    }
    assert!(check(&said, "account").1.starts_with("sandbox@formsvc.invalid (usr_"));
    assert_eq!(said.code, Some(0), "{}", said.stdout);
    assert!(!said.stdout.contains(&sandbox.api_key) && !said.stderr.contains(&sandbox.api_key));
}

#[test]
fn the_demo_has_nothing_to_complain_of_in_its_service() {
    let said = run(&["--demo", "doctor", "--output", "json"]);
    assert_eq!((said.code, outcome(&said, "account")), (Some(0), "ok".into()), "{}", said.stderr);
    let table = run(&["--demo", "doctor", "--output", "table"]);
    assert_eq!(table.code, Some(0), "{}", table.stderr);
}

#[test]
fn a_clock_that_is_off_is_worth_a_word_and_too_far_off_a_failure() {
    for (ahead, expected, code) in [
        (0, "ok", 0),
        (-30, "ok", 0),
        (-90, "warn", 0),
        (290, "warn", 0),
        (-400, "fail", 1),
        (400, "fail", 1),
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
    assert_eq!(outcome(&said, "clock"), "warn");
}

#[test]
fn without_a_key_the_way_to_the_service_is_looked_at_all_the_same() {
    let sandbox = Sandbox::start(&[]);
    let said = at_home(&sandbox.base_url, None, &JSON);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert_eq!(outcome(&said, "key"), "fail");
    assert_eq!((outcome(&said, "account"), outcome(&said, "clock")), ("skip".into(), "ok".into()));
}

#[test]
fn a_key_that_is_refused_and_a_limit_that_is_used_up_are_told_apart() {
    let sandbox = Sandbox::start(&[]);
    let said = at_home(&sandbox.base_url, Some("fsk_unknown"), &JSON);
    assert_eq!((said.code, outcome(&said, "account")), (Some(1), "fail".into()));
    assert!(check(&said, "account").1.contains("invalid_key"), "{}", said.stdout);
    let headers = format!("retry-after: 0\r\nx-ratelimit-remaining: 0\r\n{}", date(0));
    let service = Canned::start(vec![answer("429 Too Many Requests", &headers, "{}")]);
    let said = at_home(&service.base_url, Some("fsk_x"), &JSON);
    assert_eq!((said.code, outcome(&said, "account")), (Some(0), "warn".into()), "{}", said.stdout);
    assert!(check(&said, "rate limit").1.contains("x-ratelimit-remaining: 0"), "{}", said.stdout);
}

#[test]
fn without_a_service_each_check_says_what_it_could_not_do() {
    let port = crate::support::closed_address().port();
    let said = at_home(&format!("http://127.0.0.1:{port}"), Some("fsk_x"), &JSON);
    assert_eq!((said.code, outcome(&said, "connection")), (Some(1), "fail".into()));
    assert!(
        check(&said, "connection").1.contains("nothing listens on 127.0.0.1:"),
        "{}",
        said.stdout
    );
    for name in ["account", "clock", "rate limit"] {
        assert_eq!(outcome(&said, name), "skip", "{}", said.stdout);
        assert!(check(&said, name).1.starts_with("not asked"), "{}", said.stdout);
    }
    let silent = Canned::start(vec![None]);
    let quick = [&JSON[..], &["--timeout", "100ms"]].concat();
    let said = at_home(&silent.base_url, Some("fsk_x"), &quick);
    assert_eq!((said.code, outcome(&said, "connection")), (Some(1), "fail".into()));
    // Not TLS: the other side speaks something else.
    let plain = Canned::start(vec![answer("200 OK", "", USER)]);
    let said = at_home(&plain.base_url.replace("http:", "https:"), Some("fsk_x"), &quick);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    let nowhere = Said::from(formsvc(&JSON).env("HOME", "/nonexistent").output().unwrap());
    assert_eq!(nowhere.code, Some(1), "{}", nowhere.stderr);
    assert_eq!(outcome(&nowhere, "service"), "skip");
}

#[test]
fn a_folder_that_cannot_be_written_is_worth_a_word() {
    let sandbox = Sandbox::start(&[]);
    let mut command = sandbox.formsvc(&JSON);
    // A file stands where the folder would be.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    command.env("HOME", folder.path()).env("XDG_CACHE_HOME", file.join("cache"));
    let said = Said::from(command.output().unwrap());
    assert_eq!(outcome(&said, "cache folder"), "warn", "{}", said.stdout);
}

#[test]
fn checks_that_failed_are_an_error_with_a_code_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    for group in [&["auth", "doctor"][..], &["doctor"]] {
        let doctor = |format: &str| -> Said {
            let mut command = formsvc(&[group, &["--error-format", format]].concat());
            // No service listens there, and there is no key.
            command.env("HOME", home.path()).env("FORMSVC_BASE_URL", "http://127.0.0.1:1");
            command.output().unwrap().into()
        };
        let json = doctor("json");
        let error: Value = serde_json::from_str(&json.stderr).unwrap();
        assert_eq!((json.code, &error["error"]["exit"]), (Some(1), &1.into()));
        assert_eq!(error["error"]["code"], "check_failed", "{}", json.stderr);
        let failed = json.stdout.matches("\tfail\t").count();
        assert!(failed > 0, "{}", json.stdout);
        let s = if failed == 1 { "" } else { "s" };
        assert_eq!(doctor("text").stderr, format!("error: {failed} check{s} failed\n"));
    }
}

#[test]
fn what_the_service_says_moves_no_cursor() {
    let user = USER.replace("ada@", "\\u001b[2Jada@");
    let service = Canned::start(vec![answer("200 OK", &date(0), &user)]);
    let said = at_home(&service.base_url, Some("fsk_x"), &["doctor", "--output", "table"]);
    assert!(!said.stdout.contains('\u{1b}'), "{}", said.stdout);
}

#[test]
fn a_person_sees_each_finding_whole_and_once() {
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
        assert!(text.contains("fail profile: no service address hint: "), "{width}:\n{screen}");
        let [.., counts, error] = &terminal.lines()[..] else { panic!("{screen}") };
        assert!(counts.contains(" ok, ") && counts.ends_with(" fail, 1 skip"), "{counts}");
        assert_eq!(error, "error: 2 checks failed");
    }
}

#[test]
fn a_table_in_a_pipe_says_beside_it_what_is_wrong() {
    let said = run(&["doctor", "--output", "table"]);
    assert!(said.stdout.starts_with("CHECK "), "{}", said.stdout);
    assert!(said.stderr.contains("failed: profile: no service address\nhint: "), "{}", said.stderr);
    let made = run(&["doctor", "--output", "json", "--jq", ".[0].check"]);
    assert_eq!((&*made.stdout, &*made.stderr), ("version\n", "error: 2 checks failed\n"));
}
