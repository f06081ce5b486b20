//! Times on the command line: an instant (`2026-03-01T09:30:00Z`), a local date (`2026-03-01`), or a duration
//! before now (`7d`).

use std::str::FromStr;

use formsvc_client::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};

/// The error for a text that is not a time.
const RULE: &str = "expected a time such as 2026-03-01T09:30:00Z, a date such as 2026-03-01 or \
    `yesterday`, or how long ago, such as 7d or 2h";

const OUTSIDE: &str = "is outside the years 0 to 9999";

/// A parsed time of a flag. It may depend on the current time and the time zone, so [`Self::at`] converts it to
/// an instant.
#[derive(Clone, Debug)]
pub(crate) struct When {
    kind: Kind,
    text: String,
}

#[derive(Clone, Debug)]
enum Kind {
    Instant(jiff::Timestamp),
    /// A date and time in the local time zone.
    Civil(DateTime),
    /// The beginning of a local day, this many days before today.
    DaysBack(i64),
    Ago(Span),
}

impl FromStr for When {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kind = match text {
            "now" => Kind::Ago(Span::new()),
            "today" => Kind::DaysBack(0),
            "yesterday" => Kind::DaysBack(1),
            _ => {
                let instant = text.parse().map(Kind::Instant);
                // A date without a time means its midnight. The parser would ignore a zone in brackets, so
                // such a text is refused below.
                let civil = || text.parse().map(Kind::Civil);
                let found = instant.or_else(|_| civil()).or_else(|_| ago(text));
                found.ok().filter(|_| !text.contains('[')).ok_or(RULE)?
            }
        };
        Ok(Self { kind, text: text.to_owned() })
    }
}

/// Parses a duration before now: `7d`, `2h 30m`, `3 weeks ago`.
fn ago(text: &str) -> Result<Kind, ()> {
    let span: Span = text.strip_suffix(" ago").unwrap_or(text).parse().map_err(|_| ())?;
    if span.is_negative() || text.starts_with(['P', 'p']) { Err(()) } else { Ok(Kind::Ago(span)) }
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl When {
    /// Converts the time to an instant, relative to `now` and in its time zone. Fails outside the years 0 to
    /// 9999.
    pub(crate) fn at(&self, now: &Zoned) -> Result<Timestamp, &'static str> {
        let zone = now.time_zone();
        let instant = match &self.kind {
            Kind::Instant(instant) => Ok(*instant),
            Kind::Civil(civil) => civil.to_zoned(zone.clone()).map(|at| at.timestamp()),
            Kind::DaysBack(days) => now
                .checked_sub(Span::new().days(*days))
                .and_then(|day| day.start_of_day())
                .map(|at| at.timestamp()),
            Kind::Ago(span) => now.checked_sub(*span).map(|at| at.timestamp()),
        };
        let instant = instant.map_err(|_| OUTSIDE)?;
        // Submissions have times in milliseconds: a bound between two milliseconds is rounded up.
        let nanos = instant.as_nanosecond();
        let up = (nanos + 999_999).div_euclid(1_000_000) * 1_000_000;
        Timestamp::from_unix_nanos(up).ok_or(OUTSIDE)
    }

    /// Returns the end of the day for a date, and the next second for any other time.
    pub(crate) fn end(&self, now: &Zoned) -> Result<Timestamp, &'static str> {
        let is_date = self.is_local() && !self.text.contains(':');
        let span = if is_date { Span::new().days(1) } else { Span::new().seconds(1) };
        let start = self.at(now)?.unix_nanos();
        let start = jiff::Timestamp::from_nanosecond(start).map_err(|_| OUTSIDE)?;
        let end = start.to_zoned(now.time_zone().clone()).checked_add(span);
        let end = end.map_err(|_| OUTSIDE)?.timestamp();
        Timestamp::from_unix_nanos(end.as_nanosecond()).ok_or(OUTSIDE)
    }

    /// True if the instant depends on the local time zone. Commands then report the instant.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.kind, Kind::Civil(_) | Kind::DaysBack(_))
    }
}

