//! `formsvc forms schema`

use crate::support::{Canned, one_form, page, run, succeed};
use serde_json::Value;

fn row(id: u32, data: &str) -> String {
    format!(r#"{{"id":"sub_{id}","data":{data},"created_at":"2026-01-01T00:00:{id:02}.000Z"}}"#)
}

#[test]
fn labels_have_the_order_of_the_form_and_statistics() {
    let out = run(&["--demo", "forms", "schema", "penguins", "--output", "json"]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert_eq!(out.stderr, "read all 344 submissions\n");
    let labels: Vec<Value> = serde_json::from_str(&out.stdout).unwrap();
    let names: Vec<&str> = labels.iter().map(|label| label["label"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["species", "island"]);
    assert_eq!(names.len(), 8);
    let (species, mass, sex) = (&labels[0], &labels[5], &labels[6]);
    assert_eq!((&species["type"], &species["distinct"]), (&"text".into(), &3.into()));
    assert_eq!((&mass["label"], &mass["type"]), (&"body_mass_g".into(), &"integer".into()));
    // The field is empty for 11 penguins.
    assert_eq!(
        (&sex["filled"], &sex["of"], &sex["fill_rate"]),
        (&333.into(), &344.into(), &0.968.into())
    );
}

#[test]
fn repeated_label_is_counted_separately() {
    let rows = [row(2, r#"{"Name":"a","Name":"b"}"#), row(1, r#"{"Name":"c"}"#)];
    let service = Canned::start(vec![one_form(), page(&rows.join(","), None)]);
    let out = service.run(&["forms", "schema", "survey", "--json", "label,filled,first_seen"]);
    let labels: Vec<Value> = serde_json::from_str(&out.stdout).unwrap();
    let shown: Vec<_> =
        labels.iter().map(|l| (l["label"].as_str(), l["filled"].as_u64())).collect();
    assert_eq!(shown, [(Some("Name"), Some(2)), (Some("Name (2)"), Some(1))]);
    assert_eq!(labels[0]["first_seen"], "2026-01-01T00:00:01.000Z");
}

#[test]
fn schema_shows_no_answers_and_reports_a_sample() {
    let out = run(&["--demo", "forms", "schema", "randhie", "--sample", "7", "--output", "ndjson"]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert!(out.stderr.starts_with("read the newest 7 submissions, back to 2"), "{}", out.stderr);
    assert!(out.stdout.lines().all(|line| line.contains(r#""of":7"#)));
    let secret = page(&row(1, r#"{"Q":"hunter2"}"#), None);
    for format in ["json", "csv", "table"] {
        let service = Canned::start(vec![one_form(), secret.clone()]);
        let out = service.run(&["forms", "schema", "survey", "--output", format]);
        assert!(out.stdout.contains('Q') && !out.stdout.contains("hunter2"), "{}", out.stdout);
    }
}

#[test]
fn sample_of_one_page_is_one_request() {
    let service =
        Canned::start(vec![one_form(), page(&row(1, "{}"), Some("c")), Some(String::new())]);
    let out = service.run(&["forms", "schema", "survey", "--sample", "1"]);
    assert_eq!((out.code, &*out.stdout), (Some(0), ""), "{}", out.stderr);
}

#[test]
fn empty_form_is_no_error_and_fields_need_no_request() {
    let out = run(&["--demo", "forms", "schema", "contact"]);
    assert_eq!((out.code, &*out.stdout, &*out.stderr), (Some(0), "", "no submissions\n"));
    let fields = succeed(&["forms", "schema", "x", "--json"]);
    assert!(fields.starts_with("label\ntype\n"), "{fields}");
    assert_eq!(run(&["--demo", "forms", "schema", "gone"]).code, Some(3));
    assert_eq!(run(&["--demo", "forms", "schema", "penguins", "--sample", "0"]).code, Some(2));
}

#[test]
fn flood_of_labels_is_exit_5() {
    let members: Vec<String> = (0..=10_000).map(|n| format!("\"l{n}\":1")).collect();
    let crowd = page(&row(1, &format!("{{{}}}", members.join(","))), None);
    let out = Canned::start(vec![one_form(), crowd]).run(&["forms", "schema", "survey"]);
    assert_eq!((out.code, &*out.stdout), (Some(5), ""));
    assert!(out.stderr.contains("more than 10000 labels"), "{}", out.stderr);
}
