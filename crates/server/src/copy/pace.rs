//! How often people are told how far it is.

use std::time::{Duration, Instant};

/// Between two lines about one table: whoever waits sees that it goes on, and a log stays short.
const EVERY: Duration = Duration::from_secs(2);

/// When something was told last.
#[derive(Default)]
pub(super) struct Pace(Option<Instant>);

impl Pace {
    /// Whether something is to be told now; if so, it was.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.0.is_none_or(|told| now.duration_since(told) >= EVERY);
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_and_then_one_in_a_while() {
        let (mut pace, began) = (Pace::default(), Instant::now());
        let told = (0..100u32).filter(|n| pace.is_due(began + EVERY * *n / 10));
        assert_eq!(told.collect::<Vec<_>>(), [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    }
}
