//! An inbox in memory, for one process.

mod name;
mod table;

use std::borrow::Cow;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use self::table::{Found, Table};
use super::clock::{millis, until};
use super::limits::{TTL_MIN, check_key, check_lease, check_ttl};
use super::{Claim, ClaimToken, Clock, Inbox, InboxError, InboxErrorKind, InboxFuture, Scope};

/// Keys remembered at most, unless told otherwise: some 20 MB.
const DEFAULT_CAPACITY: usize = 100_000;
/// How long a mark is kept, unless told otherwise: a day. A process does not remember longer than it runs.
const DEFAULT_TTL: Duration = Duration::from_secs(24 * 3_600);
/// Keys whose time has come that each new claim forgets, at most.
const PRUNED_BESIDE: usize = 2;

/// An inbox in memory. **One process only**: another process, or this one started again, knows nothing of
/// what was handled. For tests, and for effects that bear being repeated after a restart.
///
/// It is bounded by a count of keys. When it is full of marks whose time has not come, it forgets [those that
/// no sender will ask for](WhenFull::ForgetSettled), or does [as it was told](MemoryInboxBuilder::when_full).
///
/// Clones share what they remember. Nothing here waits: each future is ready when it is polled.
#[derive(Clone, Debug)]
pub struct MemoryInbox {
    shared: Arc<Shared>,
    scope: Scope,
}

#[derive(Debug)]
struct Shared {
    table: Mutex<Table>,
    clock: Clock,
    ttl: i64,
    capacity: usize,
    when_full: WhenFull,
}

/// What a [`MemoryInbox`] does with a new key when it is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Forgets the mark that was made first, if that is longer ago than the sender's retries can last, which
    /// is [`TTL_MIN`]; otherwise refuses the key, as [`Refuse`](Self::Refuse) does. What is
    /// forgotten is handled again only if somebody has it sent again by hand; [`MemoryInbox::forgotten`] counts
    /// it.
    ///
    /// Strangers who fill in a public form decide how many deliveries there are: so they have to send more
    /// than the capacity in 4 hours, and not in the whole time to live, before deliveries are refused.
    #[default]
    ForgetSettled,
    /// Refuses it with [`InboxErrorKind::Full`], which is answered with 503, so that the sender sends it
    /// again later. Nothing is handled twice; a receiver that gets more than its capacity within the time to
    /// live refuses deliveries, which are lost when the sender's retries end before there is room.
    Refuse,
    /// Forgets the mark that was made first. What is forgotten is handled again when it is delivered again;
    /// [`MemoryInbox::forgotten`] counts it. Claims are never forgotten: when nothing but claims is left, the
    /// key is refused.
    ForgetOldest,
}

/// Settings of a [`MemoryInbox`].
#[derive(Clone, Debug)]
pub struct MemoryInboxBuilder {
    capacity: usize,
    ttl: Duration,
    when_full: WhenFull,
    scope: Scope,
    clock: Clock,
}

impl MemoryInboxBuilder {
    /// How many keys it holds at most, claims and marks together; 100,000 unless set, which take some 20 MB.
    #[must_use]
    pub fn capacity(mut self, keys: usize) -> Self {
        self.capacity = keys;
        self
    }

    /// How long a mark is kept, from [`TTL_MIN`] on; a day unless set.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// What happens to a new key when it is full; [`WhenFull::ForgetSettled`] unless set.
    #[must_use]
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// The time that leases and marks go by; the system's unless set. When it is put back, they last longer
    /// by as much.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Clock::new(now);
        self
    }

    /// Makes it. Fails with [`InboxErrorKind::Setup`] for a capacity of 0 or a time to live out of range.
    pub fn build(self) -> Result<MemoryInbox, InboxError> {
        let ttl = check_ttl(self.ttl)?;
        if self.capacity == 0 {
            let why = "a capacity of `0` has room for nothing";
            return Err(InboxError::with_source(InboxErrorKind::Setup, why));
        }
        let shared = Shared {
            table: Mutex::default(),
            clock: self.clock,
            ttl,
            capacity: self.capacity,
            when_full: self.when_full,
        };
        Ok(MemoryInbox { shared: Arc::new(shared), scope: self.scope })
    }
}

