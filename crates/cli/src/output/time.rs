//! Formats of instants on a terminal.

use formsvc_protocol::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;

use crate::base::text::count;

const MICROS: i64 = 1_000_000;
const DAY: i64 = 24 * 3_600;

/// Units of an age, largest first: seconds, name, and abbreviation in short ages. Months and years have their
/// average length.
const UNITS: [(i64, &str, &str); 6] = [
    (365 * DAY, "year", ""),
    (30 * DAY, "month", ""),
    (DAY, "day", "d"),
    (3_600, "hour", "h"),
    (60, "minute", "m"),
    (1, "", "s"),
];

/// Formats the distance of an RFC 3339 instant from now in whole units: `2 hours ago`, `in 3 days`. `now` is
/// in microseconds since 1970. Returns `None` if the text is not an instant.
pub(super) fn relative(instant: &str, now: i64) -> Option<String> {
    let past = seconds_since(instant, now)?;
    let largest = |(unit, name, _): &&(i64, &str, &str)| past.abs() >= *unit && !name.is_empty();
    let Some((unit, name, _)) = UNITS.iter().find(largest) else {
        return Some("just now".to_owned());
    };
    let distance = count((past.abs() / unit).unsigned_abs(), name);
    Some(if past >= 0 { format!("{distance} ago") } else { format!("in {distance}") })
}

/// Formats the distance in few characters, including seconds: `8s ago`, `2h ago`.
fn relative_short(instant: &str, now: i64) -> Option<String> {
    let past = seconds_since(instant, now)?;
    let largest = |(unit, _, short): &&(i64, &str, &str)| past.abs() >= *unit && !short.is_empty();
    let Some((unit, _, short)) = UNITS.iter().find(largest) else {
        return Some("now".to_owned());
    };
    let number = past.abs() / unit;
    Some(if past >= 0 { format!("{number}{short} ago") } else { format!("in {number}{short}") })
}

fn seconds_since(instant: &str, now: i64) -> Option<i64> {
    Some(now.checked_sub(instant.parse::<Timestamp>().ok()?.unix_micros())? / MICROS)
}

/// The format of instants on a terminal. Its methods return `None` for text that is not an RFC 3339 instant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times<'a> {
    /// The distance from now, in microseconds since 1970.
    Relative(i64),
    /// The local time of a time zone.
    Absolute(&'a TimeZone),
}

impl Times<'_> {
    pub(super) fn format(self, instant: &str) -> Option<String> {
        match self {
            Self::Relative(now) => relative(instant, now),
            Self::Absolute(zone) => {
                Some(local(instant, zone)?.strftime("%Y-%m-%d %H:%M:%S").to_string())
            }
        }
    }

    /// Formats the instant in few characters.
    pub(super) fn format_short(self, instant: &str) -> Option<String> {
        match self {
            Self::Relative(now) => relative_short(instant, now),
            Self::Absolute(_) => self.format(instant),
        }
    }

    /// Formats the instant with its offset from UTC.
    pub(super) fn format_long(self, instant: &str) -> Option<String> {
        match self {
            Self::Relative(now) => relative(instant, now),
            Self::Absolute(zone) => {
                Some(local(instant, zone)?.strftime("%Y-%m-%d %H:%M:%S %:z").to_string())
            }
        }
    }
}

/// Returns the local time of an RFC 3339 instant; `None` if the text is not an instant.
pub(super) fn local(instant: &str, zone: &TimeZone) -> Option<Zoned> {
    let micros = instant.parse::<Timestamp>().ok()?.unix_micros();
    Some(jiff::Timestamp::from_microsecond(micros).ok()?.to_zoned(zone.clone()))
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
            assert_eq!(relative(instant, now).as_deref(), Some(text), "{instant}");
        }
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let clock = Times::Absolute(&berlin);
        let instant = "2026-03-29T01:00:00.500Z";
        assert_eq!(clock.format(instant).as_deref(), Some("2026-03-29 03:00:00"));
        assert_eq!(clock.format_long(instant).as_deref(), Some("2026-03-29 03:00:00 +02:00"));
        assert_eq!(clock.format("yesterday"), None);
        assert_eq!(relative("yesterday", now), None);
        assert_eq!(relative("", now), None);
    }
}
