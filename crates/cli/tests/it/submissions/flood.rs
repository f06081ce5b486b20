//! `formsvc submissions list` with a form that received many generated labels.

use serde_json::Value;

use crate::support::{Sandbox, request};

/// The number of submissions that are posted to the form, and of distinct labels in each.
const SUBMISSIONS: usize = 20;
const LABELS: usize = 200;

/// A sandbox. Its form `flood` has submissions with many labels, and then two regular submissions.
fn flooded() -> Sandbox {
    let sandbox = Sandbox::start(&["--rate-limit", "off", "--generate", "flood=1"]);
    for submission in 0..SUBMISSIONS {
        let label = |n| format!(r#""generated {submission:02}-{n:03}":{n}.0"#);
        let labels: Vec<String> = (0..LABELS).map(label).collect();
        post(&sandbox, &format!("{{{}}}", labels.join(",")));
    }
    for name in ["Ada", "Bob"] {
        post(&sandbox, &format!(r#"{{"Real question":"{name}","other_answers":"mine"}}"#));
    }
    sandbox
}

fn post(sandbox: &Sandbox, body: &str) {
    let headers = "content-type: application/json\r\n";
    let answer = request(&sandbox.base_url, "POST /f/flood", headers, body);
    assert!(answer.starts_with("HTTP/1.1 2"), "{answer}");
}

#[test]
fn flooded_form_lists_with_bounded_columns() {
    let sandbox = flooded();
    let list = |args: &[&str]| {
        let said = sandbox.run(&[&["submissions", "list", "flood", "-L", "22"], args].concat());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        said
    };

    let csv = list(&["--output", "csv"]).stdout;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(header.len(), 2 + 2_500 + 1);
    assert_eq!(header[..4], ["id", "created_at", "Real question", "other_answers (2)"]);
    assert_eq!(header.last().unwrap(), "other_answers");
    assert!(
        !header.iter().any(|name| name == "generated 19-000"),
        "the newest labels are left out"
    );
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!((&rows[0][2], &rows[0][3]), ("Bob", "mine"));
    // The newest submission with many labels has no column of its own, and the oldest has all.
    let others = &rows[2][2_502];
    assert!(others.starts_with(r#"{"generated 19-000":0.0,"generated 19-001":1.0"#), "{others}");
    assert_eq!(serde_json::from_str::<Value>(others).unwrap().as_object().unwrap().len(), LABELS);
    assert_eq!(&rows[21][2_502], "");

    let table = list(&["--output", "table"]);
    let heading = table.stdout.lines().next().unwrap();
    assert_eq!(heading.matches("GENERATED").count(), 2_498, "{heading}");
    assert!(heading.contains("REAL QUESTION"), "{heading}");

    let ndjson = list(&["--output", "ndjson"]).stdout;
    assert_eq!(ndjson.lines().count(), 22);
    assert!(ndjson.contains(r#""generated 19-199":199.0"#));
}

#[test]
fn columns_flag_selects_labels() {
    let sandbox = flooded();
    let run =
        |args: &[&str]| sandbox.run(&[&["submissions", "list", "flood", "-L", "3"], args].concat());
    let said = run(&["--output", "csv", "--columns", "generated 19-007,Real question,gone"]);
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines[0], "id,created_at,generated 19-007,Real question,gone");
    assert!(lines[1].ends_with("Z,,Bob,") && lines[3].ends_with("Z,7.0,,"), "{lines:?}");
    assert!(said.stderr.contains("none of the items has `gone`"), "{}", said.stderr);
    for other in [&["--output", "json"][..], &["--json", "id"], &["--jq", "."]] {
        let said = run(&[&["--columns", "a"], other].concat());
        assert_eq!(said.code, Some(2), "{other:?}: {}", said.stderr);
        assert!(said.stderr.contains("`--columns` selects columns"), "{}", said.stderr);
    }
}
