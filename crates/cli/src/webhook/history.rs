//! What came before: how often each submission has come, and whether the pauses between its attempts
//! are those of the service. Bounded: the submissions that came longest ago are forgotten.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use formsvc_protocol::RetrySchedule;
use formsvc_protocol::limits::DELIVERY_TIMEOUT;

use super::capture::Arrival;

/// Submissions that are remembered at least, in one listener.
pub(crate) const REMEMBERED: usize = 16_384;
/// Longest id that is remembered, in bytes; those of the service have 40.
const ID_MAX: usize = 256;
/// What a pause may be longer than the schedule says: two machines' timers, and the way between them.
const SLACK: Duration = Duration::from_secs(2);

/// The submissions that came, by id: the young ones, and those of the generation before. An id that
/// comes again becomes young; when there are too many young, the old ones go. So whatever came among
/// the last [`REMEMBERED`] is known, and twice as many are held at most.
pub(crate) struct History {
    young: HashMap<Box<str>, Seen>,
    old: HashMap<Box<str>, Seen>,
    remembered: usize,
    schedule: RetrySchedule,
}

/// A submission that came.
#[derive(Clone, Copy, Debug)]
struct Seen {
    times: u32,
    last: Instant,
    /// When its sender knew how the last attempt ended, and the pause it was asked for then.
    ended: Option<(Instant, Option<Duration>)>,
    accepted: bool,
}

/// The pause before a retry, beside what the service's schedule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pause {
    /// Which retry, the first being 1.
    pub(crate) retry: u32,
    /// How long it was, from the end of the attempt before.
    pub(crate) waited: Duration,
    /// The shortest and the longest that the schedule has; none for a retry beyond the last.
    pub(crate) expected: Option<(Duration, Duration)>,
}

/// When the sender of an attempt knew how it ended: it waits no longer than the service does, whenever the
/// answer comes.
pub(crate) fn known_after(took: Duration) -> Duration {
    took.min(DELIVERY_TIMEOUT)
}

impl Pause {
    /// The pause before a retry, by a schedule and by what the answer before asked for.
    pub(crate) fn of(
        schedule: &RetrySchedule,
        retry: u32,
        waited: Duration,
        asked_for: Option<Duration>,
    ) -> Self {
        let of = |random| schedule.pause(retry, random, asked_for);
        let expected = (retry <= schedule.retries).then(|| (of(0.0), of(1.0)));
        Self { retry, waited, expected }
    }

    /// Whether the schedule has such a pause.
    pub(crate) fn fits(&self) -> bool {
        // Clocks of timers differ by little; the lower end has no slack but a hundredth.
        self.expected.is_some_and(|(least, most)| {
            self.waited + least / 100 >= least && self.waited <= most + SLACK
        })
    }
}

/// What is known of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Came {
    pub(crate) arrival: Arrival,
    /// The pause before it, where it is a retry.
    pub(crate) pause: Option<Pause>,
}

impl Came {
    /// Of what has no id that could come again.
    pub(crate) const ONCE: Self =
        Self { arrival: Arrival { number: 1, gap: None, duplicate: false }, pause: None };
}

