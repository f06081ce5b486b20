//! Who may send now: the limiter's window and the cool-down after a 429. Pure; the caller brings
//! the time.

use std::time::Duration;

use formsvc_protocol::RollingWindow;

use super::{RateLimit, WINDOW};
use crate::WaitReason;
use crate::retry::RETRY_AFTER_MAX;

/// A wait that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) duration: Duration,
    pub(crate) why: WaitReason,
}

/// The shared state; times count from a fixed start.
#[derive(Debug)]
pub(super) struct State {
    window: Option<RollingWindow>,
    /// When the window has room again, as it said at the last refusal.
    full_until: Duration,
    cool_until: Duration,
}

impl State {
    pub(super) fn new(limit: RateLimit) -> Self {
        let window = limit.requests().map(|requests| RollingWindow::new(requests, WINDOW));
        Self { window, full_until: Duration::ZERO, cool_until: Duration::ZERO }
    }

    /// Counts a request, or says how long to wait; whoever is refused has taken nothing.
    pub(super) fn try_pass(&mut self, now: Duration) -> Result<(), Wait> {
        if let Some(wait) = self.foreseen(now) {
            return Err(wait);
        }
        let Some(window) = &mut self.window else { return Ok(()) };
        window.try_acquire(now).map_err(|duration| {
            self.full_until = now + duration;
            Wait { duration, why: WaitReason::Limit }
        })
    }

    /// The wait that is known without asking to pass.
    pub(super) fn foreseen(&self, now: Duration) -> Option<Wait> {
        let wait = |until: Duration, why| {
            until
                .checked_sub(now)
                .filter(|wait| !wait.is_zero())
                .map(|duration| Wait { duration, why })
        };
        let cool = wait(self.cool_until, WaitReason::CoolDown);
        let full = wait(self.full_until, WaitReason::Limit);
        match (cool, full) {
            (Some(cool), Some(full)) if full.duration > cool.duration => Some(full),
            (Some(cool), _) => Some(cool),
            (None, full) => full,
        }
    }

    /// A 429 asks everybody to wait. A shorter one never ends a longer one.
    pub(super) fn cool_down(&mut self, now: Duration, wait: Duration) {
        self.cool_until = self.cool_until.max(now + wait.min(RETRY_AFTER_MAX));
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    const fn at(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn two_per_minute() -> State {
        State::new(RateLimit::per_minute(NonZeroU32::new(2).unwrap()))
    }

    #[test]
    fn a_full_window_names_the_second_it_has_room_again() {
        let mut state = two_per_minute();
        assert_eq!(state.try_pass(at(0)), Ok(()));
        assert_eq!(state.try_pass(at(1)), Ok(()));
        assert_eq!(state.foreseen(at(1)), None);
        let wait = Wait { duration: at(62), why: WaitReason::Limit };
        assert_eq!(state.try_pass(at(1)), Err(wait));
        assert_eq!(state.foreseen(at(1)), Some(wait));
        assert_eq!(state.try_pass(at(63)), Ok(()));
    }

    #[test]
    fn a_cool_down_holds_also_without_a_limit() {
        let mut state = State::new(RateLimit::off());
        state.cool_down(at(10), at(5));
        state.cool_down(at(11), at(1));
        let wait = Wait { duration: at(3), why: WaitReason::CoolDown };
        assert_eq!(state.try_pass(at(12)), Err(wait));
        assert_eq!(state.try_pass(at(15)), Ok(()));
    }

    #[test]
    fn a_refused_request_spends_nothing_of_the_window() {
        let mut state = two_per_minute();
        state.cool_down(at(0), at(5));
        for second in 0..5 {
            assert!(state.try_pass(at(second)).is_err());
        }
        assert!(state.try_pass(at(5)).is_ok() && state.try_pass(at(5)).is_ok());
    }

    #[test]
    fn an_absurd_cool_down_ends_within_the_hour() {
        let mut state = State::new(RateLimit::off());
        state.cool_down(at(0), Duration::MAX);
        assert_eq!(state.try_pass(RETRY_AFTER_MAX), Ok(()));
    }
}
