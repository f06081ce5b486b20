//! What kind of value an answer is.

use formsvc_protocol::{Timestamp, decode_string};

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ValueKind {
    /// Text that is none of the kinds below.
    Text,
    /// A JSON number.
    Number,
    /// Text that is a number.
    NumberText,
    /// Text that is a date, such as 2026-03-01.
    Date,
    /// Text that is a date with a time, such as 2026-03-01T09:30 or an RFC 3339 instant.
    Time,
    /// true or false.
    Boolean,
    /// A JSON array.
    List,
    /// A JSON object.
    Object,
}

impl ValueKind {
    /// The kind of a JSON literal; `None` if it holds nothing: null, or empty text, list or object.
    pub fn of(literal: &str) -> Option<Self> {
        let within = |open, close| {
            literal
                .strip_prefix(open)
                .and_then(|rest| rest.strip_suffix(close))
                .map(str::trim_ascii)
        };
        match literal.as_bytes().first()? {
            b'n' => None,
            b't' | b'f' => Some(Self::Boolean),
            b'[' => within('[', ']').filter(|inside| !inside.is_empty()).map(|_| Self::List),
            b'{' => within('{', '}').filter(|inside| !inside.is_empty()).map(|_| Self::Object),
            b'"' => Self::of_text(decode_string(literal).trim()),
            _ => Some(Self::Number),
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        // Longer text is none of these, and need not be looked at.
        if text.len() > 40 {
            return Some(Self::Text);
        }
        let (date, rest) = text.split_at_checked(10).unwrap_or((text, ""));
        Some(match rest.as_bytes() {
            [] if is_date(date) => Self::Date,
            [b'T' | b't' | b' ', ..] if is_date(date) && is_time(date, &rest[1..]) => Self::Time,
            _ if is_number(text) => Self::NumberText,
            _ => Self::Text,
        })
    }

    /// A lower-case name.
    ///
    /// ```
    /// assert_eq!(formsvc_export::ValueKind::NumberText.as_str(), "number as text");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::NumberText => "number as text",
            Self::Date => "date",
            Self::Time => "time",
            Self::Boolean => "boolean",
            Self::List => "list",
            Self::Object => "object",
        }
    }
}

fn is_date(text: &str) -> bool {
    format!("{text}T00:00:00Z").parse::<Timestamp>().is_ok()
}

/// Whether a time of day follows, with or without seconds and a distance to UTC.
fn is_time(date: &str, time: &str) -> bool {
    let is_instant = |end: &str| format!("{date}T{time}{end}").parse::<Timestamp>().is_ok();
    ["", "Z", ":00Z"].into_iter().any(is_instant)
}

/// Digits, with a sign, a point or a comma between them.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = digits.split(['.', ',']);
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    parts.clone().count() <= 2 && parts.all(all_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_kinds() {
        use ValueKind::{Boolean, Date, List, Number, NumberText, Object, Text, Time};
        for (literal, kind) in [
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
            assert_eq!(ValueKind::of(literal), kind, "{literal}");
        }
    }
}
