//! Form instants: the strictly increasing times that order the submissions of one form.

use std::time::Duration;

use jiff::SignedDuration;

use super::Timestamp;
use crate::Cursor;
use crate::rfc3339::{self, TimeError};

const MICROS_PER_MS: i64 = 1_000;
/// How far ahead of the clock a form's instants may run before they advance by microseconds.
const AHEAD_MAX_MICROS: i64 = 1_000_000;

/// The exact position of a submission in its form: microseconds since 1970, unique in the form.
///
/// Each accepted submission takes the [`next`](Self::next) instant of its form inside the
/// transaction that stores it, so commit order is instant order, and a reader that asks for
/// "strictly older than" an instant neither loses nor repeats a row, however many were made in one
/// millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormInstant(i64);

impl FormInstant {
    /// The first instant of the year 0: 0000-01-01T00:00:00Z.
    pub const MIN: Self = Self(-62_167_219_200_000_000);
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);
    /// The last instant of the year 9999: 9999-12-31T23:59:59.999999Z.
    pub const MAX: Self = Self(253_402_300_799_999_999);

    /// Creates an instant from microseconds since 1970-01-01T00:00:00Z, clamped to
    /// [`MIN`](Self::MIN) and [`MAX`](Self::MAX).
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(Self::MIN.0, Self::MAX.0))
    }

    /// Returns microseconds since 1970-01-01T00:00:00Z.
    pub fn micros(self) -> i64 {
        self.0
    }

    /// Returns the instant that is this much later, [`MAX`](Self::MAX) at most.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        Self::from_micros(self.0.saturating_add(micros))
    }

    /// Returns the time since an earlier instant; zero if `earlier` is not earlier.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Returns the instant of the next submission of a form.
    ///
    /// This is the next free whole millisecond. When a burst has moved the form's clock more than a
    /// second ahead of `now`, instants advance by one microsecond instead, so that a million
    /// submissions a second stay unique and close to their true time. When the system's clock steps
    /// back, the form's clock does not.
    ///
    /// ```
    /// use formsvc_protocol::FormInstant;
    /// let now = FormInstant::from_micros(1_700_000_000_123_456);
    /// let first = FormInstant::next(now, None);
    /// assert_eq!(first.micros(), 1_700_000_000_123_000);
    /// assert_eq!(FormInstant::next(now, Some(first)).micros(), 1_700_000_000_124_000);
    /// ```
    #[must_use]
    pub fn next(now: Self, last: Option<Self>) -> Self {
        let floor = |micros: i64| micros - micros.rem_euclid(MICROS_PER_MS);
        let Some(last) = last else { return Self::from_micros(floor(now.0)) };
        let candidate = floor(now.0).max(floor(last.0) + MICROS_PER_MS);
        if candidate <= now.0.saturating_add(AHEAD_MAX_MICROS) {
            Self(candidate)
        } else {
            Self(last.0 + 1)
        }
    }

    /// Returns the cursor of the rows strictly older than this instant: 3 fraction digits for a
    /// whole millisecond, else 6.
    pub fn to_cursor(self) -> Cursor {
        let digits = if self.0.rem_euclid(MICROS_PER_MS) == 0 { 3 } else { 6 };
        Cursor::new(self.print(digits))
    }

    /// Returns `created_at` as the API shows it: milliseconds, cut, never rounded up.
    pub fn to_timestamp(self) -> Timestamp {
        Timestamp::from_parts(self.print(3), self)
    }

    fn print(self, digits: usize) -> String {
        rfc3339::format(SignedDuration::from_micros(self.0), digits)
            .expect("instants are in the years 0 to 9999")
    }

    /// Parses a cursor into the bound for which `instant < bound` selects exactly the instants
    /// strictly older than the cursor. A cursor finer than a microsecond is rounded up, so that the
    /// microsecond that contains it counts as older.
    pub fn parse_cursor(text: &str) -> Result<Self, TimeError> {
        let nanos = rfc3339::parse_nanos(text)?;
        Ok(Self::from_wide_micros(-(-nanos).div_euclid(1_000)))
    }

    /// Parses a time; a fraction finer than a microsecond is cut.
    pub(super) fn parse_floor(text: &str) -> Result<Self, TimeError> {
        Ok(Self::from_wide_micros(rfc3339::parse_nanos(text)?.div_euclid(1_000)))
    }

    /// An offset can move a parsed instant out of the years 0 to 9999.
    fn from_wide_micros(micros: i128) -> Self {
        Self::from_micros(i64::try_from(micros).expect("years -1 to 10000 fit into 64 bits"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cursor_has_micros_only_if_needed() {
        let whole = FormInstant::from_micros(1_767_225_600_120_000);
        assert_eq!(whole.to_cursor().as_str(), "2026-01-01T00:00:00.120Z");
        let fine = FormInstant::from_micros(1_767_225_600_120_001);
        assert_eq!(fine.to_cursor().as_str(), "2026-01-01T00:00:00.120001Z");
        assert_eq!(fine.to_timestamp().as_str(), "2026-01-01T00:00:00.120Z");
    }

    #[test]
    fn cursor_outside_printable_years_is_clamped() {
        for (text, printed) in [
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999Z"),
            ("0000-01-01T00:00:00+23:59", "0000-01-01T00:00:00.000Z"),
        ] {
            let instant = FormInstant::parse_cursor(text).unwrap();
            assert_eq!(instant.to_cursor().as_str(), printed, "{text}");
            assert_eq!(instant.to_timestamp().as_str().len(), 24);
        }
    }

    #[test]
    fn cursor_finer_than_a_micro_rounds_up() {
        let bound = FormInstant::parse_cursor("1970-01-01T00:00:00.000001500Z").unwrap();
        assert_eq!(bound.micros(), 2);
        let before = FormInstant::parse_cursor("1969-12-31T23:59:59.999998500Z").unwrap();
        assert_eq!(before.micros(), -1);
    }

    #[test]
    fn next_instant_increases_when_clock_steps_back() {
        let last = FormInstant::from_micros(2_000_000_000);
        let next = FormInstant::next(FormInstant::from_micros(0), Some(last));
        assert_eq!(next.micros(), 2_000_000_001);
    }

    #[test]
    fn plus_and_since_are_inverse() {
        let now = FormInstant::from_micros(1_767_225_600_120_001);
        for time in [Duration::ZERO, Duration::from_micros(1), Duration::from_secs(86_400)] {
            let later = now.plus(time);
            assert_eq!(later.since(now), time);
            assert_eq!(now.since(later), Duration::ZERO, "not negative");
        }
        assert_eq!(now.plus(Duration::from_nanos(1_999)).micros(), now.micros() + 1, "cut");
        let before = FormInstant::from_micros(-5);
        assert_eq!(before.plus(Duration::from_micros(7)).micros(), 2);
    }

    #[test]
    fn instants_saturate_at_min_and_max() {
        let span =
            Duration::from_micros(FormInstant::MAX.micros().abs_diff(FormInstant::MIN.micros()));
        assert_eq!(FormInstant::MAX.since(FormInstant::MIN), span);
        assert_eq!(FormInstant::MIN.plus(span), FormInstant::MAX);
        for time in [Duration::from_micros(1), Duration::MAX] {
            assert_eq!(FormInstant::MAX.plus(time), FormInstant::MAX);
        }
        assert_eq!(FormInstant::MIN.plus(Duration::MAX), FormInstant::MAX);
        let printed = FormInstant::MAX.plus(Duration::MAX).to_timestamp();
        assert_eq!(printed.as_str(), "9999-12-31T23:59:59.999Z");
    }

    proptest! {
        #[test]
        fn next_instants_strictly_increase(
            clock in prop::collection::vec(0_i64..5_000_000, 1..400),
        ) {
            let mut last = None;
            for now in clock {
                let next = FormInstant::next(FormInstant::from_micros(now), last);
                prop_assert!(last.is_none_or(|last| next > last));
                last = Some(next);
            }
        }

        #[test]
        fn cursor_bound_equals_its_instant(micros in -1_000_000_i64..1_000_000) {
            let instant = FormInstant::from_micros(micros);
            let bound = FormInstant::parse_cursor(instant.to_cursor().as_str()).unwrap();
            prop_assert_eq!(bound, instant);
        }
    }

    #[test]
    fn burst_stays_within_one_second_of_clock() {
        let now = FormInstant::from_micros(1_700_000_000_000_000);
        let mut last = None;
        for _ in 0..10_000 {
            last = Some(FormInstant::next(now, last));
        }
        let ahead = last.unwrap().micros() - now.micros();
        assert!(ahead <= AHEAD_MAX_MICROS + 10_000, "{ahead}");
    }
}
