//! `formsvc submissions export`: unfinished exports and the commands that continue them.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::processes;
use crate::support::{Canned, Said, Sandbox, answer, entries, one_form, page, signal};

/// Two submissions that are further apart than the overlap.
const NEWER: &str = r#"{"id":"sub_2","data":{"a":"y"},"created_at":"2026-01-02T00:00:00.000Z"}"#;
const OLDER: &str = r#"{"id":"sub_1","data":{"a":"x"},"created_at":"2026-01-01T00:00:00.000Z"}"#;
const CURSOR: Option<&str> = Some("2026-01-02T00:00:00.000Z");

/// Runs with a state folder.
fn run(command: &mut Command, state: &Path) -> Said {
    command.env("FORMSVC_STATE_DIR", state).output().unwrap().into()
}

fn revoked() -> Option<String> {
    answer("401 Unauthorized", "", r#"{"error":{"code":"key_revoked","message":"revoked"}}"#)
}

/// A service that ends after the first page.
fn cut_off() -> Canned {
    Canned::start(vec![one_form(), page(NEWER, CURSOR), revoked()])
}

#[test]
fn failed_export_is_saved_and_its_command_continues() {
    let folder = tempfile::tempdir().unwrap();
    let (state, out) = (folder.path().join("state"), folder.path().join("rows.csv"));
    std::fs::write(&out, "the previous file").unwrap();
    let export = ["submissions", "export", "survey", "-o", out.to_str().unwrap()];
    let said = run(&mut cut_off().formsvc(&export), &state);
    assert_eq!(said.code, Some(4), "{}", said.stderr);
    for expected in
        ["1 submission is saved", "is unchanged", "continue with: formsvc submissions export"]
    {
        assert!(said.stderr.contains(expected), "no {expected:?} in {}", said.stderr);
    }
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "the previous file");

    let service = Canned::start(vec![page(&format!("{NEWER},{OLDER}"), None)]);
    let list =
        ["submissions", "exports", "list", "--json", "form,submissions,oldest,state,command"];
    let said = run(&mut service.formsvc(&list), &state);
    let listed: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(listed[0]["submissions"], 1, "{listed}");
    assert_eq!(
        (&listed[0]["state"], &listed[0]["oldest"]),
        (&"saved".into(), &NEWER[45..69].into())
    );
    assert!(
        listed[0]["command"].as_str().unwrap().starts_with("formsvc submissions export survey")
    );
    let said = run(&mut service.formsvc(&["submissions", "exports", "list"]), &state);
    let table = ["submissions", "exports", "list", "--output", "table"];
    let table = run(&mut service.formsvc(&table), &state).stdout;
    assert!(table.contains(" KiB") || table.contains(" MiB"), "{table}");
    let command = "continue Survey with: formsvc submissions export survey";
    assert!(said.stderr.contains(command), "{}", said.stderr);
    let said = run(&mut service.formsvc(&["submissions", "exports", "clean"]), &state);
    assert!(said.stderr.contains("removed 1 unfinished export"), "{}", said.stderr);
    assert_eq!(entries(&state.join("exports")), Vec::<String>::new());
}

#[test]
fn export_without_submissions_is_neither_listed_nor_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (state, out) = (folder.path().join("state"), folder.path().join("rows.csv"));
    let service = Canned::start(vec![one_form(), revoked()]);
    let export = ["submissions", "export", "survey", "-o", out.to_str().unwrap()];
    assert_eq!(run(&mut service.formsvc(&export), &state).code, Some(4));
    assert!(!entries(&state.join("exports")).is_empty());
    let said = run(&mut service.formsvc(&["submissions", "exports", "list"]), &state);
    assert_eq!((&*said.stdout, &*said.stderr), ("", "no unfinished exports\n"));
    let said = run(&mut service.formsvc(&["submissions", "exports", "clean"]), &state);
    assert_eq!(said.stderr, "removed 0 unfinished exports\n");
    assert_eq!(entries(&state.join("exports")), Vec::<String>::new());
}

#[test]
fn command_that_continues_has_the_typed_start_and_no_fresh() {
    let folder = tempfile::tempdir().unwrap();
    let rows = format!("{}/rows.csv", folder.path().display());
    let export = ["submissions", "export", "survey", "--since", "20000d", "--fresh", "-o", &rows];
    let both = page(&format!("{NEWER},{OLDER}"), None);
    let service = Canned::start(vec![one_form(), page(NEWER, CURSOR), revoked(), one_form(), both]);
    let said = run(&mut service.formsvc(&export), folder.path());
    let (_, line) = said.stderr.split_once("continue with: ").unwrap();
    let expected = format!("formsvc submissions export survey --out {rows} --since 20000d\n");
    assert_eq!(line, expected, "{}", said.stderr);
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let said = run(&mut service.formsvc(&words), folder.path());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("continuing with 1 submission"), "{}", said.stderr);
}

