//! How often somebody may try to sign in.
//!
//! An address has a quota, and so has an e-mail address, or many addresses together could go through
//! passwords. The quota of an e-mail address is not asked for where its owner signed in before: whoever
//! uses it up from elsewhere shuts the owner out of new places only, for an hour at most. A one-time
//! link needs no quota.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::network::Network;
use crate::rate_limit::{MonotonicClock, RateLimit, RateLimiter};

/// Windows of addresses and of e-mail addresses, at most.
const WINDOWS_MAX: usize = 65_536;
/// Places where somebody signed in that are remembered; then all are forgotten.
const PLACES_MAX: usize = 16_384;
/// An e-mail address as it is counted: anybody can make one up, of any length.
type Email = [u8; 32];

/// The limits of signing in.
pub(super) struct Limits {
    by_network: RateLimiter<Network>,
    by_email: RateLimiter<Email>,
    tests: RateLimiter<String>,
    known: Mutex<HashSet<(Email, Network)>>,
}

fn per(requests: u32, window: Duration) -> RateLimit {
    let requests = NonZeroU32::new(requests).expect("the limit is not zero");
    RateLimit::Per { requests, window }
}

fn email_of(email: &str) -> Email {
    Sha256::digest(email.trim().to_lowercase()).into()
}

impl Limits {
    pub(super) fn new(clock: MonotonicClock) -> Self {
        let minute = Duration::from_secs(60);
        let network = RateLimiter::new(per(10, minute), MonotonicClock::clone(&clock));
        let email = RateLimiter::new(per(60, 60 * minute), MonotonicClock::clone(&clock));
        Self {
            by_network: network.with_windows_max(WINDOWS_MAX),
            by_email: email.with_windows_max(WINDOWS_MAX),
            tests: RateLimiter::new(per(6, minute), clock),
            known: Mutex::default(),
        }
    }

    /// Counts an attempt to sign in, or says after how many whole seconds one would be admitted.
    pub(super) fn admit(&self, network: Network, email: &str) -> Result<(), u64> {
        self.by_network.admit(&network)?;
        let email = email_of(email);
        if self.known().contains(&(email, network)) {
            return Ok(());
        }
        self.by_email.admit(&email)
    }

    /// Remembers where somebody signed in.
    pub(super) fn signed_in(&self, network: Network, email: &str) {
        let mut known = self.known();
        if known.len() >= PLACES_MAX {
            known.clear();
        }
        known.insert((email_of(email), network));
    }

    /// Counts a test of an endpoint.
    pub(super) fn admit_test(&self, endpoint: &str) -> Result<(), u64> {
        self.tests.admit(&endpoint.to_owned())
    }

    /// The set is whole whatever panicked.
    fn known(&self) -> MutexGuard<'_, HashSet<(Email, Network)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use super::*;

    fn limits() -> Limits {
        Limits::new(Arc::new(|| Duration::ZERO))
    }

    fn at(n: u8) -> Network {
        Network::around(IpAddr::from([192, 0, 2, n]))
    }

    #[test]
    fn an_address_may_try_ten_times_a_minute() {
        let limits = limits();
        for n in 0..10 {
            assert_eq!(limits.admit(at(1), &format!("{n}@example.org")), Ok(()));
        }
        assert_eq!(limits.admit(at(1), "other@example.org"), Err(61));
        assert_eq!(limits.admit(at(2), "other@example.org"), Ok(()));
    }

    #[test]
    fn many_addresses_together_do_not_go_through_passwords_nor_shut_out_who_is_known() {
        let limits = limits();
        limits.signed_in(at(200), "ada@example.org");
        for n in 0..60 {
            assert_eq!(limits.admit(at(n), " ADA@example.org"), Ok(()));
        }
        assert!(limits.admit(at(100), "ada@example.org").is_err());
        assert_eq!(limits.admit(at(200), "ada@example.org"), Ok(()), "where she was before");
        assert_eq!(limits.admit(at(100), "bob@example.org"), Ok(()));
    }
}
