//! A body that is JSON, on one line, for programs: its numbers, keys and their order as they came.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Deepest nesting that is taken: readers of JSON give up not far beyond, and then on the whole line.
const DEPTH_MAX: usize = 64;

/// The JSON of a body without the white space between its parts; none where it is no JSON, or such as
/// common readers refuse: too deep, numbers beyond all bounds, half of a surrogate pair.
pub(in crate::webhook) fn one_line(body: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(body).ok()?;
    serde_json::from_str::<Read>(text).ok()?;
    let mut line = String::with_capacity(text.len());
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut kept = 0;
    // All that matters is ASCII, whose bytes stand in no other character.
    for (at, byte) in text.bytes().enumerate() {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                line.push_str(&text[kept..at]);
                kept = at + 1;
            }
            b'"' => in_text = true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return None;
        }
    }
    line.push_str(&text[kept..]);
    RawValue::from_string(line).ok()
}

/// JSON that was read as by whoever keeps it, and was not kept: a listener looks at every body, and most
/// of the time that this took went into building what was thrown away.
struct Read;

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Read {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self, A::Error> {
        while elements.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
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
