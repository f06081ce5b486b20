//! `formsvc submissions export`: the exported data.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::list::rows;
use crate::processes;
use crate::support::{Canned, Sandbox, one_form, page, run, succeed};

fn fixture(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../fixtures/forms", name].iter().collect();
    std::fs::read_to_string(path).unwrap()
}

/// Reads CSV with a library that the export does not use.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let mut reader = simple_csv::SimpleCsvReader::new(text.as_bytes());
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row() {
        let row = row.unwrap();
        rows.push(row.to_vec());
    }
    rows
}

/// Returns the answers of an export, oldest first, without the columns that the export adds.
fn answers(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    rows[1..].iter().rev().map(|row| row[2..].to_vec()).collect()
}

#[test]
fn randhie_export_equals_its_fixture() {
    let exported =
        read_csv(&succeed(&["--demo", "submissions", "export", "randhie", "--format", "csv"]));
    let mut went_in = read_csv(&fixture("randhie.csv"));
    went_in.truncate(5_001);
    assert_eq!(exported.len(), 5_001);
    assert_eq!(exported[0][..2], ["id", "created_at"]);
    assert_eq!(exported[0][2..], went_in[0]);
    // Rows with the same millisecond are sorted by id.
    let (mut rows, mut expected) = (answers(&exported), went_in[1..].to_vec());
    rows.sort_unstable();
    expected.sort_unstable();
    assert_eq!(rows, expected);
    let ids: BTreeSet<_> = exported[1..].iter().map(|row| &row[0]).collect();
    assert_eq!(ids.len(), 5_000);
}

#[test]
fn missing_values_are_empty_cells() {
    let exported = read_csv(&succeed(&["--demo", "submissions", "export", "penguins"]));
    let went_in = read_csv(&fixture("penguins.csv").replace("NA", ""));
    assert_eq!(answers(&exported), went_in[1..]);
    let exported = read_csv(&succeed(&["--demo", "submissions", "export", "anes96"]));
    let went_in = read_csv(&fixture("anes96.csv").replace('\t', ",").replace('\'', ""));
    assert_eq!(exported[0][2..], went_in[0]);
    assert_eq!(answers(&exported), went_in[1..]);
    assert_eq!(exported.len(), 945);
}

fn naughty_strings() -> Vec<String> {
    serde_json::from_str(&fixture("naughty.json")).unwrap()
}

const QUESTION: &str = "What would you like to tell us?";

