//! The client's rate limiter (SPEC §8): a rolling window, and the pause that a 429 asks for.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use formsvc_protocol::limits::{RATE_LIMIT, RATE_WINDOW};
use formsvc_protocol::{RETRY_AFTER_MAX, RatePolicy, RollingWindow};
use http::HeaderMap;
use tokio::time::{Instant, sleep, timeout};

/// Share of the service's window by which the client's window is longer: 2 s of 60 s. [`RollingWindow`]
/// explains the margin.
const MARGIN: u32 = 30;

/// The client's own limit on requests, shared by all clones of a client. Other processes that use
/// the same key are not counted; the service responds with 429 when all together exceed its limit.
///
/// The default is the limit that the service announces in `RateLimit-Policy`, and until then 300
/// requests in any minute (SPEC §8). Calls that exceed the limit wait and are served in their order. A
/// call that would wait longer than [`max_wait`](crate::ClientBuilder::max_wait) fails at once.
///
/// ```
/// use formsvc_client::RateLimit;
/// assert_ne!(RateLimit::per_minute(150), RateLimit::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimit(Limit);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Limit {
    #[default]
    Announced,
    PerMinute(u32),
    Off,
}

impl RateLimit {
    /// Admits this many requests in any minute. Zero is an error of
    /// [`build`](crate::ClientBuilder::build).
    pub fn per_minute(requests: u32) -> Self {
        Self(Limit::PerMinute(requests))
    }

    /// Turns the client's own limit off. A 429 still pauses all clones.
    pub fn off() -> Self {
        Self(Limit::Off)
    }
}

/// Why a call waits before it sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitReason {
    /// The client's own limiter: another request now would exceed the limit that the caller set, or
    /// the limit of SPEC §8 if the service announced none.
    Limit,
    /// Another request now would exceed the limit that the service announced in `RateLimit-Policy`.
    Announced,
    /// This client, or a clone of it, received a 429.
    CoolDown,
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limit => "the client's rate limit",
            Self::Announced => "the announced rate limit of the service",
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
    /// The announced limit applies.
    follows_policy: bool,
    state: Mutex<State>,
    /// Serves waiting calls in their order: the lock is fair.
    turn: tokio::sync::Mutex<()>,
}

/// A call that waits; it leaves the queue when it is dropped.
struct Waiting<'a>(&'a Limiter);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

impl Limiter {
    /// Returns `None` for a limit of zero requests.
    pub(crate) fn new(RateLimit(limit): RateLimit) -> Option<Self> {
        let requests = match limit {
            Limit::Announced => Some(NonZeroU32::new(RATE_LIMIT)?),
            Limit::PerMinute(requests) => Some(NonZeroU32::new(requests)?),
            Limit::Off => None,
        };
        let state = Mutex::new(State::new(requests));
        Some(Self {
            start: Instant::now(),
            follows_policy: limit == Limit::Announced,
            state,
            turn: tokio::sync::Mutex::new(()),
        })
    }

    /// Takes the limit that the service announces in the headers of a response, unless the caller set one.
    pub(crate) fn announce(&self, headers: &HeaderMap) {
        let Some(header) = headers.get(RatePolicy::HEADER) else { return };
        let Some(policy) = header.to_str().ok().and_then(RatePolicy::parse) else { return };
        let mut state = self.state();
        if state.policy != Some(policy) {
            state.policy = Some(policy);
            if let Some(window) = state.window.as_mut().filter(|_| self.follows_policy) {
                window.set_limit(policy.requests, with_margin(policy.window));
                state.reason = WaitReason::Announced;
            }
        }
    }

    /// Returns the limit that the service announced last.
    pub(crate) fn policy(&self) -> Option<RatePolicy> {
        self.state().policy
    }

