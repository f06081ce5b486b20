//! `formsvc submissions view`

use crate::support::{Canned, Sandbox, one_form, page, run};

#[test]
fn a_submission_is_found_wherever_it_is_and_shown_exactly() {
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
fn a_format_that_is_asked_for_counts_wherever_it_is_asked_for() {
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
            let said = crate::support::Said::from(
                command.env("FORMSVC_OUTPUT", variable).output().unwrap(),
            );
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
fn for_a_person_each_answer_stands_on_its_line_and_acts_on_nothing() {
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
fn a_submission_that_is_not_there_is_exit_3_and_how_far_was_looked_is_said() {
    let said = run(&["--demo", "submissions", "view", "penguins", "sub_gone"]);
    assert_eq!((said.code, &*said.stdout), (Some(3), ""));
    assert!(said.stderr.contains("no submission `sub_gone`"), "{}", said.stderr);
    assert!(said.stderr.contains("none of the 344, back to 20"), "{}", said.stderr);
    let view = ["--demo", "submissions", "view", "penguins", "sub_gone", "--around"];
    let before = run(&[&view[..], &["1990-01-01T00:00:00Z"]].concat());
    assert_eq!(before.code, Some(3));
    assert!(before.stderr.contains("there are none before 1990"), "{}", before.stderr);
    let key = run(&["--demo", "submissions", "view", "penguins", "fsk_abcdefgh"]);
    assert_eq!(key.code, Some(3), "{}", key.stderr);
    let told = key.stderr.contains("revoke this key") && !key.stderr.contains("abcdefgh");
    assert!(told, "a key is not repeated: {}", key.stderr);
    let no_id = run(&["--demo", "submissions", "view", "penguins", ""]);
    assert_eq!(no_id.code, Some(2), "{}", no_id.stderr);
}
