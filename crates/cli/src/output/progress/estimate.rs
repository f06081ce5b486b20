//! The remaining time of a walk from newer to older submissions.

use std::time::{Duration, Instant};

/// Shorter walks have no estimate.
const ELAPSED_MIN: Duration = Duration::from_secs(2);

/// The end of a walk, as far as it is known. Times are in microseconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Expected {
    /// The time at which the walk ends.
    pub(crate) oldest: Option<i64>,
    /// The number of submissions at which it ends.
    pub(crate) limit: Option<u64>,
    /// Number of submissions that an earlier walk saved.
    pub(crate) saved: u64,
    /// The oldest of them: the range above counts as read.
    pub(crate) saved_to: Option<i64>,
}

/// Estimates the end of a walk from its progress. Assumes that submissions are spread evenly.
#[derive(Debug, Default)]
pub(super) struct Estimate {
    pub(super) expected: Expected,
    start: Option<Position>,
    last: Option<Position>,
    /// Waits since the last position, and those before it.
    new_waits: Waits,
    waits: Waits,
}

/// Waits for a rate limit or between attempts.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    count: u32,
    time: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Position {
    at: Instant,
    done: u64,
    reached: i64,
}

impl Estimate {
    pub(super) fn new(expected: Expected) -> Self {
        Self { expected, ..Self::default() }
    }

    /// Takes the number of submissions so far, and the time of the last one.
    pub(super) fn observe(&mut self, at: Instant, done: u64, reached: &str) {
        let Ok(reached) = reached.parse::<jiff::Timestamp>() else { return };
        let reached = reached.as_microsecond();
        if self.expected.saved_to.is_none_or(|saved_to| reached <= saved_to) {
            let position = Position { at, done, reached };
            let new = std::mem::take(&mut self.new_waits);
            if self.start.is_some() {
                self.waits.count += new.count;
                self.waits.time += new.time;
            }
            self.start.get_or_insert(position);
            self.last = Some(position);
        }
    }

    /// Records a wait that begins now.
    pub(super) fn wait(&mut self, time: Duration) {
        self.new_waits.count += 1;
        self.new_waits.time += time;
    }

    /// Returns the number of submissions of this walk.
    pub(super) fn new_submissions(&self, done: u64) -> u64 {
        done.saturating_sub(self.expected.saved)
    }

    /// Returns the remaining time; `None` if there is no basis for it.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let (start, last) = (self.start?, self.last?);
        let elapsed = last.at.saturating_duration_since(start.at);
        if elapsed < ELAPSED_MIN {
            return None;
        }
        let until =
            |oldest: i64| ratio(last.reached.abs_diff(oldest), start.reached - last.reached);
        let by_time = self.expected.oldest.filter(|oldest| *oldest < last.reached).and_then(until);
        let new = i64::try_from(last.done.saturating_sub(start.done)).ok();
        let rows = |limit: u64| ratio(limit.saturating_sub(last.done), new?);
        let by_limit = self.expected.limit.and_then(rows);
        let factor = by_time.into_iter().chain(by_limit).reduce(f64::min)?;
        // The rest needs work in proportion, and only whole waits: a rate limit delays requests in bursts.
        let Waits { count, time } = self.waits;
        let work = elapsed.saturating_sub(time).as_secs_f64() * factor;
        let further_waits = (f64::from(count) * factor).floor();
        let waiting = further_waits * time.as_secs_f64() / f64::from(count.max(1));
        let left = Duration::try_from_secs_f64(work + waiting).ok()?;
        Some(left.saturating_sub(now.saturating_duration_since(last.at)))
    }
}

/// Returns `left / covered`; `None` if nothing is covered.
#[expect(clippy::cast_precision_loss, reason = "an estimate needs no more digits")]
fn ratio(left: u64, covered: i64) -> Option<f64> {
    (covered > 0).then(|| left as f64 / covered as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: u32) -> String {
        format!("2026-01-{day:02}T00:00:00Z")
    }

    fn micros(text: &str) -> i64 {
        text.parse::<jiff::Timestamp>().unwrap().as_microsecond()
    }

    #[test]
    fn remaining_time_follows_range_and_limit() {
        let (begin, oldest) = (Instant::now(), Some(micros(&day(1))));
        let after = |seconds| begin + Duration::from_secs(seconds);
        let left = |expected: Expected| {
            let mut estimate = Estimate::new(expected);
            estimate.observe(begin, 100, &day(31));
            assert_eq!(estimate.left(after(9)), None);
            estimate.observe(after(10), 1_100, &day(21));
            estimate.left(after(12)).map(|left| left.as_secs())
        };
        assert_eq!(left(Expected::default()), None);
        assert_eq!(left(Expected { oldest, ..Expected::default() }), Some(18));
        assert_eq!(left(Expected { limit: Some(1_600), oldest, ..Expected::default() }), Some(3));
        // The saved range is passed in no time and does not count.
        let saved_to = Some(micros(&day(21)));
        assert_eq!(left(Expected { oldest, saved_to, ..Expected::default() }), None);
    }

    #[test]
    fn one_wait_does_not_count_for_a_short_rest() {
        let (begin, limit) = (Instant::now(), Some(61_000));
        let after = |seconds| begin + Duration::from_secs(seconds);
        let mut estimate = Estimate::new(Expected { limit, ..Expected::default() });
        estimate.observe(begin, 0, &day(31));
        estimate.observe(after(5), 30_000, &day(30));
        estimate.wait(Duration::from_secs(40));
        assert_eq!(estimate.left(after(5)).map(|left| left.as_secs()), Some(5));
        estimate.observe(after(46), 31_000, &day(29));
        assert_eq!(estimate.left(after(46)).map(|left| left.as_secs()), Some(5));
    }
}
