//! The lines for programs: each parses, is as the schema says, and tells the body to the byte.

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

/// Bodies of all kinds: exact JSON, text that breaks readers, and none.
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

fn posted(body: &[u8]) -> Vec<u8> {
    let key = SigningSecret::new(SECRET).unwrap();
    let mut request = request("/", &sign([&key], now(), body), "");
    let end = request.len() - "Content-Length: 0\r\n\r\n".len();
    request.truncate(end);
    request.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
    request.extend(body);
    request
}

/// Everything that a listener can write: also where one target answers and another does not.
fn everything() -> (String, Vec<Vec<u8>>) {
    let live = Recorder::of(&[201]).url("/");
    let dead = crate::support::closed_address().to_string();
    let flags =
        ["--output=ndjson", "--drop=1", "--respond=503,pass", "--expect-every=body_size>=0"];
    let targets = ["--forward-to", &live, "--forward-to", &dead];
    let listener = Listener::start(&[&flags[..], &targets].concat());
    let bodies = bodies();
    for body in &bodies {
        listener.exchange(&posted(body));
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

/// What a listener warns of before the first delivery.
fn warnings() -> String {
    let flags = ["--output=ndjson", "--bind=0.0.0.0", "--forward-timeout=20s"];
    let route = "--route=event=never=http://192.0.2.1/";
    let listener = Listener::with(&[&flags[..], &[route]].concat(), |command| {
        command.env("FORMSVC_STATE_DIR", "/proc/nothing")
    });
    listener.terminate().stdout
}

/// The schema of the lines of a type.
fn schema_of(kind: &str) -> Value {
    let schema: Value = serde_json::from_str(&succeed(&["webhook", "listen", "--schema"])).unwrap();
    let kinds = schema["oneOf"].as_array().unwrap();
    let found = kinds.iter().find(|known| known["title"] == kind);
    found.unwrap_or_else(|| panic!("no kind {kind}")).clone()
}

#[test]
fn every_line_is_json_and_as_the_schema_says() {
    let (stdout, _) = everything();
    let records = [records(&stdout), records(&warnings())].concat();
    for record in &records {
        check(&schema_of(record["type"].as_str().unwrap()), record, "");
    }
    // All of it has come.
    let deliveries = of_type(&records, "delivery");
    assert!(deliveries.iter().any(|told| told["status"].is_null()), "one is dropped");
    assert!(deliveries.iter().any(|told| told["pause"].is_object()), "one is a retry");
    let forwards: Vec<_> =
        of_type(&records, "forward").iter().map(|told| &told["status"]).collect();
    assert_eq!(forwards, [&Value::from(201), &Value::Null]);
    let warned = of_type(&records, "warning");
    let codes: Vec<_> = warned.iter().map(|told| told["code"].as_str().unwrap()).collect();
    let (by_deliveries, at_once) = (
        ["target_down", "method_not_allowed"],
        ["not_verified", "reachable", "in_memory", "long_timeout", "plain_http"],
    );
    assert_eq!(codes, [&by_deliveries[..], &at_once].concat());
    let known = schema_of("warning");
    let known = known["properties"]["code"]["examples"].as_array().unwrap();
    assert!(codes.iter().all(|code| known.contains(&Value::from(*code))), "{known:?}");
    assert_eq!((&records[0]["type"], of_type(&records, "summary").len()), (&"ready".into(), 2));
}

#[test]
fn what_lists_tell_of_a_capture_is_what_the_listener_told() {
    let state = tempfile::tempdir().unwrap();
    let listener = Listener::with(&["--output=ndjson", "--respond=503,200"], |command| {
        command.env("FORMSVC_STATE_DIR", state.path()).env("FORMSVC_SIGNING_SECRET", SECRET)
    });
    listener.deliver(&event("sub_1"));
    listener.deliver(&event("sub_1"));
    let told = records(&listener.terminate().stdout);
    let told = of_type(&told, "delivery")[1].as_object().unwrap();
    let kept = |args: &[&str]| {
        let mut command = formsvc(&[&["webhook", "events"], args].concat());
        let said: Said = command.env("FORMSVC_STATE_DIR", state.path()).output().unwrap().into();
        serde_json::from_str::<Value>(&said.stdout).unwrap_or_else(|_| panic!("{}", said.stderr))
    };
    let schema = schema_of("delivery");
    let listed = kept(&["list", "--limit=1", "--output=json"]);
    // What only one of them has.
    let of_the_line = ["schema", "type", "pause", "unrouted"];
    let of_the_whole = ["headers", "body", "body_b64", "body_sha256"];
    for (kept, without, with) in [
        (&listed[0], &[&of_the_line[..], &of_the_whole].concat()[..], &[][..]),
        (&kept(&["show", "2", "--output=json"]), &of_the_line, &["forwards"]),
    ] {
        let kept = kept.as_object().unwrap();
        for (name, value) in kept.iter().filter(|(name, _)| !with.contains(&name.as_str())) {
            check(&schema["properties"][name], value, name);
            assert_eq!(told.get(name), Some(value), "{name}");
        }
        let missing = told.keys().filter(|name| !kept.contains_key(*name));
        let missing: BTreeSet<_> = missing.map(String::as_str).collect();
        assert_eq!(missing, without.iter().copied().collect());
    }
}

/// Checks a value by the words of JSON Schema that ours uses.
#[track_caller]
fn check(schema: &Value, value: &Value, at: &str) {
    for (word, rule) in schema.as_object().unwrap() {
        match word.as_str() {
            "title" | "description" | "examples" | "format" | "contentEncoding" => {}
            "const" => assert_eq!(value, rule, "{at}"),
            "enum" => assert!(rule.as_array().unwrap().contains(value), "{at}: {value}"),
            "type" => {
                let types = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
                let is = |kind: &Value| match kind.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("{other}"),
                };
                assert!(types.iter().any(is), "{at}: {value} is none of {types:?}");
            }
            "minimum" => {
                assert!(value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()), "{at}");
            }
            "maximum" => {
                assert!(value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()), "{at}");
            }
            "pattern" => {
                assert_eq!(rule, "^[0-9a-f]{64}$");
                let text = value.as_str().unwrap();
                let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
                assert!(text.len() == 64 && text.chars().all(is_digit), "{at}: {text}");
            }
            "required" => {
                for name in rule.as_array().unwrap() {
                    let missing = value.is_object() && value.get(name.as_str().unwrap()).is_none();
                    assert!(!missing, "{at}: no {name} in {value}");
                }
            }
            "properties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    let schema = rule.get(name);
                    let schema = schema.unwrap_or_else(|| panic!("{at}: nobody told of {name}"));
                    check(schema, value, &format!("{at}/{name}"));
                }
            }
            "additionalProperties" => {
                for (name, value) in value.as_object().unwrap() {
                    check(rule, value, &format!("{at}/{name}"));
                }
            }
            "items" => {
                for value in value.as_array().into_iter().flatten() {
                    check(rule, value, &format!("{at}[]"));
                }
            }
            other => panic!("the schema uses `{other}`, which this check does not know"),
        }
    }
}

