//! Checks and prepares the JSON document of a command for `--jq` and `--template`.

use std::borrow::Cow;

use formsvc_contract::nesting::{DEPTH_MAX, depth};
use serde::de::IgnoredAny;

use crate::error::CliError;
use crate::exit::Exit;

/// Checks that the document is JSON and not nested too deeply for the recursive readers. Replaces escapes of
/// unpaired surrogates (`\ud800`) by U+FFFD: JSON allows them, but UTF-8 cannot represent them.
///
/// The JSON check is strict, because the reader of jq also accepts comments. A quotation mark in a comment
/// would hide brackets from the depth check.
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
    Ok(replace_unpaired_surrogates(json))
}

/// Deepest level that has its own indentation. Without a limit, the text of a deeply nested list would be many times as
/// long as its JSON.
const INDENT_MAX: usize = 20;

/// Indents JSON. Names and values keep their exact text, and repeated members stay. Returns `None` if the text is not
/// JSON, or nested too deeply.
pub(crate) fn pretty(json: &[u8]) -> Option<String> {
    let json = std::str::from_utf8(json).ok()?;
    readable(json).ok()?;
    let (mut text, mut depth, mut in_string, mut is_escaped) = (String::new(), 0, false, false);
    for c in json.chars() {
        let is_quote = c == '"' && !is_escaped;
        is_escaped = in_string && c == '\\' && !is_escaped;
        in_string ^= is_quote;
        if !in_string && matches!(c, '}' | ']') {
            depth -= 1;
            text.truncate(text.trim_end().len());
            if !text.ends_with(['{', '[']) {
                new_line(&mut text, depth);
            }
        }
        match c {
            _ if in_string || is_quote => text.push(c),
            '{' | '[' | ',' => {
                depth += usize::from(c != ',');
                text.push(c);
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => text.push(c),
        }
    }
    Some(text + "\n")
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.push_str(&"  ".repeat(depth.min(INDENT_MAX)));
}

fn replace_unpaired_surrogates(json: &str) -> Cow<'_, str> {
    let (mut text, mut rest) = (String::new(), json);
    // A backslash begins an escape in a string: JSON has it nowhere else.
    while let Some(at) = rest.find('\\') {
        let (before, escaped) = rest.split_at(at);
        let (length, is_whole) = escape(escaped.as_bytes());
        text.push_str(before);
        text.push_str(if is_whole { &escaped[..length] } else { "\\ufffd" });
        rest = &escaped[length..];
    }
    if text.is_empty() { Cow::Borrowed(json) } else { Cow::Owned(text + rest) }
}

/// Returns the length of an escape, and false if the escape is an unpaired surrogate.
fn escape(text: &[u8]) -> (usize, bool) {
    match utf16_unit(text) {
        None => (2, true),
        Some(0xD800..=0xDBFF) => match text.get(6..).and_then(utf16_unit) {
            Some(0xDC00..=0xDFFF) => (12, true),
            _ => (6, false),
        },
        Some(0xDC00..=0xDFFF) => (6, false),
        Some(_) => (6, true),
    }
}

/// Returns the UTF-16 code unit of an escape of the form `\u00e9`.
fn utf16_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unpaired_surrogates_are_replaced() {
        for (json, read) in [
            (r#"{"a":"\ud83d\ude00 \\ud800 \u00e9 \n\"[["}"#, None),
            (r#"["\ud800"]"#, Some(r#"["\ufffd"]"#)),
            (r#"["x\udc00y","\ud800\ud83d\ude00"]"#, Some(r#"["x\ufffdy","\ufffd\ud83d\ude00"]"#)),
            (r#"["\ud800\n"]"#, Some(r#"["\ufffd\n"]"#)),
        ] {
            let got = readable(json).unwrap();
            assert_eq!(&*got, read.unwrap_or(json));
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
        assert!(readable(&hidden).is_err(), "brackets after a comment of jq");
    }

    #[test]
    fn pretty_indents_json_and_keeps_every_text() {
        let shown =
            pretty(br#"{"a":1.50,"b" : [1,{"c":"x\"],{\\"}, [ ],{}],"a2":null,"a":"\u00e9"}"#)
                .unwrap();
        let lines: Vec<&str> = shown.lines().map(str::trim_start).collect();
        let expected = [
            "{",
            "\"a\": 1.50,",
            "\"b\": [",
            "1,",
            "{",
            r#""c": "x\"],{\\""#,
            "},",
            "[],",
            "{}",
            "],",
            "\"a2\": null,",
            r#""a": "\u00e9""#,
            "}",
        ];
        assert_eq!(lines, expected);
        assert_eq!(pretty(b"\"x\""), Some("\"x\"\n".to_owned()));
        for text in [&b"<html>"[..], b"{} {}", b"\xff", &[b'['; 100]] {
            assert_eq!(pretty(text), None);
        }
    }

    #[test]
    fn pretty_limits_the_indentation_of_deep_json() {
        let deep = format!("{}{}1{}", "[".repeat(100), "1,".repeat(1_000), "]".repeat(100));
        let shown = pretty(deep.as_bytes()).unwrap();
        let indents = shown.lines().map(|line| line.len() - line.trim_start().len());
        assert_eq!(indents.max(), Some(2 * INDENT_MAX));
    }
}
