//! Infers the types of answers from their JSON text.

use formsvc_contract::payload::AnswerType;
use formsvc_protocol::{Timestamp, decode_string};

/// Returns the type of an answer given as JSON. Returns `None` for an empty answer: null, or a text, list or object
/// without content.
pub(super) fn answer_type(json: &str) -> Option<AnswerType> {
    let is_empty = |open, close| {
        let inner = json.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        inner.is_none_or(|inner| inner.trim_ascii().is_empty())
    };
    match json.as_bytes().first()? {
        b'n' => None,
        b't' | b'f' => Some(AnswerType::Boolean),
        b'[' => (!is_empty('[', ']')).then_some(AnswerType::List),
        b'{' => (!is_empty('{', '}')).then_some(AnswerType::Object),
        b'"' => type_of_text(decode_string(json).trim()),
        _ => Some(AnswerType::Number),
    }
}

fn type_of_text(text: &str) -> Option<AnswerType> {
    let is_instant =
        |end: &str| format!("{text}{end}").replacen(' ', "T", 1).parse::<Timestamp>().is_ok();
    let has_number_chars = text.bytes().all(|b| b.is_ascii_digit() || b"+-.,".contains(&b));
    Some(if text.is_empty() {
        return None;
    } else if is_instant("T00:00:00Z") {
        AnswerType::Date
    } else if ["", "Z", ":00Z"].into_iter().any(is_instant) {
        AnswerType::Time
    } else if has_number_chars && text.replacen(',', ".", 1).parse::<f64>().is_ok() {
        AnswerType::NumberText
    } else {
        AnswerType::Text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_type_follows_the_json_text() {
        use AnswerType::{Boolean, Date, List, Number, NumberText, Object, Text, Time};
        for (json, expected) in [
            ("null", None),
            (r#""""#, None),
            (r#"" \t""#, None),
            ("[ ]", None),
            ("{}", None),
            ("true", Some(Boolean)),
            ("-1.5e3", Some(Number)),
            ("[1]", Some(List)),
            (r#"{"a":1}"#, Some(Object)),
            (r#""x""#, Some(Text)),
            (r#""0042""#, Some(NumberText)),
            (r#""-1,5""#, Some(NumberText)),
            (r#""1.2.3""#, Some(Text)),
            (r#""+49 30 123""#, Some(Text)),
            (r#""2026-03-01""#, Some(Date)),
            (r#""2026-02-30""#, Some(Text)),
            (r#""2026-03-01T09:30""#, Some(Time)),
            (r#""2026-03-01 09:30:15""#, Some(Time)),
            (r#""2026-03-01T09:30:00.120+02:00""#, Some(Time)),
            (r#""2026-03-01 at noon""#, Some(Text)),
            (r#""日本語のテキスト""#, Some(Text)),
            (r#""\ud800""#, Some(Text)),
        ] {
            assert_eq!(answer_type(json), expected, "{json}");
        }
    }
}
