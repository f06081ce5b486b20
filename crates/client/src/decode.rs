//! From the bytes of an answer to a value, or to a reason why not.

use bytes::Bytes;
use faststr::FastStr;
use formsvc_protocol::Objects;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::looks_like_json;

/// An answer that could not be used.
#[derive(Debug)]
pub(crate) struct Broken {
    /// The body ends before the JSON does: the answer was cut short, and may be whole next time.
    pub(crate) truncated: bool,
    pub(crate) what: &'static str,
    pub(crate) json_path: Option<String>,
    pub(crate) why: String,
    pub(crate) body: Vec<u8>,
}

const NOT_UTF8: &str = "the answer is not UTF-8";
const NOT_JSON: &str = "the answer is not JSON";
const CUT_SHORT: &str = "the answer is cut short";
const UNEXPECTED: &str = "the answer is not what the API promises";

/// A byte order mark in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the text of a body, without a copy. JSON is UTF-8, and a parser may ignore a byte order mark
/// (RFC 8259 §8.1).
pub(crate) fn text(body: &Bytes) -> Result<FastStr, Broken> {
    let text = match body.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => body.slice_ref(text),
        None => body.clone(),
    };
    FastStr::from_bytes(text).map_err(|_| {
        let why = std::str::from_utf8(body).expect_err("it was just refused");
        // A body cut inside a character is cut, not wrong.
        let truncated = why.error_len().is_none() && looks_like_json(body);
        let what = if truncated {
            CUT_SHORT
        } else if looks_like_json(body) {
            NOT_UTF8
        } else {
            NOT_JSON
        };
        Broken { truncated, what, json_path: None, why: why.to_string(), body: body.to_vec() }
    })
}

/// Reads an owned value.
pub(crate) fn json<T: DeserializeOwned>(body: &Bytes) -> Result<T, Broken> {
    read(&text(body)?)
}

/// Reads a value that may borrow from the text. What is promised to be an object has to be one.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Broken> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Objects(&mut reader)).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| {
        // Learning the path takes reading it once more, which only failures pay for.
        let mut again = serde_json::Deserializer::from_str(text);
        let path = path_of(serde_path_to_error::deserialize::<_, T>(Objects(&mut again)));
        unreadable(text, &error, path)
    })
}

/// The root of the JSON, as a place.
const ROOT: &str = ".";

/// The place of what is wrong with JSON that is whole: that of the member, where one is missing. The
/// parser names it by its message alone.
fn place_of(error: &serde_json::Error, path: Option<String>) -> String {
    let message = error.to_string();
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    match (path, missing) {
        (Some(path), Some(name)) => format!("{path}.{name}"),
        (None, Some(name)) => name.to_owned(),
        (path, None) => path.unwrap_or_else(|| ROOT.to_owned()),
    }
}

/// A text the parser refused.
fn unreadable(text: &str, error: &serde_json::Error, path: Option<String>) -> Broken {
    let what = if !looks_like_json(text.as_bytes()) {
        NOT_JSON
    } else if error.is_eof() {
        CUT_SHORT
    } else if error.is_data() {
        UNEXPECTED
    } else {
        NOT_JSON
    };
    let json_path = if what == UNEXPECTED { Some(place_of(error, path)) } else { path };
    // An empty or blank body is cut short too: somebody announced JSON and sent none of it.
    let truncated = error.is_eof();
    Broken { truncated, what, json_path, why: error.to_string(), body: text.into() }
}

/// A text that is JSON, but breaks a rule of the contract at `path`.
pub(crate) fn rule_broken(text: &str, path: String, why: String) -> Broken {
    let body = text.into();
    Broken { truncated: false, what: UNEXPECTED, json_path: Some(path), why, body }
}

