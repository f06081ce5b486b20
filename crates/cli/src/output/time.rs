//! Formats of instants on a terminal.

use formsvc_protocol::Timestamp;
use jiff::tz::TimeZone;

use crate::base::text::count;

const MICROS: i64 = 1_000_000;
const DAY: i64 = 24 * 3_600;

/// Units of an age in seconds, largest first. A month has 30 days and a year 365 days.
const UNITS: [(i64, &str); 6] = [
    (365 * DAY, "year"),
    (30 * DAY, "month"),
    (DAY, "day"),
    (3_600, "hour"),
    (60, "minute"),
    (1, "second"),
];

/// Formats the time between an RFC 3339 instant and now in the largest whole unit: `2 hours ago`, `in 3 days`.
/// `now` is in microseconds since 1970. Returns `None` if the text is not an instant.
pub(super) fn relative(instant: &str, now: i64) -> Option<String> {
    let past = now.checked_sub(instant.parse::<Timestamp>().ok()?.unix_micros())? / MICROS;
    let Some((unit, name)) = UNITS.iter().find(|(unit, _)| past.abs() >= *unit) else {
        return Some("just now".to_owned());
    };
    let distance = count((past.abs() / unit).unsigned_abs(), name);
    Some(if past >= 0 { format!("{distance} ago") } else { format!("in {distance}") })
}

/// The format of instants on a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times<'a> {
    /// The time between the instant and the current time. The value is the current time in microseconds since 1970.
    Relative(i64),
    /// The local time in a time zone.
    Absolute(&'a TimeZone),
}

impl Times<'_> {
    /// Formats an instant; `None` if the text is not an RFC 3339 instant.
    pub(super) fn format(self, instant: &str) -> Option<String> {
        match self {
            Self::Relative(now) => relative(instant, now),
            Self::Absolute(zone) => {
                let micros = instant.parse::<Timestamp>().ok()?.unix_micros();
                let local = jiff::Timestamp::from_microsecond(micros).ok()?.to_zoned(zone.clone());
                Some(local.strftime("%Y-%m-%d %H:%M:%S").to_string())
            }
        }
    }
}

/// Returns the current time in microseconds since 1970.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_microsecond()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instant_is_formatted_in_its_largest_unit() {
        let now = "2026-06-15T12:00:00Z".parse::<Timestamp>().unwrap().unix_micros();
        for (instant, text) in [
            ("2026-06-15T12:00:00.000Z", "just now"),
            ("2026-06-15T11:59:01.000Z", "59 seconds ago"),
            ("2026-06-15T12:00:30.000Z", "in 30 seconds"),
            ("2026-06-15T11:59:00.000Z", "1 minute ago"),
            ("2026-06-15T10:00:00.000Z", "2 hours ago"),
            ("2026-06-14T13:00:00.000Z", "23 hours ago"),
            ("2026-06-14T12:00:00.000Z", "1 day ago"),
            ("2026-05-16T12:00:00.000Z", "1 month ago"),
            ("2025-06-15T12:00:00.000Z", "1 year ago"),
            ("1970-01-01T00:00:00.000Z", "56 years ago"),
            ("2026-06-15T15:30:00.000Z", "in 3 hours"),
        ] {
            assert_eq!(relative(instant, now).as_deref(), Some(text), "{instant}");
        }
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let clock = Times::Absolute(&berlin);
        let instant = "2026-03-29T01:00:00.500Z";
        assert_eq!(clock.format(instant).as_deref(), Some("2026-03-29 03:00:00"));
        assert_eq!(clock.format("yesterday"), None);
        assert_eq!(relative("yesterday", now), None);
        assert_eq!(relative("", now), None);
    }
}
