//! Messages on standard error with `--error-format json`.

use serde_json::Value;

use crate::support::{Said, run};

/// Returns the JSON objects on standard error. All but the error have `level` and `message`.
#[track_caller]
fn messages(said: &Said) -> Vec<Value> {
    let lines = said.stderr.lines().map(|line| {
        let json: Value = serde_json::from_str(line)
            .unwrap_or_else(|error| panic!("{error}: {line:?} in {}", said.stderr));
        if json.get("error").is_none() {
            assert!(json["level"].is_string() && json["message"].is_string(), "{line}");
        }
        json
    });
    lines.collect()
}

fn json(args: &[&str]) -> Said {
    run(&[&["--demo", "--error-format", "json"], args].concat())
}

#[test]
fn summary_is_a_json_line_with_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.csv");
    let file = path.to_str().unwrap();
    let export = ["submissions", "export", "penguins"];
    let said = json(&[&export[..], &["-o", file]].concat());
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let [summary] = &messages(&said)[..] else { panic!("{}", said.stderr) };
    assert_eq!(summary["level"], "info");
    assert_eq!((&summary["submissions"], &summary["complete"]), (&344.into(), &"yes".into()));
    assert_eq!(summary["file"], file);
    let text = summary["message"].as_str().unwrap();
    assert!(text.starts_with("344 submissions, "), "{text}");
    let quiet = json(&[&export[..], &["-o", file, "--quiet"]].concat());
    assert_eq!((quiet.code, &*quiet.stderr), (Some(0), ""));
}

#[test]
fn warnings_and_the_log_are_json_lines() {
    let list = ["submissions", "list", "penguins", "-L", "2"];
    let said = json(&[&list[..], &["--json", "id,data.gone"]].concat());
    let [warning] = &messages(&said)[..] else { panic!("{}", said.stderr) };
    assert_eq!(warning["level"], "warning");
    assert_eq!(warning["message"], "none of the items has `data.gone`");
    let said = json(&[&["-vv"], &list[..]].concat());
    let levels: Vec<_> = messages(&said).iter().map(|message| message["level"].clone()).collect();
    assert!(levels.contains(&"debug".into()) && levels.contains(&"info".into()), "{levels:?}");
}

#[test]
fn error_after_messages_is_the_last_json_line() {
    let said = json(&["-v", "forms", "view", "zebra"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    let messages = messages(&said);
    assert_eq!(messages.last().unwrap()["error"]["code"], "form_not_found", "{messages:?}");
    assert!(messages.len() > 1, "{messages:?}");
}
