//! `formsvc webhook sign`

use serde_json::Value;

use super::support::{BODY, Files, OLD_SECRET, SECRET};

const SIGN: &[&str] = &["webhook", "sign", "--secret-file", "secret.txt"];
/// `hmac.new(SECRET, b"1767225600." + BODY, "sha256").hexdigest()`, by Python.
const MAC: &str = "b298db93ceb90dde69e8805734bfc93742739a25decbbcb542d0df793a20531b";

fn sign<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [SIGN, more].concat()
}

#[test]
fn long_signature_is_printed_on_one_line() {
    let files = Files::new();
    let args = sign(&["--timestamp", "1767225600", "--output", "table", "delivery.json"]);
    let said = files.formsvc(&args).env("COLUMNS", "60").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains(&format!("t=1767225600,v1={MAC}\n")), "{said}");
}

#[test]
fn signature_equals_that_of_another_implementation() {
    let files = Files::new();
    let expected = format!("t=1767225600,v1={MAC}\n");
    let at = ["--timestamp", "1767225600"];
    let file = [&at[..], &["delivery.json"]].concat();
    assert_eq!(files.succeed(&sign(&file)), expected);
    for stdin in [&at[..], &[at[0], at[1], "-"]] {
        let said = files.feed(&sign(stdin), BODY.as_bytes());
        assert_eq!(
            (said.code, said.stdout, said.stderr),
            (Some(0), expected.clone(), String::new())
        );
    }
    let dated = ["--timestamp", "2026-01-01T00:00:00Z", "delivery.json"];
    assert_eq!(files.succeed(&sign(&dated)), expected);
}

#[test]
fn line_feed_is_signed_and_each_secret_signs() {
    let files = Files::new();
    files.write("old.txt", OLD_SECRET.as_bytes());
    let at = ["--timestamp", "1767225600"];
    let with = files.feed(&sign(&at), format!("{BODY}\n").as_bytes()).stdout;
    assert!(with.starts_with("t=1767225600,v1=") && !with.contains(MAC), "{with}");
    let both = sign(&[
        "--secret-file",
        "old.txt",
        "--timestamp",
        "1767225600",
        "--json",
        "signature,secrets",
        "delivery.json",
    ]);
    let both: Value = serde_json::from_str(&files.succeed(&both)).unwrap();
    let header = both["signature"].as_str().unwrap();
    assert!(header.starts_with(&format!("t=1767225600,v1={MAC},v1=")), "{header}");
    assert_eq!(both["secrets"], serde_json::json!(["secret.txt", "old.txt"]));
}

#[test]
fn output_variable_does_not_change_the_signature() {
    let files = Files::new();
    let args = sign(&["--timestamp", "1767225600", "delivery.json"]);
    let done = files.formsvc(&args).env("FORMSVC_OUTPUT", "json").output().unwrap();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), format!("t=1767225600,v1={MAC}\n"));
}

#[test]
fn secret_is_a_file_stdin_or_variable_not_an_argument() {
    let files = Files::new();
    let at = ["webhook", "sign", "--timestamp", "1767225600", "delivery.json"];
    let expected = format!("t=1767225600,v1={MAC}\n");
    let stdin =
        files.feed(&[&at[..], &["--secret-stdin"]].concat(), format!(" {SECRET}\r\n").as_bytes());
    assert_eq!(stdin.stdout, expected, "{}", stdin.stderr);
    for (name, value) in
        [("FORMSVC_SIGNING_SECRET", SECRET), ("FORMSVC_SIGNING_SECRET_FILE", "secret.txt")]
    {
        let done = files.formsvc(&at).env(name, value).output().unwrap();
        assert_eq!(String::from_utf8(done.stdout).unwrap(), expected, "{name}");
    }
    // The flag takes precedence.
    let done = files
        .formsvc(&[&at[..], &["--secret-file", "secret.txt"]].concat())
        .env("FORMSVC_SIGNING_SECRET", OLD_SECRET)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(done.stdout).unwrap(), expected);
    for wrong in [&["--secret-file", SECRET][..], &["--secret", SECRET], &[SECRET]] {
        let said = files.run(&[&at[..], wrong].concat());
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{}", said.stderr);
        assert!(!said.stderr.contains(&SECRET[6..]), "{}", said.stderr);
        assert!(said.stderr.contains("other users can read arguments"), "{}", said.stderr);
    }
}

