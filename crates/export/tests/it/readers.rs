//! The same random submissions in every format, read back by independent readers: Python's csv, json and
//! sqlite3, openpyxl, pyarrow and DuckDB.
//!
//! The CSV that Python reads is compared with the answers, and every other table with the CSV, cell by
//! cell. The readers need Python, and the virtual environment that `.ci/run` prepares for openpyxl,
//! pyarrow and DuckDB. Without them their formats are skipped, unless FORMSVC_REQUIRE_READERS is set.

use std::path::{Path, PathBuf};
use std::process::Command;

use formsvc_export::{
    Destination, Existing, FORMATS, FileFormat, Format, MonthFolder, Output, RenderOptions,
    SourceInfo, StoredRow, TableOptions, render,
};
use formsvc_table::{cell, for_each_field};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};

use crate::support::TIME;

/// Sets of submissions. One process of Python reads all of them.
const CASES: usize = 40;

fn python() -> PathBuf {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("ci-python/bin/python");
    let chosen = std::env::var_os("CI_PYTHON").map(PathBuf::from);
    let candidates = [chosen, Some(own)];
    let found = candidates.into_iter().flatten().find(|path| path.exists());
    found.unwrap_or_else(|| "python3".into())
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "\\PC{0,12}",
        2 => "[\\x00-\\x1f\u{7f}\u{85}\u{2028}\u{feff}\u{fffe}\u{ffff}a\"',;\t\r\n]{0,6}",
        1 => "[=+@-][0-9a-z(\"]{0,4}",
        1 => "(_x00[0-9A-F]{2}_?){1,3}",
        1 => "[\u{5d0}-\u{5ea}\u{202e}\u{2066}]{1,8}",
        1 => prop::sample::select(vec![
            "null", "NA", "None", "true", "007", "1e5", "-0", "https://example.org/", "\r\n",
            "2026-03-02", "NaN", "Infinity", "foo_x12345.txt", " lead", "trail ", "😀", "1,5",
        ])
        .prop_map(str::to_owned),
    ]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i32>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        "-?[1-9][0-9]{17,30}",
        "-?(0|[1-9][0-9]{0,8})\\.[0-9]{1,12}",
        "-?[1-9](\\.[0-9]{1,3})?[eE][+-]?[0-9]{1,3}",
        Just("-0".to_owned()),
    ]
}