impl MemoryInbox {
    /// Settings to begin with.
    pub fn builder() -> MemoryInboxBuilder {
        MemoryInboxBuilder {
            capacity: DEFAULT_CAPACITY,
            ttl: DEFAULT_TTL,
            when_full: WhenFull::default(),
            scope: Scope::default(),
            clock: Clock::default(),
        }
    }

    /// The same inbox for another [scope](super#scopes), with which it shares its capacity.
    pub fn scope(&self, name: &str) -> Result<Self, InboxError> {
        Ok(Self { shared: Arc::clone(&self.shared), scope: Scope::new(name)? })
    }

    /// How many keys it holds, claims and marks, of all scopes.
    pub fn len(&self) -> usize {
        self.table().len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many marks were forgotten before their time, to make room.
    pub fn forgotten(&self) -> u64 {
        self.table().forgotten()
    }

    /// Every change of the table is whole before anything can panic, so a poisoned lock hides no damage.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_now(&self, key: &str, lease: Duration) -> Result<Claim, InboxError> {
        check_key(key)?;
        let lease = check_lease(lease)?;
        let (now, name) = (self.shared.clock.millis(), name(self.scope.name(), key));
        let mut table = self.table();
        table.prune(now, PRUNED_BESIDE);
        if table.len() >= self.shared.capacity && table.find(&name, now).is_none() {
            // A claim that has ended is kept for a handler that may come late, where there is room.
            if !table.forget_claim(now) && !self.make_room(&mut table, now) {
                return Err(InboxErrorKind::Full.into());
            }
        }
        match table.claim(Arc::clone(&name), now, now.saturating_add(lease)) {
            Ok(fence) => {
                let (scope, key_at) = (self.scope.clone(), name.len() - key.len());
                Ok(Claim::Acquired(ClaimToken::named(scope, name, key_at, fence)))
            }
            Err(Found::Claim { until: end }) => {
                Ok(Claim::InFlight { retry_after: until(end, now) })
            }
            Err(Found::Mark | Found::Ended) => Ok(Claim::Duplicate),
        }
    }

    /// Forgets a mark before its time, where that is allowed.
    fn make_room(&self, table: &mut Table, now: i64) -> bool {
        match self.shared.when_full {
            WhenFull::Refuse => false,
            WhenFull::ForgetOldest => table.forget_oldest(i64::MAX),
            WhenFull::ForgetSettled => {
                // A mark ends a time to live after it was made.
                let settled = self.shared.ttl.saturating_sub(millis(TTL_MIN));
                table.forget_oldest(now.saturating_add(settled))
            }
        }
    }

    fn extend_now(&self, token: &ClaimToken, lease: Duration) -> Result<(), InboxError> {
        let end = self.shared.clock.millis().saturating_add(check_lease(lease)?);
        held(self.table().extend(&named(token), token.number(), end))
    }

    fn complete_now(&self, token: &ClaimToken) -> Result<(), InboxError> {
        let end = self.shared.clock.millis().saturating_add(self.shared.ttl);
        held(self.table().complete(&named(token), token.number(), end))
    }

    fn release_now(&self, token: &ClaimToken) -> Result<(), InboxError> {
        held(self.table().release(&named(token), token.number()))
    }
}

/// A key within the table; no scope has a NUL.
fn name(scope: &str, key: &str) -> Arc<str> {
    [scope, "\0", key].concat().into()
}

/// The key of a token within the table. One that was not made here has no name of the table's.
fn named(token: &ClaimToken) -> Cow<'_, str> {
    let (scope, key, name) = (token.scope(), token.key(), token.name());
    if name.len() == scope.len() + 1 + key.len() {
        return name.into();
    }
    Cow::Owned([scope, "\0", key].concat())
}

fn held(held: bool) -> Result<(), InboxError> {
    if held { Ok(()) } else { Err(InboxErrorKind::ClaimLost.into()) }
}

impl Inbox for MemoryInbox {
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim> {
        Box::pin(async move { self.claim_now(key, lease) })
    }

    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()> {
        Box::pin(async move { self.extend_now(token, lease) })
    }

    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        Box::pin(async move { self.complete_now(token) })
    }

    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        Box::pin(async move { self.release_now(token) })
    }

    fn abandon(&self, token: &ClaimToken) {
        // Lost or released, it is nobody's any more.
        let _ = self.release_now(token);
    }

    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize> {
        let now = self.shared.clock.millis();
        Box::pin(ready(Ok(self.table().prune(now, at_most))))
    }
}
