//! `formsvc webhook verify --explain` for deliveries that jq, Python and Node.js parsed and
//! serialized again, if they are installed. `FORMSVC_REQUIRE_RUNTIMES=1` requires the latter two.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use super::support::Files;
use crate::processes;
use crate::terminal::Terminal;

/// Programs and their arguments that parse JSON from standard input and print it again.
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
/// A program that loses the original order of the answers, so its change cannot be undone.
const SORTER: (&str, &[&str]) = (
    "python3",
    &["-c", "import json, sys; print(json.dumps(json.load(sys.stdin), indent=2, sort_keys=True))"],
);

/// Returns the output of a program for a text. `None` if the program is neither installed nor
/// required.
fn run_printer((program, args): (&str, &[&str]), text: &[u8]) -> Option<Vec<u8>> {
    let mut command = processes::command(program);
    command.args(args).env("PYTHONIOENCODING", "utf-8");
    let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = started else {
        let required =
            std::env::var_os("FORMSVC_REQUIRE_RUNTIMES").is_some_and(|value| value == "1");
        assert!(!required || program == "jq", "{program} is required and not installed");
        // Writes to standard error directly, because `println!` would be captured by the test.
        let skipped = format!("skipped: there is no {program}\n");
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
        return None;
    };
    child.stdin.take().unwrap().write_all(text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program} {args:?}");
    Some(output.stdout)
}

/// Returns the explanation for a body that has the signature of another body.
fn explain(files: &Files, signed: &[u8], given: &[u8]) -> Value {
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
    for _ in 0..3 {
        let body = files.succeed(&["webhook", "trigger", "--dry-run"]);
        for printer in PRINTERS {
            let Some(given) = run_printer(*printer, body.as_bytes()) else { continue };
            let item = explain(&files, body.as_bytes(), &given);
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
    let Some(given) = run_printer(SORTER, body.as_bytes()) else { return };
    let item = explain(&files, body.as_bytes(), &given);
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
    // Lines break between words, and not at the edge of the terminal.
    let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("each endpoint has its own, and rotation replaces it"), "{flat}");
}
