//! Reading and printing instants in the one shape the wire uses.

mod millis;

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

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Microseconds since 1970-01-01T00:00:00Z, leap seconds not counted; a finer fraction is cut.
///
/// Stricter than general date parsers, which accept a space for the `T`, week dates, bracketed zones
/// and more: `YYYY-MM-DDThh:mm:ss`, an optional fraction of 1 to 9 digits, then `Z` or `±hh:mm`.
/// `T` and `Z` may be lower-case (RFC 3339 §5.6). A leap second (`:60`) reads as the second after.
pub(crate) fn micros_floor(text: &str) -> Result<i64, TimeError> {
    micros(text, |nanos| nanos.div_euclid(1_000))
}

/// The same, but a finer fraction is rounded up.
pub(crate) fn micros_ceil(text: &str) -> Result<i64, TimeError> {
    micros(text, |nanos| nanos.div_euclid(1_000) + i128::from(nanos.rem_euclid(1_000) != 0))
}

/// The same to the nanosecond, with nothing cut.
pub(crate) fn nanos(text: &str) -> Result<i128, TimeError> {
    let since_epoch = parse_slowly(text.as_bytes()).ok_or(TimeError(()))?;
    Ok(since_epoch.as_nanos())
}

fn micros(text: &str, round: impl FnOnce(i128) -> i128) -> Result<i64, TimeError> {
    if let Some(micros) = millis::micros(text) {
        return Ok(micros);
    }
    let nanos = parse_slowly(text.as_bytes()).ok_or(TimeError(()))?.as_nanos();
    Ok(i64::try_from(round(nanos)).expect("years 0 to 9999 fit in 64 bits of microseconds"))
}

fn parse_slowly(text: &[u8]) -> Option<SignedDuration> {
    let (date_time, rest) = text.split_at_checked(19)?;
    let shape_holds = date_time.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-',
        10 => matches!(byte, b'T' | b't'),
        13 | 16 => *byte == b':',
        _ => byte.is_ascii_digit(),
    });
    if !shape_holds {
        return None;
    }
    let year = number(&date_time[0..4])?;
    let two = |at: usize| number(&date_time[at..at + 2]).and_then(|n| i8::try_from(n).ok());
    let (second, leap) = match two(17)? {
        60 => (59, 1),
        second => (second, 0),
    };
    let (nanos, rest) = fraction(rest)?;
    let offset = offset(rest)?;
    let local = DateTime::new(year, two(5)?, two(8)?, two(11)?, two(14)?, second, nanos).ok()?;
    Some(local.duration_since(EPOCH) + SignedDuration::from_secs(leap - offset))
}

/// Nanoseconds of an optional `.digits`, and what follows it.
fn fraction(text: &[u8]) -> Option<(i32, &[u8])> {
    let Some(digits) = text.strip_prefix(b".") else { return Some((0, text)) };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&count) {
        return None;
    }
    let (fraction, rest) = digits.split_at(count);
    let padded = fraction.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    Some((padded.fold(0, |nanos, digit| nanos * 10 + i32::from(digit - b'0')), rest))
}

/// Seconds east of UTC.
fn offset(text: &[u8]) -> Option<i64> {
    match text {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let seconds = i64::from(hours) * 3600 + i64::from(minutes) * 60;
            Some(if *sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<i16> {
    digits
        .iter()
        .try_fold(0_i16, |n, byte| byte.is_ascii_digit().then(|| n * 10 + i16::from(byte - b'0')))
}

/// `YYYY-MM-DDThh:mm:ss.fff…Z` with `digits` (3, 6 or 9) of fraction; `None` outside years 0 to 9999.
pub(crate) fn print(since_epoch: SignedDuration, digits: usize) -> Option<String> {
    let at = EPOCH.checked_add(since_epoch).ok().filter(|at| at.year() >= 0)?;
    let mut text = *b"0000-00-00T00:00:00.000000000";
    let mut put = |at: usize, digits: usize, mut number: i32| {
        for place in (at..at + digits).rev() {
            text[place] += u8::try_from(number % 10).expect("a digit");
            number /= 10;
        }
    };
    put(0, 4, at.year().into());
    put(5, 2, at.month().into());
    put(8, 2, at.day().into());
    put(11, 2, at.hour().into());
    put(14, 2, at.minute().into());
    put(17, 2, at.second().into());
    put(20, 9, at.subsec_nanosecond());
    let shown = std::str::from_utf8(text.get(..20 + digits)?).expect("digits and marks");
    let mut printed = String::with_capacity(shown.len() + 1);
    printed.push_str(shown);
    printed.push('Z');
    Some(printed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nanos(text: &str) -> Option<i128> {
        parse_slowly(text.as_bytes()).map(|d| d.as_nanos())
    }

    #[test]
    fn accepts_what_rfc_3339_allows() {
        assert_eq!(nanos("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(nanos("1970-01-01T00:00:00.1Z"), Some(100_000_000));
        assert_eq!(nanos("1970-01-01t00:00:00.123456789z"), Some(123_456_789));
        assert_eq!(nanos("1970-01-01T02:00:00+02:00"), Some(0));
        assert_eq!(nanos("1969-12-31T18:30:00-05:30"), Some(0));
        assert_eq!(nanos("2024-02-29T00:00:00-00:00"), Some(1_709_164_800_000_000_000));
        assert_eq!(nanos("2016-12-31T23:59:60Z"), nanos("2017-01-01T00:00:00Z"));
        assert!(nanos("0000-01-01T00:00:00Z").is_some());
        assert!(nanos("9999-12-31T23:59:59.999999999-23:59").is_some());
    }

    #[test]
    fn refuses_everything_else() {
        for text in [
            "",
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
            "+2026-01-01T00:00:00Z",
            "-001-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z ",
            " 2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00 02:00",
            "２026-01-01T00:00:00Z",
            "2026-W01-1T00:00:00Z",
        ] {
            assert_eq!(nanos(text), None, "{text:?}");
            assert!(micros_floor(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn prints_what_it_reads(micros in -62_167_219_200_000_000_i64..=253_402_300_799_999_999) {
            let text = print(SignedDuration::from_micros(micros), 6).unwrap();
            prop_assert_eq!(micros_floor(&text), Ok(micros));
            prop_assert_eq!(micros_ceil(&text), Ok(micros));
        }

        #[test]
        fn never_panics(text in "\\PC*") {
            let _ = micros_floor(&text);
        }

        #[test]
        fn agrees_with_jiff(text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-][01][0-9]:[0-5][0-9])") {
            if let Ok(theirs) = text.parse::<jiff::Timestamp>() {
                let theirs = theirs.as_nanosecond();
                prop_assert_eq!(nanos(&text), Some(theirs));
                prop_assert_eq!(i128::from(micros_floor(&text).unwrap()), theirs.div_euclid(1_000));
                prop_assert_eq!(i128::from(micros_ceil(&text).unwrap()), -((-theirs).div_euclid(1_000)));
            }
        }
    }
}
