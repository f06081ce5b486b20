//! `formsvc submissions sync`, and `export --from` of the database.

mod database;
mod verify;
mod watch;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

#[cfg(target_os = "linux")]
use super::faults::SmallDisk;
use crate::support::{Canned, Said, Sandbox, answer, one_form, page, run, signal};

const NEWER: &str = r#"{"id":"sub_2","data":{"a":"y"},"created_at":"2026-01-02T00:00:00.000Z"}"#;
const OLDER: &str = r#"{"id":"sub_1","data":{"a":"x"},"created_at":"2026-01-01T00:00:00.000Z"}"#;
const CURSOR: Option<&str> = Some("2026-01-02T00:00:00.000Z");

fn both() -> Option<String> {
    page(&format!("{NEWER},{OLDER}"), None)
}

fn revoked() -> Option<String> {
    answer("401 Unauthorized", "", r#"{"error":{"code":"key_revoked","message":"revoked"}}"#)
}

fn broken() -> Option<String> {
    answer("200 OK", "", "<html>")
}

/// A database in a folder of its own.
struct Database(tempfile::TempDir);

impl Database {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn command(&self, service: &Canned, args: &[&str]) -> Command {
        let mut command = service.formsvc(&[&["submissions"], args].concat());
        command.env("FORMSVC_SYNC_TO", self.url()).env("FORMSVC_STATE_DIR", self.0.path());
        command
    }

    fn run(&self, service: &Canned, args: &[&str]) -> Said {
        self.command(service, args).output().unwrap().into()
    }

    fn url(&self) -> String {
        format!("sqlite:{}", self.0.path().join("rows.db").display())
    }

    fn export(&self, service: &Canned, args: &[&str]) -> Said {
        self.run(service, &[&["export", "frm_1", "--from", &self.url()], args].concat())
    }

    fn status(&self, service: &Canned) -> Value {
        let said = self.run(service, &["sync", "status", "--output", "json"]);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }
}

#[test]
fn sync_with_nothing_new_is_one_request() {
    let (service, database) = (Canned::start(vec![one_form(), both()]), Database::new());
    let said = database.run(&service, &["sync", "survey", "--output", "json"]);
    assert_eq!((said.code, service.pending()), (Some(0), 2), "{}", said.stderr);
    let reports: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&reports[0]["new"], &reports[0]["complete"]), (&2.into(), &"yes".into()));
    assert!(said.stderr.contains("Survey: 2 new submissions"), "{}", said.stderr);
    let view = format!("view `{}`", reports[0]["view"].as_str().unwrap());
    assert!(said.stderr.contains(&view), "{}", said.stderr);
    let said = database.run(&service, &["sync", "frm_1"]);
    assert_eq!((said.code, service.pending()), (Some(0), 1), "{}", said.stderr);
    assert!(said.stderr.contains("Survey: nothing new; 2 submissions"), "{}", said.stderr);
    assert_eq!(said.stdout, "");
}

#[test]
fn since_stores_its_last_page_completely() {
    let answers = vec![one_form(), page(&format!("{NEWER},{OLDER}"), CURSOR)];
    let (service, database) = (Canned::start(answers), Database::new());
    let said = database.run(&service, &["sync", "survey", "--since", "2026-01-01T12:00:00Z"]);
    assert_eq!((said.code, service.pending()), (Some(0), 2), "{}", said.stderr);
    assert_eq!(database.status(&service)[0]["submissions"], 2);
    let help = database.run(&service, &["sync", "--help"]).stdout;
    assert!(help.contains("The last page is stored completely"), "{help}");
}

#[test]
fn failure_before_the_first_page_reports_nothing_new() {
    let (service, database) = (Canned::start(vec![one_form(), broken()]), Database::new());
    let said = database.run(&service, &["sync", "survey"]);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    let hint = "nothing new was stored; the same command continues";
    assert!(said.stderr.contains(hint), "{}", said.stderr);
}

