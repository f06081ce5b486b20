//! A body that is JSON, on one line, for programs: its numbers, keys and their order as they came.

use serde_json::value::RawValue;

/// Deepest nesting that is taken: readers of JSON give up not far beyond, and then on the whole line.
const DEPTH_MAX: usize = 64;

/// The JSON of a body without the white space between its parts; none where it is no JSON, or such as
/// common readers refuse: too deep, numbers beyond all bounds, half of a surrogate pair.
pub(in crate::webhook) fn one_line(body: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(body).ok()?;
    serde_json::from_str::<serde_json::Value>(text).ok()?;
    let mut line = String::with_capacity(text.len());
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for c in text.chars() {
        if in_text {
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            match c {
                ' ' | '\t' | '\r' | '\n' => continue,
                '"' => in_text = true,
                '[' | '{' => depth += 1,
                ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > DEPTH_MAX {
                return None;
            }
        }
        line.push(c);
    }
    RawValue::from_string(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(body: &str) -> Option<String> {
        one_line(body.as_bytes()).map(|raw| raw.get().to_owned())
    }

    #[test]
    fn only_white_space_between_parts_goes() {
        let body =
            "{\r\n\t\"b\" : 1.50e1 , \"a\\\" : \" : [ 12345678901234567890 ,\"\\u00e9 \\/\" ] }\n";
        let told = r#"{"b":1.50e1,"a\" : ":[12345678901234567890,"\u00e9 \/"]}"#;
        assert_eq!(line(body).as_deref(), Some(told));
    }

    #[test]
    fn what_readers_refuse_is_none() {
        let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(line(&deep(DEPTH_MAX)).is_some());
        for bad in ["", "{", "1e999", r#""\ud800""#, "nul", &deep(DEPTH_MAX + 1), &deep(9_999)] {
            assert_eq!(line(bad), None, "{bad}");
        }
        assert!(one_line(b"\"\xff\"").is_none());
    }
}
