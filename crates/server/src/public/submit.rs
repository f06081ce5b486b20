//! `POST /f/{public_id}`: a submission, from the first look at its head to the answer.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use formsvc_protocol::{Answers, ErrorCode, FormInstant, FormStatus, SubmissionId};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};

use super::accept::{self, Reply};
use super::client::Network;
use super::cors::{self, Cors};
use super::idempotency::{self, Repeats};
use super::media_type::MediaType;
use super::page::FormPage;
use super::reply::{self, Taken};
use super::show::{closed, new_page_id};
use super::{FORM, Public, body, fields_of, no_such_form};
use crate::admin::new_id;
use crate::api::{Problem, Trail, within_deadline};
use crate::fields::{FieldErrors, Fields, Input};
use crate::metrics::Limit;
use crate::store::{NewSpam, NewSubmission, PublicForm, StoreError};

/// Why nothing was taken.
enum Refusal {
    Problem(Problem),
    /// The answers break rules; with them the page is shown again.
    Answers(Box<Invalid>),
}

struct Invalid {
    title: String,
    fields: Fields,
    input: Input,
    errors: FieldErrors,
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

pub(super) async fn post(State(public): State<Arc<Public>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let media_type = MediaType::of(&parts.headers);
    // A program that sends JSON reads JSON.
    let usual = if matches!(media_type, Ok(MediaType::Json)) { Reply::Json } else { Reply::Page };
    let wanted = accept::reply(&parts.headers, usual);
    let mut cors = Cors::Any;
    let outcome = take(&public, &parts, body, media_type, &mut cors).await;
    let trail = Trail::of(FORM);
    let mut response = match outcome {
        Ok(taken) => {
            let to = format!("{}/thanks", parts.uri.path());
            trail.on(reply::taken(wanted, &taken, &to), None)
        }
        Err(Refusal::Problem(problem)) => {
            trail.on(reply::problem(wanted, &problem), problem.cause())
        }
        Err(Refusal::Answers(invalid)) => trail.on(refuse(wanted, &invalid), None),
    };
    cors.apply(response.headers_mut());
    response
}

/// What a browser asks before it lets a page of another site send JSON.
pub(super) async fn preflight(State(public): State<Arc<Public>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let trail = Trail::of(FORM);
    let found = match public.form(&parts).await {
        Ok(found) => found,
        Err(problem) => {
            let cause = problem.cause().cloned();
            return trail.on(problem.into_response(), cause.as_ref());
        }
    };
    let (cors, _) = Cors::judge(found.origins.as_deref(), &parts.headers);
    let mut response = StatusCode::NO_CONTENT.into_response();
    let allow = HeaderValue::from_static("GET,HEAD,POST,OPTIONS");
    response.headers_mut().insert(header::ALLOW, allow);
    cors.apply_preflight(response.headers_mut());
    trail.on(response, None)
}

async fn take(
    public: &Public,
    parts: &Parts,
    body: Body,
    media_type: Result<MediaType, Problem>,
    cors: &mut Cors,
) -> Result<Taken, Refusal> {
    let found = public.form(parts).await?;
    let (judged, allowed) = Cors::judge(found.origins.as_deref(), &parts.headers);
    *cors = judged;
    if !allowed {
        return Err(cors::refused(&parts.headers).into());
    }
    public.store.can_accept().map_err(Problem::from)?;
    let network = Network::of(parts, &public.options.trusted_proxies);
    public.limits.admit(&found.form.id, network).map_err(|wait| {
        public.metrics.rate_limited(Limit::PublicForm);
        too_many(wait)
    })?;
    let media_type = media_type?;
    let key = idempotency::key(&parts.headers)?;
    let body = body::read(&parts.headers, body, public.options.body_timeout).await?;
    let input = body::decode(&media_type, body).await?;
    let page_id = input.page_id();
    let repeats = key.map(Repeats::Key).or(page_id.map(Repeats::Page)).unwrap_or(Repeats::Unknown);
    let is_open = found.form.status == FormStatus::Published;
    // A closed form still tells a repeat what the first was told.
    if !is_open && repeats == Repeats::Unknown {
        return Err(closed().into());
    }
    if is_open && input.is_trapped() {
        return keep_apart(public, &found, &input).await;
    }
    let fields = fields_of(&found)?;
    let answers = match fields.answer(&input) {
        Ok(answers) => answers,
        Err(_) if !is_open => return Err(closed().into()),
        Err(errors) => {
            let title = found.form.title;
            return Err(Refusal::Answers(Box::new(Invalid { title, fields, input, errors })));
        }
    };
    submit(public, found, answers, &repeats).await
}

fn too_many(wait: u64) -> Problem {
    let message = format!("this form got too many submissions: retry in {wait} s");
    Problem::new(ErrorCode::RateLimited, message).wait(wait)
}

async fn submit(
    public: &Public,
    found: PublicForm,
    answers: Answers,
    repeats: &Repeats,
) -> Result<Taken, Refusal> {
    let submission = NewSubmission {
        id: SubmissionId::from_bits(new_id()),
        form: found.form.id,
        idempotency: repeats.of(&answers),
        answers,
    };
    // From here on the submission is taken whole or not at all, also when the client goes away.
    let submitted = public.store.submit(submission);
    let submitted = Box::pin(async { Ok(submitted.await) });
    let accepted = within_deadline(submitted).await?.map_err(refused)?;
    Ok(Taken { id: accepted.id, created_at: accepted.instant.to_timestamp() })
}

fn refused(error: StoreError) -> Problem {
    match error {
        StoreError::Closed { status: FormStatus::Draft, .. } | StoreError::NotFound { .. } => {
            no_such_form()
        }
        StoreError::Closed { .. } => closed(),
        StoreError::KeyReused => {
            let message = "this idempotency key came with other answers before";
            Problem::new(ErrorCode::IdempotencyKeyReused, message)
        }
        other => other.into(),
    }
}

/// Keeps what a robot sent, which is told what a visitor would be.
async fn keep_apart(public: &Public, found: &PublicForm, input: &Input) -> Result<Taken, Refusal> {
    let id = SubmissionId::from_bits(new_id());
    // What no form would take is not kept.
    if let Ok(answers) = Fields::free().answer(input) {
        let spam = NewSpam { id: id.clone(), form: found.form.id.clone(), answers };
        within_deadline(public.store.keep_spam(spam)).await?;
    }
    let created_at = FormInstant::next((public.now)(), None).to_timestamp();
    Ok(Taken { id, created_at })
}

/// 422, with everything that was typed.
fn refuse(wanted: Reply, invalid: &Invalid) -> Response {
    let Invalid { title, fields, input, errors } = invalid;
    match wanted {
        Reply::Json => reply::invalid_answers(errors),
        Reply::Page => {
            let page = FormPage::again(title, fields, new_page_id(), input, errors);
            reply::page(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}