#[test]
fn refused_key_does_not_promise_to_continue() {
    let answers = vec![one_form(), page(NEWER, CURSOR), revoked()];
    let (service, database) = (Canned::start(answers), Database::new());
    let said = database.run(&service, &["sync", "survey"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("1 new submission stored\n"), "{}", said.stderr);
    assert!(!said.stderr.contains("the same command"), "{}", said.stderr);
}

#[test]
fn demo_sync_warns_that_its_forms_are_new() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("sqlite:{}", folder.path().join("rows.db").display());
    let said = run(&["--demo", "submissions", "sync", "penguins", "--to", &to]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let warning = "warning: each command with `--demo` creates its forms anew";
    assert!(said.stderr.starts_with(warning), "{}", said.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_ends_a_sync_that_the_same_command_completes() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&["--generate", "big=600", "--rate-limit", "off"]);
    let Some(disk) = SmallDisk::mount(folder.path().join("disk")) else { return };
    let to = format!("sqlite:{}", disk.0.join("rows.db").display());
    let run = |args: &[&str]| -> Said {
        let mut command =
            sandbox.formsvc(&[&["submissions", "sync"], args, &["--to", &to]].concat());
        command.env("FORMSVC_STATE_DIR", folder.path()).output().unwrap().into()
    };
    let status = || -> Value {
        let said = run(&["status", "--output", "json"]);
        serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{}", said.stderr))
    };
    let (mut size, mut stored) = (16, Vec::new());
    loop {
        disk.resize(size);
        let said = run(&["big"]);
        if said.code == Some(0) {
            break;
        }
        assert_eq!(said.code, Some(10), "{size} KiB: {}", said.stderr);
        assert!(said.stderr.contains("the disk is full"), "{size} KiB: {}", said.stderr);
        size += 48;
        disk.resize(size);
        // A sync that fails early stores no form.
        stored.push(status()[0]["submissions"].as_u64().unwrap_or_default());
        assert!(size < 8_192, "{}", said.stderr);
    }
    assert!(stored.is_sorted() && stored.iter().any(|rows| *rows > 0), "{stored:?}");
    let status = &status()[0];
    assert_eq!((&status["submissions"], &status["complete"]), (&600.into(), &"yes".into()));
}

#[test]
fn second_run_of_a_form_is_exit_10() {
    let answers = vec![one_form(), page(NEWER, CURSOR), None];
    let (service, database) = (Canned::start(answers), Database::new());
    let mut command = database.command(&service, &["sync", "survey"]);
    let mut first = command.stderr(Stdio::piped()).spawn().unwrap();
    (0..3).for_each(|_| drop(service.request()));
    let said = database.run(&service, &["sync", "frm_1"]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("locked by another run"), "{}", said.stderr);
    assert!(service.asked_nothing());
    signal(&first, "KILL");
    first.wait().unwrap();
}

#[test]
fn interrupted_sync_reports_the_stored_rows() {
    let answers = vec![one_form(), page(NEWER, CURSOR), None];
    let (service, database) = (Canned::start(answers), Database::new());
    let mut command = database.command(&service, &["sync", "survey"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    (0..3).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let said = Said::from(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{}", said.stderr);
    let stored = "1 new submission stored; the same command continues";
    assert!(said.stderr.contains(stored), "{}", said.stderr);
}

#[test]
fn failed_form_does_not_stop_the_others() {
    let contact = r#"{"id":"frm_2","public_id":"contact","title":"Contact","status":"published","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","url":"/f/contact"}"#;
    let contact = answer("200 OK", "", &format!("{{\"data\":[{contact}]}}"));
    let answers = vec![one_form(), both(), contact, both(), revoked(), both()];
    let (service, database) = (Canned::start(answers), Database::new());
    assert_eq!(database.run(&service, &["sync", "survey"]).code, Some(0));
    assert_eq!(database.run(&service, &["sync", "contact"]).code, Some(0));
    let said = database.run(&service, &["sync", "frm_1", "frm_2", "--output", "json"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    let reports: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((reports.as_array().unwrap().len(), &reports[0]["form_id"]), (1, &"frm_2".into()));
}

#[test]
fn password_of_a_database_is_never_printed() {
    let service = Canned::start(vec![one_form()]);
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| -> Said {
        let mut command = service.formsvc(args);
        command.env("FORMSVC_STATE_DIR", folder.path()).output().unwrap().into()
    };
    // No server listens there.
    for (address, code) in [
        ("postgres://ada:pass.word@127.0.0.1:1/db", 6),
        ("postgres:/ada:pass.word@127.0.0.1:1/db", 2),
        ("pass.word", 2),
    ] {
        for args in [
            &["submissions", "sync", "survey", "-v", "--to", address][..],
            &["submissions", "sync", "status", "--error-format", "json", "--to", address],
            &["submissions", "export", "survey", "--from", address],
        ] {
            let said = run(args);
            assert_eq!(said.code, Some(code), "{args:?}: {}", said.stderr);
            assert!(!said.stderr.contains("pass.word"), "{args:?}: {}", said.stderr);
        }
    }
    assert!(service.asked_nothing());
    let said = run(&["submissions", "sync", "survey"]);
    assert!(said.stderr.contains("FORMSVC_SYNC_TO"), "{}", said.stderr);
    assert!(!Path::new("pass.word").exists());
}

#[test]
fn sync_of_all_forms_adds_each_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("sqlite:{}", folder.path().join("rows.db").display());
    let said = run(&["--demo", "submissions", "sync", "--all", "--to", &to, "--json", "form,new"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let forms: Vec<Value> = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(forms.len(), 5, "{forms:?}");
    assert!(forms.contains(&serde_json::json!({ "form": "Palmer penguins", "new": 344 })));
    let both = run(&["--demo", "submissions", "sync", "penguins", "--all", "--to", &to]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

#[test]
fn summary_names_the_time_of_waits() {
    let limited = r#"{"error":{"code":"rate_limited","message":"slower"}}"#;
    let limited = answer("429 Too Many Requests", "retry-after: 1\r\n", limited);
    let (service, database) = (Canned::start(vec![one_form(), limited, both()]), Database::new());
    let said = database.run(&service, &["sync", "survey"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains(" s waiting) and 2 requests"), "{}", said.stderr);
}
