//! Captures for `--demo`: submissions of the sandbox as deliveries of the last minutes, with different
//! outcomes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_contract::payload;
use formsvc_workbench::delivery::{
    AnsweredBy, Attempt, Delivery, DeliverySummary, EventNames, Forward, ForwardError,
    ForwardErrorKind, Response, Source, TargetResponse,
};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::simulate::UnsignedDelivery;
use formsvc_workbench::store::{CaptureStore, StoreLimits};
use formsvc_workbench::verdict::verify;
use http::{HeaderMap, HeaderValue, Method, header};
use jiff::{SignedDuration, Timestamp};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// The secret of the demo's endpoint.
const SECRET: &str = "whsec_demo_0000000000000000000000000000000000000";
/// A secret that the endpoint does not have.
const OTHER: &str = "whsec_other_000000000000000000000000000000000000";
/// The target of the listener.
const TARGET: &str = "http://localhost:4242/hook";
/// The form of the submissions.
const FORM: &str = "penguins";
const TOOK: Duration = Duration::from_micros(8_300);

/// A delivery of the demo.
struct DemoDelivery {
    /// Index among the newest submissions.
    submission: usize,
    secs_ago: i64,
    secret: &'static str,
    /// Seconds between its signature and its arrival.
    signature_age: i64,
    /// Number and seconds since the previous attempt.
    attempt: (u32, Option<u64>),
    is_duplicate: bool,
    outcome: DemoOutcome,
}

/// Status of the response, with the body of the target or the reason why it did not respond. `None` is a refusal
/// by the listener.
type DemoOutcome = Option<(u16, Result<&'static str, &'static str>)>;

fn deliveries() -> [DemoDelivery; 7] {
    let accepted = |submission, secs_ago| DemoDelivery {
        submission,
        secs_ago,
        secret: SECRET,
        signature_age: 0,
        attempt: (1, None),
        is_duplicate: false,
        outcome: Some((200, Ok("ok"))),
    };
    let busy = Some((503, Ok("the database is locked, try again later\n")));
    let down = "nothing is listening on localhost:4242; is your server running?";
    [
        accepted(0, 540),
        DemoDelivery { outcome: busy, ..accepted(1, 480) },
        DemoDelivery { attempt: (2, Some(11)), signature_age: 1, ..accepted(1, 469) },
        DemoDelivery { secret: OTHER, outcome: None, ..accepted(2, 300) },
        DemoDelivery { attempt: (2, Some(300)), is_duplicate: true, ..accepted(0, 240) },
        DemoDelivery { signature_age: 412, outcome: None, ..accepted(3, 120) },
        DemoDelivery { outcome: Some((502, Err(down))), ..accepted(4, 30) },
    ]
}

/// Returns the secret of the demo's captures.
pub(in crate::cmd) fn secrets() -> SigningSecrets {
    with_secret(SECRET)
}

fn with_secret(secret: &'static str) -> SigningSecrets {
    let mut secrets = SigningSecrets::default();
    secrets.add("demo", secret.into()).expect("the secret is long enough");
    secrets
}

/// Creates a store in memory with the captures of the demo.
pub(super) async fn store(cx: &Context) -> Result<CaptureStore, CliError> {
    let missing = || CliError::new(Exit::Failed, "the sandbox has too few submissions");
    let forms = cx.forms().await?;
    let form = forms.iter().find(|form| form.public_id.as_str() == FORM).ok_or_else(missing)?;
    let client = cx.client().await?;
    let mut pages = client.form(form.id.clone()).submissions().page_size(5).pages();
    let submissions = pages.try_next().await?.ok_or_else(missing)?.into_submissions();
    let store = CaptureStore::in_memory(StoreLimits { bytes: u64::MAX, age: Duration::MAX })?;
    let now = Timestamp::now();
    for demo in &deliveries() {
        let submission = submissions.get(demo.submission).ok_or_else(missing)?.clone();
        let unsigned = UnsignedDelivery {
            submission_id: Some(submission.id.to_string()),
            event: HeaderValue::from_static("submission.created"),
            body: payload::body(&payload::event_of(submission, form.id.clone(), &form.title)),
        };
        let mut delivery = delivery(unsigned, demo, now);
        let number = store.insert(Arc::new(delivery.clone())).await?;
        delivery.summary.number = Some(number);
        set_outcome(&mut delivery, demo.outcome);
        store.set_outcome(number, Arc::new(delivery)).await?;
    }
    Ok(store)
}

fn delivery(unsigned: UnsignedDelivery, demo: &DemoDelivery, now: Timestamp) -> Delivery {
    let received_at = now - SignedDuration::from_secs(demo.secs_ago);
    let signed_at = received_at.as_second() - demo.signature_age;
    let mut headers = unsigned.headers(&with_secret(demo.secret), signed_at.unsigned_abs());
    headers.insert(header::HOST, HeaderValue::from_static("localhost:4400"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(unsigned.body.len()));
    let body = unsigned.body;
    let verdict = verify(secrets().builder().build().ok().as_ref(), &headers, &body, received_at);
    let summary = DeliverySummary {
        number: None,
        received_at,
        source: Source::Request(([127, 0, 0, 1], 40_000).into()),
        method: Method::POST,
        request_target: "/hook".to_owned(),
        body_size: body.len() as u64,
        verdict,
        names: EventNames::of_body(&body),
        attempt: Attempt {
            number: demo.attempt.0,
            gap: demo.attempt.1.map(Duration::from_secs),
            is_duplicate: demo.is_duplicate,
        },
        response: None,
    };
    Delivery { summary, headers, body, forwards: Vec::new(), relayed_forward: None }
}

fn set_outcome(delivery: &mut Delivery, outcome: DemoOutcome) {
    let (status, answered_by) = match outcome {
        None => (401, AnsweredBy::Listener),
        Some((status, _)) => (status, AnsweredBy::Target),
    };
    delivery.summary.response = Some(Response { status: Some(status), answered_by, took: TOOK });
    let Some((_, result)) = outcome else { return };
    let result = match result {
        Ok(body) => {
            let (headers, body) = (HeaderMap::new(), Bytes::from_static(body.as_bytes()));
            Ok(TargetResponse { status, headers, body, is_truncated: false })
        }
        Err(message) => {
            let kind = ForwardErrorKind::Unreachable;
            Err(ForwardError { kind, message: message.to_owned() })
        }
    };
    delivery.forwards = vec![Forward { url: TARGET.to_owned(), result, took: TOOK }];
    delivery.relayed_forward = Some(0);
}
