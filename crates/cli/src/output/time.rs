//! Instants as people say them.

use formsvc_protocol::Timestamp;

const MICROS: i64 = 1_000_000;
const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The units, the largest first; a month and a year are as long as they are on average.
const UNITS: [(i64, &str); 5] =
    [(365 * DAY, "year"), (30 * DAY, "month"), (DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")];

/// How far an RFC 3339 instant is from now, in whole units: `2 hours ago`, `in 3 days`; nothing for
/// text that is no instant. `now` is in microseconds since 1970.
pub(super) fn relative(instant: &str, now: i64) -> Option<String> {
    let past = now.checked_sub(Timestamp::micros_of(instant).ok()?)? / MICROS;
    let far = past.abs();
    let Some((unit, name)) = UNITS.iter().find(|(unit, _)| far >= *unit) else {
        return Some("just now".to_owned());
    };
    let count = far / unit;
    let s = if count == 1 { "" } else { "s" };
    Some(if past >= 0 { format!("{count} {name}{s} ago") } else { format!("in {count} {name}{s}") })
}

/// The instant it is, in microseconds since 1970.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_told_in_the_largest_unit_that_fits() {
        let now = Timestamp::micros_of("2026-06-15T12:00:00Z").unwrap();
        for (instant, told) in [
            ("2026-06-15T12:00:00.000Z", "just now"),
            ("2026-06-15T11:59:01.000Z", "just now"),
            ("2026-06-15T12:00:30.000Z", "just now"),
            ("2026-06-15T11:59:00.000Z", "1 minute ago"),
            ("2026-06-15T10:00:00.000Z", "2 hours ago"),
            ("2026-06-14T13:00:00.000Z", "23 hours ago"),
            ("2026-06-14T12:00:00.000Z", "1 day ago"),
            ("2026-05-16T12:00:00.000Z", "1 month ago"),
            ("2025-06-15T12:00:00.000Z", "1 year ago"),
            ("1970-01-01T00:00:00.000Z", "56 years ago"),
            ("2026-06-15T15:30:00.000Z", "in 3 hours"),
        ] {
            assert_eq!(relative(instant, now).as_deref(), Some(told), "{instant}");
        }
        assert_eq!(relative("yesterday", now), None);
        assert_eq!(relative("", now), None);
    }
}
