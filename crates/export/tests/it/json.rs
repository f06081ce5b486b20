//! Content of the JSON formats.

use formsvc_export::Format;
use serde_json::value::RawValue;

use crate::support::{TIME, options, page, written};

#[test]
fn ndjson_and_json_keep_answers_byte_for_byte() {
    let answers = [r#"{"n":1.50,"q":"\u00e9\/","q":[ 1 ]}"#, "{}"];
    let (text, _) = written(&options(Format::Ndjson), &page(&answers));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        format!(r#"{{"id":"sub_1","data":{},"created_at":"{TIME}"}}"#, answers[0])
    );
    assert_eq!(lines.len(), 2);
    let (text, _) = written(&options(Format::Json), &page(&answers));
    let items: Vec<Box<RawValue>> = serde_json::from_str(&text).unwrap();
    assert_eq!(items.iter().map(|item| item.get()).collect::<Vec<_>>(), lines);
}

#[test]
fn ndjson_line_breaks_become_spaces() {
    let (text, _) = written(&options(Format::Ndjson), &page(&["{\n \"a\":\r\n1 }"]));
    assert_eq!(text.matches('\n').count(), 1);
    assert!(text.contains("{  \"a\":  1 }"), "{text}");
}

#[test]
fn empty_form_is_an_empty_array_or_no_lines() {
    assert_eq!(written(&options(Format::Json), &[]).0, "[]\n");
    assert_eq!(written(&options(Format::Ndjson), &[]).0, "");
}
