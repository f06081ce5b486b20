use std::time::Duration;

use bytes::Bytes;
use formsvc_workbench::delivery::{
    Attempt, DeliverySummary, EventNames, ForwardError, ForwardErrorKind, Response, TargetResponse,
};
use formsvc_workbench::listen::Refusal;
use formsvc_workbench::verdict::{VERDICTS, Verdict};
use http::{HeaderMap, Method};

use super::*;

const ID: &str = "sub_0123456789abcdef0123456789abcdef";

/// Returns a valid delivery of `sub_1` that the listener answered with 200 after 41 ms.
pub(in crate::cmd::webhook) fn delivery() -> Delivery {
    let event = Some("submission.created".to_owned());
    Delivery {
        summary: DeliverySummary {
            number: None,
            received_at: "2026-01-31T09:30:05.25Z".parse().unwrap(),
            source: Source::Request("127.0.0.1:4000".parse().unwrap()),
            method: Method::POST,
            request_target: "/".to_owned(),
            body_size: 157,
            verdict: Verdict {
                code: VerdictCode::Valid,
                secret: Some("new".into()),
                age_secs: Some(1),
            },
            names: EventNames { event, submission_id: Some("sub_1".to_owned()), form_id: None },
            attempt: Attempt::FIRST,
            response: Some(Response {
                status: Some(200),
                answered_by: AnsweredBy::Listener,
                took: Duration::from_millis(41),
            }),
        },
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{}"),
        forwards: Vec::new(),
        relayed_forward: None,
    }
}

fn with_verdict(code: VerdictCode, age_secs: Option<i64>) -> Delivery {
    let mut delivery = delivery();
    delivery.summary.verdict = Verdict { code, secret: None, age_secs };
    delivery
}

fn with_attempt(number: u32, gap_secs: u64, is_duplicate: bool) -> Delivery {
    let mut delivery = delivery();
    let gap = Some(Duration::from_secs(gap_secs));
    delivery.summary.attempt = Attempt { number, gap, is_duplicate };
    delivery
}

fn with_response(status: Option<u16>, answered_by: AnsweredBy) -> Delivery {
    let mut delivery = delivery();
    let took = Duration::from_millis(41);
    delivery.summary.response = Some(Response { status, answered_by, took });
    delivery
}

fn style(width: Option<usize>) -> LineStyle {
    let mut secrets = SigningSecrets::default();
    secrets.add("new", "whsec_of_the_first_test".into()).unwrap();
    secrets.add("old", "whsec_of_the_second_test".into()).unwrap();
    LineStyle { zone: TimeZone::UTC, width, secrets, reveal: false, several_targets: true }
}

fn text(line: &Line) -> String {
    line.iter().map(|(_, text)| text.as_str()).collect()
}

fn lines(delivery: &Delivery, width: Option<usize>) -> Vec<String> {
    style(width).delivery(delivery).iter().map(text).collect()
}

fn responded(url: &str, status: u16, body: &str) -> Forward {
    let (headers, body) = (HeaderMap::new(), body.to_owned().into());
    let result = Ok(TargetResponse { status, headers, body, is_truncated: false });
    Forward { url: url.to_owned(), result, took: Duration::from_millis(7) }
}

fn failed(url: &str, message: &str) -> Forward {
    let (kind, message) = (ForwardErrorKind::Unreachable, message.to_owned());
    let result = Err(ForwardError { kind, message });
    Forward { url: url.to_owned(), result, took: Duration::from_millis(7) }
}

#[test]
fn refused_line_masks_secrets_unless_reveal() {
    let request_target = "/hook?token=abc".to_owned();
    let (at, method) = (Timestamp::UNIX_EPOCH, Method::POST);
    let refused = RefusedRequest { at, method, request_target, refusal: Refusal::NotFound };
    for (reveal, shown) in [(false, "/hook?token=…"), (true, "/hook?token=abc")] {
        let line = LineStyle { reveal, ..style(None) }.refused(&refused);
        assert!(text(&line[0]).starts_with(&format!("00:00:00 POST {shown} → 404 ")), "{line:?}");
    }
    let request_target = format!("/{}", "x".repeat(100));
    let lines = style(Some(60)).refused(&RefusedRequest { request_target, ..refused });
    assert!(lines.iter().all(|line| text(line).width() <= 60), "{lines:?}");
}

