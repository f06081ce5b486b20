//! Content of CSV files.

use std::collections::HashSet;

use formsvc_export::{Destination, Existing, Format, Remark, RenderOptions};
use proptest::prelude::*;
use serde_json::Value;

use crate::support::{options, page, read_csv, write_to, written};

#[test]
fn empty_form_has_a_header() {
    let (text, done) = written(&options(Format::Csv), &[]);
    assert_eq!(text, "id,created_at\n");
    assert_eq!((done.rows, done.columns), (0, 2));
}

#[test]
fn values_keep_their_digits_and_characters() {
    let answers = r#"{"n":12345678901234567890.10,"e":-1E400,"t":"a,\"b\"\nc","l":["x", 1],"z":null,"b":true}"#;
    let (text, _) = written(&options(Format::Csv), &page(&[answers]));
    let expected = [
        "sub_1",
        crate::support::TIME,
        "12345678901234567890.10",
        "-1E400",
        "a,\"b\"\nc",
        "[\"x\", 1]",
        "",
        "true",
    ];
    assert_eq!(read_csv(&text)[1], expected);
}

#[test]
fn late_label_widens_newer_rows() {
    let pages = [
        vec![r#"{"a":"1\n2"}"#.to_owned()],
        vec![r#"{"a":"3","b":"4"}"#.to_owned()],
        vec![r#"{"c":"5"}"#.to_owned(), r#"{"a":"\"\n"}"#.to_owned()],
    ];
    let (text, done) = written(&options(Format::Csv), &pages);
    let rows = read_csv(&text);
    assert_eq!(rows[0][2..], ["a", "b", "c"]);
    assert_eq!(rows[1][2..], ["1\n2", "", ""]);
    assert_eq!(rows[2][2..], ["3", "4", ""]);
    assert_eq!(rows[3][2..], ["", "", "5"]);
    assert_eq!(rows[4][2..], ["\"\n", "", ""]);
    assert_eq!((done.rows, done.columns), (4, 5));
}

#[test]
fn repeated_label_keeps_both_answers() {
    let answers = [r#"{"q":"1","q":"2","id":"x"}"#, r#"{"q":"3"}"#];
    let (text, _) = written(&options(Format::Csv), &page(&answers));
    let rows = read_csv(&text);
    assert_eq!(rows[0], ["id", "created_at", "q", "q (2)", "id (2)"]);
    assert_eq!(rows[1][2..], ["1", "2", "x"]);
    assert_eq!(rows[2][2..], ["3", "", ""]);
}

#[test]
fn guard_covers_cells_and_headings_but_no_numbers() {
    let guarded = RenderOptions::new(Format::Csv);
    let answers = r#"{"=q":"=1+1","n":-1e5,"m":"-1.5","p":"+49 30 1","l":["=1"]}"#;
    let (text, done) = written(&guarded, &page(&[answers]));
    let rows = read_csv(&text);
    assert_eq!(rows[0][2..], ["'=q", "n", "m", "p", "l"]);
    assert_eq!(rows[1][2..], ["'=1+1", "-1e5", "-1.5", "'+49 30 1", "[\"=1\"]"]);
    assert_eq!(done.remarks, [Remark::GuardedCells(3)]);
}

#[test]
fn label_with_lone_surrogate_stays_a_literal() {
    let (text, _) = written(&options(Format::Csv), &page(&[r#"{"\ud800":"x"}"#]));
    assert_eq!(read_csv(&text)[0][2], r#""\ud800""#);
}

/// Any JSON string or number, and labels that collide with everything.
fn answers() -> impl Strategy<Value = String> {
    let label = prop_oneof!["[a-c]", "id", "a \\(2\\)", "\\PC{0,3}", Just("=x".to_owned())];
    let value = prop_oneof![
        "[\\PC\r\n\t\"]{0,8}".prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::Null),
        prop::collection::vec("[a\"\n]{0,2}", 0..3).prop_map(Value::from),
    ];
    prop::collection::vec((label, value), 0..6).prop_map(|members| {
        // By hand, because a JSON object may repeat a label and the library's map cannot.
        let members: Vec<String> = members
            .iter()
            .map(|(label, value)| format!("{}:{value}", Value::from(label.as_str())))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

/// The expected texts of a submission's cells, sorted.
fn expected(answers: &str) -> Vec<String> {
    let answers = formsvc_protocol::Answers::parse(answers).unwrap();
    let text = |json: &str| match serde_json::from_str(json).unwrap() {
        Value::String(text) => text,
        Value::Null => String::new(),
        _ => json.to_owned(),
    };
    let mut cells: Vec<String> =
        answers.fields().iter().map(|(_, value)| text(value.as_json())).collect();
    cells.retain(|cell| !cell.is_empty());
    cells.sort();
    cells
}

proptest! {
    #[test]
    fn every_answer_is_read_back_by_another_library(
        pages in prop::collection::vec(prop::collection::vec(answers(), 0..5), 0..5),
    ) {
        let (text, done) = written(&options(Format::Csv), &pages);
        let rows = read_csv(&text);
        let all: Vec<&String> = pages.iter().flatten().collect();
        prop_assert_eq!(rows.len(), all.len() + 1);
        prop_assert_eq!(done.rows, all.len() as u64);
        let mut names = HashSet::new();
        for name in &rows[0] {
            prop_assert!(names.insert(name), "two columns named {name}");
        }
        for (row, answers) in rows[1..].iter().zip(all) {
            prop_assert_eq!(row.len(), rows[0].len());
            let mut cells: Vec<String> =
                row[2..].iter().filter(|cell| !cell.is_empty()).cloned().collect();
            cells.sort();
            prop_assert_eq!(cells, expected(answers));
        }
        // A file has the same content as a stream.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        write_to(Destination::file(&path, Existing::Replace).unwrap(), &options(Format::Csv), &pages);
        prop_assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}
