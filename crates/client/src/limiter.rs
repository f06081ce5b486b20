//! The client's rate limiter (SPEC §8): a rolling window, and the pause that a 429 asks for.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use formsvc_protocol::RollingWindow;
use formsvc_protocol::limits::{RATE_LIMIT, RATE_WINDOW};
use tokio::time::{Instant, sleep};

use formsvc_protocol::RETRY_AFTER_MAX;

/// Two seconds longer than the service's window; [`RollingWindow`] explains the margin.
const WINDOW: Duration = RATE_WINDOW.saturating_add(Duration::from_secs(2));

/// The client's own limit on requests, shared by all clones of a client. Other processes that use
/// the same key are not counted; the service answers 429 when all together exceed its limit.
///
/// The default is the service's limit: 300 requests in any minute (SPEC §8). A call that exceeds
/// the limit waits, at most [`max_wait`](crate::ClientBuilder::max_wait). Calls that wait are not
/// served in a fixed order.
///
/// ```
/// use formsvc_client::RateLimit;
/// assert_ne!(RateLimit::per_minute(150), RateLimit::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit(Option<u32>);

impl RateLimit {
    /// Admits this many requests in any minute. Zero is an error of
    /// [`build`](crate::ClientBuilder::build).
    pub fn per_minute(requests: u32) -> Self {
        Self(Some(requests))
    }

    /// Turns the client's own limit off. A 429 still pauses all clones.
    pub fn off() -> Self {
        Self(None)
    }
}

impl Default for RateLimit {
    fn default() -> Self {
        Self(Some(RATE_LIMIT))
    }
}

/// Why a call waits before it sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitReason {
    /// The client's own limiter: another request now would exceed the limit (SPEC §8).
    Limit,
    /// This client, or a clone of it, received a 429.
    CoolDown,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limit => "the client's rate limit",
            Self::CoolDown => "a 429 of the service",
        })
    }
}

/// A wait before the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) duration: Duration,
    pub(crate) reason: WaitReason,
}

/// One per API key, shared by all clones. A caller that is dropped while it waits takes nothing.
#[derive(Debug)]
pub(crate) struct Limiter {
    start: Instant,
    state: Mutex<State>,
}

impl Limiter {
    /// Returns `None` for a limit of zero requests.
    pub(crate) fn new(RateLimit(limit): RateLimit) -> Option<Self> {
        let window = match limit {
            Some(requests) => Some(RollingWindow::new(NonZeroU32::new(requests)?, WINDOW)),
            None => None,
        };
        let state = Mutex::new(State { window, cool_until: Duration::ZERO });
        Some(Self { start: Instant::now(), state })
    }

    /// Waits until a request may be sent, and counts it. Fails at once if the wait would exceed
    /// `max_wait`. `on_wait` is called before each wait.
    pub(crate) async fn acquire(
        &self,
        max_wait: Duration,
        mut on_wait: impl FnMut(Wait),
    ) -> Result<(), Wait> {
        let started = Instant::now();
        loop {
            let Err(wait) = self.state().try_acquire(self.now()) else { return Ok(()) };
            if wait.duration > max_wait.saturating_sub(started.elapsed()) {
                return Err(wait);
            }
            on_wait(wait);
            // Another call may take the free permit, or a 429 may extend the pause: check again.
            sleep(wait.duration).await;
        }
    }

    /// Pauses all requests after a 429. A shorter pause never ends a longer one.
    pub(crate) fn cool_down(&self, wait: Duration) {
        let until = self.now() + wait.min(RETRY_AFTER_MAX);
        let mut state = self.state();
        state.cool_until = state.cool_until.max(until);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it holds this lock")
    }
}

/// Times count from the limiter's start.
#[derive(Debug)]
struct State {
    window: Option<RollingWindow>,
    cool_until: Duration,
}

impl State {
    fn try_acquire(&mut self, now: Duration) -> Result<(), Wait> {
        let cool_down = self.cool_until.saturating_sub(now);
        let window = match &mut self.window {
            Some(window) if cool_down.is_zero() => window.try_acquire(now),
            Some(window) => window.check(now),
            None => Ok(()),
        };
        match window {
            Err(duration) if duration > cool_down => {
                Err(Wait { duration, reason: WaitReason::Limit })
            }
            _ if cool_down.is_zero() => Ok(()),
            _ => Err(Wait { duration: cool_down, reason: WaitReason::CoolDown }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn state(limit: Option<u32>) -> State {
        let window = limit.map(|n| RollingWindow::new(NonZeroU32::new(n).unwrap(), WINDOW));
        State { window, cool_until: Duration::ZERO }
    }

    #[test]
    fn full_window_returns_the_wait_until_it_has_room() {
        let mut state = state(Some(2));
        assert_eq!(state.try_acquire(secs(0)), Ok(()));
        assert_eq!(state.try_acquire(secs(1)), Ok(()));
        let wait = Wait { duration: secs(62), reason: WaitReason::Limit };
        assert_eq!(state.try_acquire(secs(1)), Err(wait));
        assert_eq!(state.try_acquire(secs(63)), Ok(()));
    }

    #[test]
    fn cool_down_pauses_without_a_limit_and_spends_nothing() {
        let mut unlimited = state(None);
        unlimited.cool_until = secs(5);
        let wait = Wait { duration: secs(2), reason: WaitReason::CoolDown };
        assert_eq!(unlimited.try_acquire(secs(3)), Err(wait));
        assert_eq!(unlimited.try_acquire(secs(5)), Ok(()));
        let mut limited = state(Some(2));
        limited.cool_until = secs(5);
        assert!((0..5).all(|second| limited.try_acquire(secs(second)).is_err()));
        assert_eq!(limited.try_acquire(secs(5)), Ok(()));
        assert_eq!(limited.try_acquire(secs(5)), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn shorter_cool_down_does_not_end_a_longer_one() {
        let limiter = Limiter::new(RateLimit::off()).unwrap();
        limiter.cool_down(secs(10));
        limiter.cool_down(secs(1));
        let mut waits = Vec::new();
        limiter.acquire(secs(60), |wait| waits.push(wait.duration)).await.unwrap();
        assert_eq!(waits, [secs(10)]);
        limiter.cool_down(Duration::MAX);
        let wait = limiter.acquire(secs(60), |_| {}).await.unwrap_err();
        assert_eq!(wait.duration, RETRY_AFTER_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn wait_beyond_the_maximum_fails_at_once() {
        let limiter = Limiter::new(RateLimit::per_minute(1)).unwrap();
        limiter.acquire(Duration::ZERO, |_| {}).await.unwrap();
        let started = Instant::now();
        let wait = limiter.acquire(secs(30), |_| panic!("no wait begins")).await.unwrap_err();
        assert_eq!((wait.reason, started.elapsed()), (WaitReason::Limit, Duration::ZERO));
        assert!(Limiter::new(RateLimit::per_minute(0)).is_none());
    }
}
