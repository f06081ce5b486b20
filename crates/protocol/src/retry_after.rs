//! The pause that an endpoint asks for (RFC 9110 §10.2.3; SPEC §6 leaves the pauses open).

use std::time::{Duration, UNIX_EPOCH};

/// Longest pause an endpoint can ask for.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// The pause that an endpoint's answer asks for with its `Retry-After`: with 429 and 503 alone, in whole
/// seconds or as the date until when, and an hour at most. A date that has passed asks for no pause;
/// anything else asks for nothing.
pub fn retry_after(status: u16, value: &[u8], now_unix_seconds: u64) -> Option<Duration> {
    if !matches!(status, 429 | 503) {
        return None;
    }
    let value = std::str::from_utf8(value).ok()?.trim();
    let seconds = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        value.parse().ok()?
    } else {
        let until = httpdate::parse_http_date(value).ok()?;
        until.duration_since(UNIX_EPOCH).ok()?.as_secs().saturating_sub(now_unix_seconds)
    };
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
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
    fn it_is_seconds_or_a_date_and_an_hour_at_most() {
        for (value, seconds) in [
            (" 120 ", 120),
            ("0", 0),
            ("3600", 3_600),
            ("3601", 3_600),
            ("18446744073709551615", 3_600),
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600),
        ] {
            assert_eq!(asked(value), Some(seconds), "{value}");
        }
        for nothing in ["-1", "+1", "1.5", "soon", "", " ", "99999999999999999999999"] {
            assert_eq!(asked(nothing), None, "{nothing}");
        }
        assert_eq!(retry_after(503, b"1\xff", NOW), None);
    }

    #[test]
    fn only_an_endpoint_that_has_too_much_to_do_is_obeyed() {
        let obeyed: Vec<u16> =
            (100..1_000).filter(|status| retry_after(*status, b"7", NOW).is_some()).collect();
        assert_eq!(obeyed, [429, 503]);
    }
}
