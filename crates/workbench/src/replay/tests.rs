use std::time::UNIX_EPOCH;

use formsvc_contract::send::HttpSenderOptions;
use http::{HeaderMap, HeaderName, Method};
use jiff::Timestamp;

use super::*;
use crate::delivery::{Attempt, DeliverySummary, EventNames, Forward, Source};
use crate::forward::Route;
use crate::verdict::{VERDICTS, Verdict, VerdictCode};

const SECRET: &str = "whsec_of_a_test_of_replays";

fn delivery(number: CaptureNumber, code: VerdictCode) -> Delivery {
    Delivery {
        summary: DeliverySummary {
            number: Some(number),
            received_at: Timestamp::UNIX_EPOCH,
            source: Source::Request(([127, 0, 0, 1], 4000).into()),
            method: Method::POST,
            request_target: "/hook?a=1".to_owned(),
            body_size: 0,
            verdict: Verdict { code, secret: None, age_secs: None },
            names: EventNames::default(),
            attempt: Attempt::FIRST,
            response: None,
        },
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{ }\xff"),
        forwards: Vec::new(),
        relayed_forward: None,
    }
}

fn forwarded(urls: &[&str]) -> Delivery {
    let mut delivery = delivery(7, VerdictCode::Valid);
    let (headers, body) = (HeaderMap::new(), Bytes::new());
    let response = TargetResponse { status: 503, headers, body, is_truncated: false };
    let forward = |url: &&str| Forward {
        url: (*url).to_owned(),
        result: Ok(response.clone()),
        took: Duration::ZERO,
    };
    delivery.forwards = urls.iter().map(forward).collect();
    delivery
}

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

fn secrets() -> SigningSecrets {
    let mut secrets = SigningSecrets::default();
    secrets.add("a", SECRET.into()).unwrap();
    secrets
}

fn replay(delivery: &Delivery, signature: ReplaySignature) -> Replay<'_> {
    let url = url("http://localhost:1/hook");
    let to = ReplayTarget { url, earlier: None, is_of_forward: false };
    Replay { delivery, to, body: None, signature }
}

#[test]
fn filtered_captures_of_unknown_senders_are_left_out() {
    use ReplaySignature::{AsReceived, Fresh};
    for (signature, allowed) in [(Fresh, &["valid"][..]), (AsReceived, &["valid", "unchecked"])] {
        for selection in [Selection::Conditions, Selection::Verdict, Selection::Numbers] {
            let to = Destination::Url(url("http://localhost:1/"));
            let mut plan = ReplayPlan::new(selection, to, signature);
            for (number, row) in (1..).zip(VERDICTS) {
                plan.add(number, &delivery(number, row.code)).unwrap();
            }
            let sent = plan.sends.iter().map(|(number, _)| usize::try_from(number - 1).unwrap());
            let sent: Vec<_> = sent.map(|index| VERDICTS[index].name).collect();
            if selection == Selection::Conditions {
                assert_eq!(sent, allowed);
            } else {
                assert_eq!(sent.len(), VERDICTS.len());
            }
            assert_eq!(plan.untrusted, VERDICTS.len() - sent.len());
        }
    }
}

#[test]
fn filter_about_verdict_selects_by_verdict() {
    let of = |text| Selection::of_filter(&DeliveryFilter::parse(text).unwrap());
    assert_eq!(of("verdict=invalid && status=failed"), Selection::Verdict);
    assert_eq!(of("valid=false"), Selection::Verdict);
    for text in
        ["status=failed", "verdict!=valid", "valid!=true", "valid!=false", "verdict~i", "secret!=a"]
    {
        assert_eq!(of(text), Selection::Conditions, "{text}");
    }
}

#[test]
fn unforwarded_capture_needs_a_url() {
    let unforwarded = delivery(7, VerdictCode::Valid);
    let add = |selection| {
        let to = Destination::Forwards(None);
        let mut plan = ReplayPlan::new(selection, to, ReplaySignature::Fresh);
        plan.add(7, &unforwarded).map(|()| plan.not_forwarded)
    };
    assert_eq!(add(Selection::Numbers), Err(ReplayError::NotForwarded(7)));
    assert_eq!(add(Selection::Conditions), Ok(1));
    assert_eq!(add(Selection::Verdict), Ok(1));
}

