//! `sync verify`.

use super::*;

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
fn interrupted_verify_reports_the_stored_rows() {
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
