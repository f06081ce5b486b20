//! Parses the body of a response, or returns the reason why it cannot be used.

use std::borrow::Cow;

use bytes::Bytes;
use formsvc_protocol::Pagination;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_path_to_error::Path;

use crate::api_key::ApiKey;
use crate::error::looks_like_json;
use crate::skipped_item::SkippedItem;

/// A body that cannot be used.
#[derive(Debug)]
pub(crate) struct Broken {
    /// Whether the body ends before its JSON does. A retry may receive the rest.
    pub(crate) truncated: bool,
    pub(crate) what: Cow<'static, str>,
    pub(crate) json_path: Option<String>,
    pub(crate) why: String,
}

const NOT_UTF8: &str = "the response is not UTF-8";
const NOT_JSON: &str = "the response is not JSON";
const TRUNCATED: &str = "the response is truncated";
const UNEXPECTED: &str = "the response violates the API";

/// The body of a list. Its items are parsed one by one.
#[derive(Deserialize)]
pub(crate) struct RawList<'a> {
    #[serde(borrow)]
    pub(crate) data: Vec<&'a RawValue>,
    #[serde(default)]
    pub(crate) pagination: Option<Pagination>,
}

/// Parses a body. A byte order mark before the JSON is skipped (RFC 8259 §8.1 allows that).
pub(crate) fn json<'b, T: Deserialize<'b>>(body: &'b Bytes) -> Result<T, Broken> {
    read(text(body)?)
}

/// Parses a text, which must be an object: serde would also read an array of the members in order.
pub(crate) fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Broken> {
    if text.trim_start().starts_with('[') {
        return Err(rule_broken(".", "invalid type: sequence, expected an object".to_owned()));
    }
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut parser);
    let value =
        value.map_err(|error| broken(text, Some(path_text(error.path())), error.inner()))?;
    parser.end().map_err(|error| broken(text, None, &error))?;
    Ok(value)
}

/// Parses the item of a list at this index. Items are parsed one by one, so that one that violates the API
/// does not disturb the others.
pub(crate) fn item<T: DeserializeOwned>(
    json: &str,
    index: usize,
    key: &ApiKey,
) -> Result<T, SkippedItem> {
    let mut parser = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut parser).map_err(|error| {
        let path = match &*path_text(error.path()) {
            "" | "." | "?" => format!("data[{index}]"),
            path => format!("data[{index}].{path}"),
        };
        // A position within the item would be taken for one in the body.
        let error = error.inner();
        let why = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        SkippedItem::new(json, path, why.strip_suffix(&position).unwrap_or(&why).to_owned(), key)
    })
}

/// Returns a path, which ends with a question mark before the name of a member is parsed.
fn path_text(path: &Path) -> String {
    let text = path.to_string();
    text.strip_suffix(".?").map(str::to_owned).unwrap_or(text)
}

fn text(body: &[u8]) -> Result<&str, Broken> {
    let text = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    std::str::from_utf8(text).map_err(|error| {
        // A body cut inside a character is cut, not wrong.
        let truncated = error.error_len().is_none() && looks_like_json(body);
        let what = if truncated {
            TRUNCATED
        } else if looks_like_json(body) {
            NOT_UTF8
        } else {
            NOT_JSON
        };
        Broken { truncated, what: what.into(), json_path: None, why: error.to_string() }
    })
}

fn broken(text: &str, path: Option<String>, error: &serde_json::Error) -> Broken {
    let what = if !looks_like_json(text.as_bytes()) {
        NOT_JSON
    } else if error.is_eof() {
        TRUNCATED
    } else if error.is_data() {
        UNEXPECTED
    } else {
        NOT_JSON
    };
    let json_path = path.filter(|path| what == UNEXPECTED || !matches!(&**path, "" | "." | "?"));
    // An empty body is truncated too: JSON was announced, and none of it was received.
    let truncated = error.is_eof();
    Broken { truncated, what: what.into(), json_path, why: error.to_string() }
}

/// Returns the error of JSON that breaks a rule of the API at `path`.
pub(crate) fn rule_broken(path: &str, why: String) -> Broken {
    let json_path = Some(path.to_owned());
    Broken { truncated: false, what: UNEXPECTED.into(), json_path, why }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::{FormList, Page, Submission};

    use super::*;

    fn broken(body: &'static str) -> Broken {
        json::<FormList>(&Bytes::from_static(body.as_bytes())).unwrap_err()
    }

    #[test]
    fn each_unusable_body_has_its_own_reason() {
        for (body, what, truncated, path) in [
            ("<html>502</html>", NOT_JSON, false, None),
            ("", NOT_JSON, true, None),
            (r#"{"data":[{"id":"frm_1","public_id":"x""#, TRUNCATED, true, Some("data[0]")),
            (r#"{"data":[}"#, NOT_JSON, false, Some("data[0]")),
            (r#"{"data":[]} x"#, NOT_JSON, false, None),
            (r#"{"data":{}}"#, UNEXPECTED, false, Some("data")),
            (r#"{"data":[{"id":""}]}"#, UNEXPECTED, false, Some("data[0].id")),
            (r"{}", UNEXPECTED, false, Some(".")),
            (r#"{"data":[{}]}"#, UNEXPECTED, false, Some("data[0]")),
            ("[[]]", UNEXPECTED, false, Some(".")),
            (r#"{"data":[["frm_1"]]}"#, UNEXPECTED, false, Some("data[0]")),
        ] {
            let broken = broken(body);
            assert_eq!((&*broken.what, broken.truncated), (what, truncated), "{body}");
            assert_eq!(broken.json_path.as_deref(), path, "{body}");
        }
    }

    #[test]
    fn array_with_all_members_in_order_is_not_an_object() {
        let page = |row: &str, end: &str| format!(r#"{{"data":[{row}],"pagination":{end}}}"#);
        let (row, end) = (
            r#"{"id":"s","data":{"Q":[1.0]},"created_at":"2026-01-01T00:00:00.000Z"}"#,
            r#"{"next_cursor":null,"has_more":false}"#,
        );
        let whole: Page<Submission> = read(&page(row, end)).unwrap();
        assert_eq!(whole.data[0].data.as_json(), r#"{"Q":[1.0]}"#);
        for (text, path) in [
            (page(r#"["s",{"Q":1},"2026-01-01T00:00:00.000Z"]"#, end), "data[0]"),
            (format!("[[{row}],{end}]"), "."),
        ] {
            let broken = read::<Page<Submission>>(&text).unwrap_err();
            assert_eq!(broken.json_path.as_deref(), Some(path), "{text}");
            assert!(
                broken.why.starts_with("invalid type: sequence, expected an object"),
                "{broken:?}"
            );
        }
    }

    #[test]
    fn byte_order_mark_before_json_is_ignored() {
        let body = Bytes::from_static(b"\xef\xbb\xbf{\"data\":[]}");
        assert_eq!(json::<FormList>(&body).unwrap().data.len(), 0);
        let twice = Bytes::from_static("\u{feff}\u{feff}{\"data\":[]}".as_bytes());
        assert_eq!(json::<FormList>(&twice).unwrap_err().what, NOT_JSON);
    }

    #[test]
    fn invalid_utf8_is_wrong_unless_it_is_cut() {
        assert_eq!(text(b"\x1f\x8b\x08").unwrap_err().what, NOT_JSON);
        assert!(!text(b"{\"a\":\"\xff\"}").unwrap_err().truncated);
        assert!(text(b"{\"a\":\"\xc3").unwrap_err().truncated);
    }
}