#[test]
fn stored_target_gets_password_of_running_listener() {
    let delivery = forwarded(&["http://localhost:1/hook?a=1", "https://shop.test/own"]);
    let targets = |running: &[&str]| {
        let sender = HttpSender::new(HttpSenderOptions::default()).unwrap();
        let routes = running.iter().map(|text| Route::all(url(text))).collect();
        let forwarder = Forwarder::new(sender, routes, 1);
        let targets = Destination::Forwards(Some(&forwarder)).targets(7, &delivery).unwrap();
        assert!(targets.iter().all(|target| target.is_of_forward));
        assert_eq!(targets.iter().map(|t| t.earlier).collect::<Vec<_>>(), [Some(0), Some(1)]);
        targets.into_iter().map(|target| target.url.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(targets(&[]), ["http://localhost:1/hook?a=1", "https://shop.test/own"]);
    // A target without a path gets the path of the request.
    assert_eq!(
        targets(&["http://ada:pw@localhost:1", "https://eve@shop.test/other"]),
        ["http://ada:pw@localhost:1/hook?a=1", "https://shop.test/own"]
    );
    assert_eq!(targets(&["https://:pw@shop.test/own"])[1], "https://:pw@shop.test/own");
}

#[test]
fn destination_selects_url_and_earlier_forward() {
    let delivery = forwarded(&["http://localhost:1/hook?a=1", "http://localhost:2/own"]);
    let base = url("http://localhost:2/");
    for (destination, expected, earlier) in [
        (Destination::Url(url("http://u:p@localhost:2/own")), "http://u:p@localhost:2/own", 1),
        (Destination::Url(url("http://localhost:3/")), "http://localhost:3/", 0),
        (Destination::Target(url("http://localhost:2/own")), "http://localhost:2/own", 1),
        (Destination::Target(base), "http://localhost:2/hook?a=1", 0),
    ] {
        assert_eq!(destination.is_target(), !matches!(destination, Destination::Url(_)));
        let [target] = &destination.targets(7, &delivery).unwrap()[..] else {
            panic!("one target")
        };
        assert_eq!((target.url.as_str(), target.earlier), (expected, Some(earlier)));
    }
}

#[test]
fn replay_as_received_keeps_every_byte() {
    let mut delivery = delivery(1, VerdictCode::SignatureMismatch);
    for (name, value) in [
        ("host", "old.test"),
        ("content-length", "2"),
        ("connection", "keep-alive, X-Hop"),
        ("x-hop", "1"),
        ("x-service-event", "submission.created"),
        ("x-service-signature", "t=1,v1=00"),
        ("x-twice", "1"),
        ("x-twice", "2"),
    ] {
        delivery.headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let sent = replay(&delivery, ReplaySignature::AsReceived);
    let sent = sent.outgoing(&SigningSecrets::default(), 7).unwrap();
    assert_eq!(sent.body, delivery.body);
    let headers: Vec<_> = sent
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    assert_eq!(
        headers,
        [
            "x-service-event: submission.created",
            "x-service-signature: t=1,v1=00",
            "x-twice: 1",
            "x-twice: 2"
        ]
    );
}

#[test]
fn fresh_signature_is_over_the_sent_body() {
    let delivery = delivery(1, VerdictCode::Valid);
    let mut replay = replay(&delivery, ReplaySignature::Fresh);
    let error = replay.clone().outgoing(&SigningSecrets::default(), 7).unwrap_err();
    assert_eq!(error, ReplayError::NoSecret);
    replay.body = Some(Bytes::from_static(br#"{"event":"form.closed"}"#));
    let sent = replay.outgoing(&secrets(), 7).unwrap();
    assert_eq!(sent.headers[EVENT], "form.closed");
    let clock = || UNIX_EPOCH + Duration::from_secs(7);
    let verifier = secrets().builder().clock(clock).build().unwrap();
    verifier.verify_signature(&sent.headers[SIGNATURE], &sent.body).unwrap();
}