#[test]
fn naughty_strings_are_exact_in_every_format() {
    let args = ["--demo", "submissions", "export", "naughty", "--format"];
    let csv = read_csv(&succeed(&[&args[..], &["csv", "--formula-guard", "off"]].concat()));
    let cells: Vec<String> = answers(&csv).into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(cells, naughty_strings());
    let answer = |row: &serde_json::Value| row["data"][QUESTION].as_str().unwrap().to_owned();
    let ndjson = succeed(&[&args[..], &["ndjson"]].concat());
    let lines: Vec<String> = ndjson
        .split_terminator('\n')
        .map(|line| answer(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(lines.into_iter().rev().collect::<Vec<_>>(), naughty_strings());
    let json: Vec<serde_json::Value> =
        serde_json::from_str(&succeed(&[&args[..], &["json"]].concat())).unwrap();
    assert_eq!(json.iter().rev().map(answer).collect::<Vec<_>>(), naughty_strings());
}

#[test]
fn naughty_formulas_are_guarded() {
    let csv = read_csv(&succeed(&["--demo", "submissions", "export", "naughty"]));
    let cells: Vec<String> = answers(&csv).into_iter().map(|mut row| row.remove(0)).collect();
    let mut guarded = 0;
    for (cell, said) in cells.iter().zip(naughty_strings()) {
        let digits = said.strip_prefix('-').unwrap_or(&said);
        let parts: Vec<&str> = digits.split(['.', ',']).collect();
        let number = parts.len() <= 2
            && parts
                .iter()
                .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        let formula = ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '＝', '＋', '－', '＠'];
        if said.trim_start_matches(' ').starts_with(formula) && !number {
            assert_eq!(*cell, format!("'{said}"));
            guarded += 1;
        } else {
            assert_eq!(*cell, said);
        }
    }
    assert!(guarded > 5, "only {guarded} of them are formulas");
}

#[cfg(target_os = "linux")]
#[test]
fn naughty_strings_are_sanitized_on_a_terminal() {
    // `script` runs the command on a pseudo-terminal and prints its output.
    for command in
        ["submissions export naughty -q", "submissions list naughty --output json -L 500"]
    {
        let command = format!("'{}' --demo {command}", env!("CARGO_BIN_EXE_formsvc"));
        let shown = processes::command("script")
            .args(["-qec", &command, "/dev/null"])
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.lines().count() > 400, "{shown}");
        let harmless = |c: char| c == '\n' || c == '\r' || c == '\t' || !c.is_control();
        let bidi = ['\u{202a}', '\u{202b}', '\u{202e}', '\u{2066}', '\u{2067}'];
        assert!(shown.chars().all(|c| harmless(c) && !bidi.contains(&c)), "{command}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn progress_line_ends_before_data_on_the_terminal() {
    let sandbox = Sandbox::start(&["--generate", "big=3000"]);
    for (format, begins) in [("csv", "id,created_at,"), ("ndjson", "{\"id\":")] {
        let export = format!("submissions export big --format {format}");
        let program = env!("CARGO_BIN_EXE_formsvc");
        let shown = processes::command("script")
            .args(["-qec", &format!("stty columns 80; '{program}' {export}"), "/dev/null"])
            .env("FORMSVC_BASE_URL", &sandbox.base_url)
            .env("FORMSVC_API_KEY", &sandbox.api_key)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        let (before, data) = shown.split_once(begins).unwrap();
        assert!(before.is_empty() || before.ends_with('\r'), "{format}: {before:?}");
        assert!(!data.contains(" submissions · "), "{format}: {data}");
    }
}

#[test]
fn label_of_the_oldest_rows_has_a_column() {
    let sandbox = Sandbox::start(&["--generate", "big=2500"]);
    let json = sandbox.run(&["submissions", "export", "big", "--format", "json"]).stdout;
    let items: Vec<serde_json::Map<String, serde_json::Value>> =
        serde_json::from_str(&json).unwrap();
    let labels: BTreeSet<&str> = items
        .iter()
        .flat_map(|item| item["data"].as_object().unwrap().keys().map(String::as_str))
        .collect();
    let first_page: BTreeSet<&str> = items[..100]
        .iter()
        .flat_map(|item| item["data"].as_object().unwrap().keys().map(String::as_str))
        .collect();
    assert!(first_page.len() < labels.len(), "no label comes late");
    for to_file in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big.csv");
        let out = if to_file { path.to_str().unwrap() } else { "-" };
        let args = ["submissions", "export", "big", "--formula-guard", "off", "-o", out];
        let said = sandbox.run(&args);
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let csv = if to_file { std::fs::read_to_string(&path).unwrap() } else { said.stdout };
        let rows = read_csv(&csv);
        assert_eq!(rows.len(), 2501);
        assert_eq!(rows[0][2..].iter().map(String::as_str).collect::<BTreeSet<_>>(), labels);
        for row in &rows[1..] {
            let item = items.iter().find(|item| item["id"] == row[0]).unwrap();
            assert_eq!(row.len(), rows[0].len());
            for (label, cell) in rows[0][2..].iter().zip(&row[2..]) {
                let expected = match item["data"].get(label) {
                    None | Some(serde_json::Value::Null) => String::new(),
                    Some(serde_json::Value::String(text)) => text.clone(),
                    // The tests of the export crate compare numbers and lists as text, because the
                    // JSON library of this test rounds numbers.
                    Some(_) => continue,
                };
                assert_eq!(*cell, expected, "{label}");
            }
        }
    }
}

/// A service with more submissions in one second than fit on a page.
fn crowded() -> Canned {
    let names: Vec<String> = (0..100).map(|at| format!("c{at}")).collect();
    let tied: Vec<_> = names.iter().map(|name| (name.as_str(), 3)).collect();
    let tied = page(&rows(&tied), Some("2026-01-01T00:00:03.000Z"));
    let older = page(&rows(&[("a", 1)]), None);
    Canned::start(vec![one_form(), tied, older.clone(), older])
}

#[test]
fn tie_overflow_fails_or_ends_with_exit_9() {
    let export = ["submissions", "export", "survey", "--format", "ndjson"];
    let service = crowded();
    let said = service.run(&export);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    let unit = "the second `2026-01-01T00:00:03.000Z`, of which 100 submissions were received";
    assert!(said.stderr.contains(unit), "{}", said.stderr);
    let unknown = "the number of missing submissions is unknown";
    assert!(said.stderr.contains(unknown), "{}", said.stderr);
    let hint = "hint: keep the other submissions with `--allow-incomplete`";
    assert!(said.stderr.contains(hint), "{}", said.stderr);

    let service = crowded();
    let said = service.run(&[&export[..], &["--allow-incomplete"]].concat());
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    assert_eq!(said.stdout.lines().count(), 101);
    assert!(said.stderr.contains(&format!("{unit}; {unknown}")), "{}", said.stderr);
    assert!(said.stderr.contains("complete: no"), "{}", said.stderr);
}

#[test]
fn millisecond_cursors_lose_no_row_silently() {
    let sandbox = Sandbox::start(&["--fault", "cursor-millis"]);
    let export = ["submissions", "export", "penguins", "--format", "ndjson"];
    let said = sandbox.run(&export);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert_eq!(said.stdout.lines().count(), 344);
    // Many submissions of this form share a millisecond.
    let export = ["submissions", "export", "randhie", "--format", "ndjson"];
    let said = sandbox.run(&export);
    assert_eq!(said.code, Some(5), "{}", said.stderr);
    assert!(said.stderr.contains("more submissions share a millisecond"), "{}", said.stderr);
    assert!(said.stderr.contains("hint: keep the other submissions with"), "{}", said.stderr);
    let said = sandbox.run(&[&export[..], &["--allow-incomplete"]].concat());
    assert_eq!(said.code, Some(9), "{}", said.stderr);
    assert!(said.stderr.contains("100 submissions were received"), "{}", said.stderr);
}

#[test]
fn option_that_the_format_ignores_is_exit_2() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for (option, value, format) in [
        ("--lists", "json", "ndjson"),
        ("--max-columns", "9", "json"),
        ("--time-zone", "UTC", "ndjson"),
        ("--columns", "a", "ndjson"),
        ("--csv-profile", "excel", "sqlite"),
        ("--delimiter", ";", "xlsx"),
        ("--formula-guard", "off", "json"),
        ("--partition", "month", "csv"),
    ] {
        let export = ["--demo", "submissions", "export", "penguins", "-o", out.to_str().unwrap()];
        let said = run(&[&export[..], &["--format", format, option, value]].concat());
        let what = format!("error: `{option}` has no effect on the format `{format}`");
        assert_eq!(said.code, Some(2), "{}", said.stderr);
        assert!(said.stderr.starts_with(&what), "{}", said.stderr);
        let formats = match option {
            "--partition" => "parquet",
            "--csv-profile" | "--delimiter" | "--formula-guard" => "csv, tsv",
            _ => "csv, tsv, xlsx, sqlite, parquet",
        };
        let hint = format!("hint: omit it, or use `--format` with {formats}\n");
        assert!(said.stderr.ends_with(&hint), "{}", said.stderr);
        assert!(!out.exists());
    }
}

