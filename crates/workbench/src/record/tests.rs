use bytes::Bytes;
use formsvc_contract::send::SIGNATURE;
use http::{HeaderValue, Method};
use serde_json::{Value, json};

use super::*;
use crate::delivery::{
    AnsweredBy, Attempt, EventNames, ForwardError, ForwardErrorKind, Response, TargetResponse,
};
use crate::verdict::Verdict;

const SIGNED: &str = "t=1,v1=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn delivery(body: &'static str) -> Delivery {
    let mut headers = HeaderMap::new();
    headers.insert(SIGNATURE, HeaderValue::from_static(SIGNED));
    headers.append("x-a", HeaderValue::from_static("1"));
    headers.append("x-a", HeaderValue::from_static("2"));
    let response = TargetResponse {
        status: 503,
        headers: HeaderMap::new(),
        body: Bytes::from_static(SIGNED.as_bytes()),
        is_truncated: false,
    };
    let error = ForwardError { kind: ForwardErrorKind::Timeout, message: "no response".to_owned() };
    let forward = |result| Forward {
        url: "http://localhost:1/?key=1".to_owned(),
        result,
        took: Duration::from_millis(3),
    };
    Delivery {
        summary: DeliverySummary {
            number: Some(7),
            received_at: "2026-01-31T09:30:00.1234Z".parse().unwrap(),
            source: Source::Request("127.0.0.1:8".parse().unwrap()),
            method: Method::POST,
            request_target: "/hook?token=abc".to_owned(),
            body_size: body.len() as u64,
            verdict: Verdict {
                code: VerdictCode::Valid,
                secret: Some("new".into()),
                age_secs: Some(1),
            },
            names: EventNames {
                event: Some("submission.created".to_owned()),
                ..EventNames::default()
            },
            attempt: Attempt {
                number: 2,
                gap: Some(Duration::from_micros(1_500)),
                is_duplicate: false,
            },
            response: Some(Response {
                status: Some(503),
                answered_by: AnsweredBy::Target,
                took: Duration::from_micros(12_345),
            }),
        },
        headers,
        body: Bytes::from_static(body.as_bytes()),
        forwards: vec![forward(Ok(response)), forward(Err(error))],
        relayed_forward: Some(0),
    }
}

fn json_of(delivery: &Delivery, reveal: bool) -> Value {
    serde_json::to_value(DeliveryRecord::of(delivery, reveal)).unwrap()
}

/// Checks that an object has exactly the properties that the schema lists, and that each value has one of the listed
/// types.
pub(crate) fn assert_conforms(value: &Value, schema: &Value, path: &str) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if let Some(types) = schema.get("type") {
        let types = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
        let is_listed = types.iter().any(|one| one == kind || one == "number" && kind == "integer");
        assert!(is_listed, "{path} is {kind}, and the schema has {types:?}");
    }
    if let (Some(properties), Value::Object(members)) = (schema.get("properties"), value) {
        let properties = properties.as_object().unwrap();
        let names: Vec<_> = members.keys().collect();
        assert!(properties.keys().eq(names), "{path}: {properties:?}");
        for (name, member) in members {
            assert_conforms(member, &properties[name], &format!("{path}.{name}"));
        }
    }
    if let (Some(items), Value::Array(elements)) = (schema.get("items"), value) {
        for element in elements {
            assert_conforms(element, items, &format!("{path}[]"));
        }
    }
    if let Some(values) = schema.get("enum") {
        assert!(values.as_array().unwrap().contains(value), "{path}: {value}");
    }
}

#[test]
fn record_conforms_to_the_schema() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut in_flight = delivery("x");
    in_flight.summary.response = None;
    in_flight.forwards.clear();
    for delivery in [delivery(r#"{"a":1}"#), in_flight] {
        assert_conforms(&json_of(&delivery, false), &schema, "$");
    }
    let properties = &schema["properties"];
    let names = |property: &str| properties[property]["enum"].clone();
    let verdicts: Vec<_> = crate::verdict::VERDICTS.iter().map(|row| row.name).collect();
    assert_eq!(names("verdict"), json!(verdicts));
    let answered_by = AnsweredBy::ALL.map(|(_, name)| Value::from(name));
    assert_eq!(names("answered_by"), json!([&answered_by[..], &[Value::Null]].concat()));
    assert_eq!(names("source"), json!(Source::NAMES));
}

#[test]
fn record_masks_secrets_unless_revealed() {
    let delivery = delivery(r#"{"key":"whsec_in_the_body"}"#);
    let masked = json_of(&delivery, false);
    assert_eq!(masked["request_target"], "/hook?token=…");
    assert_eq!(masked["headers"]["x-service-signature"], json!(["t=1,v1=0123…"]));
    assert_eq!(masked["headers"]["x-a"], json!(["1", "2"]));
    assert_eq!(masked["forwards"][0]["url"], "http://localhost:1/?…");
    assert_eq!(masked["forwards"][0]["body_b64"], STANDARD.encode("t=1,v1=0123…"));
    assert_eq!(masked["forwards"][1]["error"], "no response");
    assert_eq!(masked["body"]["key"], "whsec_in_the_body", "the body is exact");
    let revealed = json_of(&delivery, true);
    assert_eq!(revealed["headers"]["x-service-signature"], json!([SIGNED]));
    assert_eq!(revealed["forwards"][0]["url"], "http://localhost:1/?key=1");
}

#[test]
fn summary_record_has_no_content() {
    let delivery = delivery("{}");
    let summary = DeliveryRecord::of_summary(&delivery.summary, false);
    let value = serde_json::to_value(summary).unwrap();
    assert_eq!(value["at"], "2026-01-31T09:30:00.123Z");
    assert_eq!((&value["gap_ms"], &value["took_ms"]), (&json!(1.5), &json!(12.345)));
    assert!(value.get("headers").is_none() && value.get("body").is_none());
}

#[test]
fn body_keeps_its_numbers_and_order_on_one_line() {
    let line = |body: &str| json_on_one_line(body.as_bytes()).map(|raw| raw.get().to_owned());
    let body =
        "{\r\n\t\"b\" : 1.50e1 , \"a\\\" : \" : [ 12345678901234567890 ,\"\\u00e9 \\/\" ] }\n";
    let expected = r#"{"b":1.50e1,"a\" : ":[12345678901234567890,"\u00e9 \/"]}"#;
    assert_eq!(line(body).as_deref(), Some(expected));
    let text = serde_json::to_string(&DeliveryRecord::of(&delivery("{ \"n\": 1.50 }"), false));
    assert!(text.unwrap().contains(r#""body":{"n":1.50}"#));
    for refused in ["", "{", "1e999", r#""\ud800""#, "nul", &"[".repeat(9_999)] {
        assert_eq!(line(refused), None, "{refused}");
    }
    assert!(json_on_one_line(b"\"\xff\"").is_none());
}
