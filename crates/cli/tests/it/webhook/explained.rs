//! `formsvc webhook verify --explain` of deliveries that jq, Python and Node.js parsed and printed again, where
//! they are installed. `FORMSVC_REQUIRE_RUNTIMES=1` requires the latter two.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use super::support::Files;
use crate::processes;
use crate::terminal::Terminal;

/// A program, and what it makes of JSON on its standard input.
const PRINTERS: &[(&str, &[&str])] = &[
    ("jq", &["."]),
    ("jq", &["-c", "."]),
    ("python3", &["-c", "import json, sys; print(json.dumps(json.load(sys.stdin)))"]),
    (
        "python3",
        &["-c", "import json, sys; print(json.dumps(json.load(sys.stdin), ensure_ascii=False))"],
    ),
    ("python3", &["-c", "import json, sys; print(json.dumps(json.load(sys.stdin), indent=2))"]),
    (
        "node",
        &["-e", "console.log(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8'))))"],
    ),
    (
        "node",
        &[
            "-e",
            "console.log(JSON.stringify(JSON.parse(require('fs').readFileSync(0, 'utf8')), null, 2))",
        ],
    ),
];
/// One that cannot be undone: the order of the answers is lost.
const SORTER: (&str, &[&str]) = (
    "python3",
    &["-c", "import json, sys; print(json.dumps(json.load(sys.stdin), indent=2, sort_keys=True))"],
);

/// What a program makes of a text; none where there is no such program, and none is asked for.
fn printed((program, args): (&str, &[&str]), text: &[u8]) -> Option<Vec<u8>> {
    let mut command = processes::command(program);
    command.args(args).env("PYTHONIOENCODING", "utf-8");
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        let required =
            std::env::var_os("FORMSVC_REQUIRE_RUNTIMES").is_some_and(|value| value == "1");
        assert!(!required || program == "jq", "there is no {program}, which is asked for");
        // Past the test's captured output.
        let skipped = format!("skipped: there is no {program}\n");
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    };
    child.stdin.take().unwrap().write_all(text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {args:?}");
    Some(output.stdout)
}

/// The explanation of a body with the signature of another.
fn explained(files: &Files, signed: &[u8], given: &[u8]) -> Value {
    files.write("signed.json", signed);
    files.write("given.json", given);
    let sign = ["webhook", "sign", "signed.json", "--secret-file", "secret.txt"];
    files.write("delivery.sig", files.succeed(&sign).as_bytes());
    let verify = ["webhook", "verify", "given.json", "-H", "@delivery.sig"];
    let more = ["--secret-file", "secret.txt", "--explain", "--json", "why,explanation"];
    serde_json::from_str(&files.run(&[&verify[..], &more].concat()).stdout).unwrap()
}

#[test]
fn reprinted_json_is_recognized() {
    let files = Files::new();
    for seed in ["1", "2", "3"] {
        let body = files.succeed(&["webhook", "trigger", "--dry-run", "--seed", seed]);
        for printer in PRINTERS {
            let Some(given) = printed(*printer, body.as_bytes()) else { continue };
            let item = explained(&files, body.as_bytes(), &given);
            let told = String::from_utf8_lossy(&given);
            assert_eq!(item["explanation"]["proof"], "signature", "{printer:?}: {item} of {told}");
            assert!(item["why"].is_string(), "{printer:?}: {item}");
        }
    }
}

#[test]
fn sorted_keys_are_recognized_as_reprinted_json() {
    let files = Files::new();
    let body = files.succeed(&["webhook", "trigger", "--dry-run"]);
    let Some(given) = printed(SORTER, body.as_bytes()) else { return };
    let item = explained(&files, body.as_bytes(), &given);
    assert_eq!(
        (&item["why"], &item["explanation"]["proof"]),
        (&"json_printed, keys_sorted".into(), &"fact".into())
    );
    let clues = item["explanation"]["clues"].to_string();
    assert!(clues.contains("another secret may have signed it"), "{clues}");
}

#[test]
fn explanation_fits_the_terminal() {
    let files = Files::new();
    let sign = ["webhook", "sign", "delivery.json", "--secret-file", "secret.txt"];
    let header = files.succeed(&[&sign[..], &["--variant", "wrong-secret"]].concat());
    files.write("delivery.sig", header.as_bytes());
    let verify = ["webhook", "verify", "delivery.json", "-H", "@delivery.sig"];
    let args = [&verify[..], &["--secret-file", "secret.txt", "--explain"]].concat();
    let mut terminal = Terminal::start(files.formsvc(&args), (80, 40));
    assert_eq!(terminal.finish(), Some(11));
    let screen = terminal.screen();
    let meaning = "no known secret made this signature over this body";
    assert!(screen.contains(meaning), "{screen}");
    assert!(screen.contains("age_s:") && screen.contains("hint: none of "), "{screen}");
    // Each line ends with a word, and not where the terminal ends.
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("each endpoint has its own, and rotation replaces it"), "{flat}");
}
