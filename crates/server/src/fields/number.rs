//! Numbers that keep their digits: compared by value, never turned into a machine's number.

use std::cmp::Ordering;
use std::fmt;

use crate::json_number::{exceeded_bound, is_json_number};

/// A JSON number as it was written: `1.50` stays `1.50`. Numbers are equal when their values are.
#[derive(Clone, Debug)]
pub struct Number(Box<str>);

impl Number {
    /// Takes a JSON number literal of at most 128 characters that is finite as a 64-bit float and whose
    /// exponent has at most 9 digits; else the rule it breaks, as the end of a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !is_json_number(text) {
            return Err("must be a number, such as -12.5".to_owned());
        }
        match exceeded_bound(text) {
            Some(bound) => Err(format!("must be a number {bound}")),
            None => Ok(Self(text.into())),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn value(&self) -> Decimal<'_> {
        let (mantissa, exponent) = exponent_of(&self.0);
        let exponent: i64 = exponent.parse().unwrap_or_default();
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.trim_start_matches('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let whole = whole.trim_start_matches('0');
        let leading = fraction.len() - fraction.trim_start_matches('0').len();
        let point = if whole.is_empty() { -signed(leading) } else { signed(whole.len()) };
        Decimal { negative, whole, fraction, magnitude: point + exponent }
    }
}

/// A count of characters, of which there are at most 128.
fn signed(count: usize) -> i64 {
    i64::try_from(count).expect("a number is short")
}

/// What stands before and after the `e`.
fn exponent_of(text: &str) -> (&str, &str) {
    text.split_once(['e', 'E']).unwrap_or((text, "0"))
}

/// The parts of a number that it is compared by.
struct Decimal<'a> {
    negative: bool,
    /// Digits before the point, without leading zeros.
    whole: &'a str,
    fraction: &'a str,
    /// Where the point stands, counted from the first digit that is not zero.
    magnitude: i64,
}

impl Decimal<'_> {
    /// The digits from the first that is not zero to the last that is not.
    fn digits(&self) -> impl Iterator<Item = u8> {
        let fraction = self.fraction.trim_end_matches('0');
        let digits = self.whole.bytes().chain(fraction.bytes());
        digits.skip_while(|digit| *digit == b'0')
    }

    fn sign(&self) -> i8 {
        match (self.digits().next(), self.negative) {
            (None, _) => 0,
            (Some(_), true) => -1,
            (Some(_), false) => 1,
        }
    }

    fn cmp_sizes(&self, other: &Self) -> Ordering {
        // A missing digit is a zero.
        let digits = |decimal: &Self| {
            let digits: Vec<_> = decimal.digits().collect();
            let last = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1);
            digits[..last].to_vec()
        };
        self.magnitude.cmp(&other.magnitude).then_with(|| digits(self).cmp(&digits(other)))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.value(), other.value());
        a.sign().cmp(&b.sign()).then_with(|| match a.sign() {
            0 => Ordering::Equal,
            1 => a.cmp_sizes(&b),
            _ => b.cmp_sizes(&a),
        })
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn numbers_are_ordered_by_value() {
        let ascending = [
            "-1e308",
            "-2",
            "-1.50",
            "-1",
            "-0.001",
            "0",
            "1e-999999999",
            "0.00999",
            "0.01",
            "0.5",
            "1",
            "1.0000000000000000000001",
            "9.99",
            "10",
            "123456789012345678901",
            "1e300",
            "1e308",
        ];
        for (at, a) in ascending.iter().enumerate() {
            for (other, b) in ascending.iter().enumerate() {
                assert_eq!(number(a).cmp(&number(b)), at.cmp(&other), "{a} {b}");
            }
        }
    }

    #[test]
    fn one_value_has_many_spellings() {
        for same in [
            &["0", "-0", "0.000", "0e5", "-0E-9"][..],
            &["100", "1e2", "1E+2", "100.0", "0.1e3", "1000e-1"],
            &["-0.05", "-5e-2", "-0.050"],
        ] {
            assert!(same.iter().all(|text| number(text) == number(same[0])), "{same:?}");
            assert!(same.iter().all(|text| number(text).as_str() == *text));
        }
    }

    #[test]
    fn a_number_is_short_enough_to_count_with() {
        assert!(Number::parse(&"9".repeat(128)).is_ok());
        assert!(Number::parse(&"9".repeat(129)).is_err());
        assert!(Number::parse("1e-999999999").is_ok());
        assert!(Number::parse("1e1234567890").is_err());
        assert!(Number::parse("-1e308").is_ok());
        assert!(Number::parse("-1e309").is_err());
        assert!(Number::parse("+1").is_err());
    }

    proptest! {
        #[test]
        fn numbers_compare_as_machines_do_where_those_are_exact(
            a in -1_000_000_i64..1_000_000, b in -1_000_000_i64..1_000_000, shift in 0_usize..5,
        ) {
            // The same value, with the point moved and the exponent moved back.
            let spelled = |value: i64| {
                let digits = format!("{:06}", value.abs());
                let (whole, fraction) = digits.split_at(digits.len() - shift);
                let whole = whole.trim_start_matches('0');
                let whole = if whole.is_empty() { "0" } else { whole };
                let sign = if value < 0 { "-" } else { "" };
                let dot = if fraction.is_empty() { "" } else { "." };
                format!("{sign}{whole}{dot}{fraction}e{shift}")
            };
            prop_assert_eq!(number(&spelled(a)).cmp(&number(&b.to_string())), a.cmp(&b));
        }
    }
}
