//! `auth status`: the source of the key, and the verdict of the service.

use serde_json::Value;

use super::{Home, OWNER, me, nowhere, refusal, signed_in};
use crate::support::{Canned, SECRET, Said};

fn json(said: &str) -> Value {
    serde_json::from_str(said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn status_shows_the_user_and_the_key_store() {
    let (sandbox, home) = signed_in();
    let status = json(&home.succeed(&["auth", "status", "--output", "json"]));
    assert_eq!(status["profile"], "default");
    assert_eq!(status["base_url"], *sandbox.base_url);
    assert_eq!(status["state"], "ok");
    assert_eq!(status["email"], OWNER);
    assert!(status["source"].as_str().unwrap().contains("file"), "{status}");
    assert!(status["latency_ms"].as_f64().unwrap() > 0.0, "{status}");
    let shown = status["key"].as_str().unwrap();
    assert_eq!(shown, format!("{}…", &sandbox.api_key[..8]));
    assert!(!status.to_string().contains(&sandbox.api_key));
}

#[test]
fn status_of_a_failing_service_has_output_and_exit_code() {
    for (service, state, code) in [
        (Canned::start(vec![me(), refusal()]).base_url, "refused", 4),
        (nowhere(), "unreachable", 6),
        (
            Canned::start(vec![me(), crate::support::answer("200 OK", "", "[]")]).base_url,
            "failed",
            5,
        ),
    ] {
        let home = Home::new();
        let verify: &[&str] = if code == 6 { &["--no-verify"] } else { &[] };
        home.log_in("default", &service, SECRET, verify);
        let said = home.run(&["auth", "status", "--output", "json"]);
        assert_eq!(said.code, Some(code), "{}", said.stderr);
        assert_eq!(json(&said.stdout)["state"], state);
        assert!(said.stderr.starts_with("error: "), "{}", said.stderr);
        assert!(!said.stdout.contains(SECRET) && !said.stderr.contains(SECRET));
    }
}

#[test]
fn status_offline_sends_no_request() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    service.request();
    let status = json(&home.succeed(&["auth", "status", "--offline", "--output", "json"]));
    assert_eq!(status["state"], "unchecked");
    assert_eq!(status["key"], "fsk_SECR…");
    assert_eq!(service.pending(), 0);
}

#[test]
fn status_without_key_is_exit_4_without_base_url_exit_2() {
    let home = Home::new();
    let nothing = home.run(&["auth", "status", "--output", "json"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
    let said =
        home.run(&["auth", "status", "--output", "json", "--base-url", "http://127.0.0.1:9"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert_eq!(json(&said.stdout)["state"], "missing");
    assert!(said.stderr.contains("auth login --store file"), "{}", said.stderr);
}

#[test]
fn status_names_the_key_source_in_use() {
    let (sandbox, home) = signed_in();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, &sandbox.api_key).unwrap();
    let path = file.path().to_str().unwrap();
    let status = ["auth", "status", "--output", "json"];
    let by_flag = home.succeed(&[&status[..], &["--api-key-file", path]].concat());
    assert!(json(&by_flag)["source"].as_str().unwrap().contains("--api-key-file"), "{by_flag}");
    for (name, value) in [("FORMSVC_API_KEY", &*sandbox.api_key), ("FORMSVC_API_KEY_FILE", path)] {
        let mut by_variable = home.formsvc(&status);
        let said = Said::from(by_variable.env(name, value).output().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(json(&said.stdout)["source"].as_str().unwrap().contains(name), "{}", said.stdout);
        // A stored key that is not used causes a warning.
        assert!(said.stderr.contains(name), "{}", said.stderr);
    }
}

#[test]
fn status_of_a_demo_is_ok() {
    let said = crate::support::run(&["--demo", "auth", "status", "--output", "json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(json(&said.stdout)["state"], "ok");
}
