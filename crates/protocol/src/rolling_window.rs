//! The rate limiter's algorithm (SPEC §8), shared by the server and the client.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

/// Counts requests in 1-second buckets and admits at most `limit` requests in any window.
///
/// A bucket counts until the youngest request it can contain is a whole window old. The bound
/// therefore holds for every window, wherever it starts; a request may wait up to one second longer
/// than with a log of exact instants. A client that must never be refused uses a window two seconds
/// longer than the server's: one for the phase between the seconds of both clocks, one for
/// different network latencies.
///
/// The caller passes the time: a monotonic duration since any fixed start.
///
/// ```
/// use std::{num::NonZeroU32, time::Duration};
/// use formsvc_protocol::RollingWindow;
/// let mut window = RollingWindow::new(NonZeroU32::MIN, Duration::from_secs(60));
/// assert_eq!(window.try_acquire(Duration::from_millis(500)), Ok(()));
/// // The second request in the window waits until the first one's bucket has left it.
/// let wait = window.try_acquire(Duration::from_secs(2)).unwrap_err();
/// assert_eq!(wait, Duration::from_secs(59));
/// assert_eq!(window.try_acquire(Duration::from_secs(2) + wait), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct RollingWindow {
    limit: u32,
    window_secs: u64,
    /// Second and number of its requests, oldest first; seconds without requests are left out.
    buckets: VecDeque<(u64, u32)>,
    total: u32,
}

impl RollingWindow {
    /// Creates a window that admits `limit` requests per `window`, rounded up to whole seconds.
    pub fn new(limit: NonZeroU32, window: Duration) -> Self {
        let window_secs = window.as_secs() + u64::from(window.subsec_nanos() > 0);
        Self { limit: limit.get(), window_secs, buckets: VecDeque::new(), total: 0 }
    }

    /// Changes the limit and the window; the counted requests stay.
    pub fn set_limit(&mut self, limit: NonZeroU32, window: Duration) {
        let buckets = std::mem::take(&mut self.buckets);
        *self = Self { buckets, total: self.total, ..Self::new(limit, window) };
    }

    /// Counts a request at `now`. Returns the time until a request would be admitted if the window is
    /// full; a refused request is not counted.
    pub fn try_acquire(&mut self, now: Duration) -> Result<(), Duration> {
        self.check(now)?;
        let second = self.second(now);
        self.total += 1;
        match self.buckets.back_mut() {
            Some((last, count)) if *last == second => *count += 1,
            _ => self.buckets.push_back((second, 1)),
        }
        Ok(())
    }

    /// Returns the result of [`try_acquire`](Self::try_acquire) without counting a request.
    pub fn check(&mut self, now: Duration) -> Result<(), Duration> {
        self.forget_before(self.second(now));
        if self.total < self.limit {
            return Ok(());
        }
        let (oldest, _) = self.buckets.front().expect("a full window has a bucket");
        Err(Duration::from_secs(oldest + self.window_secs + 1).saturating_sub(now))
    }

    /// Returns the time until a request would be admitted after `ahead` others that wait already; zero if
    /// there is room now.
    pub fn wait_behind(&self, now: Duration, ahead: u32) -> Duration {
        let (mut queue, mut at) = (self.clone(), now);
        for _ in 0..=ahead {
            while let Err(wait) = queue.try_acquire(at) {
                at += wait;
            }
        }
        at.saturating_sub(now)
    }

    /// Returns the bucket of an instant: never one before the newest, also if the clock steps back.
    fn second(&self, now: Duration) -> u64 {
        self.buckets.back().map_or(now.as_secs(), |(last, _)| now.as_secs().max(*last))
    }

    /// Returns true if no request counts at `now`; such a window can be dropped.
    pub fn is_idle(&self, now: Duration) -> bool {
        self.buckets.back().is_none_or(|(last, _)| last + self.window_secs < now.as_secs())
    }

