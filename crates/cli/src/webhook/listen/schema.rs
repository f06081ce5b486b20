//! The JSON Schema of the lines that `listen --output ndjson` writes, for whoever reads them.

use serde_json::{Value, json};

use super::answers::REFUSALS;
use super::delivery_fields::{CAPTURE, FIELDS, FieldRow};
use super::goal::End;
use super::happened::WarningCode;
use super::policy::OnInvalid;
use super::record::SCHEMA;

/// The schema, of the draft 2020-12.
pub(crate) fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:formsvc:webhook-listen:1",
        "title": "A line of `formsvc webhook listen --output ndjson`",
        "description": "Fields may be added to version 1; none changes its meaning or goes.",
        "type": "object",
        "required": ["schema", "type"],
        "oneOf": [ready(), delivery(), forward(), warning(), summary()],
    })
}

/// A kind of line. All of its fields are always there.
fn kind(name: &str, about: &str, fields: Value) -> Value {
    let Value::Object(mut fields) = fields else { return Value::Null };
    fields.insert("schema".to_owned(), json!({"const": SCHEMA}));
    fields.insert("type".to_owned(), json!({"const": name}));
    let required: Vec<_> = fields.keys().cloned().collect();
    json!({
        "title": name,
        "description": about,
        "type": "object",
        "properties": fields,
        "required": required,
    })
}

pub(super) fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn maybe_text(about: &str) -> Value {
    maybe(text(about))
}

pub(super) fn count(about: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": about})
}

pub(super) fn millis(about: &str) -> Value {
    json!({"type": "number", "minimum": 0, "description": format!("{about}, in milliseconds")})
}

pub(super) fn flag(about: &str) -> Value {
    json!({"type": "boolean", "description": about})
}

pub(super) fn instant(about: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": about})
}

pub(super) fn maybe(mut schema: Value) -> Value {
    let kind = schema["type"].take();
    schema["type"] = json!([kind, "null"]);
    schema
}

pub(super) fn status(about: &str) -> Value {
    json!({"type": ["integer", "null"], "minimum": 100, "maximum": 999, "description": about})
}

/// One of a closed set.
pub(super) fn named(about: &str, names: impl IntoIterator<Item = &'static str>) -> Value {
    let names: Vec<_> = names.into_iter().collect();
    json!({"description": about, "enum": names})
}

/// An object of these fields, which are always there.
pub(super) fn properties(about: &str, rows: &[FieldRow]) -> Value {
    let fields = rows.iter().map(|row| (row.name.to_owned(), (row.schema)(row.about)));
    let names: Vec<_> = rows.iter().map(|row| row.name).collect();
    json!({
        "type": "object",
        "description": about,
        "properties": Value::Object(fields.collect()),
        "required": names,
    })
}

fn capture() -> Value {
    maybe(count(CAPTURE))
}

fn ready() -> Value {
    kind(
        "ready",
        "the listener answers",
        json!({
            "at": instant("when"),
            "url": text("where it takes deliveries"),
            "pid": count("its process"),
            "version": text("the version of formsvc"),
            "secrets": {
                "type": "array", "items": {"type": "string"},
                "description": "names of the secrets, the current one first; none verifies nothing",
            },
            "on_invalid": named("what is done with a delivery that is not valid", OnInvalid::names()),
            "path": maybe_text("the only path deliveries are taken at"),
            "targets": {
                "type": "array", "items": {"type": "string"},
                "description": "what deliveries are forwarded to",
            },
            "store": maybe_text("the folder that captures are kept in; none where they are kept in memory"),
            "ui_url": maybe_text("where the page is that shows them"),
        }),
    )
}

fn delivery() -> Value {
    let fields = FIELDS.iter().map(|row| (row.name.to_owned(), (row.schema)(row.about)));
    kind("delivery", "a delivery was answered", Value::Object(fields.collect()))
}

fn forward() -> Value {
    kind(
        "forward",
        "a delivery was forwarded; its line comes after that of the delivery",
        json!({
            "capture": capture(),
            "submission_id": maybe_text("the submission, as the body has it"),
            "url": text("where to"),
            "status": status("what the target answered; none where nothing came back"),
            "error": maybe_text("why nothing came back"),
            "timed_out": flag("whether that was for lack of time"),
            "took_ms": millis("from the first step to the end of the answer"),
        }),
    )
}

fn warning() -> Value {
    let refusals = REFUSALS.iter().map(|refusal| refusal.code());
    let codes: Vec<_> = refusals.chain(WarningCode::ALL.map(|(_, name)| name)).collect();
    kind(
        "warning",
        "something to know, or a request that went no further",
        json!({
            "at": instant("when"),
            "code": {
                "type": "string",
                "description": "what kind, which never changes; more may come",
                "examples": codes,
            },
            "message": text("for people"),
            "method": maybe_text("the method of the request"),
            "request_target": maybe_text("its path and query"),
            "status": status("what it was answered with"),
        }),
    )
}

fn summary() -> Value {
    let times = || {
        json!({
            "type": ["object", "null"],
            "properties": {
                "p50": {"type": "number"}, "p95": {"type": "number"}, "max": {"type": "number"},
            },
            "required": ["p50", "p95", "max"],
        })
    };
    let counts = || json!({"type": "object", "additionalProperties": {"type": "integer"}});
    kind(
        "summary",
        "the last line",
        json!({
            "at": instant("when"),
            "ended": named("why it ended", End::ALL.map(|(_, name)| name)),
            "received": count("deliveries"),
            "verdicts": counts(),
            "duplicates": count("deliveries that had been accepted before"),
            "retries": count("other deliveries of a submission that had come before"),
            "refused": count("requests that were no deliveries, or could not be taken"),
            "statuses": counts(),
            "dropped": count("connections closed without an answer, as told"),
            "answer_ms": times(),
            "forwards_answered": count("forwardings that were answered"),
            "forwards_failed": count("forwardings that were not"),
            "unrouted": count("deliveries that were to be forwarded, and that no route took"),
            "forward_ms": times(),
            "pauses": count("pauses before retries"),
            "pauses_fitting": count("those that the service's schedule has"),
            "pauses_fit": maybe(flag("whether all of them are; none without any")),
            "expected": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"what": {"type": "string"}, "met": {"type": "boolean"}},
                    "required": ["what", "met"],
                },
            },
            "met": flag("whether all that was asked for came"),
        }),
    )
}
