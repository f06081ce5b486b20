//! `formsvc webhook verify`

use serde_json::Value;

use super::support::{BODY, Files, OLD_SECRET};

const VERIFY: &[&str] = &["webhook", "verify", "delivery.json", "-H", "@delivery.sig"];

/// Returns files with a signature of this variant.
fn signed(variant: &str) -> Files {
    let files = Files::new();
    let sign = ["webhook", "sign", "delivery.json", "--secret-file", "secret.txt", "--variant"];
    let value = files.succeed(&[&sign[..], &[variant]].concat());
    files.write("delivery.sig", value.as_bytes());
    files
}

fn verify<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [VERIFY, &["--secret-file", "secret.txt"], more].concat()
}

#[test]
fn verify_exits_0_if_valid_and_11_otherwise() {
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
fn error_has_a_code_and_shows_no_secret_or_mac() {
    let files = signed("tampered");
    let args = verify(&["--error-format", "json"]);
    let said = files.run(&args);
    let error: Value = serde_json::from_str(&said.stderr).unwrap();
    assert_eq!(error["error"]["code"], "verification_failed");
    assert_eq!(error["error"]["exit"], 11);
    let sign = ["webhook", "sign", "delivery.json", "--secret-file", "secret.txt"];
    let header = std::fs::read_to_string(files.path().join("delivery.sig")).unwrap();
    let time = header.strip_prefix("t=").unwrap().split(',').next().unwrap();
    let right = files.succeed(&[&sign[..], &["--timestamp", time]].concat());
    let mac = right.trim().rsplit('=').next().unwrap();
    assert!(!said.stdout.contains(mac) && !said.stderr.contains(mac));
}

/// A masked signature is rejected. A body that is not an event has the same verdict as in a
/// listener.
#[test]
fn masked_signature_and_bad_event_are_reported() {
    let files = signed("fresh");
    files.write(
        "masked.http",
        format!("POST / HTTP/1.1\nX-Service-Signature: t=1,v1=ab12…\n\n{BODY}").as_bytes(),
    );
    let said = files.run(&[
        "webhook",
        "verify",
        "--http-dump",
        "masked.http",
        "--secret-file",
        "secret.txt",
    ]);
    assert_eq!(said.code, Some(2), "{}", said.stderr);
    assert!(
        said.stderr.contains("is masked") && said.stderr.contains("--reveal"),
        "{}",
        said.stderr
    );
    files.write("delivery.json", b"no event");
    let sign = ["webhook", "sign", "delivery.json", "--secret-file", "secret.txt"];
    files.write("delivery.sig", files.succeed(&sign).as_bytes());
    let said = files.run(&verify(&["--explain", "--output", "json"]));
    assert_eq!(said.code, Some(11));
    let item: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(item["verdict"], "bad_event");
    assert_eq!(item["explanation"], Value::Null);
    assert!(said.stderr.contains("a JSON object with the members of an event"), "{}", said.stderr);
}

#[test]
fn age_is_checked_unless_ignored() {
    let files = signed("stale");
    for (more, code) in [(&[][..], 11), (&["--ignore-age"], 0)] {
        let said = files.run(&verify(more));
        assert_eq!(said.code, Some(code), "{more:?}: {}", said.stderr);
        let error = "error: refused: the signature is valid, but more than 300 seconds old\n";
        assert_eq!(said.stderr.contains(error), code == 11, "{}", said.stderr);
    }
    let item: Value =
        serde_json::from_str(&files.run(&verify(&["--json", "age_s"])).stdout).unwrap();
    assert!((360..400).contains(&item["age_s"].as_i64().unwrap()), "{item}");
}

#[test]
fn matching_secret_is_named_and_may_be_previous() {
    let files = signed("fresh");
    files.write("new.txt", OLD_SECRET.as_bytes());
    let args = ["--secret-file", "new.txt", "--secret-file", "secret.txt", "--output", "json"];
    let item: Value = serde_json::from_str(&files.succeed(&[VERIFY, &args].concat())).unwrap();
    assert_eq!((&item["secret"], &item["previous"]), (&"secret.txt".into(), &true.into()));
    assert!(item["meaning"].as_str().unwrap().contains("previous"), "{item}");
    assert_eq!(item["submission_id"], "sub_1");
}

#[test]
fn header_flag_takes_a_value_or_a_named_header() {
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
fn missing_input_has_a_hint() {
    let files = signed("fresh");
    for (args, code, tells) in [
        (
            &["webhook", "verify", "delivery.json", "--secret-file", "secret.txt"][..],
            2,
            "no signature to verify",
        ),
        (VERIFY, 2, "verification needs a signing secret"),
        (
            &["webhook", "verify", "--capture", "17", "--secret-file", "secret.txt"],
            3,
            "there is no capture 17",
        ),
        (
            &["webhook", "verify", "--http-dump", "delivery.json", "--secret-file", "secret.txt"],
            2,
            "the file is not an HTTP request",
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

#[test]
fn explanation_has_the_cause_and_a_fix() {
    for (variant, change, why, tells) in [
        ("fresh", "\n", "body_ends", "printf %s"),
        ("uppercase", "", "v1_upper_case", "in lower case"),
        ("body-only", "", "signed_body_only", "sign `<t>.<raw body>`"),
        ("stale", "", "stale", "webhook replay"),
        ("millis", "", "t_millis", "divide by 1000"),
    ] {
        let files = signed(variant);
        files.write("delivery.json", format!("{BODY}{change}").as_bytes());
        let said = files.run(&verify(&["--explain", "--json", "why,explanation"]));
        assert_eq!(said.code, Some(11), "{variant}: {}", said.stderr);
        let item: Value = serde_json::from_str(&said.stdout).unwrap();
        assert_eq!(item["why"], why, "{variant}");
        assert_eq!(item["explanation"]["proof"], "signature");
        assert_eq!(item["explanation"]["found"][0]["id"], why);
        assert!(said.stderr.contains(tells), "{variant}: {}", said.stderr);
    }
}

#[test]
fn explanation_without_a_cause_lists_the_attempts() {
    let files = signed("tampered");
    let said = files.run(&verify(&["--explain", "--output", "json"]));
    let item: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((&item["why"], &item["explanation"]["proof"]), (&Value::Null, &"none".into()));
    assert!(item["explanation"]["tried"].as_array().unwrap().len() >= 20, "{item}");
    assert!(said.stderr.contains("none of "), "{}", said.stderr);
    assert!(said.stderr.contains("another secret may have signed it"), "{}", said.stderr);

    let files = signed("fresh");
    let item: Value =
        serde_json::from_str(&files.succeed(&verify(&["--explain", "--output", "json"]))).unwrap();
    assert_eq!((&item["valid"], &item["explanation"]), (&true.into(), &Value::Null));
}

#[test]
fn api_key_as_secret_is_recognized() {
    let files = Files::new();
    let key = "fsk_5Yp2mXq8RtVw1ZbNc3Kd7LfGh9JsAeUo4Ti6MxQvBnW";
    files.write("key.txt", key.as_bytes());
    let header = files.succeed(&["webhook", "sign", "delivery.json", "--secret-file", "key.txt"]);
    files.write("delivery.sig", header.as_bytes());
    let args = verify(&["--explain"]);
    let done = files.formsvc(&args).env("FORMSVC_API_KEY", key).output().unwrap();
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert!(stderr.contains("[secret_api_key]") && !stderr.contains(&key[4..]), "{stderr}");
}

/// Senders choose header names, header values and request text.
#[test]
fn request_text_has_no_terminal_control_characters() {
    let files = signed("fresh");
    let value = std::fs::read_to_string(files.path().join("delivery.sig")).unwrap();
    let dump = format!("POST / HTTP/1.1\nx-\u{1b}[2Jevil: {value}\n{BODY}");
    files.write("bad.http", dump.as_bytes());
    let args = [
        "webhook",
        "verify",
        "--http-dump",
        "bad.http",
        "--secret-file",
        "secret.txt",
        "--explain",
    ];
    let said = files.run(&args);
    assert!(matches!(said.code, Some(2 | 11)), "{}", said.stderr);
    assert!(!said.stderr.contains('\u{1b}'), "{:?}", said.stderr);
}

#[cfg(unix)]
#[test]
fn capture_is_verified_as_of_its_arrival() {
    use super::listen::listener::{Listener, SECRET, event, signature};

    let files = Files::new();
    let state = files.path().join("state");
    let args = ["--count", "2", "--on-invalid", "accept", "--output", "ndjson", "--reveal"];
    let listener = Listener::with(&args, |command| {
        command.env("FORMSVC_SIGNING_SECRET", SECRET).env("FORMSVC_STATE_DIR", &state)
    });
    let body = event("sub_1");
    assert_eq!(listener.deliver(&body).status(), 200);
    assert_eq!(listener.post(&signature(SECRET, 0, &body), &format!("{body}\n")).status(), 200);
    assert_eq!(listener.finish().code, Some(0));

    let verify = |args: &[&str]| {
        let mut command = files.formsvc(&[&["webhook", "verify", "--explain"], args].concat());
        command.env("FORMSVC_SIGNING_SECRET", SECRET).env("FORMSVC_STATE_DIR", &state);
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8(done.stdout).unwrap())
    };
    assert_eq!(verify(&["--capture", "1", "--json", "verdict"]).0, Some(0));
    let second = verify(&["--capture", "2", "--json", "capture,verdict,why"]);
    let expected = "{\"capture\":2,\"verdict\":\"signature_mismatch\",\"why\":\"body_ends\"}\n";
    assert_eq!(second, (Some(11), expected.to_owned()));
}

#[test]
fn explain_of_a_deeply_nested_body_reports_the_depth() {
    let files = signed("wrong-secret");
    for (depth, message) in [
        (11_000, "the body is nested too deeply to compare; "),
        (400_000, "the body is too long to try what changed it; "),
    ] {
        let body = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        files.write("delivery.json", body.as_bytes());
        let said = files.run(&verify(&["--explain", "--output", "json"]));
        assert_eq!(said.code, Some(11), "{depth}: {}", said.stderr);
        assert!(said.stderr.contains(message), "{}", said.stderr);
        assert!(said.stderr.contains("`--json explanation` lists"), "{}", said.stderr);
        let item: Value = serde_json::from_str(&said.stdout).unwrap();
        let left_out = item["explanation"]["left_out"].as_array().unwrap();
        assert!(left_out.contains(&"json_printed".into()), "{item}");
    }
}