#[test]
fn empty_export_names_the_unchecked_labels() {
    let export = ["--demo", "submissions", "export", "penguins", "--columns", "speces"];
    let said = run(&[&export[..], &["--since", "2999-01-01T00:00:00Z"]].concat());
    assert_eq!((said.code, &*said.stdout), (Some(0), "id,created_at,speces\n"), "{}", said.stderr);
    let unchecked = "no submission was selected, so the labels `speces` could not be checked";
    assert!(said.stderr.contains(unchecked), "{}", said.stderr);
    assert!(!said.stderr.contains("no submission has"), "{}", said.stderr);
    let said = run(&export);
    assert!(said.stderr.contains("no submission has `speces`"), "{}", said.stderr);
}

#[test]
fn renamed_label_that_does_not_occur_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map.json");
    std::fs::write(&map, r#"{"species":"Kind","iland":"Place"}"#).unwrap();
    let export = ["--demo", "submissions", "export", "penguins", "--column-map"];
    let said = run(&[&export[..], &[map.to_str().unwrap()]].concat());
    assert!(said.stdout.starts_with("id,created_at,Kind,island,"), "{}", said.stdout);
    let warning = "no submission has `iland`, which the column map renames";
    assert!(said.stderr.contains(warning), "{}", said.stderr);
}

#[test]
fn filter_that_selects_nothing_is_reported() {
    let export = ["--demo", "submissions", "export", "penguins", "--where"];
    let none = "no submission was selected by `--where`";
    for (filter, is_reported) in
        [(".data.Species == \"Adelie\"", true), (".data.species == \"Adelie\"", false)]
    {
        let said = run(&[&export[..], &[filter]].concat());
        assert_eq!((said.code, said.stderr.contains(none)), (Some(0), is_reported), "{filter}");
    }
}
