//! Captures for `--demo`: submissions of the sandbox as deliveries that came a few minutes ago, each
//! with another fate.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::{Form, Submission};
use formsvc_contract::payload;
use formsvc_contract::send::{EVENT, SIGNATURE, USER_AGENT};
use formsvc_protocol::signature::{SigningSecret, sign};
use http::{HeaderMap, HeaderValue, Method, header};
use jiff::{SignedDuration, Timestamp};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::webhook::capture::{
    AnsweredBy, Arrival, Forward, Forwarded, Outcome, Received, Source, Unanswered,
};
use crate::webhook::secrets::Secrets;
use crate::webhook::store::{Caps, Store};
use crate::webhook::verdict::judge;

/// The secret of an endpoint that exists only here.
const SECRET: &str = "whsec_demo_0000000000000000000000000000000000000";
/// One that it does not have.
const OTHER: &str = "whsec_other_000000000000000000000000000000000000";
/// Where the listener forwarded to.
const TARGET: &str = "http://localhost:4242/hook";
/// The form whose newest submissions came.
const FORM: &str = "penguins";

/// A delivery.
struct Fate {
    /// Which of the newest submissions.
    submission: usize,
    /// Seconds before now.
    ago: i64,
    secret: &'static str,
    /// Seconds between its signature and its arrival.
    age: i64,
    attempt: u32,
    gap: Option<u64>,
    duplicate: bool,
    answer: Answer,
}

#[derive(Clone, Copy)]
enum Answer {
    /// The listener's own.
    Own(u16),
    /// That of the target, with its text.
    Target(u16, &'static str),
    /// None.
    Refused,
}

const USUAL: Fate = Fate {
    submission: 0,
    ago: 0,
    secret: SECRET,
    age: 0,
    attempt: 1,
    gap: None,
    duplicate: false,
    answer: Answer::Target(200, "ok"),
};

const FATES: &[Fate] = &[
    Fate { submission: 0, ago: 540, ..USUAL },
    Fate {
        submission: 1,
        ago: 480,
        answer: Answer::Target(503, "the database is locked, try again later\n"),
        ..USUAL
    },
    Fate { submission: 1, ago: 469, attempt: 2, gap: Some(11), age: 1, ..USUAL },
    Fate { submission: 2, ago: 300, secret: OTHER, answer: Answer::Own(401), ..USUAL },
    Fate { submission: 0, ago: 240, attempt: 2, gap: Some(300), duplicate: true, ..USUAL },
    Fate { submission: 3, ago: 120, age: 412, answer: Answer::Own(401), ..USUAL },
    Fate { submission: 4, ago: 30, answer: Answer::Refused, ..USUAL },
];

/// The secret that they are signed with.
pub(crate) fn secrets() -> Secrets {
    Secrets(vec![("demo".into(), SECRET.into())])
}

/// A store in memory with one capture of each fate.
pub(super) async fn store(cx: &Context) -> Result<Store, CliError> {
    let missing = || CliError::new(Exit::Failed, "the sandbox has too few submissions");
    let forms = cx.forms().await?;
    let form = forms.iter().find(|form| form.public_id.as_str() == FORM).ok_or_else(missing)?;
    let client = cx.client().await?;
    let mut pages = client.form(form.id.clone()).submissions().page_size(5).pages();
    let page = pages.try_next().await?.ok_or_else(missing)?;
    let submissions: Vec<Submission> = page.into_submissions();
    let store = Store::in_memory(Caps::default())?;
    let now = Timestamp::now();
    for fate in FATES {
        let submission = submissions.get(fate.submission).ok_or_else(missing)?;
        let at = now - SignedDuration::from_secs(fate.ago);
        let number = store.keep(Arc::new(received(form, submission, fate, at))).await?;
        store.settle(number, Arc::new(outcome(fate.answer)));
    }
    Ok(store)
}

fn received(form: &Form, submission: &Submission, fate: &Fate, at: Timestamp) -> Received {
    let event = payload::event_of(submission.clone(), form.id.clone(), &form.title);
    let body = payload::body(&event);
    let signed = at.as_second() - fate.age;
    let secret = SigningSecret::new(fate.secret).expect("the secrets have letters");
    let signature = HeaderValue::try_from(sign([&secret], signed.unsigned_abs(), &body));
    let headers = HeaderMap::from_iter([
        (header::HOST, HeaderValue::from_static("localhost:4400")),
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::USER_AGENT, HeaderValue::from_static(USER_AGENT)),
        (EVENT, HeaderValue::from_static("submission.created")),
        (SIGNATURE, signature.expect("digits and hex digits are a header")),
        (header::CONTENT_LENGTH, HeaderValue::from(body.len())),
    ]);
    let verifier = secrets().builder().build().ok();
    let (verdict, _) = judge(verifier.as_ref(), &headers, &body, at);
    Received {
        at,
        source: Source::Request(([127, 0, 0, 1], 40_000).into()),
        method: Method::POST,
        request_target: "/hook".to_owned(),
        headers,
        body,
        verdict,
        event: Some("submission.created".to_owned()),
        submission_id: Some(submission.id.to_string()),
        form_id: Some(form.id.to_string()),
        arrival: Arrival {
            number: fate.attempt,
            gap: fate.gap.map(Duration::from_secs),
            duplicate: fate.duplicate,
        },
    }
}

fn outcome(answer: Answer) -> Outcome {
    let took = Duration::from_micros(8_300);
    let (status, answer) = match answer {
        Answer::Own(status) => {
            let (by, took) = (AnsweredBy::Listener, Duration::from_micros(200));
            let (forwards, decided_by) = (Vec::new(), None);
            return Outcome { status: Some(status), by, took, forwards, decided_by };
        }
        Answer::Target(status, text) => {
            let headers = HeaderMap::from_iter([(
                header::CONTENT_TYPE,
                HeaderValue::from_static("text/plain; charset=utf-8"),
            )]);
            let body = Bytes::from_static(text.as_bytes());
            let answer = Forwarded { status, headers, body, truncated: false };
            (status, Ok(answer))
        }
        Answer::Refused => {
            let why = "nothing is listening on localhost:4242; is your server running?";
            let answer = Unanswered { timed_out: false, garbled: false, why: why.to_owned() };
            (502, Err(answer))
        }
    };
    let forward = Forward { url: TARGET.to_owned(), answer, took };
    let (forwards, by) = (vec![forward], AnsweredBy::Target);
    Outcome { status: Some(status), by, took, forwards, decided_by: Some(0) }
}
