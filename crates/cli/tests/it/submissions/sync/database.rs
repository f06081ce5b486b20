//! `sync status` and `export --from`: they read a synchronized database.

use super::*;

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

#[test]
fn status_of_a_missing_database_names_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("sqlite:{}", folder.path().join("gone.db").display());
    let said = run(&["submissions", "sync", "status", "--to", &to]);
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    let hint = "`formsvc submissions sync FORM --to sqlite:PATH` creates the database";
    assert!(said.stderr.contains(hint), "{}", said.stderr);
}
