//! Operations: what they take, and what they answer.

use formsvc_protocol::limits::{
    FORM_BODY_MAX, FORMS_LISTED_MAX, PAGE_BYTES_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, RATE_LIMIT,
};
use formsvc_protocol::paths::{Endpoint, FORMS, ME, SUBMISSIONS};
use serde_json::{Map, Value, json};

use super::errors::{answer_headers, refused};
use super::reference;
use super::schemas::example;

/// What every request with a key may be refused with.
const OF_A_KEY: [&str; 5] =
    ["BadRequest", "Unauthorized", "RateLimited", "InternalError", "Unavailable"];

pub(super) fn all() -> Value {
    let mut paths = Map::new();
    paths.insert(ME.template.to_owned(), json!({ "get": me() }));
    paths.insert(FORMS.template.to_owned(), json!({ "get": forms() }));
    paths.insert(SUBMISSIONS.template.to_owned(), submissions());
    paths.insert("/f/{public_id}".to_owned(), public_form());
    paths.insert(
        "/livez".to_owned(),
        json!({ "get": health("livez", "The process answers.", &[]) }),
    );
    let ready = "The store takes a write, and the service is not shutting down.";
    paths.insert("/readyz".to_owned(), json!({ "get": health("readyz", ready, &["Unavailable"]) }));
    paths.insert("/metrics".to_owned(), json!({ "get": metrics() }));
    paths.insert("/openapi.json".to_owned(), json!({ "get": openapi() }));
    paths.into()
}

/// An answer that is no error.
fn answer(description: &str, media_type: &str, content: &Value) -> Value {
    json!({
        "description": description,
        "headers": answer_headers(),
        "content": { media_type: content },
    })
}

/// An answer of a schema, with fixtures as examples.
fn json_answer(description: &str, schema: &str, fixtures: &[(&str, &str)]) -> Value {
    let examples: Map<_, _> =
        fixtures.iter().map(|(name, text)| ((*name).to_owned(), example(text))).collect();
    let mut content = json!({ "schema": reference("schemas", schema) });
    if !examples.is_empty() {
        content["examples"] = examples.into();
    }
    answer(description, "application/json", &content)
}

fn responses(success: (&str, Value), refusals: &[&str]) -> Map<String, Value> {
    let mut responses = refused(refusals);
    responses.insert(success.0.to_owned(), success.1);
    responses
}

/// An operation that needs a key.
fn with_key(endpoint: Endpoint, summary: &str, success: Value, more: &[&str]) -> Value {
    json!({
        "operationId": endpoint.operation,
        "tags": ["api"],
        "summary": summary,
        "description": format!(
            "A key may make {RATE_LIMIT} requests in any minute. What is checked, in this order: \
             authorization, rate limit, parameters, form."
        ),
        "security": [{ "apiKey": [] }],
        "responses": responses(("200", success), &[&OF_A_KEY[..], more].concat()),
    })
}

fn me() -> Value {
    let golden = include_str!("../../../../fixtures/wire/user.json");
    let success = json_answer("The owner of the key.", "User", &[("user", golden)]);
    with_key(ME, "The owner of the key", success, &[])
}

fn forms() -> Value {
    let list = include_str!("../../../../fixtures/wire/form_list.json");
    let empty = include_str!("../../../../fixtures/wire/form_list_empty.json");
    let told = format!("The newest forms, at most {FORMS_LISTED_MAX}.");
    let success = json_answer(&told, "FormList", &[("forms", list), ("none", empty)]);
    with_key(FORMS, "The owner's forms, newest first", success, &[])
}

