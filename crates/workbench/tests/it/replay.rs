//! Replays to a target with real connections.

use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use formsvc_contract::send::{HttpSender, HttpSenderOptions, SIGNATURE};
use formsvc_workbench::delivery::{
    AnsweredBy, Attempt, Delivery, DeliverySummary, EventNames, Forward, Response, Source,
    TargetResponse,
};
use formsvc_workbench::replay::{Destination, Replay, ReplaySignature, Replayed};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::verdict::{Verdict, VerdictCode};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jiff::Timestamp;
use tokio::net::TcpListener;
use url::Url;

const SECRET: &str = "whsec_of_a_test_of_replays";
const NOW: u64 = 1_767_225_600;

/// Starts a target that verifies signatures at `/hook` and asks for a password at `/private`.
async fn target() -> Url {
    let verified = |headers: HeaderMap, body: Bytes| async move {
        let clock = || std::time::UNIX_EPOCH + Duration::from_secs(NOW);
        let verifier = secrets().builder().clock(clock).build().unwrap();
        match verifier.verify_signature(&headers[SIGNATURE], &body) {
            Ok(_) => (StatusCode::OK, "done"),
            Err(_) => (StatusCode::UNAUTHORIZED, "bad signature"),
        }
    };
    let private = |headers: HeaderMap| async move {
        if headers.contains_key(header::AUTHORIZATION) {
            return (StatusCode::OK, HeaderMap::new());
        }
        let challenge = HeaderValue::from_static("Basic realm=\"x\"");
        let challenge = HeaderMap::from_iter([(header::WWW_AUTHENTICATE, challenge)]);
        (StatusCode::UNAUTHORIZED, challenge)
    };
    let router = Router::new()
        .route("/hook", axum::routing::post(verified))
        .route("/private", axum::routing::post(private));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
    url
}

fn secrets() -> SigningSecrets {
    let mut secrets = SigningSecrets::default();
    secrets.add("a", SECRET.into()).unwrap();
    secrets
}

/// A capture that was forwarded to this URL, which responded with 503.
fn capture(url: &Url) -> Delivery {
    let (headers, body, took) = (HeaderMap::new(), Bytes::from_static(b"failed"), Duration::ZERO);
    let response = TargetResponse { status: 503, headers, body, is_truncated: false };
    let answered_by = AnsweredBy::Listener;
    Delivery {
        summary: DeliverySummary {
            number: Some(1),
            received_at: Timestamp::UNIX_EPOCH,
            source: Source::Request(([127, 0, 0, 1], 1).into()),
            method: Method::POST,
            request_target: "/hook".to_owned(),
            body_size: 0,
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age_secs: None },
            names: EventNames::default(),
            attempt: Attempt::FIRST,
            response: Some(Response { status: Some(202), answered_by, took }),
        },
        headers: HeaderMap::from_iter([(SIGNATURE, HeaderValue::from_static("t=1,v1=00"))]),
        body: Bytes::from_static(b"{}\xff"),
        forwards: vec![Forward { url: url.to_string(), result: Ok(response), took }],
        relayed_forward: Some(0),
    }
}

async fn replay<'a>(
    delivery: &'a Delivery,
    destination: Destination<'_>,
    signature: ReplaySignature,
) -> Replayed<'a> {
    let sender = HttpSender::new(HttpSenderOptions::default()).unwrap();
    let to = destination.targets(7, delivery).unwrap().remove(0);
    let replay = Replay { delivery, to, body: None, signature };
    replay.send(&sender, &secrets(), NOW).await.unwrap()
}

#[tokio::test]
async fn response_is_compared_with_the_earlier_forward() {
    let hook = target().await.join("/hook").unwrap();
    let capture = capture(&hook);
    let forwards = || Destination::Forwards(None);
    let replayed = replay(&capture, forwards(), ReplaySignature::Fresh).await;
    assert_eq!(replayed.earlier_status, Some(503));
    assert_eq!(replayed.result.as_ref().unwrap().body, "done");
    assert!(replayed.took > Duration::ZERO && !replayed.needs_password());
    let differences = replayed.differences(false).unwrap();
    assert_eq!(differences[0].new.as_deref(), Some("200"));
    // For a URL that the user passes, the earlier status is the status of the listener's response.
    let replayed = replay(&capture, Destination::Url(hook), ReplaySignature::Fresh).await;
    assert_eq!(replayed.earlier_status, Some(202));
    assert!(replayed.differences(false).is_some());
    // The target rejects the old signature with 401, but does not ask for a password.
    let replayed = replay(&capture, forwards(), ReplaySignature::AsReceived).await;
    assert_eq!(replayed.result.as_ref().unwrap().status, 401);
    assert!(!replayed.needs_password());
}

#[tokio::test]
async fn stored_target_reports_a_missing_password() {
    let private = target().await.join("/private").unwrap();
    let capture = capture(&private);
    let replayed = replay(&capture, Destination::Forwards(None), ReplaySignature::Fresh).await;
    assert!(replayed.needs_password());
    let mut with_password = private.clone();
    with_password.set_username("ada").unwrap();
    let passed = replay(&capture, Destination::Url(with_password), ReplaySignature::Fresh).await;
    assert_eq!(passed.result.as_ref().unwrap().status, 200);
    let passed = replay(&capture, Destination::Url(private), ReplaySignature::Fresh).await;
    assert!(!passed.needs_password());
}