#[test]
fn json_error_of_a_saved_export_is_resumable() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.ndjson");
    let export = ["submissions", "export", "survey", "--error-format", "json", "-o"];
    let args = [&export[..], &[out.to_str().unwrap()]].concat();
    let said = run(&mut cut_off().formsvc(&args), &folder.path().join("state"));
    let error: serde_json::Value =
        serde_json::from_str(said.stderr.lines().last().unwrap()).unwrap();
    assert_eq!(error["error"]["resumable"], true, "{error}");
    assert!(error["error"]["resume"].as_str().unwrap().contains("submissions export survey"));
    assert_eq!(error["error"]["code"], "key_refused");
}

#[test]
fn max_time_ends_with_exit_8() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.csv");
    let service = Canned::start(vec![one_form(), page(NEWER, CURSOR), None]);
    let export =
        ["submissions", "export", "survey", "--max-time", "2s", "-o", out.to_str().unwrap()];
    let said = run(&mut service.formsvc(&export), &folder.path().join("state"));
    assert_eq!(said.code, Some(8), "{}", said.stderr);
    assert!(said.stderr.contains("1 submission is saved"), "{}", said.stderr);
    assert!(!out.exists());
}

#[test]
fn interrupt_reports_the_saved_rows() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.csv");
    let service = Canned::start(vec![one_form(), page(NEWER, CURSOR), None]);
    let export = ["submissions", "export", "survey", "-o", out.to_str().unwrap()];
    let mut command = service.formsvc(&export);
    command.env("FORMSVC_STATE_DIR", folder.path().join("state"));
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    (0..3).for_each(|_| drop(service.request()));
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(
        stderr.contains("1 submission is saved") && stderr.contains("continue with:"),
        "{stderr}"
    );
}

#[test]
fn several_forms_go_into_a_folder() {
    let (sandbox, folder) = (Sandbox::start(&[]), tempfile::tempdir().unwrap());
    let (state, out) = (folder.path().join("state"), folder.path().join("out"));
    let to = ["-o", out.to_str().unwrap()];
    let export =
        ["submissions", "export", "penguins", "anes96", "--format", "ndjson", "--limit", "7"];
    let said = run(&mut sandbox.formsvc(&[&export[..], &to].concat()), &state);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(entries(&out), ["anes96.ndjson", "penguins.ndjson"]);
    assert_eq!(std::fs::read_to_string(out.join("anes96.ndjson")).unwrap().lines().count(), 7);
    assert_eq!(entries(&state.join("exports")), Vec::<String>::new());
    let all = ["submissions", "export", "--all", "--limit", "3", "--manifest"];
    let said = run(&mut sandbox.formsvc(&[&all[..], &to].concat()), &state);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(
        entries(&out).contains(&"penguins.csv.manifest.json".to_owned()),
        "{:?}",
        entries(&out)
    );
    let said = run(&mut sandbox.formsvc(&["submissions", "export", "--all"]), &state);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
}

#[cfg(unix)]
#[test]
fn link_at_a_derived_file_name_is_an_error() {
    let (sandbox, folder) = (Sandbox::start(&[]), tempfile::tempdir().unwrap());
    let target = folder.path().join("profile");
    std::fs::write(&target, "kept").unwrap();
    let link = folder.path().join("penguins.csv");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    let out = folder.path().to_str().unwrap();
    let export = ["submissions", "export", "anes96", "penguins", "--limit", "7", "-o", out];
    let said = run(&mut sandbox.formsvc(&export), &folder.path().join("state"));
    assert_eq!(said.code, Some(10), "{}", said.stderr);
    assert!(said.stderr.contains("penguins.csv` is a symbolic link"), "{}", said.stderr);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
}

