//! Each hypothesis by what the real thing looks like, made by Python (`fixtures/webhooks/make_cases.py`).

use std::collections::BTreeSet;

use formsvc_protocol::signature::{SigningSecret, sign};
use proptest::prelude::*;
use serde::Deserialize;

use super::work::{Kind, WORK_MAX};
use super::*;

const NOW: u64 = 1_767_225_600;
const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";

#[derive(Deserialize)]
struct File {
    tolerance_seconds: u64,
    cases: Vec<Made>,
}

#[derive(Deserialize)]
struct Made {
    name: String,
    headers: Vec<(String, String)>,
    body_hex: String,
    secrets: Vec<String>,
    api_key: Option<String>,
    now: u64,
    came: Option<u64>,
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

fn explained(made: &Made, tolerance: u64) -> Explanation {
    let secrets: Vec<&str> = made.secrets.iter().map(String::as_str).collect();
    let body = hex::decode(&made.body_hex).unwrap();
    let headers = made.headers.iter();
    explain(&Case {
        headers: headers.map(|(name, value)| (&**name, value.as_bytes())).collect(),
        body: &body,
        secrets: &named(&secrets),
        api_key: made.api_key.as_deref().map(SecretString::from).as_ref(),
        came: made.came,
        now: made.now,
        tolerance: (!made.any_age).then_some(Duration::from_secs(tolerance)),
    })
}

fn ids(explanation: &Explanation) -> Vec<&'static str> {
    explanation.found.iter().map(|found| found.hypothesis.row().id).collect()
}