/// Returns the current time in the local time zone.
pub(crate) fn now() -> Zoned {
    Zoned::now()
}

/// Returns the local time zone, or UTC if it is unknown.
pub(crate) fn zone() -> TimeZone {
    TimeZone::system()
}

/// The `strftime` format of a local time in messages.
pub(crate) const LOCAL: &str = "%Y-%m-%d %H:%M:%S %:z";

/// Formats a time in a time zone, with the offset from UTC.
pub(crate) fn local(time: &Timestamp, zone: &TimeZone) -> String {
    let nanos = jiff::Timestamp::from_nanosecond(time.unix_nanos());
    nanos.map_or_else(
        |_| time.to_string(),
        |at| at.to_zoned(zone.clone()).strftime(LOCAL).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a time in Berlin on 2026-03-29, the day on which summer time begins.
    fn now() -> Zoned {
        let berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
        let zone = TimeZone::posix(berlin).unwrap();
        "2026-03-29T12:00:00Z".parse::<jiff::Timestamp>().unwrap().to_zoned(zone)
    }

    fn at(text: &str) -> String {
        text.parse::<When>().unwrap().at(&now()).unwrap().to_string()
    }

    #[test]
    fn time_is_an_instant_a_local_date_or_a_duration() {
        for (text, instant) in [
            ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000Z"),
            ("2026-03-01T09:30:00.1204+02:00", "2026-03-01T07:30:00.121Z"),
            ("2026-03-01", "2026-02-28T23:00:00.000Z"),
            ("2026-07-01", "2026-06-30T22:00:00.000Z"),
            ("2026-03-01T09:30", "2026-03-01T08:30:00.000Z"),
            ("2026-03-01 09:30:15", "2026-03-01T08:30:15.000Z"),
            ("now", "2026-03-29T12:00:00.000Z"),
            ("today", "2026-03-28T23:00:00.000Z"),
            ("yesterday", "2026-03-27T23:00:00.000Z"),
            ("2h", "2026-03-29T10:00:00.000Z"),
            ("90m", "2026-03-29T10:30:00.000Z"),
            // The same hour of the day, although the offset from UTC was different.
            ("1d", "2026-03-28T13:00:00.000Z"),
            ("1w ago", "2026-03-22T13:00:00.000Z"),
            ("1mo", "2026-02-28T13:00:00.000Z"),
        ] {
            assert_eq!(at(text), instant, "{text}");
        }
    }

    #[test]
    fn end_of_a_date_is_the_next_midnight() {
        let end = |text: &str| text.parse::<When>().unwrap().end(&now()).unwrap().to_string();
        // The day has 23 hours.
        assert_eq!(end("2026-03-29"), "2026-03-29T22:00:00.000Z");
        assert_eq!(end("yesterday"), "2026-03-28T23:00:00.000Z");
        assert_eq!(end("2026-03-29T09:30"), "2026-03-29T07:30:01.000Z");
        assert_eq!(end("2026-03-29T09:30:00.5Z"), "2026-03-29T09:30:01.500Z");
    }

    #[test]
    fn text_that_is_not_a_time_is_refused() {
        for bad in [
            "",
            "7",
            "soon",
            "-7d",
            "7d ago ago",
            "2026-13-01",
            "2026-02-30",
            "P1D",
            "10:30",
            "2026-03-01T09:30[Asia/Tokyo]",
        ] {
            assert!(bad.parse::<When>().is_err(), "{bad:?}");
        }
        assert!("9000y".parse::<When>().unwrap().at(&now()).is_err());
    }

    #[test]
    fn date_without_a_zone_is_local() {
        let local = |text: &str| text.parse::<When>().unwrap().is_local();
        assert!(local("2026-03-01") && local("yesterday") && local("2026-03-01T09:30"));
        assert!(!local("2026-03-01T09:30Z") && !local("7d"));
        let time: Timestamp = "2026-07-01T09:30:00.000Z".parse().unwrap();
        assert_eq!(super::local(&time, now().time_zone()), "2026-07-01 11:30:00 +02:00");
    }
}
