//! The checks of API keys in `doctor`.

use serde_json::Value;

use super::{Home, me, signed_in};
use crate::support::{Canned, SECRET, Said};

/// The outcome and finding of each check.
fn checks(said: &Said) -> Vec<(String, String, String)> {
    let rows: Value = serde_json::from_str(&said.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| (text(&row["check"]), text(&row["outcome"]), text(&row["found"]))).collect()
}

fn outcome(said: &Said, check: &str) -> String {
    let found = checks(said).into_iter().find(|(name, ..)| name == check);
    found.unwrap_or_else(|| panic!("no check {check}: {}", said.stdout)).1
}

const DOCTOR: [&str; 3] = ["doctor", "--output", "json"];

#[test]
fn doctor_passes_after_login() {
    let (sandbox, home) = signed_in();
    let said = home.run(&DOCTOR);
    assert_eq!(said.code, Some(0), "{} {}", said.stdout, said.stderr);
    for check in ["key", "key file"] {
        assert_eq!(outcome(&said, check), "passed", "{}", said.stdout);
    }
    // No keyring is available in this test, and no profile needs one.
    assert_eq!(outcome(&said, "keyring"), "skipped", "{}", said.stdout);
    assert!(!said.stdout.contains(&sandbox.api_key));
}

#[test]
fn doctor_without_key_fails() {
    let home = Home::new();
    let said = home.run(&DOCTOR);
    assert_eq!(said.code, Some(1), "{} {}", said.stdout, said.stderr);
    assert_eq!(outcome(&said, "profile"), "failed");
    assert_eq!(outcome(&said, "key"), "skipped");
    home.assert_untouched();
}

#[cfg(unix)]
#[test]
fn doctor_unsafe_key_file_fails() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (service, home) = (Canned::start(vec![me()]), Home::new());
    home.log_in("default", &service.base_url, SECRET, &[]);
    let loosen = |mode| std::fs::set_permissions(home.key_file(), PermissionsExt::from_mode(mode));
    loosen(0o644).unwrap();
    let said = home.run(&DOCTOR);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert_eq!(outcome(&said, "key file"), "failed", "{}", said.stdout);
    assert!(said.stdout.contains("chmod 600"), "{}", said.stdout);
    loosen(0o600).unwrap();
    let elsewhere = home.folder.path().join("elsewhere");
    std::fs::rename(home.key_file(), &elsewhere).unwrap();
    symlink(&elsewhere, home.key_file()).unwrap();
    let said = home.run(&DOCTOR);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    assert_eq!(outcome(&said, "key file"), "failed", "{}", said.stdout);
}

#[cfg(unix)]
#[test]
fn doctor_runs_the_key_command_once() {
    let (service, home) = (Canned::start(vec![me()]), Home::new());
    let asked = home.folder.path().join("asked");
    let script = format!("echo >> {}; echo {SECRET}", asked.display());
    let login = ["auth", "login", "--base-url", &service.base_url];
    home.succeed(&[&login[..], &["--api-key-command", "/bin/sh", "-c", &script]].concat());
    std::fs::write(&asked, "").unwrap();
    home.run(&DOCTOR);
    assert_eq!(std::fs::read_to_string(&asked).unwrap(), "\n");
}

#[test]
fn doctor_names_variables_that_override_a_stored_key() {
    let (_sandbox, home) = signed_in();
    let mut doctor = home.formsvc(&DOCTOR);
    let said = Said::from(doctor.env("FORMSVC_API_KEY", SECRET).output().unwrap());
    assert_eq!(outcome(&said, "environment"), "warning", "{}", said.stdout);
    assert!(said.stdout.contains("FORMSVC_API_KEY") && !said.stdout.contains(SECRET));
}
