//! Parses and formats instants in the one shape that the wire uses.

use jiff::SignedDuration;
use jiff::civil::DateTime;

use crate::error_text::error_text;

/// The text is not an RFC 3339 instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeError(());

error_text!(TimeError, |_| "expected an RFC 3339 instant such as 2026-01-31T09:30:00.000Z \
         (0 to 9 fraction digits, `Z` or an offset such as +02:00)");

// Civil times, because jiff's `Timestamp` ends some hours before the year 9999 does.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Returns nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// Stricter than jiff, which also accepts a space for the `T`, week dates, bracketed zones and more:
/// `YYYY-MM-DDThh:mm:ss`, an optional fraction of 1 to 9 digits, then `Z` or `±hh:mm`. `T` and `Z`
/// may be lower-case (RFC 3339 §5.6). A leap second (`:60`) counts as the second before it.
pub(crate) fn parse_nanos(text: &str) -> Result<i128, TimeError> {
    parse(text).ok_or(TimeError(()))
}

fn parse(text: &str) -> Option<i128> {
    let (local, offset) = if let Some(local) = text.strip_suffix(['Z', 'z']) {
        (local, SignedDuration::ZERO)
    } else {
        let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
        (local, parse_offset(offset)?)
    };
    let (seconds, fraction) = local.split_at_checked(19)?;
    let digits = fraction.strip_prefix('.').unwrap_or("0");
    let has_wire_shape = has_shape(seconds, "0000-00-00T00:00:00")
        && (fraction.is_empty() || fraction.starts_with('.'))
        && (1..=9).contains(&digits.len())
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    let local: DateTime = local.parse().ok().filter(|_| has_wire_shape)?;
    Some((local.duration_since(EPOCH) - offset).as_nanos())
}

/// Parses an offset from UTC, `±hh:mm`.
fn parse_offset(text: &str) -> Option<SignedDuration> {
    if !has_shape(text, "+00:00") {
        return None;
    }
    let (hours, minutes): (i64, i64) = (text[1..3].parse().ok()?, text[4..].parse().ok()?);
    let offset = SignedDuration::from_mins(hours * 60 + minutes);
    let is_valid = hours <= 23 && minutes <= 59;
    is_valid.then_some(if text.starts_with('-') { -offset } else { offset })
}

/// Returns true if a text has the shape of another one: `0` is any digit, `+` any sign.
fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, shape): (u8, u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        b'+' => matches!(byte, b'+' | b'-'),
        shape => byte.eq_ignore_ascii_case(&shape),
    };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

/// Formats `YYYY-MM-DDThh:mm:ss.fff…Z` with this many fraction digits. Returns `None` outside the
/// years 0 to 9999.
pub(crate) fn format(since_epoch: SignedDuration, digits: usize) -> Option<String> {
    let time = EPOCH.checked_add(since_epoch).ok().filter(|time| time.year() >= 0)?;
    Some(format!("{time:.digits$}Z"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(text: &str) -> Option<i128> {
        parse_nanos(text).ok()
    }

    #[test]
    fn rfc_3339_instants_are_accepted() {
        assert_eq!(nanos("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(nanos("1970-01-01T00:00:00.1Z"), Some(100_000_000));
        assert_eq!(nanos("1970-01-01t00:00:00.123456789z"), Some(123_456_789));
        assert_eq!(nanos("1970-01-01T02:00:00+02:00"), Some(0));
        assert_eq!(nanos("1969-12-31T18:30:00-05:30"), Some(0));
        assert_eq!(nanos("2024-02-29T00:00:00-00:00"), Some(1_709_164_800_000_000_000));
        assert_eq!(nanos("2016-12-31T23:59:60Z"), nanos("2016-12-31T23:59:59Z"));
        assert!(nanos("0000-01-01T00:00:00Z").is_some());
        assert!(nanos("9999-12-31T23:59:59.999999999-23:59").is_some());
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "Z",
            "now",
            "0",
            "2026",
            "2026-01-01",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.1234567890Z",
            "2026-01-01T00:00:00,5Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00+0200",
            "2026-01-01T00:00:00+02",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+02:60",
            "2026-01-01T00:00:00Z[UTC]",
            "2026-01-01T00:00:00ZZ",
            "+2026-01-01T00:00:00Z",
            "-001-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z ",
            " 2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00 02:00",
            "２026-01-01T00:00:00Z",
            "2026-01-01T00:00:0é+02:00",
            "2026-W01-1T00:00:00Z",
        ] {
            assert_eq!(nanos(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn formatted_instants_parse_back(micros in -62_167_219_200_000_000_i64..=253_402_300_799_999_999) {
            let text = format(SignedDuration::from_micros(micros), 6).unwrap();
            prop_assert_eq!(text.len(), 27);
            prop_assert_eq!(parse_nanos(&text), Ok(i128::from(micros) * 1_000));
        }

        #[test]
        fn any_text_parses_without_panic(text in "\\PC*") {
            let _ = parse_nanos(&text);
        }

        #[test]
        fn instants_equal_those_of_jiff(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-][01][0-9]:[0-5][0-9])") {
            if let Ok(theirs) = text.parse::<jiff::Timestamp>() {
                let theirs = theirs.as_nanosecond();
                prop_assert_eq!(nanos(&text), Some(theirs));
            }
        }
    }
}