    fn forget_before(&mut self, second: u64) {
        while let Some((oldest, count)) = self.buckets.front().copied() {
            if oldest + self.window_secs >= second {
                break;
            }
            self.total -= count;
            self.buckets.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(limit: u32, secs: u64) -> RollingWindow {
        RollingWindow::new(NonZeroU32::new(limit).unwrap(), Duration::from_secs(secs))
    }

    #[test]
    fn changed_limit_keeps_counted_requests() {
        let mut window = window(3, 5);
        let at = Duration::from_secs;
        (0..3).for_each(|second| window.try_acquire(at(second)).unwrap());
        window.set_limit(NonZeroU32::new(4).unwrap(), at(10));
        assert_eq!(window.try_acquire(at(3)), Ok(()));
        assert_eq!(window.try_acquire(at(3)), Err(at(8)));
    }

    proptest! {
        #[test]
        fn no_window_admits_more_than_the_limit(
            gaps in prop::collection::vec(0_u64..3_000, 1..300),
            limit in 1_u32..20,
        ) {
            let mut window = window(limit, 5);
            let (mut now, mut admitted) = (0_u64, Vec::new());
            for gap in gaps {
                now += gap;
                if window.try_acquire(Duration::from_millis(now)).is_ok() {
                    admitted.push(now);
                }
            }
            for (at, first) in admitted.iter().enumerate() {
                let inside = admitted[at..].iter().take_while(|t| *t - first <= 5_000).count();
                prop_assert!(inside <= limit as usize, "{inside} within 5 s of {first}");
            }
        }

        #[test]
        fn wait_behind_others_is_when_the_queue_is_served(
            gaps in prop::collection::vec(0_u64..800, 0..50),
            limit in 1_u32..6,
            ahead in 0_u32..20,
        ) {
            let mut window = window(limit, 5);
            let mut now = Duration::ZERO;
            for gap in gaps {
                now += Duration::from_millis(gap);
                let _ = window.try_acquire(now);
            }
            let (expected, start) = (window.wait_behind(now, ahead), now);
            for _ in 0..=ahead {
                while let Err(wait) = window.try_acquire(now) {
                    now += wait;
                }
            }
            prop_assert_eq!(start + expected, now);
        }

        #[test]
        fn request_after_the_wait_is_admitted(
            gaps in prop::collection::vec(0_u64..800, 1..200),
            limit in 1_u32..20,
        ) {
            let mut window = window(limit, 5);
            let mut now = Duration::ZERO;
            for gap in gaps {
                now += Duration::from_millis(gap);
                if let Err(wait) = window.try_acquire(now) {
                    prop_assert!(wait > Duration::ZERO && wait <= Duration::from_secs(6));
                    now += wait;
                    prop_assert_eq!(window.try_acquire(now), Ok(()));
                }
            }
        }

        #[test]
        fn client_with_wider_window_is_never_refused(
            phase in 0_u64..1_000,
            travel in prop::collection::vec(0_u64..1_000, 200),
            gaps in prop::collection::vec(0_u64..500, 200),
        ) {
            let (mut client, mut server) = (window(7, 7), window(7, 5));
            let (mut now, mut arrivals) = (Duration::ZERO, Vec::new());
            for (gap, travel) in gaps.iter().zip(&travel) {
                now += Duration::from_millis(*gap);
                while let Err(wait) = client.try_acquire(now) {
                    now += wait;
                }
                arrivals.push(now + Duration::from_millis(phase + travel));
            }
            arrivals.sort();
            for at in arrivals {
                prop_assert_eq!(server.try_acquire(at), Ok(()));
            }
        }
    }

    #[test]
    fn refused_request_is_not_counted() {
        let mut window = window(2, 60);
        assert!(window.try_acquire(Duration::ZERO).is_ok());
        assert!(window.try_acquire(Duration::from_secs(30)).is_ok());
        for second in 31..61 {
            assert!(window.try_acquire(Duration::from_secs(second)).is_err());
        }
        assert!(window.try_acquire(Duration::from_secs(61)).is_ok());
        assert!(window.try_acquire(Duration::from_secs(62)).is_err());
    }

    #[test]
    fn check_equals_try_acquire_and_counts_nothing() {
        let mut window = window(1, 60);
        for _ in 0..3 {
            assert_eq!(window.check(Duration::ZERO), Ok(()));
        }
        assert_eq!(window.try_acquire(Duration::ZERO), Ok(()));
        let refused = window.check(Duration::from_secs(30));
        assert_eq!(refused, Err(Duration::from_secs(31)));
        assert_eq!(window.try_acquire(Duration::from_secs(30)), refused);
        assert_eq!(window.check(Duration::from_secs(61)), Ok(()));
    }

    #[test]
    fn clock_stepping_back_admits_no_more() {
        let mut window = window(1, 60);
        assert!(window.try_acquire(Duration::from_secs(100)).is_ok());
        assert_eq!(window.try_acquire(Duration::from_secs(10)), Err(Duration::from_secs(151)));
    }

    #[test]
    fn window_without_requests_is_idle() {
        let mut window = window(5, 60);
        assert!(window.is_idle(Duration::ZERO));
        window.try_acquire(Duration::from_secs(1)).unwrap();
        assert!(!window.is_idle(Duration::from_secs(61)));
        assert!(window.is_idle(Duration::from_secs(62)));
    }
}
