//! JSON laid out for reading, each literal as it was spelled.

/// How far a level is set in.
const INDENT: &str = "  ";
/// Deeper than anybody reads; a level more costs a line of its own width.
const DEPTH_MAX: usize = 64;

/// The text with a line for each member and element; nothing if it is not JSON, or so deep that it
/// would only be longer.
pub(crate) fn pretty(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    let (mut out, mut depth) = (String::with_capacity(text.len() * 2), 0_usize);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => string(&mut out, &mut chars),
            '{' | '[' => {
                out.push(c);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(close) = chars.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(close);
                    continue;
                }
                depth += 1;
                if depth > DEPTH_MAX {
                    return None;
                }
                line(&mut out, depth);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out.push('\n');
    Some(out)
}

/// The rest of a string literal.
fn string(out: &mut String, chars: &mut impl Iterator<Item = char>) {
    out.push('"');
    let mut escaped = false;
    for c in chars {
        out.push(c);
        match c {
            '"' if !escaped => return,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(INDENT, depth));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_each_and_every_literal_as_it_was() {
        let json = br#"{"a":1.50,"b" : [1,{"c":"x\"],{\\"}, [ ],{}],"a":null}"#;
        let shown = pretty(json).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            lines,
            [
                "{",
                "  \"a\": 1.50,",
                "  \"b\": [",
                "    1,",
                "    {",
                r#"      "c": "x\"],{\\""#,
                "    },",
                "    [],",
                "    {}",
                "  ],",
                "  \"a\": null",
                "}"
            ]
        );
    }

    #[test]
    fn what_is_no_json_stays_what_it_is() {
        assert_eq!(pretty(b"<html>"), None);
        assert_eq!(pretty(b"{} {}"), None);
        assert_eq!(pretty(b"\xff"), None);
        assert_eq!(pretty("[".repeat(100).as_bytes()), None);
        let deep = format!("{}{}", "[1,".repeat(100), "1".to_owned() + &"]".repeat(100));
        assert_eq!(pretty(deep.as_bytes()), None);
    }

    proptest! {
        #[test]
        fn nothing_but_space_is_added(text in r#"[\[\]{}",:\\ \n\ta1]{0,30}"#) {
            if let Some(shown) = pretty(text.as_bytes()) {
                let before: serde_json::Value = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), before);
            }
        }
    }
}
