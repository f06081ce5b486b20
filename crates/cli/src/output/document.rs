//! The JSON document of a command, made ready for those who read all of it: jq and templates.

use std::borrow::Cow;

use formsvc_contract::nesting::{DEPTH_MAX, depth};
use serde::de::IgnoredAny;

use crate::error::CliError;
use crate::exit::Exit;

/// Checks that the document is JSON and not nested too deeply for the recursive readers, and replaces
/// escapes of half a character (`\ud800`), which JSON has and text does not, by U+FFFD.
///
/// The JSON check is strict, because jq's reader also takes comments, in which a quotation mark would
/// hide brackets from the depth.
pub(super) fn readable(json: &str) -> Result<Cow<'_, str>, CliError> {
    serde_json::from_str::<IgnoredAny>(json).map_err(|error| {
        CliError::new(Exit::Service, "the response is not JSON").because(&error)
    })?;
    let deepest = depth(json.as_bytes());
    if deepest > DEPTH_MAX {
        let what = format!(
            "the JSON is nested {deepest} levels deep; jq and templates read at most {DEPTH_MAX}"
        );
        return Err(CliError::new(Exit::Service, what));
    }
    Ok(without_half_characters(json))
}

fn without_half_characters(json: &str) -> Cow<'_, str> {
    let mut in_text = false;
    let mut mended: Option<String> = None;
    let (bytes, mut at, mut copied) = (json.as_bytes(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        let mut length = 1;
        match byte {
            b'"' => in_text = !in_text,
            b'\\' if in_text => {
                let (taken, whole) = escape(&bytes[at..]);
                length = taken;
                if !whole {
                    let text = mended.get_or_insert_default();
                    text.push_str(&json[copied..at]);
                    text.push_str("\\ufffd");
                    copied = at + length;
                }
            }
            _ => {}
        }
        at += length;
    }
    match mended {
        None => Cow::Borrowed(json),
        Some(mut text) => {
            text.push_str(&json[copied..]);
            Cow::Owned(text)
        }
    }
}

/// How long an escape is, and whether it is a character.
fn escape(text: &[u8]) -> (usize, bool) {
    match unit(text) {
        None => (2, true),
        Some(0xD800..=0xDBFF) => match text.get(6..).and_then(unit) {
            Some(0xDC00..=0xDFFF) => (12, true),
            _ => (6, false),
        },
        Some(0xDC00..=0xDFFF) => (6, false),
        Some(_) => (6, true),
    }
}

/// The number in `\u` and four digits.
fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_replaced_and_nothing_else() {
        for (json, read) in [
            (r#"{"a":"\ud83d\ude00 \\ud800 \u00e9 \n\"[["}"#, None),
            (r#"["\ud800"]"#, Some(r#"["\ufffd"]"#)),
            (r#"["x\udc00y","\ud800\ud83d\ude00"]"#, Some(r#"["x\ufffdy","\ufffd\ud83d\ude00"]"#)),
            (r#"["\ud800\n"]"#, Some(r#"["\ufffd\n"]"#)),
        ] {
            let got = readable(json).unwrap();
            assert_eq!(&*got, read.unwrap_or(json));
            assert_eq!(matches!(got, Cow::Borrowed(_)), read.is_none(), "{json}");
        }
    }

    #[test]
    fn document_nested_too_deeply_is_refused() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(readable(&nested(DEPTH_MAX)).is_ok());
        assert!(readable(&nested(DEPTH_MAX + 1)).is_err());
        let flat = format!("[{}]", ["[]"; 1000].join(","));
        assert!(readable(&flat).is_ok());
        let hidden = format!("# \"\n{}", nested(DEPTH_MAX + 1));
        assert!(readable(&hidden).is_err(), "a comment of jq hides brackets");
    }
}
