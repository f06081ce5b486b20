//! `formsvc submissions sync`, and `export --from` of the database.

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
fn status_and_export_of_a_database_make_no_request() {
    let (service, database) = (Canned::start(vec![one_form(), both()]), Database::new());
    assert_eq!(database.run(&service, &["sync", "survey"]).code, Some(0));
    service.pending();
    let status = database.status(&service);
    assert_eq!((&status[0]["submissions"], &status[0]["gaps"]), (&2.into(), &0.into()));
    let said = database.export(&service, &[]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(
        said.stdout,
        "id,created_at,a\nsub_2,2026-01-02T00:00:00.000Z,y\nsub_1,2026-01-01T00:00:00.000Z,x\n"
    );
    let ndjson =
        database.export(&service, &["--format", "ndjson", "--since", "2026-01-02T00:00:00Z"]);
    assert_eq!(ndjson.stdout, format!("{NEWER}\n"));
    let unknown = database.run(&service, &["export", "other", "--from", &database.url()]);
    assert_eq!(unknown.code, Some(3), "{}", unknown.stderr);
    assert!(service.asked_nothing());
}

#[test]
fn database_knows_the_public_id_of_a_form() {
    let (service, database) = (Canned::start(vec![one_form(), both()]), Database::new());
    assert_eq!(database.run(&service, &["sync", "survey"]).code, Some(0));
    service.pending();
    assert_eq!(database.status(&service)[0]["public_id"], "survey");
    for name in ["survey", "surv", "Survey", "frm_"] {
        let said = database.run(&service, &["export", name, "--from", &database.url()]);
        assert_eq!((said.code, said.stdout.lines().count()), (Some(0), 3), "{}", said.stderr);
    }
    let folder = database.0.path().join("files");
    let from = ["--from", &database.url(), "-o", folder.to_str().unwrap()];
    for forms in [&["--all"][..], &["survey", "frm_1"]] {
        let said = database.run(&service, &[&["export"], forms, &from].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let names = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["survey.csv"]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
    assert!(service.asked_nothing());
}

#[test]
fn export_over_a_database_of_sync_is_refused() {
    let (service, database) = (Canned::start(vec![one_form(), both()]), Database::new());
    assert_eq!(database.run(&service, &["sync", "frm_1"]).code, Some(0));
    let path = database.0.path().join("rows.db");
    let said = database.export(&service, &["-o", path.to_str().unwrap()]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("it is a database of synchronized forms"), "{}", said.stderr);
    assert_eq!(database.status(&service)[0]["submissions"], 2);
}

#[test]
fn time_zone_keeps_its_column_beside_selected_ones() {
    let (service, database) = (Canned::start(vec![one_form(), both()]), Database::new());
    assert_eq!(database.run(&service, &["sync", "frm_1"]).code, Some(0));
    let said = database.export(&service, &["--time-zone", "Asia/Tokyo", "--columns", "a"]);
    assert!(said.stdout.starts_with("id,created_at,created_at_local,a\n"), "{}", said.stdout);
    assert!(said.stdout.contains("2026-01-02T09:00:00.000+09:00,y"), "{}", said.stdout);
}

#[test]
fn export_of_an_incomplete_database_is_exit_9() {
    let answers = vec![one_form(), page(NEWER, CURSOR), revoked(), both()];
    let (service, database) = (Canned::start(answers), Database::new());
    let said = database.run(&service, &["sync", "survey"]);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    assert!(said.stderr.contains("1 new submission stored"), "{}", said.stderr);
    assert_eq!(database.status(&service)[0]["complete"], "no");
    let said = database.export(&service, &[]);
    assert_eq!((said.code, &*said.stdout), (Some(9), ""), "{}", said.stderr);
    let folder = database.0.path().join("files");
    let said = database.export(&service, &["frm_1", "-o", folder.to_str().unwrap()]);
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    let said = database.export(&service, &["--allow-incomplete"]);
    assert_eq!((said.code, said.stdout.lines().count()), (Some(9), 2), "{}", said.stderr);
    assert_eq!(database.run(&service, &["sync", "frm_1"]).code, Some(0));
    let said = database.export(&service, &[]);
    assert_eq!((said.code, said.stdout.lines().count()), (Some(0), 3), "{}", said.stderr);
}

#[test]
fn database_that_begins_at_since_is_not_complete() {
    let older = OLDER.replace("2026-01-01T00", "2025-12-31T00");
    let answers = vec![one_form(), page(&format!("{NEWER},{older}"), CURSOR)];
    let (service, database) = (Canned::start(answers), Database::new());
    let said = database.run(&service, &["sync", "survey", "--since", "2026-01-01T12:00:00Z"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let status = &database.status(&service)[0];
    assert_eq!((&status["gaps"], &status["complete"]), (&0.into(), &"no".into()));
    assert_eq!(database.export(&service, &[]).code, Some(9));
}

#[test]
fn verify_marks_deleted_submissions_on_request() {
    let answers = vec![one_form(), both(), page(NEWER, None)];
    let (service, database) = (Canned::start(answers), Database::new());
    assert_eq!(database.run(&service, &["sync", "survey"]).code, Some(0));
    let said = database.run(&service, &["sync", "verify", "frm_1"]);
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    assert!(said.stderr.contains("1 submission not in the service"), "{}", said.stderr);
    let said = database.run(&service, &["sync", "verify", "frm_1", "--mark-deleted"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(database.status(&service)[0]["deleted"], 1);
    assert_eq!(database.export(&service, &[]).stdout.lines().count(), 2);
    assert_eq!(database.export(&service, &["--include-deleted"]).stdout.lines().count(), 3);
    let said = database.run(&service, &["sync", "verify", "frm_1"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

#[test]
fn verify_purges_deleted_submissions_on_request() {
    let answers = vec![one_form(), both(), page(NEWER, None)];
    let (service, database) = (Canned::start(answers), Database::new());
    assert_eq!(database.run(&service, &["sync", "survey"]).code, Some(0));
    let purge = ["sync", "verify", "frm_1", "--purge-deleted"];
    let said = database.run(&service, &purge);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("1 submission not in the service and removed"), "{}", said.stderr);
    let status = &database.status(&service)[0];
    assert_eq!((&status["submissions"], &status["deleted"]), (&1.into(), &0.into()));
    assert_eq!(database.export(&service, &["--include-deleted"]).stdout.lines().count(), 2);
    let path = database.0.path().join("rows.db");
    let reader = rusqlite::Connection::open(path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM submissions").unwrap();
    let said = database.run(&service, &purge);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("are still in the file"), "{}", said.stderr);
    let both = [&purge[..], &["--mark-deleted"]].concat();
    assert_eq!(database.run(&service, &both).code, Some(2));
}

#[test]
fn verify_of_an_overflowing_list_is_exit_9() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(&["--fault", "cursor-millis"]);
    let to = format!("sqlite:{}", folder.path().join("rows.db").display());
    let args = ["submissions", "sync", "verify", "randhie", "--allow-incomplete", "--to", &to];
    let mut command = sandbox.formsvc(&args);
    let said: Said = command.env("FORMSVC_STATE_DIR", folder.path()).output().unwrap().into();
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    assert!(said.stderr.contains("share a unit of the service's cursor"), "{}", said.stderr);
    assert!(said.stderr.contains("100 submissions were received"), "{}", said.stderr);
    assert!(!said.stderr.contains("the database is equal"), "{}", said.stderr);
}

#[test]
fn interrupted_verify_reports_what_it_stored() {
    let answers = vec![one_form(), both(), page(NEWER, CURSOR), broken()];
    let (service, database) = (Canned::start(answers), Database::new());
    let said = database.run(&service, &["sync", "verify", "survey"]);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    let hint = "nothing new was stored; the same command compares again from the first page";
    assert!(said.stderr.contains(hint), "{}", said.stderr);
}

#[test]
fn empty_list_marks_nothing() {
    let answers = vec![one_form(), both(), page("", None)];
    let (service, database) = (Canned::start(answers), Database::new());
    assert_eq!(database.run(&service, &["sync", "survey"]).code, Some(0));
    let verify = ["sync", "verify", "frm_1", "--mark-deleted"];
    let said = database.run(&service, &verify);
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    assert!(said.stderr.contains("the list of the service is empty"), "{}", said.stderr);
    assert!(said.stderr.contains("`--allow-empty`"), "{}", said.stderr);
    assert_eq!(database.status(&service)[0]["deleted"], 0);
    let said = database.run(&service, &[&verify[..], &["--allow-empty"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("2 submissions not in the service and marked"), "{}", said.stderr);
    assert_eq!(database.status(&service)[0]["deleted"], 2);
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

#[test]
fn sync_status_shows_complete_and_view_at_80_columns() {
    let (service, database) = (Canned::start(vec![one_form(), both()]), Database::new());
    assert_eq!(database.run(&service, &["sync", "survey"]).code, Some(0));
    let mut command = database.command(&service, &["sync", "status", "--output", "table"]);
    let table = command.env("COLUMNS", "80").output().unwrap().stdout;
    let table = String::from_utf8(table).unwrap();
    let headings: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(headings[2..4], ["COMPLETE", "VIEW"], "{table}");
}

#[test]
fn repeated_row_is_counted_in_the_singular() {
    let answers = vec![one_form(), page(NEWER, CURSOR), both()];
    let (service, database) = (Canned::start(answers), Database::new());
    let said = database.run(&service, &["sync", "survey", "-v"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("the service sent 1 row twice;"), "{}", said.stderr);
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
        // An early failure leaves no form.
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
fn watch_stores_new_submissions_until_a_signal() {
    let answers = vec![one_form(), page(OLDER, None), both()];
    let (service, database) = (Canned::start(answers), Database::new());
    let watch = ["sync", "survey", "--watch", "--interval", "50ms"];
    let child = database.command(&service, &watch).stderr(Stdio::piped()).spawn().unwrap();
    (0..5).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.matches("1 new submission").count(), 2, "{stderr}");
    assert_eq!(database.status(&service)[0]["submissions"], 2);
}

#[test]
fn watch_continues_after_a_round_that_met_a_lock() {
    let answers = vec![one_form(), page(NEWER, CURSOR), None, both()];
    let (service, database) = (Canned::start(answers), Database::new());
    let mut first = database.command(&service, &["sync", "survey"]).spawn().unwrap();
    (0..3).for_each(|_| drop(service.request()));
    let watch = ["sync", "frm_1", "--watch", "--interval", "50ms"];
    let mut watch = database.command(&service, &watch).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watch.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("locked by another run")));
    signal(&first, "KILL");
    first.wait().unwrap();
    assert!(lines.any(|line| line.contains("1 new submission")));
    signal(&watch, "INT");
    assert_eq!(watch.wait().unwrap().code(), Some(130));
}

#[test]
fn watch_with_an_output_is_a_usage_error() {
    let (service, database) = (Canned::start(vec![one_form()]), Database::new());
    for output in [&["--output", "ndjson"][..], &["--json", "form"]] {
        let said = database.run(&service, &[&["sync", "survey", "--watch"], output].concat());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
    }
    assert!(service.asked_nothing());
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
fn long_view_name_is_whole_in_a_pipe() {
    let long = "a".repeat(90);
    let form = one_form().map(|form| {
        form.split_once("\r\n\r\n").unwrap().1.replace("frm_1", &format!("frm_{long}"))
    });
    let form = answer("200 OK", "", &form.unwrap());
    let (service, database) = (Canned::start(vec![form, both()]), Database::new());
    assert_eq!(database.run(&service, &["sync", "survey"]).code, Some(0));
    for format in ["tsv", "json", "table"] {
        let said = database.run(&service, &["sync", "status", "--output", format]);
        assert!(said.stdout.contains(&format!("frm_{long}")), "{format}: {}", said.stdout);
    }
}
