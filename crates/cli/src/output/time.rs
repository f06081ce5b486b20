//! Instants as people say them.

use formsvc_protocol::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;

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
    let past = now.checked_sub(instant.parse::<Timestamp>().ok()?.unix_micros())? / MICROS;
    let far = past.abs();
    let Some((unit, name)) = UNITS.iter().find(|(unit, _)| far >= *unit) else {
        return Some("just now".to_owned());
    };
    let count = far / unit;
    let s = if count == 1 { "" } else { "s" };
    Some(if past >= 0 { format!("{count} {name}{s} ago") } else { format!("in {count} {name}{s}") })
}

/// The same in few characters, seconds included: `8s ago`, `2h ago`.
fn short(instant: &str, now: i64) -> Option<String> {
    const LETTERS: [(i64, char); 4] = [(DAY, 'd'), (HOUR, 'h'), (MINUTE, 'm'), (1, 's')];
    let past = now.checked_sub(instant.parse::<Timestamp>().ok()?.unix_micros())? / MICROS;
    let far = past.abs();
    let Some((unit, letter)) = LETTERS.iter().find(|(unit, _)| far >= *unit) else {
        return Some("now".to_owned());
    };
    let count = far / unit;
    Some(if past >= 0 { format!("{count}{letter} ago") } else { format!("in {count}{letter}") })
}

/// How instants are told to somebody who looks at a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Times<'a> {
    /// By how far they are from now, in microseconds since 1970.
    Relative(i64),
    /// By the clock of a time zone.
    Absolute(&'a TimeZone),
}

impl Times<'_> {
    /// An RFC 3339 instant as it is told; nothing for text that is no instant.
    pub(super) fn told(self, instant: &str) -> Option<String> {
        match self {
            Self::Relative(now) => relative(instant, now),
            Self::Absolute(zone) => {
                Some(local(instant, zone)?.strftime("%Y-%m-%d %H:%M:%S").to_string())
            }
        }
    }

    /// The same in few characters.
    pub(super) fn told_short(self, instant: &str) -> Option<String> {
        match self {
            Self::Relative(now) => short(instant, now),
            Self::Absolute(_) => self.told(instant),
        }
    }

    /// The same with all that a reader needs to take it elsewhere.
    pub(super) fn told_whole(self, instant: &str) -> Option<String> {
        match self {
            Self::Relative(now) => relative(instant, now),
            Self::Absolute(zone) => {
                Some(local(instant, zone)?.strftime("%Y-%m-%d %H:%M:%S %:z").to_string())
            }
        }
    }
}

/// An RFC 3339 instant on the clock of a time zone; nothing for text that is no instant.
pub(super) fn local(instant: &str, zone: &TimeZone) -> Option<Zoned> {
    let micros = instant.parse::<Timestamp>().ok()?.unix_micros();
    Some(jiff::Timestamp::from_microsecond(micros).ok()?.to_zoned(zone.clone()))
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
        let now = "2026-06-15T12:00:00Z".parse::<Timestamp>().unwrap().unix_micros();
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
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let clock = Times::Absolute(&berlin);
        let instant = "2026-03-29T01:00:00.500Z";
        assert_eq!(clock.told(instant).as_deref(), Some("2026-03-29 03:00:00"));
        assert_eq!(clock.told_whole(instant).as_deref(), Some("2026-03-29 03:00:00 +02:00"));
        assert_eq!(clock.told("yesterday"), None);
        assert_eq!(relative("yesterday", now), None);
        assert_eq!(relative("", now), None);
    }
}