/// Where a second reading failed.
pub(crate) fn path_of<T>(
    reading: Result<T, serde_path_to_error::Error<serde_json::Error>>,
) -> Option<String> {
    let path = reading.err()?.path().to_string();
    // The place of a member whose name was not read yet prints as a question mark.
    let known = path.trim_end_matches(".?");
    Some(known.to_owned()).filter(|path| !matches!(path.as_str(), "" | "." | "?"))
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::{FormList, PageRef};

    use super::*;

    fn broken(body: &'static str) -> Broken {
        json::<FormList>(&Bytes::from_static(body.as_bytes())).unwrap_err()
    }

    #[test]
    fn each_way_to_be_unreadable_is_told_apart() {
        for (body, what, truncated, path) in [
            ("<html>502</html>", NOT_JSON, false, None),
            ("", NOT_JSON, true, None),
            (r#"{"data":[{"id":"frm_1","public_id":"x""#, CUT_SHORT, true, Some("data[0]")),
            (r#"{"data":[}"#, NOT_JSON, false, Some("data[0]")),
            (r#"{"data":{}}"#, UNEXPECTED, false, Some("data")),
            (r#"{"data":[{"id":""}]}"#, UNEXPECTED, false, Some("data[0].id")),
            (r"{}", UNEXPECTED, false, Some("data")),
            (r#"{"data":[{}]}"#, UNEXPECTED, false, Some("data[0].id")),
            ("[[]]", UNEXPECTED, false, Some(".")),
            (r#"{"data":[["frm_1"]]}"#, UNEXPECTED, false, Some("data[0]")),
        ] {
            let broken = broken(body);
            assert_eq!((broken.what, broken.truncated), (what, truncated), "{body}");
            assert_eq!(broken.json_path.as_deref(), path, "{body}");
            assert_eq!(broken.body, body.as_bytes());
        }
    }

    #[test]
    fn an_array_is_no_object_though_it_has_all_members_in_order() {
        let form = r#"["frm_1","f","T","published","2026-01-01T00:00:00.000Z","2026-01-01T00:00:00.000Z","/f/f"]"#;
        for text in [format!("[[{form}]]"), format!(r#"{{"data":[{form}]}}"#)] {
            let broken = read::<FormList>(&text).unwrap_err();
            assert!(
                broken.why.starts_with("invalid type: sequence, expected an object"),
                "{broken:?}"
            );
        }
        let page = |row: &str, end: &str| format!(r#"{{"data":[{row}],"pagination":{end}}}"#);
        let (row, end) = (
            r#"{"id":"s","data":{"Q":[1.0]},"created_at":"2026-01-01T00:00:00.000Z"}"#,
            r#"{"next_cursor":null,"has_more":false}"#,
        );
        let text = page(row, end);
        assert_eq!(read::<PageRef<'_>>(&text).unwrap().data[0].data.get(), r#"{"Q":[1.0]}"#);
        for (text, path) in [
            (page(r#"["s",{"Q":1},"2026-01-01T00:00:00.000Z"]"#, end), "data[0]"),
            (page(row, "[null,false]"), "pagination"),
        ] {
            let broken = read::<PageRef<'_>>(&text).unwrap_err();
            assert_eq!(broken.json_path.as_deref(), Some(path), "{text}");
        }
    }

    #[test]
    fn byte_order_mark_before_json_is_ignored() {
        let body = Bytes::from_static(b"\xef\xbb\xbf{\"data\":[]}");
        assert_eq!(json::<FormList>(&body).unwrap().data.len(), 0);
        assert_eq!(text(&body).unwrap(), r#"{"data":[]}"#);
        let twice = Bytes::from_static("\u{feff}\u{feff}{\"data\":[]}".as_bytes());
        assert_eq!(json::<FormList>(&twice).unwrap_err().what, NOT_JSON);
    }

    #[test]
    fn bytes_that_are_no_text_are_wrong_unless_they_are_cut() {
        assert_eq!(text(&Bytes::from_static(b"\x1f\x8b\x08")).unwrap_err().what, NOT_JSON);
        assert!(!text(&Bytes::from_static(b"{\"a\":\"\xff\"}")).unwrap_err().truncated);
        assert!(text(&Bytes::from_static(b"{\"a\":\"\xc3")).unwrap_err().truncated);
    }
}
