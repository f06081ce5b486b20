use crate::http::as_received;
use std::time::Duration;
use url::Url;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;

use super::*;
use crate::delivery::{
    AnsweredBy, Attempt, DeliverySummary, EventNames, Forward, Response, Source, TargetResponse,
};
use crate::verdict::{Verdict, VerdictCode};

const SIGNED: &str = "t=1,v1=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn delivery(number: i64, body: &'static [u8]) -> Delivery {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "sender.test:8"),
        ("x-service-signature", SIGNED),
        ("x-a", "1"),
        ("x-a", "2"),
        ("content-type", "application/json"),
        ("content-length", "99"),
    ] {
        headers.append(name, HeaderValue::from_static(value));
    }
    let target_response = TargetResponse {
        status: 200,
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"ok\0"),
        is_truncated: false,
    };
    Delivery {
        summary: DeliverySummary {
            number: Some(number),
            received_at: "2026-01-31T09:30:00.1234Z".parse().unwrap(),
            source: Source::Poll,
            method: Method::POST,
            request_target: "/hook?token=abc&b=1".to_owned(),
            body_size: body.len() as u64,
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age_secs: None },
            names: EventNames::default(),
            attempt: Attempt::FIRST,
            response: Some(Response {
                status: Some(200),
                answered_by: AnsweredBy::Target,
                took: Duration::from_millis(12),
            }),
        },
        headers,
        body: Bytes::from_static(body),
        forwards: vec![Forward {
            url: "http://localhost:1/".to_owned(),
            result: Ok(target_response),
            took: Duration::from_millis(3),
        }],
        relayed_forward: Some(0),
    }
}

fn exported(exporter: &mut Exporter) -> String {
    let mut out = exporter.begin().as_bytes().to_vec();
    out.extend(exporter.delivery(&delivery(7, b"{}")));
    out.extend(exporter.delivery(&delivery(8, b"\xff\n###")));
    out.extend_from_slice(exporter.end().as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

#[test]
fn http_export_keeps_request_and_separates_by_number() {
    let mut exporter = Exporter::new(ExportFormat::Http, true);
    let head = |length| {
        format!(
            "POST /hook?token=abc&b=1 HTTP/1.1\r\nhost: sender.test:8\r\nx-service-signature: \
             {SIGNED}\r\nx-a: 1\r\nx-a: 2\r\ncontent-type: application/json\r\ncontent-length: \
             {length}\r\n\r\n"
        )
    };
    let expected = format!("{}{{}}\n\n### capture 8\n{}\u{fffd}\n###", head(2), head(5));
    assert_eq!(exported(&mut exporter), expected);
    let warnings = exporter.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("begins with `###`"), "{warnings:?}");
}

#[test]
fn variable_in_http_export_is_a_warning() {
    for (format, body, expected) in [
        (ExportFormat::Http, &b"{\"a\":\"{{$processEnv HOME}}\"}"[..], 1),
        (ExportFormat::Http, b"{\"a\":{ }}", 0),
        (ExportFormat::Curl, b"{{", 0),
    ] {
        let mut exporter = Exporter::new(format, true);
        exporter.delivery(&delivery(1, body));
        assert_eq!(exporter.warnings().len(), expected, "{format:?}");
    }
}

#[test]
fn request_formats_mask_and_warn() {
    for format in [ExportFormat::Http, ExportFormat::Curl] {
        let mut exporter = Exporter::new(format, false);
        let text = exported(&mut exporter);
        assert!(!text.contains(&SIGNED[..12]) && !text.contains("abc"), "{text}");
        assert!(exporter.warnings().iter().any(|warning| warning.contains("masked")), "{format:?}");
        let mut revealing = Exporter::new(format, true);
        assert!(exported(&mut revealing).contains(SIGNED));
        assert!(revealing.warnings().iter().all(|warning| !warning.contains("masked")));
    }
}

#[test]
fn revealed_signature_that_has_expired_is_a_warning() {
    for (format, age, expected) in
        [(ExportFormat::Curl, 301, 1), (ExportFormat::Curl, 290, 0), (ExportFormat::Har, 301, 0)]
    {
        let mut exporter = Exporter::new(format, true);
        let mut delivery = delivery(7, b"{}");
        delivery.summary.received_at = Timestamp::now();
        delivery.summary.verdict.age_secs = Some(age);
        exporter.delivery(&delivery);
        let warnings = exporter.warnings();
        assert_eq!(warnings.len(), expected, "{format:?} {age}: {warnings:?}");
        let text = "the signature of capture 7 is older than 5 minutes, so receivers refuse it";
        assert!(warnings.iter().all(|warning| warning.contains(text)), "{warnings:?}");
    }
}

#[test]
fn export_of_a_polled_delivery_has_the_target_url() {
    let mut polled = delivery(7, b"{}");
    polled.headers.remove("host");
    let mut exporter = Exporter::new(ExportFormat::Curl, false);
    let curl = String::from_utf8(exporter.delivery(&polled)).unwrap();
    assert!(curl.contains(" http://localhost:1/ "), "{curl}");
}

#[test]
fn har_export_has_request_and_response() {
    let mut exporter = Exporter::new(ExportFormat::Har, false);
    let har: Value = serde_json::from_str(&exported(&mut exporter)).unwrap();
    let entries = har["log"]["entries"].as_array().unwrap();
    assert_eq!((entries.len(), exporter.count()), (2, 2));
    let [entry, binary] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!(entry["startedDateTime"], "2026-01-31T09:30:00.123Z");
    assert_eq!(entry["comment"], "capture 7: valid");
    assert_eq!(entry["request"]["url"], "http://sender.test:8/hook?token=…&b=1");
    assert_eq!(entry["request"]["queryString"][1]["value"], "1");
    assert_eq!(entry["request"]["postData"]["text"], "{}");
    assert_eq!(binary["request"]["postData"]["encoding"], "base64");
    let response = &entry["response"];
    assert_eq!((&response["status"], &response["statusText"]), (&200.into(), &"OK".into()));
    assert_eq!((&response["content"]["size"], &response["bodySize"]), (&3.into(), &3.into()));
    assert_eq!(response["content"]["text"], "b2sA");
    // Users read HAR files and do not send their requests, so masked values need no warning.
    assert_eq!(exporter.warnings().len(), 0);
    let mut unanswered = delivery(9, b"");
    unanswered.summary.response = None;
    let entry = har::entry(&unanswered, true);
    assert_eq!(
        (&entry["response"]["status"], &entry["response"]["bodySize"]),
        (&0.into(), &(-1).into())
    );
}

#[test]
fn ndjson_export_has_one_record_per_line() {
    let text = exported(&mut Exporter::new(ExportFormat::Ndjson, false));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[1]["capture"]), (2, &8.into()));
    assert!(Exporter::new(ExportFormat::Ndjson, false).request(None, &outgoing()).is_empty());
}

fn outgoing() -> Outgoing {
    as_received(&delivery(1, b""), Url::parse("http://host/").unwrap())
}

#[test]
fn format_names_are_unique() {
    for row in &FORMATS {
        assert_eq!(FORMATS.iter().filter(|other| other.name == row.name).count(), 1);
        assert_eq!(row.format.row().name, row.name);
    }
}
