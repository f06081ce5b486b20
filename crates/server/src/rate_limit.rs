//! Rate limits: one rolling window for each key of an API (SPEC §8), for each public form, and for
//! each address that sends to one.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use formsvc_protocol::{RatePolicy, RollingWindow, limits};

/// Keys are spread over this many locks, so that requests of different keys seldom meet.
const SHARDS: usize = 16;

/// Monotonic time since a fixed start, injected so that tests own it.
pub type MonotonicClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Time since the process asked for this clock.
pub fn monotonic_clock() -> MonotonicClock {
    let start = Instant::now();
    Arc::new(move || start.elapsed())
}

/// How many requests a key may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// No limit.
    Off,
    /// At most `requests` in any `window`, which counts in whole seconds.
    Per {
        /// Requests admitted.
        requests: NonZeroU32,
        /// Length of the rolling window.
        window: Duration,
    },
}

impl RateLimit {
    /// `requests` in any minute.
    pub fn per_minute(requests: NonZeroU32) -> Self {
        Self::Per { requests, window: limits::RATE_WINDOW }
    }

    /// Returns the policy to announce to clients; `None` without a limit.
    pub(crate) fn policy(self) -> Option<RatePolicy> {
        match self {
            Self::Off => None,
            Self::Per { requests, window } => Some(RatePolicy { requests, window }),
        }
    }

    /// So many times as many requests.
    pub(crate) fn times(self, factor: NonZeroU32) -> Self {
        match self {
            Self::Off => Self::Off,
            Self::Per { requests, window } => {
                Self::Per { requests: requests.saturating_mul(factor), window }
            }
        }
    }
}

impl Default for RateLimit {
    /// 300 requests in any minute (SPEC §8).
    fn default() -> Self {
        Self::per_minute(NonZeroU32::new(limits::RATE_LIMIT).expect("the limit is not zero"))
    }
}

/// The windows of the keys in use.
///
/// A window that has been idle for its whole length is dropped, so memory is bounded by the keys used
/// within the last two windows. Where strangers can make up keys,
/// [`with_windows_max`](Self::with_windows_max) bounds it in any case.
pub struct RateLimiter<K> {
    limit: RateLimit,
    /// Behind one lock.
    windows_max: usize,
    clock: MonotonicClock,
    spread: RandomState,
    shards: [Mutex<Shard<K>>; SHARDS],
}

struct Shard<K> {
    windows: HashMap<K, RollingWindow>,
    sweep_at: Duration,
}

impl<K: Hash + Eq + Clone> RateLimiter<K> {
    /// A limiter in which no key has made a request yet.
    pub fn new(limit: RateLimit, clock: MonotonicClock) -> Self {
        let shard = || Mutex::new(Shard { windows: HashMap::new(), sweep_at: Duration::ZERO });
        let shards = std::array::from_fn(|_| shard());
        Self { limit, windows_max: usize::MAX, clock, spread: RandomState::new(), shards }
    }

    /// Counts no more keys than about so many; when there are as many, one that is new is admitted
    /// uncounted, so that those who fill the table shut out nobody. A limit that does not depend on
    /// the key must then hold.
    #[must_use]
    pub fn with_windows_max(self, windows: usize) -> Self {
        Self { windows_max: windows / SHARDS, ..self }
    }

    /// The limit it was made with.
    pub(crate) fn limit(&self) -> RateLimit {
        self.limit
    }

    /// Counts a request of a key, or says after how many whole seconds (1 or more) one would be
    /// admitted. A refused request counts for nothing.
    pub fn admit(&self, key: &K) -> Result<(), u64> {
        let RateLimit::Per { requests, window } = self.limit else { return Ok(()) };
        let now = (self.clock)();
        let mut shard = self.shard(key);
        if now >= shard.sweep_at {
            shard.windows.retain(|_, window| !window.is_idle(now));
            shard.sweep_at = now + window;
        }
        if let Some(rolling) = shard.windows.get_mut(key) {
            return rolling.try_acquire(now).map_err(whole_seconds);
        }
        if shard.windows.len() >= self.windows_max {
            return Ok(());
        }
        let mut rolling = RollingWindow::new(requests, window);
        let admitted = rolling.try_acquire(now).map_err(whole_seconds);
        shard.windows.insert(key.clone(), rolling);
        admitted
    }

