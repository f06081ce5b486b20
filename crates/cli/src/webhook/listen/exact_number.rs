//! Numbers compared by their decimal text, exact beyond the range and precision of an `f64`.

use std::cmp::Ordering;

/// Largest power of ten that is kept; exponents beyond it count as it.
const EXPONENT_MAX: i64 = 1_000_000_000_000_000_000;

/// A decimal number: `0.DIGITS × 10^exponent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExactNumber {
    is_negative: bool,
    exponent: i64,
    /// Without zeros at either end, so that equal numbers have equal digits; empty for zero.
    digits: String,
}

impl ExactNumber {
    /// Parses a decimal number, as JSON or a user writes it: `-1.50e3`, `.5`, `+7`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if !is_digits(&digits) {
            return None;
        }
        let significant = digits.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Self { is_negative: false, exponent: 0, digits: String::new() });
        }
        let leading_zeros = i64::try_from(digits.len() - significant.len()).ok()?;
        Some(Self {
            is_negative: text.starts_with('-'),
            exponent: exponent + i64::try_from(whole.len()).ok()? - leading_zeros,
            digits: significant.trim_end_matches('0').to_owned(),
        })
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !is_digits(digits) {
        return None;
    }
    // Digits that do not fit are far beyond the limit.
    let exponent = digits.parse().unwrap_or(i64::MAX).min(EXPONENT_MAX);
    Some(if text.starts_with('-') { -exponent } else { exponent })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Ord for ExactNumber {
    fn cmp(&self, other: &Self) -> Ordering {
        let magnitude = |number: &Self| (!number.digits.is_empty(), number.exponent);
        let by_magnitude =
            magnitude(self).cmp(&magnitude(other)).then_with(|| self.digits.cmp(&other.digits));
        match (self.is_negative, other.is_negative) {
            (false, false) => by_magnitude,
            (true, true) => by_magnitude.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for ExactNumber {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> ExactNumber {
        ExactNumber::parse(text).unwrap()
    }

    #[test]
    fn numbers_order_beyond_the_range_of_f64() {
        let ascending = [
            "-1e99999999999999999999",
            "-1e400",
            "-1e309",
            "-2",
            "-1.5",
            "-1e-400",
            "0",
            "1e-400",
            "1e-309",
            "0.1",
            "0.10000000000000000000001",
            "9007199254740992",
            "9007199254740993",
            "1e308",
            "1e309",
            "1.5e309",
            "1e99999999999999999999",
        ];
        for pair in ascending.windows(2) {
            assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn equal_numbers_compare_equal_however_spelled() {
        for (one, other) in [
            ("1.50", "1.5"),
            ("15e-1", "1.5"),
            ("0.0", "-0"),
            ("0e9", "0"),
            ("100", "1E+2"),
            (".5", "0.5"),
            ("5.", "5"),
            ("+5", "5"),
            ("0.001e3", "1"),
        ] {
            assert_eq!(number(one), number(other), "{one} {other}");
        }
    }

    #[test]
    fn text_that_is_no_decimal_number_is_refused() {
        for bad in ["", "-", ".", "e5", "1e", "1e+", "nan", "inf", "0x1", " 1", "1_0", "1.2.3"] {
            assert_eq!(ExactNumber::parse(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn order_agrees_with_floats(one in -1e12_f64..1e12, other in -1e12_f64..1e12) {
            let [a, b] = [one, other].map(|float| number(&float.to_string()));
            prop_assert_eq!(a.cmp(&b), one.partial_cmp(&other).unwrap());
        }
    }
}
