//! How long things took, in a bounded number of counts.

use std::time::Duration;

/// Counts for each doubling of the time, as a power of two: values are known to a sixteenth.
const STEPS: u32 = 4;
/// Doublings: microseconds up to a day and more.
const DOUBLINGS: usize = 40;

/// Times by how long they are.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    longest: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; DOUBLINGS << STEPS], total: 0, longest: Duration::ZERO }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let place = place(micros).min(self.counts.len() - 1);
        self.counts[place] += 1;
        self.total += 1;
        self.longest = self.longest.max(took);
    }

    /// The time that so many percent took at most; none where nothing was counted.
    pub(crate) fn percentile(&self, percent: u64) -> Option<Duration> {
        let rank = (self.total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let place = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let end = Duration::from_micros(end_of(place.filter(|_| self.total > 0)?));
        Some(end.min(self.longest))
    }

    /// The longest.
    pub(crate) fn longest(&self) -> Duration {
        self.longest
    }
}

/// The place of a value: its highest bit, and the few below.
fn place(value: u64) -> usize {
    let steps = 1 << STEPS;
    if value < steps {
        return usize::try_from(value).unwrap_or(usize::MAX);
    }
    let doubling = value.ilog2() - STEPS;
    let step = (value >> doubling) - steps;
    usize::try_from((u64::from(doubling) + 1) * steps + step).unwrap_or(usize::MAX)
}

/// The largest value at a place.
fn end_of(place: usize) -> u64 {
    let (place, steps) = (place as u64, 1 << STEPS);
    if place < steps {
        return place;
    }
    let (doubling, step) = (place / steps - 1, place % steps);
    ((steps + step + 1) << doubling) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_times_to_a_sixteenth() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(50), None);
        (1..=1_000).for_each(|millis| histogram.add(Duration::from_millis(millis)));
        for (percent, millis) in [(1, 10.0), (50, 500.0), (95, 950.0), (100, 1_000.0)] {
            let found = histogram.percentile(percent).unwrap().as_secs_f64() * 1e3;
            assert!(found >= millis && found <= millis * (1.0 + 1.0 / 16.0), "{percent}: {found}");
        }
        assert_eq!(histogram.longest(), Duration::from_secs(1));
    }

    #[test]
    fn one_time_is_every_percentile() {
        let mut histogram = Histogram::default();
        histogram.add(Duration::from_micros(1_234));
        assert_eq!(histogram.percentile(50), Some(Duration::from_micros(1_234)));
        histogram.add(Duration::MAX);
        assert!(histogram.percentile(99).is_some());
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_place(value in 0..u64::MAX / 4) {
            let place = place(value);
            prop_assert!(value <= end_of(place));
            prop_assert!(place == 0 || value > end_of(place - 1));
        }
    }
}
