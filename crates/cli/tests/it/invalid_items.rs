//! Commands against a service with forms and submissions that violate the API.

use crate::support::{Canned, Said, answer, page};

const TIME: &str = "2026-01-01T00:00:00.000Z";

fn form(id: &str, public_id: &str, title: &str) -> String {
    format!(
        r#"{{"id":{id},"public_id":"{public_id}","title":{title},"status":"published","created_at":"{TIME}","updated_at":"{TIME}","url":"/f/{public_id}"}}"#
    )
}

/// A form without a title, and a form without a usable id.
fn forms() -> Option<String> {
    let forms = [
        form(r#""frm_1""#, "survey", r#""Survey""#),
        form(r#""frm_2""#, "contact", "null"),
        form("7", "poll", r#""Poll""#),
    ];
    answer("200 OK", "", &format!(r#"{{"data":[{}]}}"#, forms.join(",")))
}

/// Limits a list to submissions that are newer than the invalid one.
const NEWEST: [&str; 4] = ["--since", "2026-01-01T00:00:59Z", "--output", "ndjson"];

fn row(n: u32, data: &str) -> String {
    let second = 59 - n;
    format!(r#"{{"id":"sub_{n}","data":{data},"created_at":"2026-01-01T00:00:{second:02}.000Z"}}"#)
}

/// The last page of a list. Its submission 1 has no answers.
fn rows() -> Option<String> {
    let rows = [row(0, r#"{"A":1}"#), row(1, "null"), row(2, r#"{"A":3}"#), row(3, "[]")];
    page(&rows.join(","), None)
}

/// Runs a command that requests the forms and then submissions.
fn run(args: &[&str]) -> Said {
    Canned::start(vec![forms(), rows()]).run(args)
}

fn has_text(said: &Said, code: i32, texts: &[&str]) {
    assert_eq!(said.code, Some(code), "{}", said.stderr);
    for text in texts {
        assert!(said.stderr.contains(text), "{text} in {}", said.stderr);
    }
    assert!(!said.stderr.contains("login page"), "{}", said.stderr);
}

#[test]
fn forms_list_shows_the_valid_ones_and_ends_with_exit_9() {
    let said = run(&["forms", "list", "--output", "ndjson"]);
    assert_eq!(said.stdout.lines().count(), 1, "{}", said.stdout);
    has_text(
        &said,
        9,
        &[
            "the list is incomplete: 2 forms violate the API",
            "`frm_2` at `data[1].title`: invalid type: null, expected a string",
            "an item without an id at `data[2].id`: invalid type: integer `7`",
        ],
    );
}

#[test]
fn valid_form_is_found_beside_invalid_ones() {
    for name in ["frm_1", "survey", "Survey", "surv"] {
        let said = run(&["forms", "view", name, "--json", "id"]);
        assert_eq!((said.code, said.stdout.trim()), (Some(0), r#"{"id":"frm_1"}"#), "{name}");
    }
}

#[test]
fn list_of_invalid_forms_has_no_valid_forms() {
    let service = Canned::start(vec![page(&form("7", "poll", "null"), None)]);
    has_text(&service.run(&["forms", "list"]), 9, &["no valid forms\n", "1 form violates"]);
}

#[test]
fn invalid_form_is_found_by_the_names_that_it_has() {
    for name in ["frm_2", "contact", "cont"] {
        let said = run(&[&["submissions", "list", name][..], &NEWEST].concat());
        assert!(said.stdout.contains("sub_0"), "{}", said.stdout);
        has_text(&said, 0, &["`frm_2` at `data[1].title`"]);
    }
    has_text(
        &run(&["forms", "view", "frm_2", "--json", "title", "--jq", ".title"]),
        5,
        &[
            "the form `frm_2` violates the API",
            "data[1].title",
            "can be read: formsvc submissions list frm_2\n",
        ],
    );
}

#[test]
fn unknown_name_beside_unnamed_forms_is_undecided() {
    let absent = r#"{"error":{"code":"form_not_found","message":"no such form"}}"#;
    let service = Canned::start(vec![forms(), answer("404 Not Found", "", absent)]);
    has_text(
        &service.run(&["submissions", "list", "feedback"]),
        5,
        &["the form `feedback` cannot be found", "`frm_2` at", "use the id of the form"],
    );
}

#[test]
fn unlisted_form_with_an_invalid_submission_exists() {
    let service = Canned::start(vec![forms(), page(&row(0, "null"), None), rows()]);
    let said = service.run(&[&["submissions", "list", "frm_9"][..], &NEWEST].concat());
    assert!(said.stdout.contains("sub_0"), "{}", said.stdout);
    has_text(&said, 0, &["the form `frm_9` exists and is not in the list of forms"]);
}

#[test]
fn list_needs_only_the_submissions_that_it_shows() {
    let list = ["submissions", "list", "survey", "--output", "ndjson"];
    let said = run(&[&["submissions", "list", "survey"][..], &NEWEST].concat());
    assert_eq!((said.code, said.stdout.lines().count()), (Some(0), 1), "{}", said.stderr);
    has_text(
        &run(&list),
        5,
        &[
            "the submission `sub_1` violates the API at `data[1].data` of page 1",
            "request id req_test",
            "expected an object of answers",
            "--allow-incomplete",
        ],
    );
    let said = run(&[&list[..], &["--allow-incomplete"]].concat());
    assert_eq!(said.stdout.lines().count(), 3, "{}", said.stdout);
    assert!(said.stdout.contains(r#""data":{}"#), "an empty array is no answers: {}", said.stdout);
    has_text(
        &said,
        9,
        &[
            "the result is incomplete: 1 submission violates the API",
            "`sub_1` at `data[1].data`: expected an object of answers",
        ],
    );
}

#[test]
fn export_continues_past_an_invalid_submission_if_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let (out, state) = (folder.path().join("rows.csv"), folder.path().join("state"));
    let export = |more: &[&str]| {
        let service = Canned::start(vec![forms(), rows()]);
        let args = ["submissions", "export", "survey", "-o", out.to_str().unwrap(), "--manifest"];
        let mut command = service.formsvc(&[&args[..], more].concat());
        Said::from(command.env("FORMSVC_STATE_DIR", &state).output().unwrap())
    };
    let failed = export(&[]);
    has_text(&failed, 5, &["`sub_1`", "--allow-incomplete", "1 submission is saved"]);
    assert!(!failed.stderr.contains("continue with"), "{}", failed.stderr);
    assert!(!out.exists());
    has_text(&export(&["--allow-incomplete"]), 9, &["1 submission violates the API"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap().lines().count(), 4);
    let manifest = std::fs::read_to_string(folder.path().join("rows.csv.manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!((&manifest["complete"], &manifest["skipped"]), (&"no".into(), &1.into()));
}

#[test]
fn export_of_all_forms_includes_an_invalid_one() {
    let folder = tempfile::tempdir().unwrap();
    let row = page(&row(0, r#"{"A":1}"#), None);
    let service = Canned::start(vec![forms(), row]);
    let said =
        service.run(&["submissions", "export", "--all", "-o", folder.path().to_str().unwrap()]);
    has_text(&said, 9, &["1 form of the list cannot be exported without an id", "data[2].id"]);
    for name in ["survey.csv", "contact.csv"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
}

#[test]
fn sync_skips_and_reports_invalid_submissions() {
    let folder = tempfile::tempdir().unwrap();
    let target = format!("sqlite:{}", folder.path().join("rows.db").display());
    let sync = ["submissions", "sync", "survey", "--to", &target];
    has_text(&run(&sync), 5, &["`sub_1`", "--allow-incomplete"]);
    let said = run(&[&sync[..], &["--allow-incomplete"]].concat());
    has_text(&said, 9, &["3 submissions", "complete: no", "Survey: `sub_1` at `data[1].data`"]);
}

#[test]
fn verify_after_a_correction_completes_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let target = format!("sqlite:{}", folder.path().join("rows.db").display());
    let corrected = || page(&[0, 1, 2, 3].map(|n| row(n, "{}")).join(","), None);
    let [first, second, third] = [rows(), corrected(), corrected()];
    let pages =
        [forms(), first, forms(), second, forms(), third, corrected(), forms(), corrected()];
    let service = Canned::start(pages.into());
    let sync = ["submissions", "sync", "survey", "--to", &target];
    let synced = service.run(&[&sync[..], &["--allow-incomplete"]].concat());
    has_text(&synced, 9, &["complete: no"]);
    let hint = "`formsvc submissions sync verify` reads the whole list again";
    has_text(&service.run(&sync), 9, &["1 submission violates the API", hint]);
    let verify = ["submissions", "sync", "verify", "survey", "--to", &target];
    has_text(&service.run(&verify), 0, &["4 submissions in the service"]);
    has_text(&service.run(&sync), 0, &[]);
}

#[test]
fn submissions_without_id_are_counted_on_each_page() {
    let folder = tempfile::tempdir().unwrap();
    let target = format!("sqlite:{}", folder.path().join("rows.db").display());
    let sync = ["submissions", "sync", "survey", "--to", &target, "--allow-incomplete"];
    let without_id = |n| row(n, "{}").replace(&format!(r#""sub_{n}""#), "null");
    let untimed = |answer: &str| format!(r#"{{"data":{{"A":"{answer}"}},"created_at":null}}"#);
    let first = page(&[row(0, "{}"), without_id(1), untimed("x")].join(","), Some("a"));
    let last = page(&[row(2, "{}"), without_id(3), untimed("y")].join(","), None);
    let said = Canned::start(vec![forms(), first, last]).run(&sync);
    has_text(&said, 9, &["4 submissions violate the API", "complete: no"]);
}

#[test]
fn view_finds_a_submission_after_an_invalid_one() {
    let view = |id: &str| run(&["submissions", "view", "survey", id]);
    let found = view("sub_2");
    assert!(found.stdout.contains("sub_2"), "{}", found.stdout);
    has_text(&found, 0, &[]);
    has_text(&view("sub_1"), 5, &["the submission `sub_1` violates the API"]);
    has_text(&view("sub_9"), 9, &["`sub_1` at", "the submission may be one of them"]);
}

#[test]
fn schema_of_the_valid_submissions_ends_with_exit_9() {
    let said = run(&["forms", "schema", "survey", "--output", "ndjson"]);
    assert!(said.stdout.contains(r#""label":"A""#), "{}", said.stdout);
    has_text(&said, 9, &["1 submission violates the API"]);
}

#[test]
fn tail_warns_once_of_an_invalid_submission() {
    let tail = ["submissions", "tail", "survey", "-n", "9", "--count", "4", "--interval", "10ms"];
    let newer = page(&format!("{},{}", row(0, "{}"), row(1, "null")), None);
    let newest = r#"{"id":"sub_new","data":{},"created_at":"2026-01-01T00:01:00.000Z"}"#;
    let last = page(&format!("{newest},{},{}", row(0, "{}"), row(1, "null")), None);
    let service = Canned::start(vec![forms(), rows(), newer, last]);
    let said = service.run(&[&tail[..], &["--max-rate", "off"]].concat());
    assert!(said.stdout.contains("sub_new"), "{}", said.stdout);
    has_text(&said, 0, &["a submission violates the API: `sub_1` at"]);
    assert_eq!(said.stderr.matches("`sub_1`").count(), 1, "{}", said.stderr);
}

#[test]
fn paginated_request_passes_an_item_without_a_time() {
    let untimed = r#"{"id":"sub_x","data":{},"created_at":null}"#;
    let first = page(&format!("{},{untimed}", row(0, "{}")), Some("a"));
    let service = Canned::start(vec![first, page(&format!("{untimed},{}", row(1, "null")), None)]);
    let args = ["api", "/api/v1/forms/frm_1/submissions", "--paginate", "--output", "ndjson"];
    let said = service.run(&args);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout.lines().count(), 3, "{}", said.stdout);
}

#[test]
fn user_without_a_name_blames_no_login_page() {
    let user = answer("200 OK", "", r#"{"id":"usr_1","email":"ada@example.org","name":null}"#);
    let said = Canned::start(vec![user]).run(&["me"]);
    has_text(&said, 5, &["at `name`", "report this to the operator of the service"]);
}
