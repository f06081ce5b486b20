//! JSON responses, errors, and the security headers of all responses.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::replay::ReplayError;
use crate::store::StoreError;
use crate::warning::with_causes;

/// Allows only files and requests of the page's own origin, and prevents scripts from creating markup from text.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types 'none'";

/// An error in the JSON form that the page's script reads.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    #[serde(skip)]
    status: StatusCode,
    error: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, error: impl Into<Cow<'static, str>>) -> Self {
        Self { status, error: error.into(), hint: None }
    }

    pub(super) fn bad_request(error: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn not_found(error: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, error)
    }

    pub(super) fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, with_causes(&error))
    }
}

impl From<ReplayError> for Problem {
    fn from(error: ReplayError) -> Self {
        Self::new(StatusCode::CONFLICT, error.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, json(&self)).into_response()
    }
}

/// Returns a response with a value as JSON.
pub(super) fn json(value: &impl Serialize) -> Response {
    json_text(serde_json::to_vec(value).expect("types of the inspector serialize"))
}

/// Returns a response with a text that is already JSON.
pub(super) fn json_text(text: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// Adds the security headers of all responses. `Access-Control-Allow-Origin` is not among them, so other origins
/// cannot read responses.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn problem_of_the_store_contains_the_cause() {
        let source = io::Error::other("no route to the file server").into();
        let problem = Problem::from(StoreError::Io { path: PathBuf::from("captures.db"), source });
        let expected = r#"{"error":"cannot access `captures.db`: no route to the file server"}"#;
        assert_eq!(serde_json::to_string(&problem).unwrap(), expected);
    }
}
