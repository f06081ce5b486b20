//! The description of the API for programs: OpenAPI 3.1, at `GET /openapi.json`.
//!
//! Written here by hand around the tables and constants of the protocol, so that the types that go over
//! the wire need not know of it. Its examples are the fixtures that both sides are held to;
//! `tests/openapi/check.py` holds real answers of a server to it.
//!
//! | Question | File |
//! |---|---|
//! | which paths there are, and what they take | `paths` |
//! | what answers look like that are no errors | `schemas` |
//! | which errors there are, and with which headers | `errors` |

mod errors;
mod paths;
mod schemas;

use std::fmt::Write;
use std::sync::LazyLock;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use serde_json::{Value, json};

use crate::api::Trail;

const ROUTE: &str = "/openapi.json";

/// The whole document, as it is served and kept in `docs/openapi.json`.
pub fn document() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let text = serde_json::to_string_pretty(&build());
        in_ascii(&text.expect("texts, numbers and names can be printed")) + "\n"
    });
    &TEXT
}

/// JSON with everything beyond ASCII escaped: fixtures have text that turns around what is beside it.
fn in_ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            text.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // A string takes what is written to it.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    text
}

/// The route `/openapi.json`. It needs no key and counts for no quota.
pub fn router() -> Router {
    Router::new().route(ROUTE, get(read))
}

async fn read() -> axum::response::Response {
    Trail { routine: true, ..Trail::of(ROUTE) }.close(Ok(Bytes::from_static(document().as_bytes())))
}

fn build() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Form submissions service",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Forms, their submissions, and public forms that take them.",
            "description": "Match errors on their `code`: messages may change at any time. Clients should expect \
                members, codes and statuses that are not described here yet.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": [
            { "name": "api", "description": "What the owner of an API key reads." },
            { "name": "forms", "description": "What visitors of a public form send." },
            { "name": "service", "description": "Whether and what the service answers." },
        ],
        "paths": paths::all(),
        "components": {
            "schemas": schemas::all(),
            "responses": errors::responses(),
            "headers": errors::headers(),
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, `fsk_…`. Absent is 401 `missing_authorization`.",
                },
            },
        },
    })
}

/// A reference into the document.
fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use formsvc_protocol::ErrorCode;
    use formsvc_protocol::paths::ENDPOINTS;

    use super::*;

    /// Every reference in a part of the document.
    fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match value.as_str().filter(|_| name == "$ref") {
                        Some(target) => _ = found.insert(target),
                        None => references(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_component_is_used() {
        let document = build();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for target in &found {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
        for kind in ["schemas", "responses", "headers"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                let target = format!("#/components/{kind}/{name}");
                assert!(found.contains(target.as_str()), "{target} is not used");
            }
        }
    }

    #[test]
    fn every_endpoint_is_described_under_its_name() {
        let document = build();
        for endpoint in ENDPOINTS {
            let method = endpoint.method.to_lowercase();
            let operation = &document["paths"][endpoint.template][method];
            assert_eq!(operation["operationId"], endpoint.operation);
            assert_eq!(operation["security"], json!([{ "apiKey": [] }]));
        }
    }

    #[test]
    fn every_code_of_the_table_is_named_and_answers_with_its_status() {
        let document = build();
        let codes = document["components"]["schemas"]["ErrorCode"]["examples"].as_array().unwrap();
        assert_eq!(codes.len(), ErrorCode::KNOWN.len());
        for code in ErrorCode::KNOWN {
            assert!(codes.contains(&json!(code.as_str())), "{code:?}");
            let status = code.info().unwrap().status.to_string();
            let answered = document["paths"].as_object().unwrap().values().any(|path| {
                let operations = path.as_object().unwrap().values();
                operations.filter_map(|operation| operation.get("responses")).any(|responses| {
                    responses.get(&status).is_some_and(|response| {
                        let name =
                            response["$ref"].as_str().and_then(|name| name.rsplit('/').next());
                        name.is_some_and(|name| errors::says(name, code))
                    })
                })
            });
            // Of paths and methods that there are not.
            let is_anywhere = matches!(code, ErrorCode::NotFound | ErrorCode::MethodNotAllowed);
            assert!(answered || is_anywhere, "{code:?}");
        }
    }
}
