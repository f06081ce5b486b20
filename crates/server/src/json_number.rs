//! Which texts are JSON numbers, and which of these are accepted.

use formsvc_protocol::Answers;

/// Longest number that is accepted, in characters.
const LENGTH_MAX: usize = 128;
/// Most digits of an exponent, so that numbers can be compared by value.
const EXPONENT_DIGITS_MAX: usize = 9;

/// Returns the bound that a JSON number literal exceeds, as the end of "must be a number …". Readers that
/// turn numbers into 64-bit floats, or limit their digits, refuse a whole page because of one such number.
pub(crate) fn exceeded_bound(literal: &str) -> Option<&'static str> {
    let exponent = literal.split_once(['e', 'E']).map_or("", |(_, exponent)| exponent);
    if literal.len() > LENGTH_MAX {
        Some("of at most 128 characters")
    } else if exponent.trim_start_matches(['+', '-']).len() > EXPONENT_DIGITS_MAX {
        Some("whose exponent has at most 9 digits")
    } else if !literal.parse::<f64>().is_ok_and(f64::is_finite) {
        Some("within the range of a 64-bit float (about ±1.8e308)")
    } else {
        None
    }
}

/// A field that contains a number out of bounds, at any depth.
pub(crate) struct UnfitNumber {
    pub(crate) label: String,
    /// The JSON of the field's value.
    pub(crate) value: String,
    /// The rule, as the end of a sentence that begins with the field.
    pub(crate) rule: String,
}

/// Finds the fields of answers that contain numbers out of bounds.
pub(crate) fn unfit_numbers(answers: &Answers) -> impl Iterator<Item = UnfitNumber> {
    // Most answers have none, which one pass over their text shows.
    let is_fit = first_exceeded_bound(answers.as_json()).is_none();
    let fields = if is_fit { Vec::new() } else { answers.fields() };
    fields.into_iter().filter_map(|(label, value)| {
        let bound = first_exceeded_bound(value.as_json())?;
        let rule = format!("must contain only numbers {bound}");
        Some(UnfitNumber { label: label.into_owned(), value: value.as_json().to_owned(), rule })
    })
}

/// Returns the bound that the first unfit number in a JSON text exceeds.
fn first_exceeded_bound(json: &str) -> Option<&'static str> {
    let mut rest = json;
    while let Some(start) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        rest = &rest[start..];
        let length = if rest.starts_with('"') {
            string_length(rest)
        } else {
            let is_end = |c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
            let length = rest.find(is_end).unwrap_or(rest.len());
            if let Some(bound) = exceeded_bound(&rest[..length]) {
                return Some(bound);
            }
            length
        };
        rest = &rest[length..];
    }
    None
}

/// Returns the length of the string literal that a JSON text begins with.
fn string_length(json: &str) -> usize {
    let mut is_escaped = true;
    let end = json.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 1)
}

/// Whether a text is a JSON number literal: `-0`, `1.50`, `1e400`, but not `+1`, `007`, `.5`, `1.`,
/// `NaN`.
pub(crate) fn is_json_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let Some(rest) = integer(unsigned) else { return false };
    let Some(rest) = (match rest.strip_prefix('.') {
        Some(fraction) => digits(fraction),
        None => Some(rest),
    }) else {
        return false;
    };
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)) == Some(""),
        None => rest.is_empty(),
    }
}

/// What follows an integer without leading zeros.
fn integer(text: &str) -> Option<&str> {
    text.strip_prefix('0').or_else(|| digits(text))
}

/// What follows one or more digits.
fn digits(text: &str) -> Option<&str> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    (count > 0).then(|| &text[count..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_what_json_says() {
        for yes in
            ["0", "-0", "1", "10", "0.0", "1.50", "-1e5", "1E+400", "123456789012345678901", "0e0"]
        {
            assert!(is_json_number(yes), "{yes}");
        }
        for no in [
            "", "-", "+1", "007", "00", ".5", "1.", "1e", "1e+", "NaN", "inf", "0x1", " 1", "1 ",
            "1,0", "--1", "1_000", "١", "1.e5", "1e5.0",
        ] {
            assert!(!is_json_number(no), "{no}");
        }
    }

    #[test]
    fn number_out_of_bounds_is_found_outside_of_strings() {
        let long = "9".repeat(129);
        for (json, is_fit) in [
            (r#"{"a":[1.0,-0,{"b":1e308}],"1e999":true}"#.to_owned(), true),
            (format!(r#"{{"{long}":"\\\"{long}","b":null}}"#), true),
            (format!(r#"{{"a\\":{long}}}"#), false),
            (r#"[[],["\"",-1E+999]]"#.to_owned(), false),
            ("1e-999999999".to_owned(), true),
            ("0e1000000000".to_owned(), false),
        ] {
            assert_eq!(first_exceeded_bound(&json).is_none(), is_fit, "{json}");
        }
    }

    proptest! {
        #[test]
        fn a_json_parser_agrees(text in "[-+.0-9eE]{0,7}") {
            let parsed = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
            prop_assert_eq!(is_json_number(&text), parsed);
        }
    }
}
