//! Ids that shells, terminals, paths or file names treat specially.

use crate::support::{Canned, answer, entries, one_form, page};

/// A list of forms with these ids, which are also their public ids and titles.
fn forms(ids: &[&str]) -> Option<String> {
    let time = "2026-01-01T00:00:00.000Z";
    let form = |id: &&str| {
        serde_json::json!({"id": id, "public_id": id, "title": id, "status": "published",
            "created_at": time, "updated_at": time, "url": "/f/x"})
    };
    let forms: Vec<_> = ids.iter().map(form).collect();
    answer("200 OK", "", &serde_json::json!({ "data": forms }).to_string())
}

#[test]
fn form_id_argument_is_percent_encoded() {
    for (id, segment) in [("q7/3= x", "q7%2F3%3D%20x"), ("../..", "..%2F.."), ("é", "%C3%A9")] {
        for list in [one_form(), forms(&[id])] {
            let service = Canned::start(vec![list, page("", None)]);
            let listed = service.run(&["submissions", "list", id]);
            assert_eq!(listed.code, Some(0), "{}", listed.stderr);
            service.request();
            let path = format!("GET /api/v1/forms/{segment}/submissions?");
            let request = service.request();
            assert!(request.starts_with(&path), "{request}");
        }
    }
    let service = Canned::start(vec![answer("200 OK", "", "{}")]);
    let path = "forms/q7%2F3%3D x/submissions";
    assert_eq!(service.run(&["api", path]).code, Some(0));
    assert!(service.request().starts_with("GET /api/v1/forms/q7%2F3%3D%20x/submissions "));
}

#[test]
fn dot_form_id_is_a_usage_error() {
    for list in [one_form(), forms(&[".."])] {
        let service = Canned::start(vec![list]);
        let failed = service.run(&["submissions", "list", ".."]);
        assert_eq!(failed.code, Some(2), "{}", failed.stderr);
        let rule = "the form id `..` cannot be a segment of a path";
        assert!(failed.stderr.contains(rule), "{}", failed.stderr);
        assert_eq!(service.pending(), 1, "only the list of forms is requested");
    }
}

#[test]
fn id_in_a_hint_is_quoted_for_the_shell() {
    let service = Canned::start(vec![one_form(), page("", None)]);
    let failed = service.run(&["forms", "view", "q7/3= $(x)"]);
    assert_eq!(failed.code, Some(3));
    let hint = "formsvc submissions list 'q7/3= $(x)'\n";
    assert!(failed.stderr.ends_with(hint), "{}", failed.stderr);
    let invalid = r#"{"data":[{"id":"q7/3= $(x)","title":null}]}"#;
    let service = Canned::start(vec![answer("200 OK", "", invalid)]);
    let failed = service.run(&["forms", "view", "q7/3= $(x)"]);
    assert_eq!(failed.code, Some(5));
    assert!(failed.stderr.ends_with(hint), "{}", failed.stderr);
}

#[test]
fn id_in_a_table_or_error_has_no_control_characters() {
    let id = "q7\u{1b}[2J\n\u{202e}3";
    let service = Canned::start(vec![forms(&[id, "q7 two"])]);
    let shown = service.run(&["forms", "list", "--output", "table"]);
    assert!(shown.stdout.contains("q7[2J 3"), "{}", shown.stdout);
    let ambiguous = service.run(&["submissions", "list", "q7"]);
    assert_eq!(ambiguous.code, Some(2));
    assert!(ambiguous.stderr.contains("q7[2J 3"), "{}", ambiguous.stderr);
    let row = serde_json::json!({"id": id, "data": {}, "created_at": "2026-01-01T00:00:00Z"});
    let service = Canned::start(vec![one_form(), page(&row.to_string(), None)]);
    let list = service.run(&["submissions", "list", "survey", "--output", "table"]);
    assert!(list.stdout.contains("q7[2J 3"), "{}", list.stdout);
    for said in [shown.stdout, ambiguous.stderr, list.stdout] {
        assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
    }
}

#[test]
fn each_form_of_similar_ids_is_exported_to_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let long = "q7/3=".repeat(200);
    let ids = ["q7/3=", "Q7/3=", "q7_3_", "../q7", &long];
    let service = Canned::start(vec![forms(&ids), page("", None)]);
    let path = folder.path().join("out/");
    let exported = service
        .formsvc(&["submissions", "export", "--all", "--out", path.to_str().unwrap()])
        .env("FORMSVC_STATE_DIR", folder.path().join("state"))
        .output()
        .unwrap();
    assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
    let files = entries(&path);
    assert_eq!(files.len(), ids.len(), "{files:?}");
    assert!(files.iter().all(|file| file.len() < 120 && !file.starts_with('.')), "{files:?}");
}

#[test]
fn dot_form_id_leaves_the_exports_of_other_forms() {
    let folder = tempfile::tempdir().unwrap();
    let service = Canned::start(vec![forms(&["..", "survey"]), page("", None)]);
    let path = folder.path().join("out/");
    let failed = service
        .formsvc(&["submissions", "export", "--all", "--out", path.to_str().unwrap()])
        .env("FORMSVC_STATE_DIR", folder.path().join("state"))
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(2), "{}", String::from_utf8_lossy(&failed.stderr));
    assert_eq!(entries(&path), ["survey.csv"]);
}
