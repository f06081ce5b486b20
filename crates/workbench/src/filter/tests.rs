use std::time::Duration;

use http::{HeaderMap, Method};
use rusqlite::{Connection, params_from_iter};

use super::*;
use crate::delivery::{AnsweredBy, Attempt, EventNames, Response, Source};
use crate::verdict::Verdict;

const BODY: &str = r#"{"event":"submission.created","data":{"Name":"Ada","n":3,"x":[1,null]}}"#;

fn delivery() -> Delivery {
    Delivery {
        summary: DeliverySummary {
            number: Some(17),
            received_at: "2026-01-31T09:30:00Z".parse().unwrap(),
            source: Source::Request("127.0.0.1:8".parse().unwrap()),
            method: Method::POST,
            request_target: "/hook?x=1".to_owned(),
            body_size: BODY.len() as u64,
            verdict: Verdict {
                code: VerdictCode::Valid,
                secret: Some("new".into()),
                age_secs: Some(1),
            },
            names: EventNames {
                event: Some("submission.created".to_owned()),
                submission_id: Some("sub_1".to_owned()),
                form_id: None,
            },
            attempt: Attempt {
                number: 2,
                gap: Some(Duration::from_millis(10_600)),
                is_duplicate: false,
            },
            response: Some(Response {
                status: Some(200),
                answered_by: AnsweredBy::Listener,
                took: Duration::from_millis(41),
            }),
        },
        headers: HeaderMap::new(),
        body: Bytes::from_static(BODY.as_bytes()),
        forwards: Vec::new(),
        relayed_forward: None,
    }
}

fn rejected() -> Delivery {
    let mut delivery = delivery();
    let summary = &mut delivery.summary;
    summary.source = Source::Poll;
    summary.verdict =
        Verdict { code: VerdictCode::SignatureMismatch, secret: None, age_secs: None };
    summary.response = None;
    summary.attempt = Attempt { is_duplicate: true, ..Attempt::FIRST };
    delivery
}

/// Evaluates the filter's SQL for one delivery; `None` if SQL alone cannot decide.
fn sql_matches(filter: &DeliveryFilter, delivery: &Delivery) -> Option<bool> {
    let (condition, params, needs_check) = filter.to_sql(1);
    if needs_check {
        return None;
    }
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(
        "CREATE TABLE c (number, received_at, event, submission_id, form_id, verdict, secret, age_secs,
           attempt, gap_us, is_duplicate, peer, method, request_target, body);
         CREATE TABLE o (status, answered_by, took_us);",
    )
    .unwrap();
    let summary = &delivery.summary;
    let names = &summary.names;
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap();
    db.execute(
        "INSERT INTO c VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        rusqlite::params![
            summary.number,
            i64::try_from(summary.received_at.as_nanosecond()).unwrap(),
            names.event,
            names.submission_id,
            names.form_id,
            summary.verdict.code.row().name,
            summary.verdict.secret.as_deref(),
            summary.verdict.age_secs,
            summary.attempt.number,
            summary.attempt.gap.map(micros),
            summary.attempt.is_duplicate,
            summary.source.peer().map(|peer| peer.to_string()),
            summary.method.as_str(),
            summary.request_target,
            &delivery.body[..],
        ],
    )
    .unwrap();
    let response = summary.response;
    db.execute(
        "INSERT INTO o VALUES (?1, ?2, ?3)",
        rusqlite::params![
            response.and_then(|response| response.status),
            response.map(|response| response.answered_by.name()),
            response.map(|response| micros(response.took)),
        ],
    )
    .unwrap();
    let sql = format!("SELECT count(*) FROM c, o WHERE {condition}");
    let count: i64 = db.query_row(&sql, params_from_iter(params), |row| row.get(0)).unwrap();
    Some(count == 1)
}

#[test]
fn terms_compare_fields_in_memory_and_in_sql() {
    for (text, expected) in [
        ("event=submission.created && status<300 && verdict==valid", [true, false]),
        ("event = submission.created&&status<200", [false, false]),
        ("event=submission.*", [true, true]),
        ("event!=submission.*", [false, false]),
        ("submission_id='sub_1'", [true, true]),
        ("submission_id=\"sub_2\"", [false, false]),
        ("submission_id != sub_2 && submission_id~ub_", [true, true]),
        ("form_id=x", [false, false]),
        ("form_id!=x && form_id!=x*", [true, true]),
        ("status>=200 && status<=200 && status!=201 && status=200", [true, false]),
        ("status=ok && status=2xx && status!=failed && status!=5xx", [true, false]),
        ("status=failed", [false, true]),
        ("status!=200", [false, true]),
        ("verdict=invalid", [false, true]),
        ("verdict!=invalid && valid=true", [true, false]),
        ("verdict~mismatch", [false, true]),
        ("attempt=2 && gap_ms>10500 && duplicate=false", [true, false]),
        ("duplicate=true && gap_ms!=1 && synthetic=true && source=poll", [false, true]),
        ("took_ms<41.5 && took_ms>40.5 && body_size=71 && age_s=1", [true, false]),
        ("secret=new && source=request && answered_by=listener && method=POST", [true, false]),
        ("peer=127.0.0.1:8 && request_target=/hook?x=1 && capture>16", [true, false]),
        ("at>=2026-01-31T09:30:00Z && at<2026-01-31T10:31:00+01:00", [true, true]),
        ("at>2026-01-31T09:30:00Z", [false, false]),
        ("body~'\"Name\":\"Ada\"'", [true, true]),
        ("body~ada", [false, false]),
        ("any~ADA && any~SUB_1 && any~/hook", [true, true]),
        ("any~grace", [false, false]),
    ] {
        let filter = DeliveryFilter::parse(text).unwrap();
        for (delivery, expected) in [delivery(), rejected()].iter().zip(expected) {
            assert_eq!(filter.matches(delivery), expected, "{text}");
            assert_eq!(sql_matches(&filter, delivery), Some(expected), "{text}");
        }
    }
}