#[test]
fn incomplete_form_of_several_leaves_no_saved_rows() {
    let (sandbox, folder) =
        (Sandbox::start(&["--fault", "cursor-millis"]), tempfile::tempdir().unwrap());
    let (state, out) = (folder.path().join("state"), folder.path().join("out"));
    let export = ["submissions", "export", "randhie", "penguins", "--allow-incomplete", "-o"];
    let said = run(&mut sandbox.formsvc(&[&export[..], &[out.to_str().unwrap()]].concat()), &state);
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    assert_eq!(entries(&out), ["penguins.csv", "randhie.csv"]);
    assert!(said.stderr.contains(": the millisecond `"), "{}", said.stderr);
    assert_eq!(entries(&state.join("exports")), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn column_map_from_a_pipe_is_read_once() {
    let (sandbox, folder) = (Sandbox::start(&[]), tempfile::tempdir().unwrap());
    let out = folder.path().join("out");
    let export = ["submissions", "export", "penguins", "anes96", "--limit", "1"];
    let to = ["--column-map", "/dev/stdin", "-o", out.to_str().unwrap()];
    let (map, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, br#"{"species":"Kind"}"#).unwrap();
    drop(writer);
    let mut command = sandbox.formsvc(&[&export[..], &to].concat());
    let said = run(command.stdin(map), folder.path());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let text = std::fs::read_to_string(out.join("penguins.csv")).unwrap();
    assert!(text.starts_with("id,created_at,Kind,"), "{text}");
}

#[test]
fn rows_and_columns_are_selected() {
    let (sandbox, folder) = (Sandbox::start(&[]), tempfile::tempdir().unwrap());
    let map = folder.path().join("map.json");
    std::fs::write(&map, r#"{"species":"Kind"}"#).unwrap();
    let export = ["submissions", "export", "penguins", "--columns", "Kind,island", "--where"];
    let filter = [r#".data.species == "Chinstrap""#, "--limit", "5"];
    let map = ["--column-map", map.to_str().unwrap(), "--delimiter", ";"];
    let said = run(&mut sandbox.formsvc(&[&export[..], &filter, &map].concat()), folder.path());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!((lines[0], lines.len()), ("id;created_at;Kind;island", 6), "{}", said.stdout);
    assert!(lines[1..].iter().all(|line| line.ends_with("Chinstrap;Dream")), "{}", said.stdout);
    let wrong = ["submissions", "export", "penguins", "--where", ".a |"];
    assert_eq!(run(&mut sandbox.formsvc(&wrong), folder.path()).code, Some(2));
}

#[test]
fn dry_run_requests_one_page_and_writes_nothing() {
    let (sandbox, folder) =
        (Sandbox::start(&["--generate", "big=2000"]), tempfile::tempdir().unwrap());
    let out = folder.path().join("rows.csv");
    let plan = ["submissions", "export", "big", "--dry-run", "-o", out.to_str().unwrap()];
    let said = run(&mut sandbox.formsvc(&plan), folder.path());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.contains("more than 100 submissions"), "{}", said.stderr);
    // The density of a page that covers a short time is no basis for an estimate of 25 years.
    let said = run(sandbox.formsvc(&plan).args(["--since", "2000-01-01"]), folder.path());
    assert!(said.stderr.contains("cannot be estimated"), "{}", said.stderr);
    let first = page(&format!("{NEWER},{OLDER}"), CURSOR);
    let service = Canned::start(vec![one_form(), first]);
    let plan = ["submissions", "export", "survey", "--since", "2025-06-01", "--dry-run"];
    let said = run(service.formsvc(&plan).env("TZ", "UTC"), folder.path());
    let estimate = "~430 submissions in ~5 requests, ~";
    for expected in [estimate, "at 300 requests in 60 s", "the newest 2 submissions"] {
        assert!(said.stderr.contains(expected), "no {expected:?} in {}", said.stderr);
    }
    assert!(!out.exists());
    // The number of submissions of a single page is exact.
    let service = Canned::start(vec![one_form(), page(&format!("{NEWER},{OLDER}"), None)]);
    let plan = ["submissions", "export", "survey", "--since", "2026-01-02", "--dry-run"];
    let said = run(service.formsvc(&plan).env("TZ", "UTC"), folder.path());
    let expected = "Survey: 1 submission in 1 request, ~1 s at 300 requests in 60 s";
    assert!(said.stderr.contains(expected), "{}", said.stderr);
    assert_eq!(service.pending(), 2);
}

#[test]
fn dry_run_marks_a_number_that_a_filter_changes() {
    let folder = tempfile::tempdir().unwrap();
    for (filter, expected) in [(&[][..], "Survey: 1 submission in"), (&["--where", ".id"], "~1 ")] {
        let service = Canned::start(vec![one_form(), page(NEWER, None)]);
        let plan = [&["submissions", "export", "survey", "--dry-run"], filter].concat();
        let said = run(&mut service.formsvc(&plan), folder.path());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        assert!(said.stderr.contains(expected), "{}", said.stderr);
        assert!(said.stderr.contains(" in 1 request, "), "{}", said.stderr);
    }
}

#[test]
fn changed_submission_of_a_continued_export_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.csv");
    let changed = NEWER.replace("\"y\"", "\"z\"");
    let both = page(&format!("{changed},{OLDER}"), None);
    let service = Canned::start(vec![one_form(), page(NEWER, CURSOR), revoked(), one_form(), both]);
    let export = ["submissions", "export", "survey", "-o", out.to_str().unwrap()];
    assert_eq!(run(&mut service.formsvc(&export), folder.path()).code, Some(4));
    let said = run(&mut service.formsvc(&export), folder.path());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let warning = "1 submission changed on the service; the export has the new content";
    assert!(said.stderr.contains(warning), "{}", said.stderr);
    assert!(std::fs::read_to_string(&out).unwrap().contains(",z\n"));
}

#[test]
fn failed_filter_names_the_option() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.csv");
    for (filter, reason) in [(".data.a | error(\"no\")", "no"), ("halt", "`halt` is not allowed")] {
        let service = Canned::start(vec![one_form(), page(NEWER, None)]);
        let export =
            ["submissions", "export", "survey", "--where", filter, "-o", out.to_str().unwrap()];
        let said = run(&mut service.formsvc(&export), folder.path());
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.contains(reason), "{}", said.stderr);
        assert!(!said.stderr.contains("continue with"), "{}", said.stderr);
    }
}

#[test]
fn exports_list_fits_a_terminal_of_80_columns() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("rows.csv");
    let export = ["submissions", "export", "survey", "-o", out.to_str().unwrap()];
    assert_eq!(run(&mut cut_off().formsvc(&export), folder.path()).code, Some(4));
    let program = env!("CARGO_BIN_EXE_formsvc");
    let list = format!("stty columns 80; '{program}' submissions exports list");
    let mut script = processes::command("script");
    script.args(["-qec", &list, "/dev/null"]).stdin(Stdio::null());
    let said = run(&mut script, folder.path());
    let heading = said.stdout.lines().find(|line| line.contains("FORM")).unwrap_or_default();
    for field in ["FORM", "SUBMISSIONS", "OLDEST", "NEWEST", "STATE"] {
        assert!(heading.contains(field), "{}", said.stdout);
    }
    assert!(said.stdout.contains("formsvc submissions export survey --out"), "{}", said.stdout);
}