impl History {
    pub(crate) fn new(remembered: usize, schedule: RetrySchedule) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), remembered, schedule }
    }

    /// A submission has come.
    pub(crate) fn arrived(&mut self, id: &str, now: Instant) -> Came {
        if id.len() > ID_MAX {
            return Came::ONCE;
        }
        let Some(before) = self.take(id) else {
            self.put(id, Seen { times: 1, last: now, ended: None, accepted: false });
            return Came::ONCE;
        };
        let times = before.times.saturating_add(1);
        self.put(id, Seen { times, last: now, ..before });
        let gap = Some(now.saturating_duration_since(before.last));
        let arrival = Arrival { number: times, gap, duplicate: before.accepted };
        // What had been accepted is sent again by mistake, and so is what is still being answered.
        let pause = before.ended.filter(|_| !before.accepted).map(|(ended, asked_for)| {
            let waited = now.saturating_duration_since(ended);
            Pause::of(&self.schedule, before.times, waited, asked_for)
        });
        Came { arrival, pause }
    }

    /// An attempt for a submission that had come has ended.
    pub(crate) fn ended(
        &mut self,
        id: &str,
        (began, now): (Instant, Instant),
        accepted: bool,
        asked_for: Option<Duration>,
    ) {
        let Some(seen) = self.young.get_mut(id).or_else(|| self.old.get_mut(id)) else { return };
        let ended = began + known_after(now.saturating_duration_since(began));
        seen.accepted |= accepted && now <= ended;
        seen.ended = Some((ended, asked_for));
    }

    fn take(&mut self, id: &str) -> Option<Seen> {
        self.young.remove(id).or_else(|| self.old.remove(id))
    }

    fn put(&mut self, id: &str, seen: Seen) {
        if self.young.len() >= self.remembered {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(id.into(), seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn history() -> History {
        History::new(100, RetrySchedule::default())
    }

    #[test]
    fn arrivals_are_counted_and_a_retry_has_its_pause() {
        let (mut history, began) = (history(), Instant::now());
        assert_eq!(history.arrived("a", began), Came::ONCE);
        history.ended("a", (began, began + secs(1)), false, None);
        let came = history.arrived("a", began + secs(12));
        let arrival = Arrival { number: 2, gap: Some(secs(12)), duplicate: false };
        let pause = Pause { retry: 1, waited: secs(11), expected: Some((secs(10), secs(12))) };
        assert_eq!(came, Came { arrival, pause: Some(pause) });
        assert!(pause.fits());
        let began = began + secs(12);
        history.ended("a", (began, began), true, None);
        let again = history.arrived("a", began + secs(60));
        let arrival = Arrival { number: 3, gap: Some(secs(60)), duplicate: true };
        assert_eq!(again, Came { arrival, pause: None });
    }

    #[test]
    fn a_sender_that_gave_up_counts_from_when_it_did() {
        let (mut history, began) = (history(), Instant::now());
        history.arrived("a", began);
        // Accepted too late to be known.
        history.ended("a", (began, began + secs(15)), true, None);
        let came = history.arrived("a", began + secs(21));
        assert!(!came.arrival.duplicate);
        assert_eq!(came.pause.unwrap().waited, secs(11));
    }

    #[test]
    fn pauses_fit_within_the_jitter_and_what_was_asked_for() {
        let pause = |retry, waited, asked_for: Option<Duration>| {
            Pause::of(&RetrySchedule::default(), retry, waited, asked_for)
        };
        for (retry, waited, asked_for, fits) in [
            (1, secs(10), None, true),
            (1, secs(14), None, true),
            (1, secs(15), None, false),
            (1, secs(9), None, false),
            (2, secs(60), None, true),
            (2, secs(11), None, false),
            (3, secs(430), None, true),
            (4, secs(430), None, false),
            (1, secs(10), Some(secs(30)), false),
            (1, secs(30), Some(secs(30)), true),
        ] {
            assert_eq!(pause(retry, waited, asked_for).fits(), fits, "{retry} {waited:?}");
        }
    }

    #[test]
    fn what_came_at_the_same_time_is_no_retry() {
        let (mut history, now) = (history(), Instant::now());
        history.arrived("a", now);
        let came = history.arrived("a", now);
        assert_eq!((came.arrival.number, came.arrival.duplicate, came.pause), (2, false, None));
    }

    #[test]
    fn the_oldest_are_forgotten_and_memory_is_bounded() {
        let (mut history, now) = (History::new(10, RetrySchedule::default()), Instant::now());
        for id in 0..1_000 {
            history.arrived(&id.to_string(), now);
            assert!(history.young.len() + history.old.len() <= 20);
        }
        assert_eq!(history.arrived("995", now).arrival.number, 2);
        assert_eq!(history.arrived("5", now).arrival.number, 1);
        assert_eq!(history.arrived(&"x".repeat(ID_MAX + 1), now), Came::ONCE);
        assert_eq!(history.arrived(&"x".repeat(ID_MAX + 1), now), Came::ONCE);
    }
}
