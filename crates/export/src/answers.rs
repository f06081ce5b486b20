//! The answers of a submission as literals: what each label and each value is spelled like in JSON.
//!
//! The client has already read the whole page as JSON. Reading the answers with a parser once more
//! costs as much as that did; finding where they end costs a fraction.

/// Calls `each` with the JSON literals of the label and the value of every answer, in order; `None`
/// when the text is not a JSON object, after what was found until then.
///
/// It finds the literals of every JSON object, but does not look into them: a value that is no JSON
/// may be handed on.
pub(crate) fn for_each_literal<'a>(
    object: &'a str,
    mut each: impl FnMut(&'a str, &'a str),
) -> Option<()> {
    let text = object.as_bytes();
    let mut at = expect(text, blank(text, 0), b'{')?;
    at = blank(text, at);
    if text.get(at) == Some(&b'}') {
        return end(text, at + 1);
    }
    loop {
        let label_end = string(text, at)?;
        let label = object.get(at..label_end)?;
        at = blank(text, expect(text, blank(text, label_end), b':')?);
        let value_end = value(text, at)?;
        each(label, object.get(at..value_end)?);
        at = blank(text, value_end);
        if text.get(at) == Some(&b'}') {
            return end(text, at + 1);
        }
        at = blank(text, expect(text, at, b',')?);
    }
}

fn expect(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    (text.get(at) == Some(&byte)).then_some(at + 1)
}

fn end(text: &[u8], at: usize) -> Option<()> {
    (blank(text, at) == text.len()).then_some(())
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Where white space from `at` on ends.
fn blank(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|byte| is_blank(*byte)) {
        at += 1;
    }
    at
}

/// Where the string that begins at `at` ends.
fn string(text: &[u8], at: usize) -> Option<usize> {
    let mut at = expect(text, at, b'"')?;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Where the value that begins at `at` ends.
fn value(text: &[u8], at: usize) -> Option<usize> {
    match *text.get(at)? {
        b'"' => string(text, at),
        b'{' | b'[' => nested(text, at),
        _ => {
            let rest = &text[at..];
            let end =
                rest.iter().position(|byte| is_blank(*byte) || matches!(byte, b',' | b'}'))?;
            (end > 0).then_some(at + end)
        }
    }
}

/// Where the list or object that begins at `at` ends.
fn nested(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    loop {
        match *text.get(at)? {
            b'"' => {
                at = string(text, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::for_each_answer;
    use proptest::prelude::*;

    use super::*;

    fn literals(object: &str) -> Option<Vec<(&str, &str)>> {
        let mut found = Vec::new();
        for_each_literal(object, |label, value| found.push((label, value)))?;
        Some(found)
    }

    #[test]
    fn literals_are_found_whatever_stands_around_and_inside_them() {
        let object = "\r\n{ \"a\" : 1.50 ,\"b\\\"}\":\"x\\\\\",\t\"c\":[\"]\",{\"d\":\"}\\\"\"}] \
                      ,\"é\":null,\"e\":{}}\n";
        let found = literals(object).unwrap();
        assert_eq!(
            found,
            [
                ("\"a\"", "1.50"),
                ("\"b\\\"}\"", "\"x\\\\\""),
                ("\"c\"", "[\"]\",{\"d\":\"}\\\"\"}]"),
                ("\"é\"", "null"),
                ("\"e\"", "{}"),
            ]
        );
        assert_eq!(literals(" { } ").unwrap(), []);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in [
            "",
            "[]",
            "1",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\":}",
            "{\"a\":,\"b\":1}",
            "{\"a\" 1}",
            "{} {}",
            "{\"a\":[1}",
            "{\"a\":\"x}",
            "{\"a\":\"\\",
            "{\"a\":1}x",
        ] {
            assert_eq!(literals(text), None, "{text}");
        }
    }

    /// Any JSON value, printed with white space where it may stand.
    fn json() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            "null|true|false|-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?",
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        ];
        scalar.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[ {} ]", items.join("\t,"))),
                object(inner),
            ]
        })
    }

    fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let member = (any::<String>(), value).prop_map(|(label, value)| {
            format!("{} :\n{value}", serde_json::to_string(&label).unwrap())
        });
        prop::collection::vec(member, 0..5)
            .prop_map(|members| format!("{{{}\r}}", members.join(", ")))
    }

    proptest! {
        #[test]
        fn it_finds_in_every_object_what_the_parser_finds(object in object(json())) {
            let mut parsed = Vec::new();
            for_each_answer(&object, |label, value| parsed.push((label.into_owned(), value.get())))
                .unwrap();
            let found = literals(&object).unwrap();
            prop_assert_eq!(found.len(), parsed.len());
            for ((label, value), (parsed_label, parsed_value)) in found.iter().zip(&parsed) {
                prop_assert_eq!(&serde_json::from_str::<String>(label).unwrap(), parsed_label);
                prop_assert_eq!(value, parsed_value);
            }
        }

        #[test]
        fn it_never_panics(text in "[{}\\[\\]\",:\\\\ a1é]{0,40}") {
            literals(&text);
        }
    }
}
