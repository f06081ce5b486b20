//! The NDJSON lines: each is valid by the schema and contains the exact body.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;

use base64::Engine as _;
use formsvc_protocol::signature::{SigningSecret, sign};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::listener::{
    Listener, OTHER_SECRET, SECRET, event, now, of_type, records, request, signature,
};
use crate::processes;
use crate::support::{Said, formsvc, succeed};
use crate::webhook::recorder::Recorder;

/// Bodies of all kinds: JSON, invalid JSON, binary data and an empty body.
fn bodies() -> Vec<Vec<u8>> {
    let pretty = "{\r\n  \"event\": \"submission.created\",\n\t\"n\": 12345678901234567890.10,\n \
                  \"path\": \"a\\/b\", \"é\": \"\\u00e9\\u2028\u{2028}\" }\n";
    vec![
        event("sub_1").into_bytes(),
        pretty.into(),
        b"".to_vec(),
        b"\xff\xfe\x00\x01\n\r\n".to_vec(),
        b"[1,2".to_vec(),
        "[".repeat(5_000).into_bytes(),
        format!("{}{}", "[".repeat(90), "]".repeat(90)).into_bytes(),
        br#""\ud800""#.to_vec(),
        b"1e999".to_vec(),
        br#"{"event":"\u001b[2J\n{\"type\":\"summary\"}","a":{"a":{}}}"#.to_vec(),
    ]
}

fn signed_request(body: &[u8]) -> Vec<u8> {
    let key = SigningSecret::new(SECRET).unwrap();
    let mut request = request("/", &sign([&key], now(), body), "");
    let end = request.len() - "Content-Length: 0\r\n\r\n".len();
    request.truncate(end);
    request.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
    request.extend(body);
    request
}

/// Returns a run with every kind of line, in which one target responds and the other does not.
fn run_with_every_line_kind() -> (String, Vec<Vec<u8>>) {
    let live = Recorder::of(&[201]).url("/");
    let dead = crate::support::closed_address().to_string();
    let flags =
        ["--output=ndjson", "--drop=1", "--respond=503,pass", "--expect-every=body_size>=0"];
    let targets = ["--forward-to", &live, "--forward-to", &dead];
    let listener = Listener::start(&[&flags[..], &targets].concat());
    let bodies = bodies();
    for body in &bodies {
        listener.exchange(&signed_request(body));
    }
    for _ in 0..2 {
        listener.deliver(&event("sub_1"));
    }
    listener.post(&signature(OTHER_SECRET, 0, "{}"), "{}");
    listener.exchange(b"GET /\"\\x HTTP/1.1\r\nConnection: close\r\nX: \xff\r\n\r\n");
    let said = listener.terminate();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    (said.stdout, bodies)
}

/// Returns the lines of a listener with every warning that is possible before the first delivery.
fn run_with_every_warning() -> String {
    let flags = ["--output=ndjson", "--bind=0.0.0.0", "--timeout=20s"];
    let route = "--route=event=never=http://192.0.2.1/";
    let listener = Listener::with(&[&flags[..], &[route]].concat(), |command| {
        command.env("FORMSVC_STATE_DIR", "/proc/nothing")
    });
    listener.terminate().stdout
}

#[test]
fn lines_contain_every_kind_and_warning() {
    let (stdout, _) = run_with_every_line_kind();
    let records = [records(&stdout), records(&run_with_every_warning())].concat();
    let deliveries = of_type(&records, "delivery");
    assert!(deliveries.iter().any(|record| record["status"].is_null()), "a delivery is dropped");
    assert!(deliveries.iter().any(|record| record["gap_ms"].is_number()), "a delivery is a retry");
    let forwards: Vec<_> =
        deliveries.iter().flat_map(|record| record["forwards"].as_array().unwrap()).collect();
    let statuses: Vec<_> = forwards.iter().map(|record| &record["status"]).collect();
    assert_eq!(statuses, [&Value::from(201), &Value::Null]);
    assert_eq!(of_type(&records, "refused")[0]["code"], "method_not_allowed");
    let warned = of_type(&records, "warning");
    let codes: Vec<_> = warned.iter().map(|record| record["code"].as_str().unwrap()).collect();
    let expected =
        ["target_down", "not_verified", "reachable", "in_memory", "long_timeout", "plain_http"];
    assert_eq!(codes, expected);
    assert_eq!((&records[0]["type"], of_type(&records, "summary").len()), (&"ready".into(), 2));
}

