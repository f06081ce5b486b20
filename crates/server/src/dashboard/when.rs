//! Times, for people and for programs that read pages to them.

use formsvc_protocol::{FormInstant, Timestamp};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A time as a page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct When {
    /// `2026-11-21T20:31:05.120Z`.
    pub(super) iso: String,
    /// "21 Nov 2026, 20:31:05 UTC".
    pub(super) absolute: String,
    /// "3 minutes ago", "in 12 seconds".
    pub(super) relative: String,
}

impl When {
    /// A time, seen from now.
    pub(super) fn new(at: &Timestamp, now: FormInstant) -> Self {
        let (iso, micros) = (at.as_str().to_owned(), at.unix_micros());
        let gap = micros.saturating_sub(now.micros());
        let absolute = absolute(&iso);
        // Of what is long ago the day says more than the years.
        let is_old = gap < -30 * 86_400 * 1_000_000;
        let day = absolute.split(',').next().filter(|_| is_old);
        let relative = day.map_or_else(|| relative(gap), str::to_owned);
        Self { iso, absolute, relative }
    }

    /// The same of an instant.
    pub(super) fn of(at: FormInstant, now: FormInstant) -> Self {
        Self::new(&at.to_timestamp(), now)
    }
}

/// A time as a sentence has it. Timestamps have a fixed width.
fn absolute(iso: &str) -> String {
    let part = |from: usize, to: usize| iso.get(from..to).unwrap_or_default();
    let month =
        part(5, 7).parse::<usize>().ok().and_then(|month| MONTHS.get(month.wrapping_sub(1)));
    let day = part(8, 10).trim_start_matches('0');
    format!("{day} {} {}, {} UTC", month.unwrap_or(&"?"), part(0, 4), part(11, 19))
}

/// How far away, in the largest unit that it has one of.
fn relative(gap_micros: i64) -> String {
    let seconds = gap_micros.unsigned_abs() / 1_000_000;
    let (count, unit) = match seconds {
        0..=59 => (seconds, "second"),
        60..=3_599 => (seconds / 60, "minute"),
        3_600..=86_399 => (seconds / 3_600, "hour"),
        86_400..=2_591_999 => (seconds / 86_400, "day"),
        2_592_000..=31_535_999 => (seconds / 2_592_000, "month"),
        _ => (seconds / 31_536_000, "year"),
    };
    let plural = if count == 1 { "" } else { "s" };
    match (count, gap_micros > 0) {
        (0, _) => "just now".to_owned(),
        (_, true) => format!("in {count} {unit}{plural}"),
        (_, false) => format!("{count} {unit}{plural} ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_the_largest_unit_that_fits() {
        for (seconds, told) in [
            (0, "just now"),
            (-1, "1 second ago"),
            (59, "in 59 seconds"),
            (-60, "1 minute ago"),
            (-7_199, "1 hour ago"),
            (172_800, "in 2 days"),
            (-2_592_000, "1 month ago"),
            (-400 * 86_400, "1 year ago"),
        ] {
            assert_eq!(relative(seconds * 1_000_000), told);
        }
    }

    #[test]
    fn a_day_is_written_without_a_zero() {
        let at: Timestamp = "2026-11-05T04:07:09.120Z".parse().unwrap();
        let when = When::new(&at, FormInstant::from_micros(at.unix_micros()));
        assert_eq!(when.absolute, "5 Nov 2026, 04:07:09 UTC");
        assert_eq!((when.iso.as_str(), when.relative.as_str()), (at.as_str(), "just now"));
        let later = FormInstant::from_micros(at.unix_micros() + 40 * 86_400 * 1_000_000);
        assert_eq!(When::new(&at, later).relative, "5 Nov 2026");
    }
}