/// JSON texts.
fn value() -> impl Strategy<Value = String> {
    let string = || text().prop_map(|text| Json::from(text).to_string());
    prop_oneof![
        6 => string(),
        3 => number(),
        1 => any::<bool>().prop_map(|value| value.to_string()),
        1 => Just("null".to_owned()),
        1 => Just(r#""\ud800 lone""#.to_owned()),
        1 => prop::collection::vec(string(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
        1 => (1_usize..3_000)
            .prop_map(|depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth))),
        1 => string().prop_map(|text| format!("{{\"k\": {text}}}")),
    ]
}

fn answers() -> impl Strategy<Value = String> {
    let label = prop_oneof![
        3 => "[a-c]",
        1 => "[A-C]",
        1 => text(),
        1 => prop::sample::select(vec!["id", "created_at", "a (2)", "", " ", "x.y", "select", "rowid"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec((label, value()), 0..6).prop_map(|members| {
        let members: Vec<String> = members
            .iter()
            .map(|(label, value)| format!("{}:{value}", Json::from(label.as_str())))
            .collect();
        format!("{{{}}}", members.join(","))
    })
}

/// Returns the sorted texts of all answers that are not empty.
fn texts(object: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let push = |_: &str, value| texts.push(cell(value).text.into_owned());
    for_each_field(object, push).unwrap();
    texts.retain(|text| !text.is_empty());
    texts.sort();
    texts
}

fn render_all(folder: &Path, submissions: &[String], max_columns: usize) {
    let ids: Vec<String> = (0..submissions.len()).map(|number| format!("s{number:05}")).collect();
    let rows: Vec<StoredRow<'_>> = ids
        .iter()
        .zip(submissions)
        .map(|(id, data)| StoredRow {
            id,
            created_at: TIME,
            instant: 1_767_225_600_000_000,
            data,
            extra: "",
        })
        .collect();
    let compressed =
        ["csv.gz", "ndjson.gz"].map(|name| (name, FileFormat::from_name(name).unwrap()));
    let plain = FORMATS.iter().map(|row| (row.name, FileFormat::from(row.format)));
    for (name, format) in plain.chain(compressed) {
        if !format.format.is_available() {
            continue;
        }
        let table = TableOptions { max_columns, ..TableOptions::default() };
        let options = RenderOptions::new(format).formula_guard(false).table(table);
        let path = folder.join(format!("rows.{name}"));
        render(&rows, &options, Destination::file(&path, Existing::Replace).unwrap()).unwrap();
    }
}

fn cases() -> Vec<(Vec<String>, usize)> {
    let mut runner = TestRunner::deterministic();
    let strategy = (prop::collection::vec(answers(), 0..12), prop_oneof![Just(2_500), 0_usize..6]);
    let mut cases: Vec<_> =
        (0..CASES).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect();
    // A cell of 1 MiB, and one that is exactly as long as a workbook allows.
    let long = |length| format!(r#"{{"a":"{}"}}"#, "é".repeat(length));
    cases.push((vec![long(1 << 19), long(32_767), long(32_768)], 2_500));
    // More text than a row group of Parquet has.
    cases.push((vec![long(1 << 20); 10], 2_500));
    cases
}

#[test]
fn every_format_is_read_back_by_independent_readers() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases();
    for (number, (submissions, max_columns)) in cases.iter().enumerate() {
        let case = folder.path().join(number.to_string());
        std::fs::create_dir(&case).unwrap();
        render_all(&case, submissions, *max_columns);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_formats.py");
    let out = Command::new(python()).arg(script).arg(folder.path()).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let read: Json = serde_json::from_slice(&out.stdout).unwrap();
    let readers = read["readers"].as_array().unwrap();
    if std::env::var_os("FORMSVC_REQUIRE_READERS").is_some() {
        let expected = if Format::Parquet.is_available() { 6 } else { 4 };
        assert_eq!(readers.len(), expected, "{readers:?}");
    }
    assert_eq!(read["differences"], json!([]), "cells that differ from the CSV");
    for (case, (submissions, _)) in read["cases"].as_array().unwrap().iter().zip(&cases) {
        let table = case.as_array().unwrap();
        assert_eq!(table.len(), submissions.len() + 1);
        let headings = table[0].as_array().unwrap();
        for (row, data) in table[1..].iter().zip(submissions) {
            let mut found = Vec::new();
            for (heading, cell) in headings.iter().zip(row.as_array().unwrap()).skip(2) {
                match (heading.as_str(), cell.as_str().unwrap()) {
                    (_, "") => {}
                    (Some("other_answers"), others) => found.extend(texts(others)),
                    (_, text) => found.push(text.to_owned()),
                }
            }
            found.sort();
            assert_eq!(found, texts(data));
        }
    }
}

#[test]
fn documented_queries_find_rows() {
    let folder = tempfile::tempdir().unwrap();
    let data =
        r#"{"Name":"NA","Age":41,"Topics":["red","blue"],"Code":"007","E-Mail":"a@example.org"}"#;
    let rows = vec![crate::support::stored("sub_1", data)];
    for row in FORMATS.iter().filter(|row| row.format.is_available()) {
        let source = SourceInfo { form_id: "frm_01hzy".into(), ..SourceInfo::default() };
        let options = RenderOptions::new(row.format).source(source);
        let path = folder.path().join(format!("survey.{}", row.name));
        render(&rows, &options, Destination::file(&path, Existing::Replace).unwrap()).unwrap();
    }
    if Format::Parquet.is_available() {
        let options = RenderOptions::new(Format::Parquet);
        let months = folder.path().join("folder");
        let months = MonthFolder::create(months, Existing::Replace).unwrap();
        Output::Months(months).render(&rows, &options).unwrap();
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Command::new(python())
        .arg(package.join("tests/run_queries.py"))
        .arg(package.join("../../docs/EXPORTS.md"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let count: usize = String::from_utf8_lossy(&out.stdout).trim().parse().unwrap();
    let is_complete = std::env::var_os("FORMSVC_REQUIRE_READERS").is_some();
    assert!(count >= if is_complete && Format::Parquet.is_available() { 8 } else { 4 }, "{count}");
}