#[test]
fn listed_capture_equals_the_line_of_the_listener() {
    let state = tempfile::tempdir().unwrap();
    let listener = Listener::with(&["--output=ndjson", "--respond=503,200"], |command| {
        command.env("FORMSVC_STATE_DIR", state.path()).env("FORMSVC_SIGNING_SECRET", SECRET)
    });
    listener.deliver(&event("sub_1"));
    listener.deliver(&event("sub_1"));
    let told = records(&listener.terminate().stdout);
    let told = of_type(&told, "delivery")[1].as_object().unwrap();
    let stored = |args: &[&str]| {
        let mut command = formsvc(&[&["webhook", "events"], args].concat());
        let said: Said = command.env("FORMSVC_STATE_DIR", state.path()).output().unwrap().into();
        serde_json::from_str::<Value>(&said.stdout).unwrap_or_else(|_| panic!("{}", said.stderr))
    };
    let listed = stored(&["list", "--limit=1", "--output=json"]);
    // Lists omit the content.
    let content = ["type", "headers", "body", "body_b64", "body_sha256", "forwards"];
    for (record, omitted) in
        [(&listed[0], &content[..]), (&stored(&["show", "2", "--output=json"]), &["type"])]
    {
        let record = record.as_object().unwrap();
        for (name, value) in record {
            assert_eq!(told.get(name), Some(value), "{name}");
        }
        let missing = told.keys().filter(|name| !record.contains_key(*name));
        let missing: BTreeSet<_> = missing.map(String::as_str).collect();
        assert_eq!(missing, omitted.iter().copied().collect());
    }
}

