//! `formsvc forms schema`

use crate::support::{Canned, one_form, page, run, succeed};
use serde_json::Value;

fn row(id: u32, data: &str) -> String {
    format!(r#"{{"id":"sub_{id}","data":{data},"created_at":"2026-01-01T00:00:{id:02}.000Z"}}"#)
}

#[test]
fn labels_stand_in_the_forms_order_with_what_is_known_of_them() {
    let said = run(&["--demo", "forms", "schema", "penguins", "--output", "json"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stderr, "344 submissions read, all there are\n");
    let labels: Vec<Value> = serde_json::from_str(&said.stdout).unwrap();
    let names: Vec<&str> = labels.iter().map(|label| label["label"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["species", "island"]);
    assert_eq!(names.len(), 8);
    let (species, mass, sex) = (&labels[0], &labels[5], &labels[6]);
    assert_eq!((&species["type"], &species["distinct"]), (&"text".into(), &3.into()));
    assert_eq!((&mass["label"], &mass["type"]), (&"body_mass_g".into(), &"number".into()));
    // 11 penguins were not told apart.
    assert_eq!(
        (&sex["filled"], &sex["of"], &sex["fill_rate"]),
        (&333.into(), &344.into(), &0.968.into())
    );
}

#[test]
fn no_answer_is_shown_and_a_sample_is_said_to_be_one() {
    let said =
        run(&["--demo", "forms", "schema", "randhie", "--sample", "7", "--output", "ndjson"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stderr.starts_with("the newest 7 submissions read, back to 2"), "{}", said.stderr);
    assert!(said.stdout.lines().all(|line| line.contains(r#""of":7"#)));
    let secret = page(&row(1, r#"{"Q":"hunter2"}"#), None);
    for format in ["json", "csv", "table"] {
        let service = Canned::start(vec![one_form(), secret.clone()]);
        let said = service.run(&["forms", "schema", "survey", "--output", format]);
        assert!(said.stdout.contains('Q') && !said.stdout.contains("hunter2"), "{}", said.stdout);
    }
}

#[test]
fn a_sample_costs_no_more_requests_than_it_needs() {
    let service =
        Canned::start(vec![one_form(), page(&row(1, "{}"), Some("c")), Some(String::new())]);
    let said = service.run(&["forms", "schema", "survey", "--sample", "1"]);
    assert_eq!((said.code, &*said.stdout), (Some(0), ""), "{}", said.stderr);
}

#[test]
fn likely_renames_are_told_to_people_and_programs() {
    let rows = [
        row(3, r#"{"Full name":"a","Full name":"b","\u001b[2Jx":1}"#),
        row(2, r#"{"Full name":"a"}"#),
        row(1, r#"{"Name":"c"}"#),
    ];
    let service = Canned::start(vec![one_form(), page(&rows.join(","), None)]);
    let said = service.run(&["forms", "schema", "survey", "--output", "json"]);
    let labels: Vec<Value> = serde_json::from_str(&said.stdout).unwrap();
    let of = |name: &str| labels.iter().find(|label| label["label"] == name).unwrap();
    assert_eq!(of("Name")["likely_now"], "Full name");
    assert_eq!(of("Full name")["filled"], 2);
    // The second of two with one name is a label of its own.
    assert_eq!(of("Full name (2)")["filled"], 1);
    assert_eq!(of("Name")["first_seen"], "2026-01-01T00:00:01.000Z");
    assert!(said.stderr.contains("likely `Name` was renamed `Full name`\n"), "{}", said.stderr);
}

#[test]
fn nothing_to_read_is_no_failure_and_a_wrong_field_costs_nothing() {
    let said = run(&["--demo", "forms", "schema", "contact"]);
    assert_eq!((said.code, &*said.stdout, &*said.stderr), (Some(0), "", "no submissions\n"));
    let fields = succeed(&["forms", "schema", "x", "--json"]);
    assert!(fields.starts_with("label\ntype\n"), "{fields}");
    assert_eq!(run(&["--demo", "forms", "schema", "gone"]).code, Some(3));
    assert_eq!(run(&["--demo", "forms", "schema", "penguins", "--sample", "0"]).code, Some(2));
}

#[test]
fn more_labels_than_a_form_can_have_are_exit_5() {
    let members: Vec<String> = (0..=10_000).map(|n| format!("\"l{n}\":1")).collect();
    let crowd = page(&row(1, &format!("{{{}}}", members.join(","))), None);
    let said = Canned::start(vec![one_form(), crowd]).run(&["forms", "schema", "survey"]);
    assert_eq!((said.code, &*said.stdout), (Some(5), ""));
    assert!(said.stderr.contains("more than 10000 labels"), "{}", said.stderr);
}
