//! What goes back: a page or JSON, with the headers of either.

use askama::Template;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use formsvc_protocol::{ErrorCode, SubmissionId, Timestamp};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use super::accept::Reply;
use super::page::NoticePage;
use super::policy::CONTENT_SECURITY_POLICY;
use crate::api::{Problem, text_cause};
use crate::fields::FieldErrors;

/// A submission that was taken.
#[derive(Debug, Serialize)]
pub(super) struct Taken {
    pub(super) id: SubmissionId,
    pub(super) created_at: Timestamp,
}

/// The body of 422 `invalid_answers`: the error shape of SPEC §7, and which fields.
#[derive(Serialize)]
struct InvalidAnswers<'a> {
    error: InvalidDetail<'a>,
}

#[derive(Serialize)]
struct InvalidDetail<'a> {
    code: ErrorCode,
    message: String,
    fields: Vec<InvalidField<'a>>,
}

#[derive(Serialize)]
struct InvalidField<'a> {
    field: &'a str,
    message: &'a str,
}

/// A page with a status.
pub(super) fn page(status: StatusCode, page: &impl Template) -> Response {
    let html = match page.render() {
        Ok(mut html) => {
            // The response budget counts the length, so spare capacity must not stay allocated.
            html.shrink_to_fit();
            html
        }
        Err(error) => return Problem::internal(text_cause(error.to_string())).into_response(),
    };
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY.clone());
    response
}

/// A page that is filled in. Whoever goes back to it finds what was typed there last, which a browser
/// forgets of a page that is `no-store`. Each showing has an id of its own, and may hold answers, so
/// that no cache may give it to others.
pub(super) fn page_to_go_back_to(status: StatusCode, content: &impl Template) -> Response {
    let mut response = page(status, content);
    let cache = HeaderValue::from_static("private, no-cache");
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    response
}

/// 201 with the submission, or the way to the page that says thank you: `to`, a path.
pub(super) fn taken(reply: Reply, taken: &Taken, to: &str) -> Response {
    match reply {
        Reply::Json => json(StatusCode::CREATED, taken),
        Reply::Page => {
            let mut response = StatusCode::SEE_OTHER.into_response();
            let to = HeaderValue::try_from(to).unwrap_or_else(|_| HeaderValue::from_static("/"));
            response.headers_mut().insert(header::LOCATION, to);
            response
        }
    }
}

/// 422 as JSON.
pub(super) fn invalid_answers(errors: &FieldErrors) -> Response {
    let fields = errors.fields().iter();
    let fields = fields.map(|error| InvalidField { field: &error.field, message: &error.rule });
    let (code, message) = (ErrorCode::InvalidAnswers, errors.to_string());
    let error = InvalidDetail { code, message, fields: fields.collect() };
    json(StatusCode::UNPROCESSABLE_ENTITY, &InvalidAnswers { error })
}

/// A problem as the client wants it.
pub(super) fn problem(reply: Reply, problem: &Problem) -> Response {
    let plain = problem.clone().into_response();
    if reply == Reply::Json {
        return plain;
    }
    let (heading, text) = words(problem);
    let mut response = page(problem.status(), &NoticePage::new(heading, &text));
    if let Some(wait) = plain.headers().get(header::RETRY_AFTER) {
        response.headers_mut().insert(header::RETRY_AFTER, wait.clone());
    }
    response
}

/// What a visitor is told.
fn words(problem: &Problem) -> (&'static str, String) {
    let wait = problem.retry_after().unwrap_or(1);
    let seconds = if wait == 1 { "a second".to_owned() } else { format!("{wait} seconds") };
    let again = "Go back, where your answers should still be, and send them again";
    match problem.code() {
        ErrorCode::FormNotFound => {
            ("No such form", "There is no form at this address. Check that it is complete.".into())
        }
        ErrorCode::FormClosed => {
            ("This form is closed", "It takes no answers any more.".into())
        }
        ErrorCode::RateLimited => (
            "Too many at once",
            // The message goes on with when to come back, which is said in other words here.
            format!(
                "Nothing was sent: {}. {again} in {seconds}.",
                problem.message().split(':').next().unwrap_or_default()
            ),
        ),
        ErrorCode::Unavailable => (
            "Not possible right now",
            // A store that was too slow may have taken them after all; a repeat of ours counts once.
            format!("The service may not have taken your answers. {again} in {seconds}."),
        ),
        ErrorCode::RequestTimeout => (
            "That took too long",
            format!("Nothing was sent: your answers did not arrive in time. {again}."),
        ),
        ErrorCode::PayloadTooLarge => (
            "That is too much",
            "Nothing was sent: your answers are longer than this form can take. Go back, where they \
             should still be, and shorten them."
                .into(),
        ),
        ErrorCode::InternalError => (
            "Something went wrong",
            "The service failed, and may not have taken your answers. Please try again later.".into(),
        ),
        _ => ("Nothing was sent", format!("The reason: {}.", problem.message())),
    }
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(json) => {
            let mut response = Response::new(Body::from(json));
            *response.status_mut() = status;
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        }
        Err(error) => Problem::internal(text_cause(error.to_string())).into_response(),
    }
}
