//! Each cause by a delivery that really has it, made by Python (`fixtures/webhooks/make_cases.py`).

use std::collections::BTreeSet;

use formsvc_protocol::signature::{SigningSecret, sign};
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

const NOW: u64 = 1_767_225_600;
const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";

#[derive(Deserialize)]
struct File {
    tolerance_seconds: u64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    headers: Vec<(String, String)>,
    body_hex: String,
    secrets: Vec<String>,
    api_key: Option<String>,
    now: u64,
    #[serde(default)]
    any_age: bool,
    expect: Vec<String>,
    proof: String,
}

fn file() -> File {
    let text = include_str!("../../../../fixtures/webhooks/explained.json");
    serde_json::from_str(text).unwrap()
}

fn named(secrets: &[&str]) -> Vec<(Arc<str>, SecretString)> {
    let name = |at: usize| if at == 0 { "current".into() } else { "previous".into() };
    secrets.iter().enumerate().map(|(at, secret)| (name(at), (*secret).into())).collect()
}

fn explained(case: &Case, tolerance: u64) -> Explanation {
    let secrets: Vec<&str> = case.secrets.iter().map(String::as_str).collect();
    let body = hex::decode(&case.body_hex).unwrap();
    let headers = case.headers.iter();
    explain(&ExplainRequest {
        headers: headers.map(|(name, value)| (&**name, value.as_bytes())).collect(),
        body: &body,
        secrets: &named(&secrets),
        api_key: case.api_key.as_deref().map(SecretString::from).as_ref(),
        now: case.now,
        tolerance: (!case.any_age).then_some(Duration::from_secs(tolerance)),
    })
}

/// Explains a body with a signature header by the secret.
fn explain_body(header: &str, body: &[u8]) -> Explanation {
    explain(&ExplainRequest {
        headers: vec![(HEADER, header.as_bytes())],
        body,
        secrets: &named(&[SECRET]),
        api_key: None,
        now: NOW,
        tolerance: Some(Duration::from_secs(300)),
    })
}

fn ids(explanation: &Explanation) -> Vec<&'static str> {
    explanation.found.iter().map(|found| found.cause.row().id).collect()
}