#[test]
fn line_has_verdict_attempt_gap_and_response() {
    let first = "09:30:05 POST / sub_1 157 B";
    let fault = AnsweredBy::Fault;
    for (delivery, rest) in [
        (delivery(), "✓ valid 1s → 200 41ms"),
        (with_attempt(2, 11, false), "✓ valid 1s 2/4 +11.0s → 200 41ms"),
        (with_attempt(5, 4_000, false), "✓ valid 1s 5th +66min40s → 200 41ms"),
        (with_attempt(3, 9_000, true), "✓ valid 1s duplicate +2h30min → 200 41ms"),
        (with_response(Some(503), fault), "✓ valid 1s → 503 (injected) 41ms"),
        (with_response(None, fault), "✓ valid 1s → dropped (injected) 41ms"),
        (with_verdict(VerdictCode::Unchecked, Some(0)), "? unchecked → 200 41ms"),
    ] {
        assert_eq!(lines(&delivery, None), [format!("{first} {rest}")]);
    }
    let mut other = delivery();
    other.summary.names.event = Some("form.closed".to_owned());
    assert!(lines(&other, None)[0].contains(" / form.closed sub_1 "), "{:?}", lines(&other, None));
    let mut old = delivery();
    old.summary.verdict.secret = Some("old".into());
    assert!(lines(&old, None)[0].contains("✓ valid by a previous secret 1s"));
}

#[test]
fn refused_delivery_has_a_hint() {
    let mut mismatch = with_verdict(VerdictCode::SignatureMismatch, Some(7));
    let text = lines(&mismatch, None);
    assert!(text[0].contains("✗ signature mismatch → "), "an untrusted age is not shown: {text:?}");
    assert!(text[1].contains("hint: check that the secret is the current one"), "{text:?}");
    mismatch.summary.number = Some(17);
    let hint = "         hint: `formsvc webhook verify --capture 17 --explain` finds the cause";
    assert_eq!(lines(&mismatch, None)[1], hint);
    let old = with_verdict(VerdictCode::SignatureTooOld, Some(100_000));
    let text = lines(&old, None);
    assert!(text[0].contains("✗ signature too old 27h46min → "), "{text:?}");
    let future = with_verdict(VerdictCode::SignatureInFuture, Some(-400));
    let text = lines(&future, None);
    assert!(text[0].contains("✗ signature in future -6min40s → "), "{text:?}");
}

#[test]
fn failed_forwards_are_shown_below_the_line() {
    let mut delivery = delivery();
    let body = format!("bad\r\nthings\u{1b}[2J v1={}", "0a".repeat(32));
    let url = "http://localhost:1/?token=1";
    delivery.forwards = vec![
        failed(url, "nothing listens there"),
        responded(url, 500, &body),
        responded(url, 204, &body),
    ];
    let expected = [
        "         http://localhost:1/?…: nothing listens there",
        "         http://localhost:1/?… responded 500 in 7.0ms: bad  things[2J v1=0a0a…",
    ];
    assert_eq!(lines(&delivery, None)[1..], expected);
}

#[test]
fn long_url_of_a_failed_forward_is_shortened() {
    let mut delivery = delivery();
    let url = format!("http://localhost:1/{}", "x".repeat(600));
    delivery.forwards = vec![failed(&url, "nothing listens")];
    let shortened = format!("{}…: nothing listens", &url[..199]);
    assert_eq!(lines(&delivery, None)[1].trim(), shortened);
    for width in [40, 80, 200] {
        let text = lines(&delivery, Some(width));
        let is_narrow = |line: &String| line.width() <= width || line.trim().starts_with("http");
        assert!(text.iter().all(is_narrow), "{text:#?}");
        assert!(text.len() <= 11, "{width}: {text:#?}");
    }
}