#[test]
fn an_independent_reader_of_schemas_agrees() {
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
    // Without Python there is nobody to agree.
    let Ok(mut child) = python.spawn() else { return };
    let (stdout, _) = everything();
    // It may not have the library, and then reads nothing.
    let _ = child.stdin.take().unwrap().write_all(stdout.as_bytes());
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn bodies_are_told_to_the_byte() {
    let (stdout, bodies) = everything();
    let records = records(&stdout);
    for (told, body) in of_type(&records, "delivery").into_iter().zip(&bodies) {
        let exact =
            base64::engine::general_purpose::STANDARD.decode(told["body_b64"].as_str().unwrap());
        assert_eq!(&exact.unwrap(), body);
        assert_eq!(told["body_sha256"], hex::encode(Sha256::digest(body)));
        assert_eq!(told["body_size"], body.len());
    }
    // Numbers and keys stand in the line as they came.
    let exact = r#""n":12345678901234567890.10,"path":"a\/b","é":"\u00e9\u2028"#;
    assert!(stdout.contains(exact), "{stdout}");
    let parsed =
        of_type(&records, "delivery").iter().filter(|told| !told["body"].is_null()).count();
    assert_eq!(parsed, 6, "three of the bodies, two retries and what another secret signed");
}

#[test]
fn signatures_are_masked_unless_they_are_asked_for() {
    let body = event("sub_1");
    let header = signature(SECRET, 0, &body);
    for (flags, shown) in
        [(&["--output=ndjson"][..], false), (&["--output=ndjson", "--reveal"], true)]
    {
        let listener = Listener::start(flags);
        assert_eq!(listener.post(&header, &body).status(), 200);
        let said = listener.terminate();
        assert_eq!(said.stdout.contains(&header), shown, "{}", said.stdout);
        assert!(said.stdout.contains(header.split(',').next().unwrap()), "the time is no secret");
    }
}

#[test]
fn the_signature_that_would_be_right_is_nowhere() {
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
fn jq_and_templates_make_of_each_line_what_they_will() {
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