#[test]
fn format_that_needs_a_file_is_refused_on_standard_output() {
    for format in ["xlsx", "sqlite"] {
        let said = crate::support::run(&["submissions", "export", "survey", "--format", format]);
        assert_eq!((said.code, &*said.stdout), (Some(2), ""), "{}", said.stderr);
        assert!(said.stderr.contains("write to a file with `-o PATH`"), "{}", said.stderr);
    }
}

#[test]
fn unusable_state_folder_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    std::fs::write(&state, "a file").unwrap();
    let service = Canned::start(vec![one_form(), page(&format!("{NEWER},{OLDER}"), None)]);
    let out = folder.path().join("rows.csv");
    let export = ["submissions", "export", "survey", "-o", out.to_str().unwrap()];
    let said = run(&mut service.formsvc(&export), &state);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let warning = format!("submissions cannot be saved in `{}/exports`", state.display());
    assert!(said.stderr.contains(&warning), "{}", said.stderr);
}

#[cfg(unix)]
#[test]
fn workbook_on_a_full_disk_is_an_error_and_no_bug() {
    let folder = tempfile::tempdir().unwrap();
    // The workbook is larger than the answers: `&` is `&amp;` in it.
    let answers: Vec<_> = (0..10).map(|at| format!(r#""{at}":"{}""#, "&".repeat(32_000))).collect();
    let row = NEWER.replace(r#""a":"y""#, &answers.join(","));
    let service = Canned::start(vec![one_form(), page(&row, None)]);
    let out = folder.path().join("rows.xlsx");
    let export = service.formsvc(&["submissions", "export", "survey", "-o", out.to_str().unwrap()]);
    let mut limited = processes::command("/bin/sh");
    limited.args(["-c", "ulimit -f 2048; exec \"$0\" \"$@\""]);
    limited.arg(export.get_program()).args(export.get_args());
    for (name, value) in export.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let said = run(&mut limited, &folder.path().join("state"));
    assert!(said.stderr.contains("the workbook's temporary file failed"), "{}", said.stderr);
    assert!(!said.stderr.contains("bug") && !out.exists(), "{}", said.stderr);
}
