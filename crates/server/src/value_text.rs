//! Values as people write them: whole numbers, durations.

use std::time::Duration;

/// Longest duration that is read.
const DURATION_MAX: Duration = Duration::from_secs(600);

/// Digits only, within bounds.
pub(crate) fn whole(text: &str, least: u32, most: u32) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && (least..=most).contains(number))
}

/// Digits and a unit: `ms`, `s` or `m`. At most ten minutes.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit {
        "ms" => number,
        "s" => number.checked_mul(1000)?,
        "m" => number.checked_mul(60_000)?,
        _ => return None,
    };
    Some(Duration::from_millis(millis)).filter(|duration| *duration <= DURATION_MAX)
}