#[test]
fn line_names_the_target_if_there_are_several() {
    let line = |urls: &[&str], several_targets: bool, by: AnsweredBy, width| {
        let mut delivery = with_response(Some(200), by);
        delivery.forwards = urls.iter().map(|url| responded(url, 200, "")).collect();
        let style = LineStyle { several_targets, ..style(width) };
        style.delivery(&delivery).iter().map(text).collect::<Vec<_>>()
    };
    let one = ["http://localhost:4242/a?token=1"];
    let (target, no_route) = (AnsweredBy::Target, AnsweredBy::NoRoute);
    for (urls, several, by, end) in [
        (&one[..], true, target, "→ 200 by http://localhost:4242/a?… 41ms"),
        (&one, false, target, "→ 200 41ms"),
        (&["https://shop.test/a", one[0]], true, target, "→ 200 by 2 targets 41ms"),
        (&[], true, no_route, "→ 200 no route matches 41ms"),
        (&[], false, no_route, "→ 200 no route matches 41ms"),
        (&[], true, AnsweredBy::Listener, "→ 200 41ms"),
    ] {
        let text = line(urls, several, by, None);
        assert!(text.len() == 1 && text[0].ends_with(end), "{text:?}");
    }
    let long = format!("http://shop.test/{}", "x".repeat(300));
    let text = line(&[&long], true, target, Some(60));
    assert!(text.iter().all(|line| line.width() <= 60), "{text:#?}");
    assert!(text[1].ends_with("x… 41ms"), "{text:#?}");
}

#[test]
fn wide_line_is_wrapped_between_its_parts() {
    let mut delivery = with_attempt(2, 11, false);
    delivery.summary.names.submission_id = Some(ID.to_owned());
    delivery.summary.names.event = Some("submission.deleted".to_owned());
    delivery.summary.request_target = "/a/path".to_owned();
    let below = "         ✓ valid 1s 2/4 +11.0s → 200 41ms";
    let begin = "09:30:05 POST /a/path submission.deleted";
    assert_eq!(lines(&delivery, Some(120)).len(), 1);
    assert_eq!(lines(&delivery, Some(90)), [&format!("{begin} {ID} 157 B"), below]);
    let middle = format!("         {ID} 157 B");
    assert_eq!(lines(&delivery, Some(60)), [begin, &middle, below]);
}

#[test]
fn no_line_exceeds_the_width() {
    let mut delivery = with_attempt(12, 300_000, true);
    delivery.summary.verdict =
        with_verdict(VerdictCode::SignatureInFuture, Some(-400_000)).summary.verdict;
    delivery.summary.response.as_mut().unwrap().status = Some(401);
    delivery.summary.number = Some(12_345);
    delivery.summary.method = Method::from_bytes(&[b'M'; 3_000]).unwrap();
    delivery.summary.names.event = Some("form.of_a_later_release".to_owned());
    delivery.summary.request_target = format!("/{}", "path".repeat(40));
    for id in [&format!("{ID}漢字"), "sub_1", &"sub_漢字".repeat(40)] {
        delivery.summary.names.submission_id = Some(id.to_owned());
        for width in 60..300 {
            let text = lines(&delivery, Some(width));
            assert!(text.iter().all(|line| line.width() <= width), "{width}: {text:#?}");
            let is_complete = text.iter().any(|line| line.contains(id));
            assert!(is_complete || id.width() > MAX_TEXT, "{width}: {text:#?}");
        }
    }
    assert!(lines(&delivery, None)[0].contains(&"M".repeat(3_000)), "complete without a width");
}

#[test]
fn bad_event_line_names_the_missing_field() {
    let mut delivery = with_verdict(VerdictCode::BadEvent, Some(0));
    delivery.body = Bytes::from_static(br#"{"event":"submission.created"}"#);
    let text = lines(&delivery, None);
    assert!(text[0].contains("✗ bad event"), "{text:?}");
    assert_eq!(text[1].trim(), "not a valid event: `submission_id` is missing");
    assert!(text.len() == 3 && text[2].contains("hint: inspect the body"), "{text:?}");
}

#[test]
fn hints_are_folded_to_the_width() {
    for row in VERDICTS {
        let mut delivery = with_verdict(row.code, None);
        delivery.summary.number = Some(17);
        let text = lines(&delivery, Some(60));
        assert!(text.iter().all(|line| line.width() <= 60), "{text:#?}");
        let hints = text[1..].join(" ").matches("hint: ").count();
        assert_eq!(hints, usize::from(row.is_refusal()), "{text:?}");
    }
}

#[test]
fn verdict_label_is_the_name_with_a_sign() {
    let labels = [VerdictCode::Valid, VerdictCode::Unchecked, VerdictCode::BadEvent];
    assert_eq!(labels.map(verdict_label), ["✓ valid", "? unchecked", "✗ bad event"]);
}
