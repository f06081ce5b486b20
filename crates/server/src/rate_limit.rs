//! The rate limit (SPEC §8): one rolling window per API key.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use formsvc_protocol::{RollingWindow, limits};

use crate::store::KeyHash;

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
}

impl Default for RateLimit {
    /// 300 requests in any minute (SPEC §8).
    fn default() -> Self {
        Self::per_minute(NonZeroU32::new(limits::RATE_LIMIT).expect("the limit is not zero"))
    }
}

/// The windows of the keys in use.
///
/// Only keys that exist get a window, and one that has been idle for its whole length is dropped, so
/// memory is bounded by the keys used within the last two windows.
pub struct RateLimiter {
    limit: RateLimit,
    clock: MonotonicClock,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    windows: HashMap<KeyHash, RollingWindow>,
    sweep_at: Duration,
}

impl RateLimiter {
    /// A limiter in which no key has made a request yet.
    pub fn new(limit: RateLimit, clock: MonotonicClock) -> Self {
        Self { limit, clock, shards: Default::default() }
    }

    /// Counts a request of a key, or says after how many whole seconds (1 or more) one would be
    /// admitted. A refused request counts for nothing.
    pub fn admit(&self, key: &KeyHash) -> Result<(), u64> {
        let RateLimit::Per { requests, window } = self.limit else { return Ok(()) };
        let now = (self.clock)();
        let mut shard = self.shard(key);
        if now >= shard.sweep_at {
            shard.windows.retain(|_, window| !window.is_idle(now));
            shard.sweep_at = now + window;
        }
        let rolling =
            shard.windows.entry(*key).or_insert_with(|| RollingWindow::new(requests, window));
        rolling.try_acquire(now).map_err(whole_seconds)
    }

    /// Windows held now.
    #[cfg(test)]
    fn tracked_keys(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).windows.len()).sum()
    }

    fn shard(&self, key: &KeyHash) -> MutexGuard<'_, Shard> {
        lock(&self.shards[usize::from(key.0[0]) % SHARDS])
    }
}

/// Windows are counters: whatever a panicking holder left is still a count.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `Retry-After` cannot carry fractions: rounded up, so that obeying it is always enough.
fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

impl std::fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RateLimiter").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn limiter(limit: RateLimit) -> (RateLimiter, Arc<AtomicU64>) {
        let millis = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&millis);
        let clock = Arc::new(move || Duration::from_millis(clock.load(Ordering::Relaxed)));
        (RateLimiter::new(limit, clock), millis)
    }

    fn key(n: u16) -> KeyHash {
        let mut hash = [0; 32];
        hash[..2].copy_from_slice(&n.to_be_bytes());
        hash[2] = 7;
        KeyHash(hash)
    }

    #[test]
    fn keys_do_not_share_a_quota() {
        let (limiter, _) = limiter(RateLimit::per_minute(NonZeroU32::MIN));
        assert_eq!(limiter.admit(&key(1)), Ok(()));
        assert_eq!(limiter.admit(&key(1)), Err(61));
        // The same shard, another key.
        assert_eq!(limiter.admit(&key(2)), Ok(()));
    }

    #[test]
    fn a_wait_that_is_obeyed_is_enough_and_one_second_less_is_not() {
        for phase in [0, 1, 250, 999] {
            let (limiter, millis) = limiter(RateLimit::default());
            millis.store(phase, Ordering::Relaxed);
            for _ in 0..limits::RATE_LIMIT {
                assert_eq!(limiter.admit(&key(1)), Ok(()));
            }
            let wait = limiter.admit(&key(1)).unwrap_err();
            millis.store(phase + (wait - 1) * 1000, Ordering::Relaxed);
            assert!(limiter.admit(&key(1)).is_err(), "phase {phase}");
            millis.store(phase + wait * 1000, Ordering::Relaxed);
            assert_eq!(limiter.admit(&key(1)), Ok(()), "phase {phase}");
        }
    }

    #[test]
    fn idle_keys_are_forgotten() {
        let (limiter, millis) = limiter(RateLimit::default());
        for n in 0..1000 {
            limiter.admit(&key(n)).unwrap();
        }
        assert_eq!(limiter.tracked_keys(), 1000);
        millis.store(200_000, Ordering::Relaxed);
        for shard in 0..16 {
            limiter.admit(&key(shard << 8)).unwrap();
        }
        assert_eq!(limiter.tracked_keys(), SHARDS);
    }

    #[test]
    fn off_counts_nothing() {
        let (limiter, _) = limiter(RateLimit::Off);
        for _ in 0..1000 {
            assert_eq!(limiter.admit(&key(1)), Ok(()));
        }
        assert_eq!(limiter.tracked_keys(), 0);
    }
}
