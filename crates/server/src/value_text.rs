//! Values as people write them: whole numbers, durations.

use std::time::Duration;

/// Units of durations, in milliseconds.
const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
/// Longest duration of a setting.
const DURATION_MAX: Duration = Duration::from_secs(600);

/// Digits only, within bounds.
pub(crate) fn whole(text: &str, least: u32, most: u32) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && (least..=most).contains(number))
}

/// Digits and a unit: `ms`, `s` or `m`. At most ten minutes.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    duration_of(text, &["ms", "s", "m"], DURATION_MAX)
}

/// Digits and one of some units, of at most so much.
pub(crate) fn duration_of(text: &str, units: &[&str], most: Duration) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let unit = units.iter().find(|known| **known == unit)?;
    let (_, millis) = UNITS.iter().find(|(known, _)| known == unit)?;
    let millis = number.checked_mul(*millis)?;
    Some(Duration::from_millis(millis)).filter(|duration| *duration <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_unit_that_is_offered_and_is_within_its_bound() {
        let most = Duration::from_secs(86_400);
        let of = |text| duration_of(text, &["s", "h", "d"], most);
        for (text, seconds) in [("0s", 0), ("007s", 7), ("24h", 86_400), ("1d", 86_400)] {
            assert_eq!(of(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "1", "s", "1m", "1ms", "1S", "-1s", "+1s", "1.5h", "1 s", "25h", "2d"] {
            assert_eq!(of(text), None, "{text}");
        }
        for huge in ["18446744073709551615d", "99999999999999999999d"] {
            assert_eq!(of(huge), None, "{huge}");
        }
        assert_eq!(duration("10m"), Some(DURATION_MAX));
        assert_eq!((duration("601s"), duration("1h")), (None, None));
    }
}
