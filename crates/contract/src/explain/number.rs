//! Numbers of JSON in other spellings: what languages make of them when they parse and print them.

use std::ops::Range;

/// How numbers are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As floating-point numbers at their shortest, `1` for 1.0: ECMAScript.
    Shortest,
    /// As that, with a fraction always, where the number had a fraction or an exponent: Python.
    Fraction,
    /// Whole numbers with `.0`.
    PointZero,
    /// Two digits after the point.
    TwoDigits,
    /// Two digits after the point, where there is a point.
    TwoOfFraction,
}

/// Those that are tried.
pub(super) const SPELLINGS: [Spelling; 5] = [
    Spelling::Shortest,
    Spelling::Fraction,
    Spelling::PointZero,
    Spelling::TwoDigits,
    Spelling::TwoOfFraction,
];

impl Spelling {
    /// For people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Shortest => "as JavaScript prints numbers",
            Self::Fraction => "as Python prints numbers",
            Self::PointZero => "whole numbers with `.0`",
            Self::TwoDigits => "two digits after the point",
            Self::TwoOfFraction => "two digits after each point, as prices have",
        }
    }

    /// A number in this spelling.
    pub(super) fn of(self, token: &str) -> String {
        let is_whole = !token.contains(['.', 'e', 'E']);
        let own = || token.to_owned();
        match self {
            Self::Shortest => float(token).map_or_else(own, shortest),
            Self::Fraction if is_whole => own(),
            Self::Fraction => float(token).map_or_else(own, with_fraction),
            Self::PointZero if is_whole => format!("{token}.0"),
            Self::TwoDigits if is_whole => format!("{token}.00"),
            Self::TwoDigits | Self::TwoOfFraction => match token.split_once('.') {
                Some((_, fraction)) if fraction.len() == 1 => format!("{token}0"),
                _ => own(),
            },
            Self::PointZero => own(),
        }
    }
}

/// The number with one more digit that changes nothing; none where an exponent ends it.
pub(super) fn longer(token: &str) -> Option<String> {
    match token.contains('.') {
        _ if token.contains(['e', 'E']) => None,
        true => Some(format!("{token}0")),
        false => Some(format!("{token}.0")),
    }
}

/// Where the number ends that a text begins with.
pub(super) fn end(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    text.find(|c: char| !is_part(c)).unwrap_or(text.len())
}

/// Where the numbers stand in a document.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let (mut places, mut at, mut in_text) = (Vec::new(), 0, false);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            b'-' | b'0'..=b'9' if !in_text => {
                let end = at + end(&text[at..]);
                places.push(at..end);
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    places
}

fn float(token: &str) -> Option<f64> {
    token.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The shortest digits that mean the number, and the place of its point counted from before them.
fn digits(number: f64) -> (String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse::<i32>().unwrap_or(0) + 1)
}

/// The digits with their point, between exponents.
fn fixed(digits: &str, point: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if point <= 0 {
        format!("0.{}{digits}", zeros(-point))
    } else if point >= count {
        format!("{digits}{}", zeros(point - count))
    } else {
        let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{fraction}")
    }
}

fn mantissa(digits: &str) -> String {
    match digits.split_at(1) {
        (first, "") => first.to_owned(),
        (first, rest) => format!("{first}.{rest}"),
    }
}

/// As ECMAScript's Number.prototype.toString.
fn shortest(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let (digits, point) = digits(number);
    if (-5..=21).contains(&point) {
        return format!("{sign}{}", fixed(&digits, point));
    }
    let exponent = point - 1;
    let plus = if exponent > 0 { "+" } else { "" };
    format!("{sign}{}e{plus}{exponent}", mantissa(&digits))
}

/// As Python's repr of a float.
fn with_fraction(number: f64) -> String {
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let (digits, point) = digits(number);
    if !(-3..=16).contains(&point) {
        let exponent = point - 1;
        let mark = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{}e{mark}{:02}", mantissa(&digits), exponent.abs());
    }
    let text = fixed(&digits, point);
    if text.contains('.') { format!("{sign}{text}") } else { format!("{sign}{text}.0") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python's `repr(float(…))` and JavaScript's `String(Number(…))` print.
    #[test]
    fn numbers_are_spelled_as_each_language_prints_them() {
        for (token, javascript, python) in [
            ("1.0", "1", "1.0"),
            ("1.10", "1.1", "1.1"),
            ("1e3", "1000", "1000.0"),
            ("-0.0", "0", "-0.0"),
            ("0.00001", "0.00001", "1e-05"),
            ("0.0001", "0.0001", "0.0001"),
            ("1.5e-7", "1.5e-7", "1.5e-07"),
            ("1e21", "1e+21", "1e+21"),
            ("1e16", "10000000000000000", "1e+16"),
            ("1e15", "1000000000000000", "1000000000000000.0"),
            ("123456789.125", "123456789.125", "123456789.125"),
            ("9007199254740993", "9007199254740992", "9007199254740993"),
            ("-12", "-12", "-12"),
            ("2.5E+2", "250", "250.0"),
        ] {
            assert_eq!(Spelling::Shortest.of(token), javascript, "{token}");
            assert_eq!(Spelling::Fraction.of(token), python, "{token}");
        }
        assert_eq!(Spelling::PointZero.of("7"), "7.0");
        assert_eq!(Spelling::TwoDigits.of("7"), "7.00");
        assert_eq!(Spelling::TwoDigits.of("1.1"), "1.10");
        assert_eq!(Spelling::TwoDigits.of("1.125"), "1.125");
        assert_eq!(Spelling::TwoOfFraction.of("7"), "7");
        assert_eq!(Spelling::TwoOfFraction.of("12.5"), "12.50");
        assert_eq!(Spelling::Shortest.of("1e999"), "1e999");
    }

    #[test]
    fn numbers_are_found_outside_of_strings() {
        let text = r#"{"a1":"2\"3","b":[4,-5.5e1],"c":6}"#;
        let found: Vec<&str> = places(text).into_iter().map(|place| &text[place]).collect();
        assert_eq!(found, ["4", "-5.5e1", "6"]);
        assert_eq!(longer("4").as_deref(), Some("4.0"));
        assert_eq!(longer("4.1").as_deref(), Some("4.10"));
        assert_eq!(longer("-5.5e1"), None);
    }
}