#[test]
fn each_case_is_explained_by_what_made_it_and_nothing_else() {
    let file = file();
    let mut wrong = Vec::new();
    for made in &file.cases {
        let found = explained(made, file.tolerance_seconds);
        if ids(&found) != made.expect || found.proof.name() != made.proof {
            wrong.push(format!("{}: {:?} by {:?}", made.name, ids(&found), found.proof));
        }
        assert!(found.left_out.is_empty(), "{}: {:?}", made.name, found.left_out);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_hypothesis_has_a_case() {
    let cases: BTreeSet<String> = file().cases.into_iter().flat_map(|made| made.expect).collect();
    let rows = HYPOTHESES.iter().filter(|row| !cases.contains(row.id));
    assert_eq!(rows.map(|row| row.id).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn nothing_that_is_told_holds_a_secret_or_a_right_mac() {
    let file = file();
    for made in &file.cases {
        let told = format!("{:?}", explained(made, file.tolerance_seconds));
        for secret in made.secrets.iter().chain(&made.api_key) {
            assert!(!told.contains(&secret[6..]), "{}: {told}", made.name);
        }
        let key = SigningSecret::new(&SECRET.into()).unwrap();
        let body = hex::decode(&made.body_hex).unwrap();
        let right = sign([&key], NOW, &body);
        assert!(!told.contains(right.rsplit('=').next().unwrap()), "{}: {told}", made.name);
    }
}

#[test]
fn the_secret_that_signed_is_named() {
    let secrets = named(&["whsec_something_else_altogether", SECRET]);
    let key = SigningSecret::new(&SECRET.into()).unwrap();
    let header = sign([&key], NOW, b"{}");
    let case = Case {
        headers: vec![(HEADER, header.as_bytes())],
        body: b"{}\n",
        secrets: &secrets,
        api_key: None,
        came: None,
        now: NOW,
        tolerance: Some(Duration::from_secs(300)),
    };
    assert_eq!(explain(&case).secret.as_deref(), Some("previous"));
}

/// A `v1` that is there, and cannot be a MAC, is told by its length.
#[test]
fn a_signature_with_a_digit_too_much_is_told_so() {
    let header = format!("t={NOW},v1={}", "0".repeat(65));
    let case = Case {
        headers: vec![(HEADER, header.as_bytes())],
        body: b"{}",
        secrets: &named(&[SECRET]),
        api_key: None,
        came: None,
        now: NOW,
        tolerance: None,
    };
    let found = explain(&case).found;
    let detail = "`v1` has 65 characters, where 64 hex digits are wanted";
    assert_eq!(found, [Found::new(Hypothesis::V1Missing, Some(detail))]);
}

/// What a search that finds nothing did not try, and how much work it was.
fn searched(body: &[u8], most: u64) -> (LeftOut, u64) {
    let wrong = format!("t={NOW},v1={}", "0".repeat(64));
    let secrets = named(&[SECRET]);
    let (given, instead) = (secret::given(&secrets), secret::instead(&secrets, None));
    let readings = header::readings(&[wrong.as_bytes()]);
    let of = Given { body, length: None };
    work::done::since_last();
    let (signed, left_out) = Search::bounded(&readings, &given, &instead, of, most).run();
    assert!(signed.is_none());
    (left_out, work::done::since_last())
}

/// What was tried by itself is not told as left out, although some pairs were too much work.
#[test]
fn what_was_tried_is_not_left_out() {
    let text = "é/<1.0\\u00e9".repeat(100);
    let body = serde_json::json!({"data": {"b": text, "a": 1.5}, "event": [1, {}]}).to_string();
    let (left_out, _) = searched(body.as_bytes(), 4000 * body.len() as u64);
    assert_eq!(left_out, LeftOut { pairs: true, ..LeftOut::default() });
    let (left_out, _) = searched(b"{\"a\":1}", WORK_MAX);
    assert_eq!(left_out, LeftOut::default());
}

/// A long body costs a bounded time: what is left out is told.
#[test]
fn a_long_body_is_bounded_work() {
    let body = format!("[{}\"\"]", "\"é/<\",".repeat(1 << 16));
    let (LeftOut { alone, pairs, .. }, _) = searched(body.as_bytes(), 16 * body.len() as u64);
    for hypothesis in [Hypothesis::SignedOrder, Hypothesis::LineFeedAdded, Hypothesis::JsonSpaced] {
        assert!(alone.contains(&hypothesis), "{hypothesis:?}: {alone:?}");
    }
    assert!(!alone.contains(&Hypothesis::SignedBodyOnly) && pairs, "{alone:?}");
}

/// Counted where it is done, and not where it is allowed.
#[test]
fn no_body_makes_more_work_than_the_bound() {
    let members: Vec<_> = (0..4_000).map(|name| format!("\"é{name}\":{name}.5")).collect();
    let bodies = [
        ("escapes", format!("[{}\"\"]", "\"é/<\\u00e9\\/\",".repeat(2_000))),
        ("members", format!("{{{}}}", members.join(","))),
        ("deep", format!("{}{}1{}", "[".repeat(100), "1.0,".repeat(10_000), "]".repeat(100))),
        ("numbers", format!("[{}1]", "1.0,-2e3,".repeat(5_000))),
        ("laid out", format!("[ {}1 ]\n", "\"a\", ".repeat(8_000))),
        ("markup", format!("[\"{}\"]", "<".repeat(50_000))),
        ("no JSON", "é\r\n".repeat(12_000)),
        ("base64", "QUJD".repeat(12_000)),
        ("short", "{\"a\":\"é/<1.0\",\"b\":[1.5,{}]}".to_owned()),
    ];
    for (name, body) in bodies {
        // One printing may turn out longer than it was thought to be.
        let last = 8 * Kind::Sort.cost(body.len() + (8 << 10));
        for most in [1 << 20, 1 << 24, 1 << 26] {
            let (_, done) = searched(body.as_bytes(), most);
            assert!(done <= most + last, "{name}: {done} units, where {most} are allowed");
            assert!(name == "short" || most == 1 << 20 || done > 0, "{name}: nothing was done");
        }
    }
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

    /// A delivery that is right is never explained as wrong.
    #[test]
    fn what_is_right_has_no_explanation(body in body(), old in 0..=300_u64) {
        let key = SigningSecret::new(&SECRET.into()).unwrap();
        let header = sign([&key], NOW - old, &body);
        let case = Case {
            headers: vec![("content-length", b"7"), (HEADER, header.as_bytes())],
            body: &body,
            secrets: &named(&["whsec_of_an_older_day", SECRET]),
            api_key: None,
            came: None,
            now: NOW,
            tolerance: Some(Duration::from_secs(300)),
        };
        let found = explain(&case);
        prop_assert_eq!((ids(&found), found.proof), (vec![], Proof::Signature));
    }

    /// Whatever comes is explained or not, and nothing panics.
    #[test]
    fn nothing_panics(body in body(), value in "[tv01=,; \"a-f0-9]{0,80}", other: Vec<u8>) {
        let case = Case {
            headers: vec![(HEADER, value.as_bytes()), ("x", &other)],
            body: &body,
            secrets: &named(&[SECRET]),
            api_key: None,
            came: Some(3),
            now: NOW,
            tolerance: Some(Duration::ZERO),
        };
        explain(&case);
    }
}
