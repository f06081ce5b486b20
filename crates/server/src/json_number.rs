//! What JSON takes for a number.

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

    proptest! {
        #[test]
        fn a_json_parser_agrees(text in "[-+.0-9eE]{0,7}") {
            let parsed = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
            prop_assert_eq!(is_json_number(&text), parsed);
        }
    }
}
