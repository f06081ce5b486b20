//! `formsvc submissions view`

use crate::support::{Canned, Said, Sandbox, one_form, page, run};

#[test]
fn submission_is_found_anywhere_and_shown_exactly() {
    let sandbox = Sandbox::start(&[]);
    let all = sandbox.run(&["submissions", "export", "penguins", "--format", "ndjson"]).stdout;
    let (newest, oldest) = (all.lines().next().unwrap(), all.lines().last().unwrap());
    for line in [newest, oldest] {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let said = sandbox.run(&["submissions", "view", "penguins", row["id"].as_str().unwrap()]);
        assert_eq!((said.code, said.stdout.trim_end()), (Some(0), line), "{}", said.stderr);
    }
}

#[test]
fn output_format_of_a_flag_or_variable_is_used() {
    let row = r#"{"id":"sub_1","data":{"a":"b"},"created_at":"2026-01-01T00:00:00.000Z"}"#;
    for (command, what) in
        [(&["view", "survey", "sub_1"][..], "view"), (&["tail", "survey", "--count", "1"], "tail")]
    {
        for (variable, flag, begins) in [
            ("", "", "{"),
            ("tsv", "", "sub_1\t"),
            ("json", "", "{"),
            ("", "tsv", "sub_1\t"),
            ("tsv", "ndjson", "{"),
        ] {
            let service = Canned::start(vec![one_form(), page(row, None), page(row, None)]);
            let mut words = [&["submissions"], command].concat();
            if !flag.is_empty() {
                words.extend(["--output", flag]);
            }
            let mut command = service.formsvc(&words);
            let said = Said::from(command.env("FORMSVC_OUTPUT", variable).output().unwrap());
            assert!(
                said.stdout.starts_with(begins),
                "{what} {variable} {flag}: {} {}",
                said.stdout,
                said.stderr
            );
        }
    }
}

#[test]
fn answers_for_reading_are_sanitized_lines() {
    let answers = r#"{"Name":"Zo\u00eb\u001b[2J","Story":"one\r\ntwo","N":1.50}"#;
    let row =
        format!(r#"{{"id":"sub_1","data":{answers},"created_at":"2026-01-01T00:00:00.000Z"}}"#);
    let service = Canned::start(vec![one_form(), page(&row, None)]);
    let said = service.run(&["submissions", "view", "survey", "sub_1", "--output", "table"]);
    assert_eq!(
        said.stdout,
        "id: sub_1\ncreated_at: 2026-01-01T00:00:00.000Z\n\nName: Zoë[2J\nStory:\n    one\n    two\nN: 1.50\n"
    );
}

#[test]
fn missing_submission_is_exit_3_with_the_range_read() {
    let said = run(&["--demo", "submissions", "view", "penguins", "sub_gone"]);
    assert_eq!((said.code, &*said.stdout), (Some(3), ""));
    assert!(said.stderr.contains("no submission `sub_gone`"), "{}", said.stderr);
    assert!(said.stderr.contains("344 submissions searched, back to 20"), "{}", said.stderr);
    let view = ["--demo", "submissions", "view", "penguins", "sub_gone", "--around"];
    let before = run(&[&view[..], &["1990-01-01T00:00:00Z"]].concat());
    assert_eq!(before.code, Some(3));
    assert!(before.stderr.contains("there are none"), "{}", before.stderr);
    let key = run(&["--demo", "submissions", "view", "penguins", "fsk_abcdefgh"]);
    assert_eq!(key.code, Some(3), "{}", key.stderr);
    let is_hidden = key.stderr.contains("revoke this key") && !key.stderr.contains("abcdefgh");
    assert!(is_hidden, "a key is repeated: {}", key.stderr);
    let no_id = run(&["--demo", "submissions", "view", "penguins", ""]);
    assert_eq!(no_id.code, Some(2), "{}", no_id.stderr);
}

#[test]
fn long_search_reports_its_progress_and_around() {
    let sandbox = Sandbox::start(&["--rate-limit", "off"]);
    let all = sandbox.run(&["submissions", "export", "randhie", "--format", "ndjson"]).stdout;
    let rows: Vec<serde_json::Value> =
        all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (row, id) = (&rows[900], rows[900]["id"].as_str().unwrap());
    let view = ["submissions", "view", "randhie", id];
    let found = sandbox.run(&view);
    assert_eq!((found.code, found.stdout.lines().count()), (Some(0), 1), "{}", found.stderr);
    // Each page but the first repeats one submission.
    let oldest = rows[495]["created_at"].as_str().unwrap();
    let progress =
        format!("496 submissions searched, back to {oldest}; `--around TIME` starts nearer\n");
    assert_eq!(found.stderr, progress);
    let near =
        sandbox.run(&[&view[..], &["--around", row["created_at"].as_str().unwrap()]].concat());
    assert_eq!((near.code, near.stdout), (Some(0), found.stdout), "{}", near.stderr);
}

#[test]
fn around_starts_after_the_second_or_the_day() {
    let row = r#"{"id":"sub_1","data":{"a":"b"},"created_at":"2026-01-01T08:00:00.000Z"}"#;
    for (around, cursor) in [
        ("2026-01-01T08:00:00Z", "2026-01-01T08%3A00%3A01"),
        ("2026-01-01", "2026-01-02T00%3A00%3A00"),
    ] {
        let service = Canned::start(vec![one_form(), page(row, None)]);
        let mut command =
            service.formsvc(&["submissions", "view", "survey", "sub_1", "--around", around]);
        let said = Said::from(command.env("TZ", "UTC").output().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        service.request();
        let request = service.request();
        assert!(request.contains(&format!("cursor={cursor}.000Z")), "{request}");
    }
}

#[test]
fn max_time_ends_a_search_with_exit_8() {
    let row = r#"{"id":"sub_1","data":{},"created_at":"2026-01-01T08:00:00.000Z"}"#;
    let service =
        Canned::start(vec![one_form(), page(row, Some("2026-01-01T08:00:00.000Z")), None]);
    let said = service.run(&["submissions", "view", "survey", "sub_0", "--max-time", "300ms"]);
    assert_eq!(said.code, Some(8), "{}", said.stderr);
    let searched =
        "1 submission searched, back to 2026-01-01T08:00:00.000Z; `--around TIME` starts nearer";
    assert!(said.stderr.contains(searched), "{}", said.stderr);
}