    /// Says what [`admit`](Self::admit) would, and counts nothing.
    pub fn check(&self, key: &K) -> Result<(), u64> {
        let RateLimit::Per { .. } = self.limit else { return Ok(()) };
        let now = (self.clock)();
        let mut shard = self.shard(key);
        let rolling = shard.windows.get_mut(key);
        rolling.map_or(Ok(()), |rolling| rolling.check(now)).map_err(whole_seconds)
    }

    /// Windows held now.
    #[cfg(test)]
    fn tracked_keys(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).windows.len()).sum()
    }

    fn shard(&self, key: &K) -> MutexGuard<'_, Shard<K>> {
        let hash = self.spread.hash_one(key).to_le_bytes();
        lock(&self.shards[usize::from(hash[0]) % SHARDS])
    }
}

/// Windows are counters: whatever a panicking holder left is still a count.
fn lock<K>(shard: &Mutex<Shard<K>>) -> MutexGuard<'_, Shard<K>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `Retry-After` cannot carry fractions: rounded up, so that obeying it is always enough.
pub(crate) fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

impl<K> std::fmt::Debug for RateLimiter<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimiter").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn limiter(limit: RateLimit) -> (RateLimiter<u32>, Arc<AtomicU64>) {
        let millis = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&millis);
        let clock = Arc::new(move || Duration::from_millis(clock.load(Ordering::Relaxed)));
        (RateLimiter::new(limit, clock), millis)
    }

    #[test]
    fn keys_do_not_share_a_quota() {
        let (limiter, _) = limiter(RateLimit::per_minute(NonZeroU32::MIN));
        assert_eq!(limiter.admit(&1), Ok(()));
        assert_eq!(limiter.admit(&1), Err(61));
        // Some of them behind the same lock.
        for key in 2..100 {
            assert_eq!(limiter.admit(&key), Ok(()));
        }
    }

    #[test]
    fn a_wait_that_is_obeyed_is_enough_and_one_second_less_is_not() {
        for phase in [0, 1, 250, 999] {
            let (limiter, millis) = limiter(RateLimit::default());
            millis.store(phase, Ordering::Relaxed);
            for _ in 0..limits::RATE_LIMIT {
                assert_eq!(limiter.admit(&1), Ok(()));
            }
            let wait = limiter.admit(&1).unwrap_err();
            millis.store(phase + (wait - 1) * 1000, Ordering::Relaxed);
            assert!(limiter.admit(&1).is_err(), "phase {phase}");
            millis.store(phase + wait * 1000, Ordering::Relaxed);
            assert_eq!(limiter.admit(&1), Ok(()), "phase {phase}");
        }
    }

    #[test]
    fn idle_keys_are_forgotten() {
        let (limiter, millis) = limiter(RateLimit::default());
        for key in 0..1000 {
            limiter.admit(&key).unwrap();
        }
        assert_eq!(limiter.tracked_keys(), 1000);
        millis.store(200_000, Ordering::Relaxed);
        for key in 1000..1500 {
            limiter.admit(&key).unwrap();
        }
        assert_eq!(limiter.tracked_keys(), 500);
    }

    #[test]
    fn keys_that_are_made_up_take_no_more_than_so_much_memory() {
        let (limiter, millis) = limiter(RateLimit::per_minute(NonZeroU32::MIN));
        let limiter = limiter.with_windows_max(320);
        assert_eq!(limiter.admit(&0), Ok(()));
        for key in 1..10_000 {
            assert_eq!(limiter.admit(&key), Ok(()));
        }
        assert_eq!(limiter.tracked_keys(), 320);
        assert!(limiter.admit(&0).is_err(), "who was counted still is");
        millis.store(200_000, Ordering::Relaxed);
        for key in 0..50 {
            assert_eq!(limiter.admit(&key), Ok(()));
        }
        assert!(limiter.tracked_keys() < 320, "there is room again");
    }

    #[test]
    fn a_check_counts_nothing() {
        let (limiter, _) = limiter(RateLimit::per_minute(NonZeroU32::MIN));
        assert_eq!((limiter.check(&1), limiter.check(&1)), (Ok(()), Ok(())));
        assert_eq!(limiter.tracked_keys(), 0);
        limiter.admit(&1).unwrap();
        assert_eq!((limiter.check(&1), limiter.check(&2)), (Err(61), Ok(())));
    }

    #[test]
    fn off_counts_nothing() {
        let (limiter, _) = limiter(RateLimit::Off);
        for _ in 0..1000 {
            assert_eq!(limiter.admit(&1), Ok(()));
        }
        assert_eq!(limiter.tracked_keys(), 0);
    }
}
