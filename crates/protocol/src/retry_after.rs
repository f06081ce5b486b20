//! The pause that an endpoint asks for (RFC 9110 §10.2.3; SPEC §6 leaves the pauses open).

use std::time::{Duration, UNIX_EPOCH};

/// Longest pause an endpoint can ask for.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// Returns the pause that an endpoint asks for with `Retry-After` on a 429 or 503: seconds, with or
/// without a fraction, or the date when the pause ends, and an hour at most. A date in the past asks
/// for no pause; any other value is ignored.
pub fn retry_after(status: u16, value: &[u8], now_unix_seconds: u64) -> Option<Duration> {
    if !matches!(status, 429 | 503) {
        return None;
    }
    let value = std::str::from_utf8(value).ok()?.trim();
    let pause = delay_seconds(value).or_else(|| {
        let until = httpdate::parse_http_date(value).ok()?;
        let until = until.duration_since(UNIX_EPOCH).ok()?.as_secs();
        Some(Duration::from_secs(until.saturating_sub(now_unix_seconds)))
    })?;
    Some(pause.min(RETRY_AFTER_MAX))
}

/// Parses a number of seconds such as `120` or `1.5`, rounded up to a whole millisecond so that the
/// wait never ends early. RFC 9110 §10.2.3 allows whole seconds only, but services send fractions.
///
/// ```
/// use std::time::Duration;
/// use formsvc_protocol::delay_seconds;
/// assert_eq!(delay_seconds("1.5"), Some(Duration::from_millis(1_500)));
/// assert_eq!(delay_seconds("0.0001"), Some(Duration::from_millis(1)));
/// assert_eq!(delay_seconds("-1"), None);
/// ```
pub fn delay_seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut digits = whole.bytes().chain(fraction.bytes()).peekable();
    if digits.peek().is_none() || !digits.all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Missing digits are zero, and more digits than fit are a very long time.
    let seconds = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(u64::MAX) };
    let (millis, rest) = fraction.split_at(fraction.len().min(3));
    let millis: u64 = format!("{millis:0<3}").parse().ok()?;
    let is_rounded_up = rest.bytes().any(|digit| digit != b'0');
    let millis = Duration::from_millis(millis + u64::from(is_rounded_up));
    Some(Duration::from_secs(seconds).saturating_add(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1994-11-06T08:49:37Z
    const NOW: u64 = 784_111_777;

    fn asked(value: &str) -> Option<u64> {
        retry_after(503, value.as_bytes(), NOW).map(|pause| pause.as_secs())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_up_to_an_hour() {
        for (value, seconds) in [
            (" 120 ", 120),
            ("0", 0),
            ("3600", 3_600),
            ("3601", 3_600),
            ("18446744073709551615", 3_600),
            ("99999999999999999999999", 3_600),
            ("3599.5", 3_599),
            ("3600.5", 3_600),
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600),
        ] {
            assert_eq!(asked(value), Some(seconds), "{value}");
        }
        for ignored in ["-1", "+1", "1.5.0", "1,5", "1e3", ".", "soon", "", " "] {
            assert_eq!(asked(ignored), None, "{ignored}");
        }
        assert_eq!(retry_after(503, b"1\xff", NOW), None);
    }

    #[test]
    fn delay_with_fraction_is_rounded_up() {
        for (text, millis) in [
            ("0", 0),
            ("0.5", 500),
            (".5", 500),
            ("1.", 1_000),
            ("1.25", 1_250),
            ("2.000", 2_000),
            ("2.0000", 2_000),
            ("2.0001", 2_001),
            ("0.9991", 1_000),
            ("0.0000000000000000000000000001", 1),
        ] {
            assert_eq!(delay_seconds(text), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(retry_after(429, b" 1.5 ", NOW), Some(Duration::from_millis(1_500)));
    }

    #[test]
    fn retry_after_counts_on_429_and_503_only() {
        let obeyed: Vec<u16> =
            (100..1_000).filter(|status| retry_after(*status, b"7", NOW).is_some()).collect();
        assert_eq!(obeyed, [429, 503]);
    }
}