fn submissions() -> Value {
    let middle = include_str!("../../../../fixtures/wire/page_middle.json");
    let last = include_str!("../../../../fixtures/wire/page_last.json");
    let empty = include_str!("../../../../fixtures/wire/page_empty.json");
    let told = format!("A page. It ends early at {PAGE_BYTES_MAX} bytes of submissions.");
    let pages = [("middle", middle), ("last", last), ("empty", empty)];
    let success = json_answer(&told, "Page", &pages);
    let summary = "The submissions of a form, newest first";
    let mut operation = with_key(SUBMISSIONS, summary, success, &["FormNotFound"]);
    operation["parameters"] = json!([
        {
            "name": "limit", "in": "query", "required": false,
            "description": "Rows of the page, in decimal digits.",
            "schema": {
                "type": "integer", "minimum": 1, "maximum": PAGE_SIZE_MAX,
                "default": PAGE_SIZE_DEFAULT,
            },
        },
        {
            "name": "cursor", "in": "query", "required": false,
            "description": "`next_cursor` of the page before, unchanged.",
            "schema": { "type": "string", "format": "date-time" },
        },
    ]);
    json!({
        "parameters": [{
            "name": "form_id", "in": "path", "required": true,
            "description": "The form's `id`.",
            "schema": reference("schemas", "Id"),
        }],
        "get": operation,
    })
}

fn public_form() -> Value {
    json!({
        "parameters": [{
            "name": "public_id", "in": "path", "required": true,
            "description": "The form's `public_id`.",
            "schema": { "type": "string", "minLength": 1 },
        }],
        "get": {
            "operationId": "form.page",
            "tags": ["forms"],
            "summary": "The form as a page",
            "responses": public_page(),
        },
        "post": submit(),
    })
}

/// The page, and the errors in its place.
fn public_page() -> Map<String, Value> {
    let html = json!({ "schema": { "type": "string" } });
    let page = answer("A page without scripts.", "text/html", &html);
    let refusals = ["FormNotFoundOrPage", "FormClosed", "InternalErrorOrPage", "UnavailableOrPage"];
    responses(("200", page), &refusals)
}

fn submit() -> Value {
    let taken = json_answer("It was taken, and is committed.", "Taken", &[]);
    let refusals = [
        "BadRequestOrPage",
        "OriginNotAllowed",
        "FormNotFoundOrPage",
        "RequestTimeout",
        "FormClosed",
        "PayloadTooLarge",
        "UnsupportedMediaType",
        "UnprocessableAnswers",
        "RateLimitedOrPage",
        "InternalErrorOrPage",
        "UnavailableOrPage",
    ];
    let mut responses = responses(("201", taken), &refusals);
    let mut headers = answer_headers();
    headers
        .insert("Location".to_owned(), json!({ "required": true, "schema": { "type": "string" } }));
    let thanks = json!({
        "description": "It was taken; where a page says so. For those who prefer pages.",
        "headers": headers,
    });
    responses.insert("303".to_owned(), thanks);
    let answers = json!({ "schema": reference("schemas", "Answers") });
    json!({
        "operationId": "form.submit",
        "tags": ["forms"],
        "summary": "Submit answers",
        "description": format!(
            "At most {FORM_BODY_MAX} bytes. The answer is JSON if JSON is sent or preferred by \
             `Accept`; else it is 303, or an error as a page with the same status."
        ),
        "parameters": [{
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "For a day a repeat with the same answers gets the first's answer.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255 },
        }],
        "requestBody": {
            "required": true,
            "content": {
                "application/json": answers,
                "application/x-www-form-urlencoded": answers,
                "multipart/form-data": answers,
            },
        },
        "responses": responses,
    })
}

fn health(name: &str, told: &str, refusals: &[&str]) -> Value {
    json!({
        "operationId": name,
        "tags": ["service"],
        "summary": told,
        "responses": responses(("200", json_answer(told, "Health", &[])), refusals),
    })
}

fn metrics() -> Value {
    let text = json!({ "schema": { "type": "string" } });
    let success = answer("OpenMetrics text.", "application/openmetrics-text", &text);
    json!({
        "operationId": "metrics",
        "tags": ["service"],
        "summary": "What is counted and measured",
        "responses": responses(("200", success), &[]),
    })
}

fn openapi() -> Value {
    let document = json!({ "schema": { "type": "object" } });
    json!({
        "operationId": "openapi",
        "tags": ["service"],
        "summary": "This document",
        "responses": responses(("200", answer("OpenAPI 3.1.", "application/json", &document)), &[]),
    })
}