    /// Waits until a request may be sent, after the calls that wait already, and counts the request. Fails as
    /// soon as the wait would exceed the rest of `max_wait`. `on_wait` is called before each wait.
    pub(crate) async fn acquire(
        &self,
        max_wait: Duration,
        mut on_wait: impl FnMut(Wait),
    ) -> Result<(), Wait> {
        let started = Instant::now();
        let (first, ahead) = self.state().enter(self.now());
        let Err(wait) = first else { return Ok(()) };
        let _waiting = Waiting(self);
        if wait.duration > max_wait {
            return Err(wait);
        }
        if !wait.duration.is_zero() {
            on_wait(wait);
        }
        let mut announced = wait.duration;
        let Ok(_turn) = timeout(max_wait, self.turn.lock()).await else {
            return Err(self.state().wait(self.now(), ahead).unwrap_or(wait));
        };
        loop {
            let Err(wait) = self.state().try_acquire(self.now()) else { return Ok(()) };
            let elapsed = started.elapsed();
            if wait.duration > max_wait.saturating_sub(elapsed) {
                return Err(wait);
            }
            // A 429, or an announced limit, can make the wait longer than it was at first.
            if elapsed + wait.duration > announced {
                announced = elapsed + wait.duration;
                on_wait(wait);
            }
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

/// Returns the window of a client for the window of a service.
fn with_margin(window: Duration) -> Duration {
    window + window / MARGIN
}

/// Times count from the limiter's start.
#[derive(Debug)]
struct State {
    window: Option<RollingWindow>,
    /// The reason of a wait for the window.
    reason: WaitReason,
    policy: Option<RatePolicy>,
    cool_until: Duration,
    /// The number of calls that wait.
    waiting: u32,
}

impl State {
    /// Creates the state of a limit in requests per minute.
    fn new(limit: Option<NonZeroU32>) -> Self {
        let window = limit.map(|requests| RollingWindow::new(requests, with_margin(RATE_WINDOW)));
        let cool_until = Duration::ZERO;
        Self { window, reason: WaitReason::Limit, policy: None, cool_until, waiting: 0 }
    }

    /// Counts a request, or adds the call to those that wait. Returns also their number before.
    fn enter(&mut self, now: Duration) -> (Result<(), Wait>, u32) {
        let ahead = self.waiting;
        if ahead == 0 && self.try_acquire(now).is_ok() {
            return (Ok(()), ahead);
        }
        self.waiting += 1;
        let now_free = Wait { duration: Duration::ZERO, reason: self.reason };
        (Err(self.wait(now, ahead).unwrap_or(now_free)), ahead)
    }

    /// Returns the wait of a call behind `ahead` others; `None` if a request may be sent now.
    fn wait(&self, now: Duration, ahead: u32) -> Option<Wait> {
        let cool_down = self.cool_until.saturating_sub(now);
        let window = self.window.as_ref();
        let window = window.map_or(Duration::ZERO, |window| window.wait_behind(now, ahead));
        let (duration, reason) = if window > cool_down {
            (window, self.reason)
        } else {
            (cool_down, WaitReason::CoolDown)
        };
        (!duration.is_zero()).then_some(Wait { duration, reason })
    }

    /// Counts a request if it may be sent now.
    fn try_acquire(&mut self, now: Duration) -> Result<(), Wait> {
        if let Some(wait) = self.wait(now, 0) {
            return Err(wait);
        }
        if let Some(window) = &mut self.window {
            window.try_acquire(now).expect("a window that requires no wait has room");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    fn state(limit: Option<u32>) -> State {
        State::new(limit.map(|n| NonZeroU32::new(n).unwrap()))
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

    fn headers(policy: &'static str) -> HeaderMap {
        let value = http::HeaderValue::from_static(policy);
        HeaderMap::from_iter([(http::HeaderName::from_static(RatePolicy::HEADER), value)])
    }

    #[tokio::test(start_paused = true)]
    async fn announced_limit_applies_unless_the_caller_set_one() {
        let limiter = Limiter::new(RateLimit::default()).unwrap();
        limiter.acquire(secs(99), |_| {}).await.unwrap();
        limiter.announce(&headers("\"default\";q=2;w=10"));
        limiter.announce(&headers("nonsense"));
        limiter.announce(&HeaderMap::new());
        limiter.acquire(secs(99), |_| panic!("no wait begins")).await.unwrap();
        let mut waits = Vec::new();
        limiter.acquire(secs(99), |wait| waits.push((wait.duration, wait.reason))).await.unwrap();
        assert_eq!(waits, [(secs(12), WaitReason::Announced)]);
        assert_eq!(limiter.policy().unwrap().requests.get(), 2);
        for limit in [RateLimit::per_minute(5), RateLimit::off()] {
            let limiter = Limiter::new(limit).unwrap();
            limiter.announce(&headers("\"default\";q=1;w=10"));
            for _ in 0..5 {
                limiter.acquire(secs(99), |_| panic!("no wait begins")).await.unwrap();
            }
        }
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

    #[tokio::test(start_paused = true)]
    async fn waiting_calls_are_served_in_their_order() {
        let limiter = Limiter::new(RateLimit::per_minute(2)).unwrap();
        let served = Mutex::new(Vec::new());
        let calls = (0..20).map(|call| {
            let (limiter, served) = (&limiter, &served);
            async move {
                limiter.acquire(secs(3_600), |_| {}).await.unwrap();
                served.lock().unwrap().push(call);
            }
        });
        futures_util::future::join_all(calls).await;
        assert_eq!(*served.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test(start_paused = true)]
    async fn wait_behind_others_fails_at_once_with_its_length() {
        let limiter = Limiter::new(RateLimit::per_minute(1)).unwrap();
        limiter.acquire(secs(0), |_| {}).await.unwrap();
        let mut first = Box::pin(limiter.acquire(secs(99), |_| {}));
        assert!(futures_util::poll!(&mut first).is_pending());
        let started = Instant::now();
        let wait = limiter.acquire(secs(99), |_| panic!("no wait begins")).await.unwrap_err();
        assert_eq!((wait.duration, started.elapsed()), (secs(126), Duration::ZERO));
        // A dropped call leaves the queue.
        drop(first);
        let mut waits = Vec::new();
        limiter.acquire(secs(99), |wait| waits.push(wait.duration)).await.unwrap();
        assert_eq!(waits, [secs(63)]);
    }

    #[tokio::test(start_paused = true)]
    async fn cool_down_while_queued_fails_at_the_maximum() {
        let limiter = Limiter::new(RateLimit::per_minute(1)).unwrap();
        limiter.acquire(secs(0), |_| {}).await.unwrap();
        let first = limiter.acquire(secs(7_200), |_| {});
        let second = limiter.acquire(secs(130), |_| {});
        let pause = async { limiter.cool_down(secs(1_000)) };
        let (first, second, ()) = tokio::join!(first, second, pause);
        assert_eq!((first, second.unwrap_err().reason), (Ok(()), WaitReason::CoolDown));
    }
}
