//! Errors as the document describes them, and the headers of answers.

use formsvc_protocol::ErrorCode;
use serde_json::{Map, Value, json};

use super::reference;

/// An error response: its name, the codes it is sent with, and its forms.
type Row = (&'static str, &'static [ErrorCode], Forms);

/// The media types of an error.
#[derive(Clone, Copy, PartialEq)]
enum Forms {
    Json,
    /// JSON, or a page for a visitor: errors of public forms.
    JsonOrPage,
}

/// Every error response that operations refer to.
const RESPONSES: &[Row] = &[
    ("BadRequest", &[ErrorCode::BadRequest], Forms::Json),
    (
        "Unauthorized",
        &[ErrorCode::MissingAuthorization, ErrorCode::InvalidKey, ErrorCode::KeyRevoked],
        Forms::Json,
    ),
    ("FormNotFound", &[ErrorCode::FormNotFound], Forms::Json),
    ("RateLimited", &[ErrorCode::RateLimited], Forms::Json),
    ("InternalError", &[ErrorCode::InternalError], Forms::Json),
    ("Unavailable", &[ErrorCode::Unavailable], Forms::Json),
    ("BadRequestOrPage", &[ErrorCode::BadRequest], Forms::JsonOrPage),
    ("OriginNotAllowed", &[ErrorCode::OriginNotAllowed], Forms::JsonOrPage),
    ("FormNotFoundOrPage", &[ErrorCode::FormNotFound], Forms::JsonOrPage),
    ("RequestTimeout", &[ErrorCode::RequestTimeout], Forms::JsonOrPage),
    ("FormClosed", &[ErrorCode::FormClosed], Forms::JsonOrPage),
    ("PayloadTooLarge", &[ErrorCode::PayloadTooLarge], Forms::JsonOrPage),
    ("UnsupportedMediaType", &[ErrorCode::UnsupportedMediaType], Forms::JsonOrPage),
    (
        "UnprocessableAnswers",
        &[ErrorCode::InvalidAnswers, ErrorCode::IdempotencyKeyReused],
        Forms::JsonOrPage,
    ),
    ("RateLimitedOrPage", &[ErrorCode::RateLimited], Forms::JsonOrPage),
    ("InternalErrorOrPage", &[ErrorCode::InternalError], Forms::JsonOrPage),
    ("UnavailableOrPage", &[ErrorCode::Unavailable], Forms::JsonOrPage),
];

/// The fixture of an error, where there is one.
fn fixture(code: &ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::BadRequest => include_str!("../../../../fixtures/wire/error_bad_request.json"),
        ErrorCode::MissingAuthorization => {
            include_str!("../../../../fixtures/wire/error_missing_authorization.json")
        }
        ErrorCode::InvalidKey => include_str!("../../../../fixtures/wire/error_invalid_key.json"),
        ErrorCode::KeyRevoked => include_str!("../../../../fixtures/wire/error_key_revoked.json"),
        ErrorCode::FormNotFound => {
            include_str!("../../../../fixtures/wire/error_form_not_found.json")
        }
        ErrorCode::RateLimited => include_str!("../../../../fixtures/wire/error_rate_limited.json"),
        _ => return None,
    })
}

/// The responses of a status that refers to one of the table.
pub(super) fn refused(names: &[&str]) -> Map<String, Value> {
    let rows = RESPONSES.iter().filter(|(name, ..)| names.contains(name));
    rows.map(|(name, codes, _)| (status(codes).to_string(), reference("responses", name))).collect()
}

fn status(codes: &[ErrorCode]) -> u16 {
    codes.first().and_then(ErrorCode::info).map_or(500, |info| info.status)
}

pub(super) fn responses() -> Map<String, Value> {
    let row = |(name, codes, forms): &Row| ((*name).to_owned(), response(codes, *forms));
    RESPONSES.iter().map(row).collect()
}

fn response(codes: &[ErrorCode], forms: Forms) -> Value {
    let told = codes.iter().filter_map(|code| {
        let row = code.info()?;
        Some(format!("`{}`: {}", code.as_str(), row.meaning))
    });
    let told: Vec<_> = told.collect();
    let mut headers = answer_headers();
    if codes.iter().any(|code| matches!(code, ErrorCode::RateLimited | ErrorCode::Unavailable)) {
        headers.insert("Retry-After".to_owned(), reference("headers", "RetryAfter"));
    }
    if codes.contains(&ErrorCode::InvalidKey) {
        headers.insert("WWW-Authenticate".to_owned(), reference("headers", "WwwAuthenticate"));
    }
    let schema = if codes.contains(&ErrorCode::InvalidAnswers) { "AnswersError" } else { "Error" };
    let mut content = json!({ "schema": reference("schemas", schema) });
    let examples: Map<_, _> = codes
        .iter()
        .filter_map(|code| {
            Some((code.as_str().to_owned(), super::schemas::example(fixture(code)?)))
        })
        .collect();
    if !examples.is_empty() {
        content["examples"] = examples.into();
    }
    let mut content = json!({ "application/json": content });
    if forms == Forms::JsonOrPage {
        content["text/html"] = json!({ "schema": { "type": "string" } });
    }
    json!({ "description": told.join(" "), "headers": headers, "content": content })
}

/// The headers of every answer.
pub(super) fn answer_headers() -> Map<String, Value> {
    [("X-Request-Id".to_owned(), reference("headers", "RequestId"))].into_iter().collect()
}

pub(super) fn headers() -> Value {
    json!({
        "RequestId": {
            "description": "The id of the request, to be quoted when something is reported. A submission \
                that it made has the same digits in its id.",
            "required": true,
            "schema": { "type": "string", "pattern": "^req_[0-9a-f]{32}$" },
        },
        "RetryAfter": {
            "description": "Seconds until the same request may be made again.",
            "required": true,
            "schema": { "type": "integer", "minimum": 1 },
        },
        "WwwAuthenticate": {
            "description": "The scheme that is asked for.",
            "required": true,
            "schema": { "type": "string", "const": "Bearer" },
        },
    })
}

/// Whether a response is sent with a code.
#[cfg(test)]
pub(super) fn says(name: &str, code: &ErrorCode) -> bool {
    RESPONSES.iter().any(|(row, codes, _)| *row == name && codes.contains(code))
}
