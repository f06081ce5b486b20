//! The JSON Schema of the lines that `listen --output ndjson` writes, for whoever reads them.

use serde_json::{Value, json};

use super::answers::REFUSALS;
use super::record::SCHEMA;
use crate::webhook::capture::{AnsweredBy, Source};
use crate::webhook::verdict::VERDICTS;

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

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn maybe_text(about: &str) -> Value {
    json!({"type": ["string", "null"], "description": about})
}

fn count(about: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": about})
}

fn millis(about: &str) -> Value {
    json!({"type": "number", "minimum": 0, "description": format!("{about}, in milliseconds")})
}

fn flag(about: &str) -> Value {
    json!({"type": "boolean", "description": about})
}

fn instant(about: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": about})
}

fn maybe(mut schema: Value) -> Value {
    let kind = schema["type"].take();
    schema["type"] = json!([kind, "null"]);
    schema
}

fn status(about: &str) -> Value {
    json!({"type": ["integer", "null"], "minimum": 100, "maximum": 999, "description": about})
}

fn capture() -> Value {
    maybe(count(
        "the number of the capture, by which other commands take it; none where it was not kept",
    ))
}

fn verdict_names() -> Vec<&'static str> {
    VERDICTS.iter().map(|row| row.name).collect()
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
            "on_invalid": {"enum": ["reject", "accept", "forward"]},
            "path": maybe_text("the only path deliveries are taken at"),
            "targets": {
                "type": "array", "items": {"type": "string"},
                "description": "what deliveries are forwarded to",
            },
            "ui_url": maybe_text("where the page is that shows them"),
        }),
    )
}

fn delivery() -> Value {
    let by = AnsweredBy::ALL.map(|(_, name)| name);
    kind(
        "delivery",
        "a delivery was answered",
        json!({
            "capture": capture(),
            "at": instant("when it had come"),
            "source": {"enum": Source::NAMES},
            "synthetic": flag("whether it was made here of what the API has, and not sent by the service"),
            "peer": maybe_text("the address it came from"),
            "method": text("the method"),
            "request_target": text("path and query, as they came"),
            "headers": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"type": "string"}},
                "description": "values by names in lower case; the signature is masked without --reveal",
            },
            "event": maybe_text("the event that the body tells of"),
            "submission_id": maybe_text("the submission, as the body has it"),
            "form_id": maybe_text("the form, as the body has it"),
            "verdict": {"enum": verdict_names()},
            "valid": flag("whether the verdict is `valid`"),
            "secret": maybe_text("the name of the secret that signed it"),
            "age_s": {
                "type": ["integer", "null"],
                "description": "seconds since the signature's time; negative when that lies ahead",
            },
            "attempt": count("how often its submission has come, this time included"),
            "gap_ms": maybe(millis("time since it came last")),
            "duplicate": flag("whether it had been accepted before"),
            "pause": {
                "type": ["object", "null"],
                "description": "the pause before it, where it is a retry",
                "properties": {
                    "retry": count("which retry, the first being 1"),
                    "waited_ms": millis("since the attempt before had ended"),
                    "expected_ms": {
                        "type": ["array", "null"], "items": {"type": "number"},
                        "description": "the shortest and longest of the schedule; none beyond its last",
                    },
                    "fits": flag("whether it is one of the schedule"),
                },
                "required": ["retry", "waited_ms", "expected_ms", "fits"],
            },
            "status": status("what it was answered with; none where its connection was dropped as told"),
            "answered_by": {"enum": by},
            "took_ms": millis("from the whole request to the answer"),
            "body_size": count("bytes of the body"),
            "body_sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "body_b64": {"type": "string", "contentEncoding": "base64"},
            "body": {
                "description": "the body where it is JSON that common readers take, its numbers and the \
                    order of its keys as they came; else null",
            },
        }),
    )
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
    let refusals: Vec<_> = REFUSALS.iter().map(|refusal| refusal.code()).collect();
    kind(
        "warning",
        "something to know, or a request that went no further",
        json!({
            "at": instant("when"),
            "code": {
                "type": "string",
                "description": "what kind, which never changes; more may come",
                "examples": refusals,
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
            "ended": {"enum": ["signal", "met", "timeout", "stdin_eof", "silence", "missed"]},
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
