//! Answers, and what every answer says of itself.

use axum::body::Body;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use super::gate::Refusal;
use crate::webhook::store::StoreError;

const OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const EMBEDDER: HeaderName = HeaderName::from_static("cross-origin-embedder-policy");
const RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");

/// Scripts and styles of the page's own files, requests to where it came from, and nothing else; and no
/// script may make markup of a text.
const CONTENT_SECURITY_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'",
);

/// A request that came to nothing, as the script of the page reads it.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) what: String,
    pub(super) hint: Option<String>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self { status, what: what.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// A value that was asked with is not what it has to be.
    pub(super) fn not(name: &str, value: &str, rule: &str) -> Self {
        Self::bad(format!("`{name}` is “{}”, and has to be {rule}.", beginning(value)))
    }

    /// What was asked for is not of the form that it must have.
    pub(super) fn bad(what: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, what)
    }
}

/// Most of a wrong value that is told, in characters.
const VALUE_MAX: usize = 100;

/// A value that is told as wrong, or its beginning.
pub(super) fn beginning(value: &str) -> String {
    match value.char_indices().nth(VALUE_MAX) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

#[derive(Serialize)]
struct Told<'a> {
    error: &'a str,
    hint: Option<&'a str>,
}

/// The same for everything that is refused, so that it says nothing of what there is.
pub(super) fn refused(refusal: Refusal) -> Response<Body> {
    let (status, text) = match refusal {
        Refusal::Host => (StatusCode::MISDIRECTED_REQUEST, "refused\n"),
        Refusal::Foreign => (StatusCode::FORBIDDEN, "refused\n"),
        Refusal::NotFound => (StatusCode::NOT_FOUND, "not found\n"),
    };
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    typed(response, "text/plain; charset=utf-8")
}

pub(super) fn problem(problem: &Problem) -> Response<Body> {
    let mut response = json(&Told { error: &problem.what, hint: problem.hint.as_deref() });
    *response.status_mut() = problem.status;
    response
}

pub(super) fn json(value: &impl Serialize) -> Response<Body> {
    // Structs of ours have nothing that JSON has not.
    let text = serde_json::to_vec(value).unwrap_or_default();
    typed(Response::new(Body::from(text)), "application/json")
}

pub(super) fn typed(mut response: Response<Body>, kind: &'static str) -> Response<Body> {
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// What every answer has. No `Access-Control-…`: nobody of elsewhere reads anything.
pub(super) fn guard(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (OPENER, "same-origin"),
        (EMBEDDER, "require-corp"),
        (RESOURCE, "same-origin"),
        (PERMISSIONS, "camera=(), geolocation=(), microphone=()"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
}
