//! `GET /openapi.json`: the OpenAPI 3.1 description of the API, kept in `docs/openapi.json`.
//!
//! The tests below compare the file with the tables of the protocol and with the wire fixtures.
//! `tests/openapi/check.py` compares it with the answers of a running server.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;

use crate::api::Trail;

const ROUTE: &str = "/openapi.json";

/// Returns the document as it is served.
pub fn document() -> &'static str {
    include_str!("../../../docs/openapi.json")
}

/// Serves the document. The route needs no key and does not count against a rate limit.
pub fn router() -> Router {
    Router::new().route(ROUTE, get(read))
}

async fn read() -> Response {
    Trail { routine: true, ..Trail::of(ROUTE) }.close(Ok(Bytes::from_static(document().as_bytes())))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fmt::Write;
    use std::path::Path;

    use formsvc_protocol::ErrorCode;
    use formsvc_protocol::limits::{
        FORM_BODY_MAX, FORMS_LISTED_MAX, PAGE_BYTES_MAX, PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX,
        RATE_LIMIT,
    };
    use formsvc_protocol::paths::ENDPOINTS;
    use serde_json::{Value, json};

    use super::*;

    fn parsed() -> Value {
        serde_json::from_str(document()).unwrap()
    }

    /// Collects the values of all members with this name.
    fn members<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a Value>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get(name));
                object.values().for_each(|value| members(value, name, found));
            }
            Value::Array(items) => items.iter().for_each(|item| members(item, name, found)),
            _ => {}
        }
    }

    #[test]
    fn document_is_ascii_and_has_the_crate_version() {
        // Examples contain text that reverses the direction of what follows it.
        assert!(document().is_ascii());
        assert_eq!(parsed()["info"]["version"], env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn references_resolve_and_components_are_used() {
        let document = parsed();
        let mut found = Vec::new();
        members(&document, "$ref", &mut found);
        let found: BTreeSet<_> = found.into_iter().map(|target| target.as_str().unwrap()).collect();
        for target in &found {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
        for kind in ["schemas", "responses", "headers"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                let target = format!("#/components/{kind}/{name}");
                assert!(found.contains(target.as_str()), "{target} is unused");
            }
        }
    }

    #[test]
    fn endpoints_have_their_operation_and_need_a_key() {
        let document = parsed();
        for endpoint in ENDPOINTS {
            let operation = &document["paths"][endpoint.template]["get"];
            assert_eq!(operation["operationId"], endpoint.operation);
            assert_eq!(operation["security"], json!([{ "apiKey": [] }]));
        }
    }

    #[test]
    fn limits_are_those_of_the_protocol() {
        let document = parsed();
        let list = &document["paths"]["/api/v1/forms/{form_id}/submissions"]["get"];
        let limit = &list["parameters"][0]["schema"];
        assert_eq!(limit["maximum"], PAGE_SIZE_MAX);
        assert_eq!(limit["default"], PAGE_SIZE_DEFAULT);
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Page"]["properties"]["data"]["maxItems"], PAGE_SIZE_MAX);
        assert_eq!(schemas["FormList"]["properties"]["data"]["maxItems"], FORMS_LISTED_MAX);
        for (text, number) in [
            (&list["description"], u64::from(RATE_LIMIT)),
            (&list["responses"]["200"]["description"], PAGE_BYTES_MAX as u64),
            (&document["paths"]["/f/{public_id}"]["post"]["description"], FORM_BODY_MAX as u64),
        ] {
            assert!(text.as_str().unwrap().contains(&format!(" {number} ")), "{text}: {number}");
        }
    }

    #[test]
    fn error_codes_have_their_status_and_meaning() {
        let document = parsed();
        let codes = &document["components"]["schemas"]["ErrorCode"]["examples"];
        let known: Vec<_> = ErrorCode::KNOWN.iter().map(ErrorCode::as_str).collect();
        assert_eq!(*codes, json!(known));
        let mut responses = Vec::new();
        members(&document["paths"], "responses", &mut responses);
        for code in ErrorCode::KNOWN {
            // These belong to paths and methods that do not exist.
            if matches!(code, ErrorCode::NotFound | ErrorCode::MethodNotAllowed) {
                continue;
            }
            let info = code.info().unwrap();
            let mut text = String::new();
            write!(text, "`{}`: {}", code.as_str(), info.meaning).unwrap();
            let is_described = responses.iter().any(|responses| {
                let reference = &responses[info.status.to_string()]["$ref"];
                let pointer = reference.as_str().and_then(|target| target.strip_prefix('#'));
                let response = pointer.and_then(|pointer| document.pointer(pointer));
                response.is_some_and(|of| of["description"].as_str().unwrap().contains(&text))
            });
            assert!(is_described, "{text}");
        }
    }

    #[test]
    fn examples_are_wire_fixtures() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/wire");
        let fixtures: Vec<Value> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
            .filter_map(|text| serde_json::from_slice(&text).ok())
            .collect();
        let document = parsed();
        let mut examples = Vec::new();
        members(&document, "value", &mut examples);
        assert!(examples.len() > 10);
        for example in examples {
            assert!(fixtures.contains(example), "{example}");
        }
    }
}
