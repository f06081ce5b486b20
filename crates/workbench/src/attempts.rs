//! Counts the attempts at delivering each submission, in bounded memory.

use std::collections::HashMap;
use std::time::Instant;

use formsvc_protocol::limits::DELIVERY_TIMEOUT;

use crate::delivery::Attempt;

/// Minimum number of submissions that a listener remembers.
const REMEMBERED: usize = 16_384;

/// Counts attempts by submission id.
///
/// The ids are in two maps. When `recent` is full, it becomes `older`, and the previous `older` is dropped. So
/// the last `remembered` ids are known, and at most twice as many are in memory.
#[derive(Debug)]
pub(crate) struct AttemptCounter {
    recent: HashMap<Box<str>, Seen>,
    older: HashMap<Box<str>, Seen>,
    remembered: usize,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    attempts: u32,
    last: Instant,
    is_accepted: bool,
}

impl Default for AttemptCounter {
    fn default() -> Self {
        Self::new(REMEMBERED)
    }
}

impl AttemptCounter {
    pub(crate) fn new(remembered: usize) -> Self {
        Self { recent: HashMap::new(), older: HashMap::new(), remembered }
    }

    /// Counts an attempt that arrived at `now`. Returns its position among the attempts at the same submission.
    pub(crate) fn arrived(&mut self, id: &str, now: Instant) -> Attempt {
        let before = self.recent.remove(id).or_else(|| self.older.remove(id));
        if self.recent.len() >= self.remembered {
            self.older = std::mem::take(&mut self.recent);
        }
        let attempts = before.map_or(0, |seen| seen.attempts).saturating_add(1);
        let is_duplicate = before.is_some_and(|seen| seen.is_accepted);
        self.recent.insert(id.into(), Seen { attempts, last: now, is_accepted: is_duplicate });
        let gap = before.map(|seen| now.saturating_duration_since(seen.last));
        Attempt { number: attempts, gap, is_duplicate }
    }

    /// Records that the listener responded with 2xx to the attempt that arrived at `arrived_at`. A response after the
    /// sender's time limit does not count, because the sender has given up and retries.
    pub(crate) fn accepted(&mut self, id: &str, arrived_at: Instant, now: Instant) {
        if now.saturating_duration_since(arrived_at) > DELIVERY_TIMEOUT {
            return;
        }
        if let Some(seen) = self.recent.get_mut(id).or_else(|| self.older.get_mut(id)) {
            seen.is_accepted = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn attempt_after_acceptance_is_a_duplicate() {
        let (mut counter, start) = (AttemptCounter::new(100), Instant::now());
        assert_eq!(counter.arrived("a", start), Attempt::FIRST);
        let second = Attempt { number: 2, gap: Some(secs(12)), is_duplicate: false };
        assert_eq!(counter.arrived("a", start + secs(12)), second);
        counter.accepted("a", start + secs(12), start + secs(13));
        for number in [3, 4] {
            let gap = Some(secs(60));
            let now = start + secs(12) + secs(60) * (number - 2);
            let duplicate = Attempt { number, gap, is_duplicate: true };
            assert_eq!(counter.arrived("a", now), duplicate);
        }
    }

    #[test]
    fn acceptance_after_the_senders_limit_does_not_count() {
        for (took, is_duplicate) in [(secs(10), true), (secs(10) + Duration::from_nanos(1), false)]
        {
            let (mut counter, start) = (AttemptCounter::new(100), Instant::now());
            counter.arrived("a", start);
            counter.accepted("a", start, start + took);
            assert_eq!(counter.arrived("a", start + secs(21)).is_duplicate, is_duplicate);
        }
    }

    #[test]
    fn oldest_ids_are_forgotten_and_memory_is_bounded() {
        let (mut counter, now) = (AttemptCounter::new(10), Instant::now());
        for id in 0..1_000 {
            counter.arrived(&id.to_string(), now);
            assert!(counter.recent.len() + counter.older.len() <= 20);
        }
        for id in 990..1_000 {
            assert_eq!(counter.arrived(&id.to_string(), now).number, 2, "{id}");
        }
        assert_eq!(counter.arrived("5", now).number, 1);
    }
}
