//! The lines for programs: each parses, is as the schema says, and tells the body to the byte.

use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use formsvc_protocol::signature::{SigningSecret, sign};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::listener::{
    Listener, OTHER_SECRET, SECRET, event, now, of_type, records, request, signature,
};
use crate::support::succeed;

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
    let key = SigningSecret::new(&SECRET.to_owned().into()).unwrap();
    let mut request = request("/", &sign([&key], now(), body), "");
    let end = request.len() - "Content-Length: 0\r\n\r\n".len();
    request.truncate(end);
    request.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
    request.extend(body);
    request
}

/// Everything that a listener can write.
fn everything() -> (String, Vec<Vec<u8>>) {
    let flags = ["--output", "ndjson", "--respond", "503,200", "--expect-every", "body_size>=0"];
    let listener = Listener::start(&flags);
    let bodies = bodies();
    for body in &bodies {
        listener.exchange(&posted(body));
    }
    listener.deliver(&event("sub_1"));
    listener.post(&signature(OTHER_SECRET, 0, "{}"), "{}");
    listener.exchange(b"GET /\"\\x HTTP/1.1\r\nConnection: close\r\nX: \xff\r\n\r\n");
    let said = listener.terminate();
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    (said.stdout, bodies)
}

#[test]
fn every_line_is_json_and_as_the_schema_says() {
    let schema: Value = serde_json::from_str(&succeed(&["webhook", "listen", "--schema"])).unwrap();
    let (stdout, _) = everything();
    let records = records(&stdout);
    for record in &records {
        let kind = schema["oneOf"].as_array().unwrap().iter();
        let mut kind = kind.filter(|kind| kind["title"] == record["type"]);
        let kind = kind.next().unwrap_or_else(|| panic!("no kind: {record}"));
        check(kind, record, "");
        let known = kind["properties"].as_object().unwrap();
        let unknown = record.as_object().unwrap().keys().find(|key| !known.contains_key(*key));
        assert_eq!(unknown, None, "the schema does not tell of it: {record}");
    }
    let kinds: Vec<_> = records.iter().map(|record| record["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("ready", "summary"), "{kinds:?}");
    assert!(kinds.contains(&"delivery") && kinds.contains(&"warning"), "{kinds:?}");
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
                for (name, schema) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(schema, value, &format!("{at}/{name}"));
                    }
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
    let mut python = Command::new("python3");
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
    assert_eq!(parsed, 5, "three of the bodies, a retry and what another secret signed");
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