#[test]
fn missing_or_invalid_secret_has_a_hint() {
    let files = Files::new();
    files.write("empty.txt", b"\n");
    files.write("two.txt", b"whsec_of_one_endpoint\nwhsec_of_another\n");
    files.write("short.txt", b"whsec_");
    let sign = |more: &[&'static str]| [&["webhook", "sign", "delivery.json"], more].concat();
    for (args, code, tells) in [
        (
            sign(&[]),
            2,
            "pass `--secret-file PATH` or `--secret-stdin`, or set FORMSVC_SIGNING_SECRET",
        ),
        (
            sign(&["--secret-file", "gone.txt"]),
            10,
            "cannot read the signing secret file `gone.txt`",
        ),
        (sign(&["--secret-file", "empty.txt"]), 2, "`empty.txt` is empty"),
        (sign(&["--secret-file", "two.txt"]), 2, "from `two.txt` has more than one word"),
        (sign(&["--secret-file", "short.txt"]), 2, "has fewer than 16 bytes"),
        (sign(&["--secret-file", "secret.txt", "--secret-stdin"]), 2, "cannot be used together"),
        (vec!["webhook", "sign", "--secret-stdin"], 2, "standard input cannot contain both"),
        (sign(&["--secret-file", "secret.txt", "--timestamp", "1969-12-31"]), 2, "before 1970"),
        (sign(&["--secret-file", "secret.txt", "--variant", "stael"]), 2, "did you mean `stale`"),
    ] {
        let said = files.run(&args);
        assert_eq!(
            (said.code, said.stdout.as_str()),
            (Some(code), ""),
            "{args:?}: {}",
            said.stderr
        );
        assert!(said.stderr.contains(tells), "{args:?}: {}", said.stderr);
        assert!(!said.stderr.contains("whsec_of"), "{}", said.stderr);
    }
}

#[cfg(unix)]
#[test]
fn secret_file_readable_by_others_is_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let files = Files::new();
    let secret = files.path().join("secret.txt");
    std::fs::set_permissions(secret, PermissionsExt::from_mode(0o644)).unwrap();
    let said = files.run(&sign(&["delivery.json"]));
    assert_eq!(said.code, Some(0));
    assert!(said.stderr.contains("other users can read the secret file"), "{}", said.stderr);
}

#[test]
fn variants_differ_and_json_has_the_expectation() {
    let files = Files::new();
    let variant = |name: &'static str, more: &[&'static str]| {
        let args = ["delivery.json", "--timestamp", "1767225600", "--variant", name];
        files.succeed(&sign(&[&args, more].concat()))
    };
    assert_eq!(variant("missing", &[]), "");
    assert_eq!(variant("no-v1", &[]), "t=1767225600\n");
    assert_eq!(variant("two-headers", &[]).lines().count(), 2);
    assert_eq!(variant("uppercase", &[]), format!("t=1767225600,v1={}\n", MAC.to_uppercase()));
    assert_eq!(variant("truncated", &[]), format!("t=1767225600,v1={}\n", &MAC[..32]));
    let data: Value = serde_json::from_str(&variant("stale", &["--output", "json"])).unwrap();
    assert_eq!(data["expect"], "refuse");
    assert_eq!(data["body_size"], BODY.len());
    // The time of the printed signature, and not of the run.
    assert_eq!(data["timestamp"], 1_767_225_240);
    assert_eq!(data["signed_at"], "2025-12-31T23:54:00Z");
    let millis: Value = serde_json::from_str(&variant("millis", &["--output", "json"])).unwrap();
    assert_eq!(millis["timestamp"], 1_767_225_600_000_u64);
    for none in ["missing", "no-t", "t-not-a-number"] {
        let data: Value = serde_json::from_str(&variant(none, &["--output", "json"])).unwrap();
        assert_eq!(
            (&data["timestamp"], &data["signed_at"]),
            (&Value::Null, &Value::Null),
            "{none}"
        );
    }
}

#[cfg(unix)]
#[test]
fn typed_secret_is_hidden() {
    use crate::terminal::Terminal;

    let files = Files::new();
    let args = ["webhook", "sign", "--secret-stdin", "--timestamp", "1767225600"];
    let mut terminal =
        Terminal::start(files.formsvc(&[&args[..], &["delivery.json"]].concat()), (120, 10));
    terminal.wait_for("signing secret");
    terminal.wait_until_hidden();
    terminal.send(&format!("{SECRET}\r"));
    assert_eq!(terminal.finish(), Some(0), "{}", terminal.screen());
    assert!(terminal.screen().contains(MAC), "{}", terminal.screen());
    assert!(!terminal.screen().contains(&SECRET[6..]), "{}", terminal.screen());
    terminal.assert_restored();
}

#[cfg(target_os = "linux")]
#[test]
fn signal_ends_the_wait_for_a_body() {
    use std::process::Stdio;

    use crate::support::{signal, wait_until_inside};

    let files = Files::new();
    let mut command = files.formsvc(SIGN);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // The test keeps the pipe open, because `wait` closes a standard input that the child still
    // owns, which would end the body.
    let _input = child.stdin.take();
    wait_until_inside(&child, "0 0x0 ");
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}
