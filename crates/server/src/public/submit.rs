//! `POST /f/{public_id}`: a submission, from the first look at its head to the answer.

use std::mem;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use formsvc_protocol::{Answers, ErrorCode, FormInstant, FormStatus, SubmissionId};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};

use super::accept::{self, Reply};
use super::client;
use super::cors::{self, Cors};
use super::idempotency::{self, Repeats};
use super::known::KnownForm;
use super::limits::Full;
use super::media_type::{self, MediaType};
use super::page::FormPage;
use super::reply::{self, Taken};
use super::show::{closed, new_page_id};
use super::{FORM, Public, body, no_such_form};
use crate::admin::new_id;
use crate::api::{Problem, Trail, within_deadline};
use crate::fields::{FieldErrors, Fields, Input};
use crate::metrics::Limit;
use crate::network::Network;
use crate::request_id::RequestId;
use crate::response_budget::ResponseBudget;
use crate::store::{NewSpam, NewSubmission, StoreError};

/// How often a submission is judged when its form is changed at the same time.
const JUDGED_MAX: usize = 3;

/// Why nothing was taken.
enum Refusal {
    Problem(Problem),
    /// The answers break rules; with them the page is shown again.
    Answers(Box<Invalid>),
}

struct Invalid {
    form: Arc<KnownForm>,
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
    // A program that sends JSON reads JSON, also that it cannot be read.
    let is_json = media_type::is_said_to_be_json(&parts.headers);
    let usual = if is_json { Reply::Json } else { Reply::Page };
    let wanted = accept::reply(&parts.headers, usual);
    let mut cors = Cors::Any;
    let outcome = take(&public, &parts, body, media_type, &mut cors).await;
    let trail = Trail::of(FORM);
    let mut response = match outcome {
        Ok(taken) => {
            let to = format!("{}/thanks", parts.uri.path());
            let trail = Trail { submission: Some(taken.id.clone()), ..trail };
            trail.on(reply::taken(wanted, &taken, &to), None)
        }
        Err(Refusal::Problem(problem)) => {
            trail.on(reply::problem(wanted, &problem), problem.cause())
        }
        Err(Refusal::Answers(invalid)) => {
            let build = || refuse(wanted, &invalid);
            let budget = ResponseBudget::of(&parts.extensions);
            match budget.admit(None, build(), async { Ok::<_, Problem>(build()) }).await {
                Ok(response) => trail.on(response, None),
                Err(problem) => trail.on(reply::problem(wanted, &problem), None),
            }
        }
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
    let mut form = public.known_form(parts).await?;
    if admit_origin(&form, parts, cors).is_err() {
        form = public.form(parts).await?;
        admit_origin(&form, parts, cors)?;
    }
    public.store.can_accept().map_err(Problem::from)?;
    let trusted = &public.options.trusted_proxies;
    if client::is_undeclared(parts, trusted) {
        public.undeclared.met();
    }
    let network = Network::of(parts, trusted);
    public.limits.admit(&form.form.id, network).map_err(|full| too_many(public, full))?;
    let media_type = media_type?;
    let key = idempotency::key(&parts.headers)?;
    let body = body::read(&parts.headers, body, public.options.body_timeout).await?;
    let input = body::decode(&media_type, body).await?;
    let page_id = input.page_id();
    let repeats = key.map(Repeats::Key).or(page_id.map(Repeats::Page)).unwrap_or(Repeats::Unknown);
    let id = new_submission_id(parts);
    let mut is_paid = false;
    for _ in 0..JUDGED_MAX {
        let refusal = match judge(&form, &input, &repeats) {
            Ok(Verdict::Trapped) => return keep_apart(public, &form, &input, id).await,
            Ok(Verdict::Answers(answers)) => {
                if !mem::replace(&mut is_paid, true) {
                    let spent = public.limits.spend(&form.form.id);
                    spent.map_err(|full| too_many(public, full))?;
                }
                match submit(public, &form, answers, &repeats, &id).await? {
                    Some(taken) => return Ok(taken),
                    None => None,
                }
            }
            Err(reason) => Some(reason),
        };
        // What is known of a form refuses nobody, for it may have been changed.
        let now = public.form(parts).await?;
        let unchanged = now.revision == form.revision;
        form = now;
        match refusal {
            Some(Reason::Closed) if unchanged => return Err(closed().into()),
            Some(Reason::Answers(errors)) if unchanged => {
                return Err(Refusal::Answers(Box::new(Invalid { form, input, errors })));
            }
            _ => admit_origin(&form, parts, cors)?,
        }
    }
    let message = "this form is being changed: send it again in a moment";
    Err(Problem::unavailable(message, None).into())
}

/// The id that a submission gets: its request's digits, so that who has one can find the other.
fn new_submission_id(parts: &Parts) -> SubmissionId {
    let request = parts.extensions.get::<RequestId>();
    request.map_or_else(|| SubmissionId::from_bits(new_id()), |request| request.submission())
}

/// Judges whether a form takes what the page that sends may send, and what that page is told.
fn admit_origin(form: &KnownForm, parts: &Parts, cors: &mut Cors) -> Result<(), Problem> {
    let (judged, allowed) = Cors::judge(form.origins.as_deref(), &parts.headers);
    *cors = judged;
    if allowed { Ok(()) } else { Err(cors::refused(&parts.headers)) }
}

/// What is to be done with what was sent.
enum Verdict {
    Answers(Answers),
    /// A robot sent it.
    Trapped,
}

/// Why it is refused.
enum Reason {
    Closed,
    Answers(FieldErrors),
}

fn judge(form: &KnownForm, input: &Input, repeats: &Repeats) -> Result<Verdict, Reason> {
    let is_open = form.form.status == FormStatus::Published;
    // A closed form still tells a repeat what the first was told.
    if !is_open && *repeats == Repeats::Unknown {
        return Err(Reason::Closed);
    }
    if is_open && input.is_trapped() {
        return Ok(Verdict::Trapped);
    }
    match form.fields.answer(input) {
        Ok(answers) => Ok(Verdict::Answers(answers)),
        Err(_) if !is_open => Err(Reason::Closed),
        Err(errors) => Err(Reason::Answers(errors)),
    }
}

fn too_many(public: &Public, full: Full) -> Problem {
    public.metrics.rate_limited(Limit::PublicForm);
    let (whose, wait) = match full {
        Full::Sender(wait) => ("too many submissions came from your address", wait),
        Full::Form(wait) => ("this form got too many submissions", wait),
    };
    let message = format!("{whose}: retry in {wait} s");
    Problem::new(ErrorCode::RateLimited, message).wait(wait)
}

/// Submits answers; `None` when the form is not what they were judged by.
async fn submit(
    public: &Public,
    form: &KnownForm,
    answers: Answers,
    repeats: &Repeats,
    id: &SubmissionId,
) -> Result<Option<Taken>, Refusal> {
    let submission = NewSubmission {
        id: id.clone(),
        form: form.form.id.clone(),
        revision: Some(form.revision),
        idempotency: repeats.of(&answers),
        answers,
    };
    // From here on the submission is taken whole or not at all, also when the client goes away.
    let submitted = public.store.submit(submission);
    let submitted = Box::pin(async { Ok(submitted.await) });
    match within_deadline(submitted).await? {
        Ok(accepted) => {
            Ok(Some(Taken { id: accepted.id, created_at: accepted.instant.to_timestamp() }))
        }
        Err(StoreError::Changed { .. }) => Ok(None),
        Err(error) => Err(refused(error).into()),
    }
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
async fn keep_apart(
    public: &Public,
    form: &KnownForm,
    input: &Input,
    id: SubmissionId,
) -> Result<Taken, Refusal> {
    // What no form would take is not kept, nor is more of it than anybody would look at.
    if let Ok(answers) = Fields::free().answer(input)
        && public.limits.keeps_spam(&form.form.id)
    {
        let spam = NewSpam { id: id.clone(), form: form.form.id.clone(), answers };
        within_deadline(public.store.keep_spam(spam)).await?;
    }
    let created_at = FormInstant::next((public.now)(), None).to_timestamp();
    Ok(Taken { id, created_at })
}

/// 422, with everything that was typed.
fn refuse(wanted: Reply, invalid: &Invalid) -> Response {
    let Invalid { form, input, errors } = invalid;
    match wanted {
        Reply::Json => reply::invalid_answers(errors),
        Reply::Page => {
            let page =
                FormPage::again(&form.form.title, &form.fields, new_page_id(), input, errors);
            reply::page_to_go_back_to(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
    }
}
