//! `formsvc-server key`.

use serde_json::Value;

use super::Site;

#[test]
fn a_key_made_by_the_command_opens_the_api_and_closes_it_when_revoked() {
    let site = Site::with_user();
    let made = site.run(&["key", "create", "--user", "a@b.c", "--name", "laptop"]).succeeded();
    let key = made.stdout.trim_end();
    assert!(key.starts_with("fsk_") && key.len() == 47, "{key}");
    assert!(!made.stderr.contains(key));
    let listed = site.run(&["key", "list", "--user", "a@b.c"]).succeeded();
    let record = listed.json();
    assert_eq!((&record["name"], &record["revoked_at"]), (&"laptop".into(), &Value::Null));
    assert_eq!(record["prefix"], key[..10]);
    assert_eq!(record["last_used_at"], Value::Null);

    let serving = site.serve(&[]);
    assert!(serving.get("/api/v1/me", key).contains(r#""email":"a@b.c","name":"Zoë""#));
    // Beside the running server.
    let revoked = site.run(&["key", "revoke", record["id"].as_str().unwrap()]).succeeded();
    assert!(revoked.json()["revoked_at"].is_string());
    assert!(serving.get("/api/v1/me", key).contains("key_revoked"));
    serving.signal("TERM");
    let (code, log) = serving.wait();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("listening") && log.contains("stopped"), "{log}");
    assert!(!log.contains(key) && !log.contains("a@b.c"), "{log}");
    // What was noted is written before the store is closed.
    let used = site.run(&["key", "list", "--user", "a@b.c"]).succeeded().json();
    assert!(used["last_used_at"].as_str() >= used["created_at"].as_str(), "{used}");
    let keys = site.run(&["key", "list", "--user", "a@b.c", "--output", "text"]).succeeded();
    assert!(keys.stdout.lines().next().unwrap().contains("USED"), "{}", keys.stdout);
}

#[test]
fn a_key_given_for_its_id_is_not_repeated() {
    let site = Site::with_user();
    let run = site.run(&["key", "revoke", "fsk_abcdefghijkl"]).failed(2, "its id is wanted");
    assert!(!run.stderr.contains("abcdef"));
}