#[test]
fn each_case_is_explained_by_its_causes_only() {
    let file = file();
    let mut wrong = Vec::new();
    for case in &file.cases {
        let found = explained(case, file.tolerance_seconds);
        if ids(&found) != case.expect || found.proof.name() != case.proof {
            wrong.push(format!("{}: {:?} by {:?}", case.name, ids(&found), found.proof));
        }
        assert!(found.untried.is_empty(), "{}: {:?}", case.name, found.untried);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_cause_has_a_case() {
    let cases: BTreeSet<String> = file().cases.into_iter().flat_map(|case| case.expect).collect();
    let rows = CAUSES.iter().filter(|row| !cases.contains(row.id));
    assert_eq!(rows.map(|row| row.id).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn explanation_contains_no_secret_and_no_valid_mac() {
    let file = file();
    for case in &file.cases {
        let text = format!("{:?}", explained(case, file.tolerance_seconds));
        for secret in case.secrets.iter().chain(&case.api_key) {
            assert!(!text.contains(&secret[6..]), "{}: {text}", case.name);
        }
        let key = SigningSecret::new(SECRET).unwrap();
        let body = hex::decode(&case.body_hex).unwrap();
        let valid = sign([&key], NOW, &body);
        assert!(!text.contains(valid.rsplit('=').next().unwrap()), "{}: {text}", case.name);
    }
}

#[test]
fn explanation_names_the_secret_that_signed() {
    let key = SigningSecret::new(SECRET).unwrap();
    let header = sign([&key], NOW, b"{}");
    let request = ExplainRequest {
        headers: vec![(HEADER, header.as_bytes())],
        body: b"{}\n",
        secrets: &named(&["whsec_something_else_altogether", SECRET]),
        api_key: None,
        now: NOW,
        tolerance: Some(Duration::from_secs(300)),
    };
    assert_eq!(explain(&request).secret.as_deref(), Some("previous"));
}

#[test]
fn body_over_the_limit_is_only_tried_unchanged() {
    let key = SigningSecret::new(SECRET).unwrap();
    let body = vec![b'x'; BODY_MAX + 1];
    let header = sign([&key], NOW, &body[1..]);
    let found = explain_body(&header, &body);
    assert_eq!((found.limit, &*found.untried), (Some(TOO_LONG), &BODY_CAUSES[..]));
    let header = sign([&key], NOW - 900, &body);
    assert_eq!(ids(&explain_body(&header, &body)), ["stale"]);
}

#[test]
fn deeply_nested_body_is_not_printed_again() {
    let body = "[".repeat(BODY_MAX / 2) + &"]".repeat(BODY_MAX / 2);
    let found = explain_body(&format!("t={NOW},v1={}", "0".repeat(64)), body.as_bytes());
    assert_eq!((found.limit, &*found.untried), (Some(TOO_DEEP), &BODY_CAUSES[3..]));
}

/// Explains an event whose `data` was reordered after signing.
fn explain_reordered(signed: &[String], given: &[String]) -> Explanation {
    let body = |names: &[String]| {
        let members: Vec<_> = names.iter().map(|name| format!(r#""{name}":"x""#)).collect();
        format!(r#"{{"event":"e","data":{{{}}},"created_at":"t"}}"#, members.join(","))
    };
    let key = SigningSecret::new(SECRET).unwrap();
    explain_body(&sign([&key], NOW, body(signed).as_bytes()), body(given).as_bytes())
}

#[test]
fn number_keys_are_tried_up_to_a_limit_of_orders() {
    let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let (signed, given) = (names(&["b", "10", "a", "2"]), names(&["2", "10", "b", "a"]));
    let found = explain_reordered(&signed, &given);
    assert_eq!((ids(&found), found.proof), (vec!["number_keys_first"], Proof::Signature));
    // Not the order of JavaScript.
    for other in [["10", "2", "b", "a"], ["2", "b", "10", "a"], ["02", "10", "b", "a"]] {
        assert_eq!(ids(&explain_reordered(&signed, &names(&other))), [""; 0], "{other:?}");
    }
    let numbers: Vec<String> = (0..8).map(|number: u32| number.to_string()).collect();
    let reversed: Vec<String> = numbers.iter().rev().cloned().collect();
    let found = explain_reordered(&reversed, &numbers);
    assert_eq!(
        (found.limit, &*found.untried),
        (Some(TOO_MANY_KEYS), &[Cause::NumberKeysFirst][..])
    );
    let found = explain_reordered(&reversed[1..], &numbers[..7]);
    assert_eq!((ids(&found), found.limit), (vec!["number_keys_first"], None));
}

#[test]
fn number_keys_and_a_lost_zero_are_found_together() {
    let key = SigningSecret::new(SECRET).unwrap();
    let signed = br#"{"event":"e","data":{"b":12.30,"10":"x","2":1},"created_at":"t"}"#;
    // As JSON.stringify(JSON.parse(body)) prints it.
    let given = br#"{"event":"e","data":{"2":1,"10":"x","b":12.3},"created_at":"t"}"#;
    let found = explain_body(&sign([&key], NOW, signed), given);
    assert_eq!((ids(&found), found.proof), (vec!["number_keys_first"], Proof::Signature));
    assert_eq!(found.found[0].detail.as_deref(), Some("numbers lost a final zero"));
}

#[test]
fn sorted_keys_are_a_fact_if_the_order_is_not_found() {
    let sorted = br#"{"created_at":"t","data":{"a":1,"b":2},"event":"e"}"#;
    let found = explain_body(&format!("t={NOW},v1={}", "0".repeat(64)), sorted);
    assert_eq!((ids(&found), found.proof), (vec!["keys_sorted"], Proof::Fact));
    let indented = b"{\n \"created_at\":\"t\",\"data\":{\"a\":1},\"event\":\"e\"}";
    let found = explain_body(&format!("t={NOW},v1={}", "0".repeat(64)), indented);
    assert_eq!(ids(&found), ["json_printed", "keys_sorted"]);
    // The order of the service.
    let found =
        explain_body(&format!("t={NOW},v1={}", "0".repeat(64)), br#"{"event":1,"form_id":2}"#);
    assert_eq!(found.proof, Proof::None);
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "[ -~\n\r\t\u{feff}é]{0,60}".prop_map(String::into_bytes),
        ("[a-zé/<\\\\u0-9 ]{0,9}", any::<f64>(), "[ \n]{0,2}").prop_map(|(text, number, end)| {
            let json = serde_json::json!({"data": {"t": text, "n": number}, "event": 1});
            format!("{json}{end}").into_bytes()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn valid_signature_has_no_cause(body in body(), old in 0..=300_u64) {
        let key = SigningSecret::new(SECRET).unwrap();
        let found = explain_body(&sign([&key], NOW - old, &body), &body);
        prop_assert_eq!((ids(&found), found.proof), (vec![], Proof::Signature));
    }

    #[test]
    fn any_header_and_body_are_explained(
        body in body(), value in "[tv01=,; \"a-f0-9]{0,80}", other: Vec<u8>,
    ) {
        explain(&ExplainRequest {
            headers: vec![(HEADER, value.as_bytes()), ("x", &other)],
            body: &body,
            secrets: &named(&[SECRET]),
            api_key: None,
            now: NOW,
            tolerance: Some(Duration::ZERO),
        });
    }
}
