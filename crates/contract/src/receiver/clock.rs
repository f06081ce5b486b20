//! The error of the receiver's clock, from the `Date` header of its answers. Pure.

use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::DATE;

/// Returns the seconds by which the receiver's clock is certainly ahead of this machine's; negative if it
/// is behind, and 0 if the clocks may agree or the answer has no valid `Date`.
///
/// The receiver wrote `Date` between `sent` and `received`, and cut the fraction of the second.
pub(super) fn clock_lead(headers: &HeaderMap, sent: SystemTime, received: SystemTime) -> i64 {
    let date = headers.get(DATE).and_then(|value| value.to_str().ok());
    let Some(date) = date.and_then(|date| httpdate::parse_http_date(date).ok()) else { return 0 };
    let (min, max) = (millis(date) - millis(received), millis(date) + 1_000 - millis(sent));
    let certain = if min > 0 { min } else { max.min(0) };
    certain / 1_000
}

/// Returns the Unix time in milliseconds; negative before 1970.
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

    /// 2026-01-01T00:00:00Z plus these milliseconds.
    fn at(millis: i64) -> SystemTime {
        let start = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let offset = Duration::from_millis(millis.unsigned_abs());
        if millis < 0 { start - offset } else { start + offset }
    }

    #[test]
    fn clock_lead_allows_for_rounding_and_transit() {
        let date = HeaderValue::from_static("Thu, 01 Jan 2026 00:00:00 GMT");
        let headers = HeaderMap::from_iter([(DATE, date)]);
        for (sent, received, seconds) in [
            (0, 5, 0),
            // Written in the last millisecond of its second.
            (999, 999, 0),
            (1_900, 2_000, 0),
            (2_000, 2_005, -1),
            (-1_005, -1_000, 1),
            // 40 s in transit: `Date` may be of any instant between.
            (-20_000, 20_000, 0),
            (-400_000, -399_000, 399),
        ] {
            assert_eq!(clock_lead(&headers, at(sent), at(received)), seconds, "{sent} {received}");
        }
    }

    #[test]
    fn answer_without_valid_date_has_no_lead() {
        let bad = HeaderMap::from_iter([(DATE, HeaderValue::from_static("yesterday"))]);
        for headers in [HeaderMap::new(), bad] {
            assert_eq!(clock_lead(&headers, at(0), at(0)), 0);
        }
    }
}
