//! Reading `Retry-After`.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// Longest wait that counts, whatever is asked for. Whoever asks for more is asked again after this
/// long; and no clock overflows when it is added to a time.
pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(60 * 60);

/// How long an answer asks to wait: whole seconds or an HTTP date (RFC 9110 §10.2.3).
///
/// A date is measured against the answer's own `Date`, so that a clock of ours that is wrong does
/// no harm, and against `now` when there is none. A date that has passed is zero, more than an hour
/// is an hour; what cannot be read is `None`.
pub(crate) fn retry_after(
    headers: &HeaderMap,
    now: impl FnOnce() -> SystemTime,
) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit is a very long time all the same.
        let wait = Duration::from_secs(text.parse().unwrap_or(u64::MAX));
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
    fn seconds_are_read_to_the_letter() {
        let seconds = |n| Some(Duration::from_secs(n));
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
    fn a_date_is_measured_against_the_answers_own_date() {
        let at = "Thu, 01 Jan 2026 00:00:30 GMT";
        assert_eq!(read(at, None), Some(Duration::from_secs(30)));
        let skewed = Some("Thu, 01 Jan 2026 00:00:10 GMT");
        assert_eq!(read(at, skewed), Some(Duration::from_secs(20)));
        assert_eq!(read(at, Some("garbage")), Some(Duration::from_secs(30)));
        assert_eq!(read("Wed, 31 Dec 2025 00:00:00 GMT", None), Some(Duration::ZERO));
    }

    #[test]
    fn garbage_counts_as_silence() {
        for text in ["", "soon", "-1", "1.5", "+3", "1e3", "Thu, 99 Jan 2026 00:00:30 GMT"] {
            assert_eq!(read(text, None), None, "{text:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), || SystemTime::UNIX_EPOCH), None);
    }
}
