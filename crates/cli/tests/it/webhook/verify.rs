//! `formsvc webhook verify`

use serde_json::Value;

use super::support::{BODY, Files, OLD_SECRET};

const VERIFY: &[&str] = &["webhook", "verify", "delivery.json", "--signature-file", "delivery.sig"];

/// Files with a signature of this variant.
fn signed(variant: &str) -> Files {
    let files = Files::new();
    let sign =
        ["webhook", "sign", "-f", "delivery.json", "--secret-file", "secret.txt", "--variant"];
    let value = files.succeed(&[&sign[..], &[variant]].concat());
    files.write("delivery.sig", value.as_bytes());
    files
}

fn verify<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [VERIFY, &["--secret-file", "secret.txt"], more].concat()
}

#[test]
fn a_right_signature_is_exit_0_and_a_wrong_one_11_with_the_verdict_as_data() {
    for (variant, code, verdict) in [
        ("fresh", 0, "valid"),
        ("two-v1", 0, "valid"),
        ("old", 0, "valid"),
        ("stale", 11, "signature_too_old"),
        ("future", 11, "signature_in_future"),
        ("wrong-secret", 11, "signature_mismatch"),
        ("tampered", 11, "signature_mismatch"),
        ("no-v1", 11, "malformed_signature"),
        ("uppercase", 11, "malformed_signature"),
        ("empty", 11, "malformed_signature"),
    ] {
        let files = signed(variant);
        let said = files.run(&verify(&["--output", "json"]));
        assert_eq!(said.code, Some(code), "{variant}: {}", said.stderr);
        let item: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(item["verdict"], verdict, "{variant}");
        assert_eq!(item["valid"], code == 0, "{variant}");
        assert_eq!(said.stderr.is_empty(), code == 0, "{variant}: {}", said.stderr);
    }
}

#[test]
fn the_error_has_its_code_and_shows_neither_secret_nor_the_right_mac() {
    let files = signed("tampered");
    let args = verify(&["--error-format", "json"]);
    let said = files.run(&args);
    let error: Value = serde_json::from_str(&said.stderr).unwrap();
    assert_eq!(error["error"]["code"], "verification_failed");
    assert_eq!(error["error"]["exit"], 11);
    let sign = ["webhook", "sign", "-f", "delivery.json", "--secret-file", "secret.txt"];
    let header = std::fs::read_to_string(files.path().join("delivery.sig")).unwrap();
    let time = header.strip_prefix("t=").unwrap().split(',').next().unwrap();
    let right = files.succeed(&[&sign[..], &["--timestamp", time]].concat());
    let mac = right.trim().rsplit('=').next().unwrap();
    assert!(!said.stdout.contains(mac) && !said.stderr.contains(mac));
}

#[test]
fn the_age_is_judged_as_of_a_time_within_a_tolerance_or_not_at_all() {
    let files = signed("stale");
    for (more, code) in [
        (&[][..], 11),
        (&["--ignore-age"], 0),
        (&["--tolerance", "10m"], 0),
        (&["--at", "6m"], 0),
        (&["--at", "1h"], 11),
        (&["--at", "2000-01-01T00:00:00Z"], 11),
        (&["--tolerance", "2h"], 2),
        (&["--at", "never"], 2),
        (&["--at", "6m", "--ignore-age"], 2),
    ] {
        let said = files.run(&verify(more));
        assert_eq!(said.code, Some(code), "{more:?}: {}", said.stderr);
    }
    let item: Value = serde_json::from_str(&files.run(&verify(&["--json", "age"])).stdout).unwrap();
    assert!((360..400).contains(&item["age"].as_i64().unwrap()), "{item}");
}

#[test]
fn the_secret_that_matched_is_named_and_a_previous_one_told() {
    let files = signed("fresh");
    files.write("new.txt", OLD_SECRET.as_bytes());
    let args = ["--secret-file", "new.txt", "--secret-file", "secret.txt", "--output", "json"];
    let item: Value = serde_json::from_str(&files.succeed(&[VERIFY, &args].concat())).unwrap();
    assert_eq!((&item["secret"], &item["previous"]), (&"secret.txt".into(), &true.into()));
    assert!(item["meaning"].as_str().unwrap().contains("previous"), "{item}");
    assert_eq!(item["submission_id"], "sub_1");
}

#[test]
fn the_signature_comes_by_file_flag_or_with_its_name_and_the_body_by_pipe() {
    let files = signed("fresh");
    let value = std::fs::read_to_string(files.path().join("delivery.sig")).unwrap();
    let named = format!("X-Service-Signature: {}", value.trim());
    for header in [value.trim(), &named] {
        let args = ["webhook", "verify", "--secret-file", "secret.txt", "--header", header];
        let said = files.feed(&args, BODY.as_bytes());
        assert_eq!(said.code, Some(0), "{}", said.stderr);
        let said = files.feed(&args, format!("{BODY}\n").as_bytes());
        assert_eq!(said.code, Some(11), "{}", said.stderr);
    }
}

#[test]
fn what_is_missing_is_told_with_what_to_do() {
    let files = signed("fresh");
    for (args, code, tells) in [
        (
            &["webhook", "verify", "delivery.json", "--secret-file", "secret.txt"][..],
            2,
            "no signature to verify",
        ),
        (VERIFY, 2, "no signing secret, which verification needs"),
        (
            &["webhook", "verify", "--capture", "17", "--secret-file", "secret.txt"],
            3,
            "there is no capture 17",
        ),
        (
            &["webhook", "verify", "--http-dump", "delivery.json", "--secret-file", "secret.txt"],
            2,
            "this is no HTTP request",
        ),
        (
            &["webhook", "verify", "gone.json", "-H", "t=1", "--secret-file", "secret.txt"],
            10,
            "cannot read `gone.json`",
        ),
    ] {
        let said = files.formsvc(args).env("FORMSVC_STATE_DIR", files.path()).output().unwrap();
        let stderr = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.status.code(), Some(code), "{args:?}: {stderr}");
        assert!(stderr.contains(tells), "{args:?}: {stderr}");
    }
}