#[test]
fn lines_are_valid_for_python_jsonschema() {
    let script = "import json,sys\ntry:\n import jsonschema\nexcept ImportError:\n sys.exit(0)\n\
        schema=json.load(open(sys.argv[1]))\n\
        jsonschema.Draft202012Validator.check_schema(schema)\n\
        check=jsonschema.Draft202012Validator(schema)\n\
        [check.validate(json.loads(l)) for l in sys.stdin.buffer.read().split(b'\\n') if l]\n";
    let folder = tempfile::tempdir().unwrap();
    let schema = folder.path().join("schema.json");
    std::fs::write(&schema, succeed(&["webhook", "listen", "--schema"])).unwrap();
    let mut python = processes::command("python3");
    python.args(["-c", script]).arg(&schema).stdin(Stdio::piped()).stderr(Stdio::piped());
    // Without Python, the test does nothing.
    let Ok(mut child) = python.spawn() else { return };
    let (stdout, _) = run_with_every_line_kind();
    // Without the `jsonschema` package, the program does not read its input.
    let _ = child.stdin.take().unwrap().write_all(stdout.as_bytes());
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn lines_contain_exact_bodies() {
    let (stdout, bodies) = run_with_every_line_kind();
    let records = records(&stdout);
    for (told, body) in of_type(&records, "delivery").into_iter().zip(&bodies) {
        let exact =
            base64::engine::general_purpose::STANDARD.decode(told["body_b64"].as_str().unwrap());
        assert_eq!(&exact.unwrap(), body);
        assert_eq!(told["body_sha256"], hex::encode(Sha256::digest(body)));
        assert_eq!(told["body_size"], body.len());
    }
    // The line contains numbers and keys unchanged.
    let exact = r#""n":12345678901234567890.10,"path":"a\/b","é":"\u00e9\u2028"#;
    assert!(stdout.contains(exact), "{stdout}");
    let parsed =
        of_type(&records, "delivery").iter().filter(|record| !record["body"].is_null()).count();
    assert_eq!(parsed, 7, "four of the bodies, two retries and the delivery with another secret");
}

#[test]
fn signatures_are_masked_unless_reveal() {
    let body = event("sub_1");
    let header = signature(SECRET, 0, &body);
    for (flags, shown) in
        [(&["--output=ndjson"][..], false), (&["--output=ndjson", "--reveal"], true)]
    {
        let listener = Listener::start(flags);
        assert_eq!(listener.post(&header, &body).status(), 200);
        let said = listener.terminate();
        assert_eq!(said.stdout.contains(&header), shown, "{}", said.stdout);
        assert!(
            said.stdout.contains(header.split(',').next().unwrap()),
            "the time of the signature is shown"
        );
    }
}

#[test]
fn expected_signature_is_never_printed() {
    let body = event("sub_1");
    let right = signature(SECRET, 0, &body);
    let wrong = signature(OTHER_SECRET, 0, &body);
    let (time, mac) = right.split_once(",v1=").unwrap();
    let wrong = format!("{time},v1={}", wrong.split_once(",v1=").unwrap().1);
    for flags in [&["-vvv"][..], &["--output=ndjson", "--reveal", "-vvv"]] {
        let listener = Listener::start(flags);
        let answers = [listener.post(&wrong, &body), listener.post(time, &body)];
        let said = listener.terminate();
        let all = format!("{answers:?}{}{}", said.stdout, said.stderr);
        assert!(!all.contains(mac) && !all.contains(&mac[..16]), "{all}");
        assert!(!all.contains(SECRET), "{all}");
    }
}

#[test]
fn jq_and_template_apply_to_each_line() {
    for (flags, told) in [
        (["--jq", "select(.type==\"delivery\")|.submission_id"], "sub_1\n"),
        (["--template", "{{ item.type }}\n"], "ready\ndelivery\nsummary\n"),
    ] {
        let listener = Listener::start(&flags);
        listener.deliver(&event("sub_1"));
        let said = listener.terminate();
        assert_eq!(said.stdout.replace('"', ""), told, "{}", said.stderr);
    }
}

#[test]
fn failed_expression_is_a_warning_that_names_its_delivery() {
    let body = "select(.type == \"delivery\") | .body.event";
    let length = "{% if item.type == 'delivery' %}{{ item.body|length }}{% endif %}";
    for (flags, cause, printed) in [
        (["--jq", body], "cannot index [1] with \"event\"", "submission.created\n"),
        (["--template", length], "cannot calculate length", "6\n"),
    ] {
        let listener = Listener::start(&flags);
        let unsigned = if flags[0] == "--jq" { "[1]" } else { "1" };
        assert_eq!(listener.post("", unsigned).status(), 401);
        assert_eq!(listener.deliver(&event("sub_1")).status(), 200);
        let said = listener.terminate();
        assert_eq!((said.code, &*said.stdout), (Some(0), printed), "{}", said.stderr);
        let warning = said.stderr.lines().find(|line| line.starts_with("warning: ")).unwrap();
        assert!(
            warning.contains("warning: delivery of 20") && warning.contains(cause),
            "{warning}"
        );
    }
}

#[test]
fn warning_of_a_failed_expression_is_bounded() {
    let listener = Listener::start(&["--jq", "select(.type == \"delivery\") | error(.body)"]);
    assert_eq!(listener.post("", &format!("\"{}\"", "x\\n".repeat(20_000))).status(), 401);
    let said = listener.terminate();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    let longest = said.stderr.lines().map(str::len).max();
    assert!(longest.is_some_and(|longest| longest < 1_000), "{longest:?}");
}
