//! How often somebody may try to sign in.
//!
//! An address has a quota, its site of IPv6 another, and so has an e-mail address, or many addresses
//! together could go through passwords. The e-mail addresses of users are counted apart from those that
//! anybody makes up: however many those are, they push none of the others out. The quota of an e-mail
//! address is not asked for where its owner signed in before: whoever uses it up from elsewhere shuts the
//! owner out of new places only, for an hour at most. A one-time link needs no quota.

use std::collections::HashSet;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use formsvc_protocol::UserId;
use sha2::{Digest, Sha256};

use crate::network::Network;
use crate::rate_limit::{MonotonicClock, RateLimit, RateLimiter};
use crate::store::email_key;

/// Windows of addresses, and of e-mail addresses that nobody has, at most.
const WINDOWS_MAX: usize = 65_536;
/// Tries of one address in a minute.
const TRIES_OF_NETWORK: u32 = 10;
/// Tries of all networks of one site of IPv6 in a minute.
const TRIES_OF_SITE: u32 = 40;
/// Tries at one e-mail address in an hour, from wherever nobody signed in by it before.
const TRIES_AT_EMAIL: u32 = 60;
/// Tests of one endpoint in a minute, and of all endpoints of a user.
const TESTS: u32 = 6;
const TESTS_OF_USER: u32 = 20;
/// Places where somebody signed in that are remembered; then all are forgotten.
const PLACES_MAX: usize = 16_384;
/// An e-mail address as it is counted: anybody can make one up, of any length.
type Email = [u8; 32];

/// The limits of signing in.
pub(super) struct Limits {
    by_network: RateLimiter<Network>,
    by_site: RateLimiter<Network>,
    /// Of users, so that there are no more of them than users.
    by_email: RateLimiter<Email>,
    by_made_up: RateLimiter<Email>,
    tests: RateLimiter<String>,
    tests_of_user: RateLimiter<UserId>,
    known: Mutex<HashSet<(Email, Network)>>,
}

fn per(requests: u32, window: Duration) -> RateLimit {
    let requests = NonZeroU32::new(requests).expect("the limit is not zero");
    RateLimit::Per { requests, window }
}

fn limiter<K: Hash + Eq + Clone>(limit: RateLimit, clock: &MonotonicClock) -> RateLimiter<K> {
    RateLimiter::new(limit, MonotonicClock::clone(clock))
}

fn email_of(email: &str) -> Email {
    Sha256::digest(email_key(email.trim())).into()
}

impl Limits {
    pub(super) fn new(clock: &MonotonicClock) -> Self {
        let minute = Duration::from_secs(60);
        let at_email = per(TRIES_AT_EMAIL, 60 * minute);
        Self {
            by_network: limiter(per(TRIES_OF_NETWORK, minute), clock).with_windows_max(WINDOWS_MAX),
            by_site: limiter(per(TRIES_OF_SITE, minute), clock).with_windows_max(WINDOWS_MAX),
            by_email: limiter(at_email, clock),
            by_made_up: limiter(at_email, clock).with_windows_max(WINDOWS_MAX),
            tests: limiter(per(TESTS, minute), clock),
            tests_of_user: limiter(per(TESTS_OF_USER, minute), clock),
            known: Mutex::default(),
        }
    }

    /// Counts an attempt to sign in from somewhere, or says after how many whole seconds one would be
    /// admitted. The smallest network goes first: what is refused to one does not count against its
    /// neighbours.
    pub(super) fn admit_from(&self, network: Network) -> Result<(), u64> {
        self.by_network.admit(&network)?;
        network.site().map_or(Ok(()), |site| self.by_site.admit(&site))
    }

    /// Counts it at an e-mail address, which a user has or nobody.
    pub(super) fn admit_at(&self, email: &str, network: Network, is_user: bool) -> Result<(), u64> {
        let email = email_of(email);
        if self.known().contains(&(email, network)) {
            return Ok(());
        }
        if is_user { self.by_email.admit(&email) } else { self.by_made_up.admit(&email) }
    }

    /// Remembers where somebody signed in.
    pub(super) fn signed_in(&self, network: Network, email: &str) {
        let mut known = self.known();
        if known.len() >= PLACES_MAX {
            known.clear();
        }
        known.insert((email_of(email), network));
    }

    /// Counts a test of a user's endpoint.
    pub(super) fn admit_test(&self, user: &UserId, endpoint: &str) -> Result<(), u64> {
        self.tests.admit(&endpoint.to_owned())?;
        self.tests_of_user.admit(user)
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
        let clock: MonotonicClock = Arc::new(|| Duration::ZERO);
        Limits::new(&clock)
    }

    fn at(n: u8) -> Network {
        Network::around(IpAddr::from([192, 0, 2, n]))
    }

    #[test]
    fn an_address_may_try_ten_times_a_minute_and_a_site_forty() {
        let limits = limits();
        for _ in 0..10 {
            assert_eq!(limits.admit_from(at(1)), Ok(()));
        }
        assert_eq!(limits.admit_from(at(1)), Err(61));
        assert_eq!(limits.admit_from(at(2)), Ok(()));
        let of_site = |n: u16| Network::around(IpAddr::from([0x2001, 0xdb8, 7, n, 0, 0, 0, 1]));
        for n in 0..40 {
            assert_eq!(limits.admit_from(of_site(n)), Ok(()));
        }
        assert_eq!(limits.admit_from(of_site(40)), Err(61));
        let other = Network::around(IpAddr::from([0x2001, 0xdb8, 8, 0, 0, 0, 0, 1]));
        assert_eq!(limits.admit_from(other), Ok(()));
    }

    #[test]
    fn addresses_that_are_made_up_push_no_users_out() {
        let limits = limits();
        for n in 0..2 * WINDOWS_MAX {
            let _ = limits.admit_at(&format!("{n}@example.org"), at(1), false);
        }
        for _ in 0..60 {
            assert_eq!(limits.admit_at("ada@example.org", at(1), true), Ok(()));
        }
        assert!(limits.admit_at("ada@example.org", at(1), true).is_err());
    }

    #[test]
    fn tests_are_counted_by_endpoint_and_by_user() {
        let limits = limits();
        let user = UserId::new("usr_a").unwrap();
        for _ in 0..6 {
            assert_eq!(limits.admit_test(&user, "whe_1"), Ok(()));
        }
        assert_eq!(limits.admit_test(&user, "whe_1"), Err(61));
        for n in 0..14 {
            assert_eq!(limits.admit_test(&user, &format!("whe_1{n}")), Ok(()));
        }
        assert_eq!(limits.admit_test(&user, "whe_2"), Err(61));
        assert_eq!(limits.admit_test(&UserId::new("usr_b").unwrap(), "whe_2"), Ok(()));
    }

    #[test]
    fn many_addresses_together_do_not_go_through_passwords_nor_shut_out_who_is_known() {
        let limits = limits();
        limits.signed_in(at(200), "ada@example.org");
        for n in 0..60 {
            assert_eq!(limits.admit_at(" ADA@example.org", at(n), true), Ok(()));
        }
        assert!(limits.admit_at("ada@example.org", at(100), true).is_err());
        let where_she_was = limits.admit_at("ada@example.org", at(200), true);
        assert_eq!(where_she_was, Ok(()));
        assert_eq!(limits.admit_at("bob@example.org", at(100), true), Ok(()));
    }
}
