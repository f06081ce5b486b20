//! Parses `Retry-After`.

use std::time::{Duration, SystemTime};

use formsvc_protocol::delay_seconds;
use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// Longest wait that counts. A service that asks for more gets another request after this time; the
/// limit also keeps the addition to a time from overflowing.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(60 * 60);

/// Returns how long an answer asks to wait: seconds, with or without a fraction, or an HTTP date
/// (RFC 9110 §10.2.3). A fraction is rounded up.
///
/// A date is compared with the answer's `Date`, so that a wrong local clock does no harm; without
/// one, with `now`. A date in the past is zero, and more than an hour is an hour. `None` for
/// any other value.
pub(crate) fn retry_after(
    headers: &HeaderMap,
    now: impl FnOnce() -> SystemTime,
) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Some(wait) = delay_seconds(text) {
        return Some(wait.min(RETRY_AFTER_MAX));
    }
    let until = httpdate::parse_http_date(text).ok()?;
    let date = headers.get(DATE).and_then(|date| date.to_str().ok());
    let from = date.and_then(|date| httpdate::parse_http_date(date.trim()).ok());
    let wait = until.duration_since(from.unwrap_or_else(now)).unwrap_or(Duration::ZERO);
    Some(wait.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn read(retry_after_text: &str, date: Option<&str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(retry_after_text).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        // 2026-01-01T00:00:00Z
        retry_after(&headers, || SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600))
    }

    #[test]
    fn seconds_and_fractions_are_read() {
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(read("1.5", None), Some(Duration::from_millis(1_500)));
        assert_eq!(read("0.0001", None), Some(Duration::from_millis(1)));
        assert_eq!(read("0", None), seconds(0));
        assert_eq!(read("120", None), seconds(120));
        assert_eq!(read(" 7 ", None), seconds(7));
        assert_eq!(read("3600", None), seconds(3_600));
    }

    #[test]
    fn more_than_an_hour_is_an_hour() {
        for text in ["3601", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
            let wait = read(text, None).unwrap();
            assert_eq!(wait, RETRY_AFTER_MAX, "{text}");
            assert!(SystemTime::now().checked_add(wait).is_some());
        }
    }

    #[test]
    fn date_is_compared_with_the_date_of_the_answer() {
        let at = "Thu, 01 Jan 2026 00:00:30 GMT";
        assert_eq!(read(at, None), Some(Duration::from_secs(30)));
        let skewed = Some("Thu, 01 Jan 2026 00:00:10 GMT");
        assert_eq!(read(at, skewed), Some(Duration::from_secs(20)));
        assert_eq!(read(at, Some("garbage")), Some(Duration::from_secs(30)));
        assert_eq!(read("Wed, 31 Dec 2025 00:00:00 GMT", None), Some(Duration::ZERO));
    }

    #[test]
    fn unreadable_value_is_ignored() {
        for text in ["", "soon", "-1", "1,5", "+3", "1e3", "Thu, 99 Jan 2026 00:00:30 GMT"] {
            assert_eq!(read(text, None), None, "{text:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), || SystemTime::UNIX_EPOCH), None);
    }
}
