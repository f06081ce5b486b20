//! Parses and formats instants in the one shape that the wire uses.

use jiff::SignedDuration;
use jiff::civil::DateTime;

/// The text is not an RFC 3339 instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeError(());

impl std::fmt::Display for TimeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "expected an RFC 3339 instant such as 2026-01-31T09:30:00.000Z \
             (0 to 9 fraction digits, `Z` or an offset such as +02:00)",
        )
    }
}

impl std::error::Error for TimeError {}

// Civil times, because jiff's `Timestamp` ends some hours before the year 9999 does.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Returns nanoseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
///
/// Stricter than jiff, which also accepts a space for the `T`, week dates, bracketed zones and more:
/// `YYYY-MM-DDThh:mm:ss`, an optional fraction of 1 to 9 digits, then `Z` or `±hh:mm`. `T` and `Z`
/// may be lower-case (RFC 3339 §5.6). A leap second (`:60`) counts as the second before it.
pub(crate) fn parse_nanos(text: &str) -> Result<i128, TimeError> {
    let (local, offset) = split_offset(text).ok_or(TimeError(()))?;
    if !has_wire_shape(local) {
        return Err(TimeError(()));
    }
    let local: DateTime = local.parse().map_err(|_| TimeError(()))?;
    Ok((local.duration_since(EPOCH) - offset).as_nanos())
}

/// Returns microseconds since 1970; a finer fraction is cut.
pub(crate) fn parse_micros_floor(text: &str) -> Result<i64, TimeError> {
    parse_nanos(text).map(|nanos| to_micros(nanos.div_euclid(1_000)))
}

/// Returns microseconds since 1970; a finer fraction is rounded up.
pub(crate) fn parse_micros_ceil(text: &str) -> Result<i64, TimeError> {
    parse_nanos(text).map(|nanos| to_micros(-(-nanos).div_euclid(1_000)))
}

fn to_micros(micros: i128) -> i64 {
    i64::try_from(micros).expect("years 0 to 9999 fit in 64 bits of microseconds")
}

/// Splits the text into local time and offset from UTC.
fn split_offset(text: &str) -> Option<(&str, SignedDuration)> {
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return Some((local, SignedDuration::ZERO));
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = offset.as_bytes() else { return None };
    let number = |tens: &u8, ones: &u8| {
        (tens.is_ascii_digit() && ones.is_ascii_digit())
            .then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
    };
    let (hours, minutes) = (number(h1, h2)?, number(m1, m2)?);
    let offset = SignedDuration::from_mins(hours * 60 + minutes);
    (hours <= 23 && minutes <= 59).then_some((local, if *sign == b'-' { -offset } else { offset }))
}

/// Returns true for `dddd-dd-ddTdd:dd:dd` with an optional fraction of 1 to 9 digits.
fn has_wire_shape(local: &str) -> bool {
    let (seconds, fraction) = local.split_at_checked(19).unwrap_or_default();
    let seconds_match = seconds.len() == 19
        && seconds.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => matches!(byte, b'T' | b't'),
            13 | 16 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    seconds_match
        && match fraction.strip_prefix('.') {
            Some(digits) => {
                (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
            }
            None => fraction.is_empty(),
        }
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
            prop_assert_eq!(parse_micros_floor(&text), Ok(micros));
            prop_assert_eq!(parse_micros_ceil(&text), Ok(micros));
        }

        #[test]
        fn any_text_parses_without_panic(text in "\\PC*") {
            let _ = parse_micros_floor(&text);
        }

        #[test]
        fn instants_equal_those_of_jiff(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-][01][0-9]:[0-5][0-9])") {
            if let Ok(theirs) = text.parse::<jiff::Timestamp>() {
                let theirs = theirs.as_nanosecond();
                prop_assert_eq!(nanos(&text), Some(theirs));
                prop_assert_eq!(i128::from(parse_micros_floor(&text).unwrap()), theirs.div_euclid(1_000));
                prop_assert_eq!(i128::from(parse_micros_ceil(&text).unwrap()), -((-theirs).div_euclid(1_000)));
            }
        }
    }
}