#[test]
fn pointers_and_paths_are_compared_in_memory() {
    for (text, expected) in [
        ("/data/Name=Ada && /data/n=3 && /data/n<4 && /data/n=3.0", true),
        ("/data/Name=A*", true),
        ("/data/Name<4", false),
        ("/data/Name='A && B'", false),
        ("/data/missing=1", false),
        ("/data/missing!=1", true),
        ("/data/x/1=null && /data/x='[1,null]'", true),
        ("/data/x/01=null", false),
        ("/data/x/2=null", false),
        ("/data/Name/0=A", false),
        ("/~0~1=a", false),
        ("path=/hook", true),
        ("path=/hook* && status=200", true),
        ("path=/other", false),
    ] {
        let filter = DeliveryFilter::parse(text).unwrap();
        assert_eq!(filter.matches(&delivery()), expected, "{text}");
        assert_eq!(sql_matches(&filter, &delivery()), None, "{text}");
    }
}

#[test]
fn path_with_dot_segments_matches_no_rule() {
    let filters = ["path=/a*", "path!=/admin", "path!=/admin*", "path~/"];
    let filters = filters.map(|text| DeliveryFilter::parse(text).unwrap());
    for (target, expected) in [
        ("/a/.b/c..d/...?x=/../", true),
        ("/a/../b", false),
        ("/a/%2E%2e/b", false),
        ("/a%2f..%2fb", false),
        ("/a/..;x/b", false),
        ("/a\\..\\b", false),
        ("/a%5C..%5cb", false),
        ("/a/.", false),
    ] {
        let mut delivery = delivery();
        target.clone_into(&mut delivery.summary.request_target);
        for filter in &filters {
            assert_eq!(filter.matches(&delivery), expected, "{target}: {filter:?}");
        }
    }
}

#[test]
fn mismatch_names_the_first_field_that_differs() {
    let mismatch = |text: &str| DeliveryFilter::parse(text).unwrap().mismatch(&delivery());
    assert_eq!(mismatch("status=200"), None);
    assert_eq!(mismatch("age_s=1 && status=201").as_deref(), Some("its `status` is 200"));
    assert_eq!(mismatch("event=x").as_deref(), Some("its `event` is `submission.created`"));
    assert_eq!(mismatch("form_id=x").as_deref(), Some("it has no `form_id`"));
    let mut long = delivery();
    long.summary.names.event = Some("é".repeat(10_000));
    let text = DeliveryFilter::parse("event=x").unwrap().mismatch(&long).unwrap();
    assert_eq!(text, format!("its `event` is `{}…`", "é".repeat(MAX_SHOWN)));
}

#[test]
fn invalid_expression_error_contains_the_rule() {
    for (text, rule) in [
        ("", "has no operator"),
        ("status", "has no operator"),
        ("=200", "has no operator"),
        ("status<", "has no value"),
        ("status<300 &&", "has no operator"),
        ("status!200", "has no operator"),
        ("stauts<300", "unknown field `stauts`; fields are capture,"),
        ("status<many", "`status` is a status, `ok`"),
        ("status<5xx", "`status` is compared with `5xx` by = and != only"),
        ("age_s=nan", "`age_s` is a number, not `nan`"),
        ("event>3", "`event` does not support `>`, only != = ~"),
        ("valid=yes", "`valid` is true or false"),
        ("body=x", "`body` does not support `=`, only ~"),
        ("/data/n<x", "`<` compares numbers"),
        ("verdict=fine", "`verdict` is one of valid,"),
        ("at<yesterday", "`at` is a time such as"),
        ("event='x", "the closing ' is missing"),
        (&"x".repeat(5_000), "at most 4096 bytes"),
    ] {
        let error = DeliveryFilter::parse(text).unwrap_err();
        assert!(error.contains(rule), "{text}: {error}");
    }
}

#[test]
fn mismatch_masks_secrets_before_it_is_shortened() {
    let mut delivery = delivery();
    delivery.summary.request_target = "/hook?token=abcdefgh12345678".to_owned();
    // The secret ends after the shown characters.
    let text = format!("{} whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB", "x".repeat(180));
    delivery.body = serde_json::json!({ "note": text }).to_string().into();
    for text in ["request_target=/a", "/note=a", "body~a_a", "any~a_a"] {
        let mismatch = DeliveryFilter::parse(text).unwrap().mismatch(&delivery).unwrap();
        assert!(mismatch.contains("hook") || mismatch.contains("xxx"), "{mismatch}");
        assert!(
            !mismatch.contains("abcdef") && !mismatch.to_lowercase().contains("_1ja0v"),
            "{mismatch}"
        );
    }
}

#[test]
fn help_names_every_field() {
    let help = DeliveryFilter::help();
    assert!(FIELDS.iter().all(|row| help.contains(row.name)), "{help}");
}

#[test]
fn flags_add_terms_with_any_value() {
    let mut filter = DeliveryFilter::default();
    assert!(filter.is_empty() && filter.matches(&delivery()));
    filter.and("submission_id", "=", "sub*").unwrap();
    filter.and("body", "~", "'quoted' && more").unwrap();
    assert!(filter.names("body") && !filter.names("event"));
    assert!(!filter.matches(&delivery()));
    let mut other = delivery();
    other.body = Bytes::from_static(b"'quoted' && more");
    assert!(filter.matches(&other));
}
