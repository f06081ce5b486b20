//! What answers look like.

use formsvc_protocol::ErrorCode;
use formsvc_protocol::limits::{FORMS_LISTED_MAX, PAGE_SIZE_MAX};
use serde_json::{Map, Value, json};

use super::reference;

/// A fixture as an example. Those that are shown hold nothing that a parser would change.
pub(super) fn example(fixture: &str) -> Value {
    let value: Value = serde_json::from_str(fixture).expect("fixtures are JSON");
    json!({ "value": value })
}

pub(super) fn all() -> Map<String, Value> {
    let mut all = Map::new();
    for some in [common(), owned(), submitted()] {
        all.extend(some.as_object().cloned().unwrap_or_default());
    }
    all.extend([
        ("ErrorCode".to_owned(), error_code()),
        ("Error".to_owned(), error(&json!({}))),
        ("AnswersError".to_owned(), error(&fields())),
    ]);
    all
}

fn common() -> Value {
    json!({
        "Id": {
            "type": "string", "minLength": 1, "maxLength": 128,
            "description": "An identifier. Its form is this service's own: treat it as text.",
        },
        "Timestamp": {
            "type": "string", "format": "date-time",
            "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$",
            "description": "UTC, with milliseconds.",
        },
        "Health": {
            "type": "object", "required": ["status"],
            "properties": { "status": { "type": "string", "examples": ["live", "ready"] } },
        },
    })
}

/// What the owner of a key has.
fn owned() -> Value {
    json!({
        "User": {
            "type": "object", "required": ["id", "email", "name"],
            "properties": {
                "id": reference("schemas", "Id"),
                "email": { "type": "string" },
                "name": { "type": "string" },
            },
        },
        "Form": {
            "type": "object",
            "required": ["id", "public_id", "title", "status", "created_at", "updated_at", "url"],
            "properties": {
                "id": reference("schemas", "Id"),
                "public_id": {
                    "type": "string", "description": "What stands in the address of its page.",
                },
                "title": { "type": "string" },
                "status": {
                    "type": "string",
                    "description": "`draft`, `published` or `closed`; expect others.",
                    "examples": ["draft", "published", "closed"],
                },
                "created_at": reference("schemas", "Timestamp"),
                "updated_at": reference("schemas", "Timestamp"),
                "url": {
                    "type": "string", "pattern": "^/f/",
                    "description": "Path of its public page.",
                },
            },
        },
        "FormList": {
            "type": "object", "required": ["data"],
            "properties": {
                "data": {
                    "type": "array", "maxItems": FORMS_LISTED_MAX,
                    "items": reference("schemas", "Form"),
                },
            },
        },
    })
}

/// What visitors send, and what becomes of it.
fn submitted() -> Value {
    json!({
        "Answers": {
            "type": "object",
            "description": "Labels and answers in the order of the form, as the text that was accepted: \
                digits of numbers, escapes and repeated labels are never changed.",
            "additionalProperties": true,
        },
        "Submission": {
            "type": "object", "required": ["id", "data", "created_at"],
            "properties": {
                "id": reference("schemas", "Id"),
                "data": reference("schemas", "Answers"),
                "created_at": reference("schemas", "Timestamp"),
            },
        },
        "Pagination": {
            "type": "object", "required": ["next_cursor", "has_more"],
            "properties": {
                "next_cursor": {
                    "type": ["string", "null"],
                    "description": "To be passed as `cursor`, unchanged; null on an empty page.",
                },
                "has_more": {
                    "type": "boolean", "description": "Whether to go on; nothing else says so.",
                },
            },
        },
        "Page": {
            "type": "object", "required": ["data", "pagination"],
            "properties": {
                "data": {
                    "type": "array", "maxItems": PAGE_SIZE_MAX,
                    "items": reference("schemas", "Submission"),
                },
                "pagination": reference("schemas", "Pagination"),
            },
        },
        "Taken": {
            "type": "object", "required": ["id", "created_at"],
            "properties": {
                "id": reference("schemas", "Id"),
                "created_at": reference("schemas", "Timestamp"),
            },
        },
    })
}

fn error_code() -> Value {
    let codes: Vec<_> = ErrorCode::KNOWN.iter().map(ErrorCode::as_str).collect();
    json!({
        "type": "string",
        "description": "Stable across releases; expect others than these.",
        "examples": codes,
    })
}

/// The error shape, with more members of `error`.
fn error(more: &Value) -> Value {
    let mut properties = json!({
        "code": reference("schemas", "ErrorCode"),
        "message": { "type": "string", "description": "For a person; may change at any time." },
    });
    if let (Some(properties), Some(more)) = (properties.as_object_mut(), more.as_object()) {
        properties.extend(more.clone());
    }
    json!({
        "type": "object", "required": ["error"],
        "properties": {
            "error": {
                "type": "object", "required": ["code", "message"], "properties": properties,
            },
        },
    })
}

fn fields() -> Value {
    json!({
        "fields": {
            "type": "array",
            "description": "Of `invalid_answers`: what is wrong, in the order of the form.",
            "items": {
                "type": "object", "required": ["field", "message"],
                "properties": {
                    "field": { "type": "string", "description": "The label." },
                    "message": { "type": "string" },
                },
            },
        },
    })
}
