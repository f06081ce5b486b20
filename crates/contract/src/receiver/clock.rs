//! The receiver's clock, as the `Date` of its answers tells it. Pure; times go in.

use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::DATE;

/// By how many seconds a receiver's clock is surely ahead of this machine's, or behind it where negative;
/// 0 where they may agree, or nothing is told.
///
/// A `Date` was written after the request was sent and before its answer was there, and its fraction of a
/// second is cut.
pub(super) fn ahead(headers: &HeaderMap, sent: SystemTime, received: SystemTime) -> i64 {
    let date = headers.get(DATE).and_then(|value| value.to_str().ok());
    let Some(date) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else { return 0 };
    let (least, most) = (millis(date) - millis(received), millis(date) + 1_000 - millis(sent));
    let certain = if least > 0 { least } else { most.min(0) };
    certain / 1_000
}

/// Milliseconds since 1970, also before.
fn millis(time: SystemTime) -> i64 {
    let whole = |time: std::time::Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 4);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => whole(since),
        Err(before) => -whole(before.duration()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;

    use super::*;

    /// 2026-01-01T00:00:00Z and so many milliseconds.
    fn at(millis: i64) -> SystemTime {
        let then = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let by = Duration::from_millis(millis.unsigned_abs());
        if millis < 0 { then - by } else { then + by }
    }

    #[test]
    fn what_the_date_and_the_way_leave_open_is_not_held_against_it() {
        let date = HeaderValue::from_static("Thu, 01 Jan 2026 00:00:00 GMT");
        let headers = HeaderMap::from_iter([(DATE, date)]);
        for (sent, received, seconds) in [
            (0, 5, 0),
            // Written in the last millisecond of its second.
            (999, 999, 0),
            (1_900, 2_000, 0),
            (2_000, 2_005, -1),
            (-1_005, -1_000, 1),
            // Half a minute under way: it may have been written at any moment of it.
            (-20_000, 20_000, 0),
            (-400_000, -399_000, 399),
        ] {
            assert_eq!(ahead(&headers, at(sent), at(received)), seconds, "{sent} {received}");
        }
    }

    #[test]
    fn an_answer_without_a_date_tells_nothing() {
        let bad = HeaderMap::from_iter([(DATE, HeaderValue::from_static("yesterday"))]);
        for headers in [HeaderMap::new(), bad] {
            assert_eq!(ahead(&headers, at(0), at(0)), 0);
        }
    }
}
