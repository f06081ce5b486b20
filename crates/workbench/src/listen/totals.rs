//! Counts and times of a run. The memory for the counts and times does not grow with the number of deliveries.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::delivery::{AnsweredBy, Delivery};
use crate::record::millis;

/// Counts of deliveries, refused requests and forwards, with their times.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    pub received: u64,
    /// Deliveries by the name of their verdict.
    pub verdicts: BTreeMap<&'static str, u64>,
    pub duplicates: u64,
    /// Deliveries that are neither first attempts nor duplicates.
    pub retries: u64,
    /// Requests that did not become deliveries.
    pub refused: u64,
    pub statuses: BTreeMap<u16, u64>,
    /// Deliveries without a response, because the listener closed the connection on purpose.
    pub dropped: u64,
    #[serde(rename = "response_ms")]
    pub response_times: Times,
    /// Forwards to which a target responded.
    pub forwards_answered: u64,
    pub forwards_failed: u64,
    /// Deliveries that no route matched.
    pub unrouted: u64,
    #[serde(rename = "forward_ms")]
    pub forward_times: Times,
}

/// A histogram of durations, which are rounded up by at most 1/16 so that there are few different values.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Number of durations by their rounded microseconds.
    counts: BTreeMap<u64, u64>,
    max: Duration,
}

impl Totals {
    /// Counts a delivery that was handled.
    pub fn add(&mut self, delivery: &Delivery) {
        let summary = &delivery.summary;
        self.received += 1;
        *self.verdicts.entry(summary.verdict.code.row().name).or_default() += 1;
        self.duplicates += u64::from(summary.attempt.is_duplicate);
        self.retries += u64::from(summary.attempt.number > 1 && !summary.attempt.is_duplicate);
        if let Some(response) = &summary.response {
            match response.status {
                Some(status) => *self.statuses.entry(status).or_default() += 1,
                None => self.dropped += 1,
            }
            self.response_times.add(response.took);
            self.unrouted += u64::from(response.answered_by == AnsweredBy::NoRoute);
        }
        for forward in &delivery.forwards {
            self.forward_times.add(forward.took);
            let is_answered = forward.result.is_ok();
            self.forwards_answered += u64::from(is_answered);
            self.forwards_failed += u64::from(!is_answered);
        }
    }
}

impl Times {
    pub fn add(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let step = 1 << micros.checked_ilog2().unwrap_or_default().saturating_sub(4);
        let rounded = micros.checked_next_multiple_of(step).unwrap_or(u64::MAX);
        *self.counts.entry(rounded).or_default() += 1;
        self.max = self.max.max(took);
    }

    /// Returns the smallest duration that at least `percent` of all durations do not exceed. `None` without durations.
    pub fn percentile(&self, percent: u64) -> Option<Duration> {
        let total: u64 = self.counts.values().sum();
        let rank = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let micros = self.counts.iter().find_map(|(micros, count)| {
            seen += count;
            (seen >= rank).then_some(*micros)
        });
        micros.map(|micros| Duration::from_micros(micros).min(self.max))
    }

    pub fn max(&self) -> Duration {
        self.max
    }
}

impl Serialize for Times {
    /// Writes percentiles in milliseconds, or null without durations.
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let percentile = |percent| self.percentile(percent).map(millis);
        let times = percentile(50).zip(percentile(95));
        times
            .map(|(p50, p95)| {
                BTreeMap::from([("p50", p50), ("p95", p95), ("max", millis(self.max))])
            })
            .serialize(out)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::delivery::{Attempt, Forward, ForwardError, ForwardErrorKind, Response};
    use crate::verdict::VerdictCode;

    #[test]
    fn percentiles_exceed_the_exact_ones_by_a_sixteenth_at_most() {
        let mut times = Times::default();
        assert_eq!(times.percentile(50), None);
        (1..=1_000).for_each(|millis| times.add(Duration::from_millis(millis)));
        for (percent, millis) in [(1, 10.0), (50, 500.0), (95, 950.0), (100, 1_000.0)] {
            let found = times.percentile(percent).unwrap().as_secs_f64() * 1e3;
            assert!(found >= millis && found <= millis * (1.0 + 1.0 / 16.0), "{percent}: {found}");
        }
        assert_eq!(times.max(), Duration::from_secs(1));
    }

    #[test]
    fn number_of_different_times_is_bounded() {
        let mut times = Times::default();
        (0..200_000).for_each(|micros| times.add(Duration::from_micros(micros * micros)));
        assert!(times.counts.len() < 17 * 36, "{}", times.counts.len());
        for extreme in [Duration::ZERO, Duration::MAX] {
            times.add(extreme);
        }
        assert_eq!(times.max(), Duration::MAX);
    }

    #[test]
    fn totals_count_each_property() {
        let mut totals = Totals::default();
        let mut duplicate = samples::delivery();
        duplicate.summary.attempt = Attempt { number: 3, gap: None, is_duplicate: true };
        let mut old = samples::delivery();
        old.summary.attempt.number = 2;
        old.summary.verdict.code = VerdictCode::SignatureTooOld;
        let mut dropped = samples::delivery();
        let answered_by = AnsweredBy::Fault;
        dropped.summary.response =
            Some(Response { status: None, answered_by, took: Duration::from_millis(1) });
        let mut unrouted = samples::delivery();
        unrouted.summary.response.as_mut().unwrap().answered_by = AnsweredBy::NoRoute;
        let message = "refused".to_owned();
        let error = ForwardError { kind: ForwardErrorKind::Unreachable, message };
        dropped.forwards =
            vec![Forward { url: "x".into(), result: Err(error), took: Duration::from_millis(2) }];
        for delivery in [duplicate, old, dropped, unrouted] {
            totals.add(&delivery);
        }
        assert_eq!(totals.verdicts, BTreeMap::from([("signature_too_old", 1), ("valid", 3)]));
        assert_eq!((totals.received, totals.duplicates, totals.retries), (4, 1, 1));
        assert_eq!((totals.statuses[&200], totals.dropped), (3, 1));
        let forwards = (totals.forwards_answered, totals.forwards_failed, totals.unrouted);
        assert_eq!(forwards, (0, 1, 1));
        assert_eq!(totals.forward_times.percentile(95), Some(Duration::from_millis(2)));
    }
}
