//! A test of a webhook: one signed delivery of made-up answers, at once, which is not recorded.

use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{Answers, Form, SubmissionId, Timestamp, WebhookEvent};
use http::{HeaderValue, StatusCode, header};

use super::endpoint::page;
use crate::admin::new_id;
use crate::api::{Problem, text_cause};
use crate::dashboard::deliveries::{beyond, meaning, shown};
use crate::dashboard::refusal::{Refusal, seconds};
use crate::dashboard::reply::Outcome;
use crate::dashboard::visit::{Visit, timely};
use crate::delivery::trial;
use crate::fields::Fields;
use crate::seed;
use crate::store::Attempt;

/// What the submission ids of tests begin with, so that a receiver can tell.
const TEST: &str = "test_";

/// What came of a test.
pub(super) struct Tested {
    pub(super) is_success: bool,
    pub(super) status: Option<u16>,
    pub(super) millis: u128,
    pub(super) code: Option<String>,
    pub(super) meaning: &'static str,
    pub(super) detail: Option<String>,
    pub(super) snippet: String,
    pub(super) is_cut: bool,
    /// What was sent.
    pub(super) body: String,
}

impl Tested {
    fn new(attempt: Attempt, body: &Bytes) -> Self {
        let (snippet, is_cut) = shown(&attempt.snippet);
        let meaning = attempt.error.as_deref().map_or("", meaning);
        Self {
            is_success: attempt.error.is_none(),
            status: attempt.status,
            millis: attempt.duration.as_millis(),
            meaning,
            code: attempt.error,
            detail: beyond(meaning, attempt.detail.as_deref()),
            snippet,
            is_cut,
            body: String::from_utf8_lossy(body).into_owned(),
        }
    }
}

pub(in crate::dashboard) async fn send(visit: &Visit) -> Outcome {
    let form = visit.form().await?;
    let endpoint = visit.endpoint(&form).await?;
    let dashboard = &visit.dashboard;
    if let Err(wait) = dashboard.limits.admit_test(&visit.user()?.id, endpoint.id.as_str()) {
        let problem = format!("Enough tests for now. Wait {}, then send another.", seconds(wait));
        let mut response = page(visit, &form, &endpoint, None, Some(problem))?;
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait));
        return Ok(response);
    }
    let found = timely(dashboard.store.signing_endpoint(&endpoint.id)).await?;
    let target = found.ok_or(Refusal::NotFound)?;
    let body = body(visit, &form).await?;
    let timeout: Duration = dashboard.options.test_timeout;
    let carrier = &*dashboard.carrier;
    let made = trial(carrier, &dashboard.vault, &target, body.clone(), visit.now, timeout).await;
    match made {
        Ok(attempt) => page(visit, &form, &endpoint, Some(Tested::new(attempt, &body)), None),
        Err(error) => Err(Problem::internal(text_cause(error.to_string())).into()),
    }
}

/// The event of a submission that there is not.
async fn body(visit: &Visit, form: &Form) -> Result<Bytes, Refusal> {
    let whole = timely(visit.dashboard.store.public_form(&form.public_id)).await?;
    let fields = whole.and_then(|whole| whole.fields).and_then(|json| Fields::parse(&json).ok());
    let answers = fields.and_then(|fields| seed::Visitor::new(1).fill(&fields));
    let anything = || Answers::parse(r#"{"Test":"This is a test, sent from the dashboard."}"#);
    let answers = match answers {
        Some(answers) => answers,
        None => anything().map_err(|error| Problem::internal(text_cause(error.to_string())))?,
    };
    let id = format!("{TEST}{}", hex::encode(new_id()));
    let id =
        SubmissionId::new(&id).map_err(|error| Problem::internal(text_cause(error.to_string())))?;
    let at: Timestamp = visit.now.to_timestamp();
    let event =
        WebhookEvent::submission_created(id, form.id.clone(), form.title.as_str(), answers, at);
    let json = serde_json::to_vec(&event);
    Ok(json.map_err(|error| Problem::internal(text_cause(error.to_string())))?.into())
}
