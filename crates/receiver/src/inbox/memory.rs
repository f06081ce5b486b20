//! The inbox in memory, for one process.

use std::collections::{BTreeMap, HashMap};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::claim::KeyState;
use super::clock::{Clock, to_millis};
use super::limits::{EXPIRED_CLAIM_KEPT, TTL_MIN, check_lease, check_ttl, stored_key};
use super::scope::Scope;
use super::{Claim, ClaimToken, Inbox, InboxError, InboxErrorKind, InboxFuture};

/// Default capacity in keys, about 20 MB.
const DEFAULT_CAPACITY: usize = 100_000;
/// Default time to live of a mark: one day.
const DEFAULT_TTL: Duration = Duration::from_secs(24 * 3_600);
/// Expired entries that each claim deletes. More than it adds, so that they do not accumulate.
const PRUNED_PER_CLAIM: usize = 2;

/// An inbox in memory, for **one process**: it is empty after a restart, and other processes do not see
/// it. Use it for tests, and for handlers that are idempotent.
///
/// The number of keys is limited; [`Eviction`] defines what happens to a new key when the inbox is full.
/// Clones share their content.
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
    eviction: Eviction,
}

/// The mark that a full [`MemoryInbox`] evicts for a new key. Claims are never evicted. If there is no
/// mark to evict, the new key is refused with [`InboxErrorKind::Full`], which is answered with 503.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Eviction {
    /// The oldest mark, if it is older than [`TTL_MIN`]: the sender's retries have ended, so only a
    /// delivery that is resent by hand is handled twice.
    #[default]
    AfterRetries,
    /// The oldest mark. Its submission is handled again if the sender repeats it.
    Oldest,
    /// None. Deliveries are refused until marks expire.
    Never,
}

/// Settings of a [`MemoryInbox`].
#[derive(Clone, Debug)]
#[must_use]
pub struct MemoryInboxBuilder {
    capacity: usize,
    ttl: Duration,
    eviction: Eviction,
    clock: Clock,
}

impl MemoryInboxBuilder {
    /// Sets the maximum number of claims and marks of all scopes: 100,000 by default, about 20 MB.
    pub fn capacity(self, keys: usize) -> Self {
        Self { capacity: keys, ..self }
    }

    /// Sets the time to live of marks: one day by default, at least [`TTL_MIN`].
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Sets the rule for a full inbox: [`Eviction::AfterRetries`] by default.
    pub fn eviction(self, eviction: Eviction) -> Self {
        Self { eviction, ..self }
    }

    /// Sets the clock: the system's by default.
    pub fn clock(self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self { clock: Clock::new(now), ..self }
    }

    /// Creates the inbox. Fails with [`InboxErrorKind::InvalidConfig`] for an invalid setting.
    pub fn build(self) -> Result<MemoryInbox, InboxError> {
        let Self { capacity, ttl, eviction, clock } = self;
        let ttl = check_ttl(ttl)?;
        if capacity == 0 {
            return Err(InboxError::config("capacity `0` has no room for a key"));
        }
        let shared = Shared { table: Mutex::default(), clock, ttl, capacity, eviction };
        Ok(MemoryInbox { shared: Arc::new(shared), scope: Scope::default() })
    }
}

impl MemoryInbox {
    /// Creates an empty inbox with default settings.
    pub fn new() -> Self {
        Self::builder().build().expect("the default settings are valid")
    }

    /// Starts an inbox with other settings.
    pub fn builder() -> MemoryInboxBuilder {
        MemoryInboxBuilder {
            capacity: DEFAULT_CAPACITY,
            ttl: DEFAULT_TTL,
            eviction: Eviction::default(),
            clock: Clock::default(),
        }
    }

    /// The same inbox with another [scope](super#scopes).
    pub fn scope(&self, name: &str) -> Result<Self, InboxError> {
        Ok(Self { shared: Arc::clone(&self.shared), scope: Scope::new(name)? })
    }

    /// Number of claims and marks of all scopes.
    pub fn len(&self) -> usize {
        self.table().entries.len()
    }

    /// True if there are no claims and no marks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of marks that were evicted before they expired.
    pub fn evicted(&self) -> u64 {
        self.table().evicted
    }

    /// A panic cannot interrupt a change of the table, so a poisoned lock is safe to use.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim_now(&self, key: &str, lease: Duration) -> Result<Claim, InboxError> {
        let key = &*stored_key(key)?;
        let lease = check_lease(lease)?;
        let now = self.shared.clock.now_millis();
        let name = table_key(self.scope.name(), key);
        let mut table = self.table();
        table.prune(now, PRUNED_PER_CLAIM);
        if let Some(entry) = table.entries.get(&*name) {
            if let Some(claim) = entry.state.blocks_claim(entry.until.saturating_sub(now)) {
                return Ok(claim);
            }
        } else if table.entries.len() >= self.shared.capacity && !self.make_room(&mut table, now) {
            return Err(InboxErrorKind::Full.into());
        }
        table.last_fence += 1;
        let fence = table.last_fence;
        let until = now.saturating_add(lease);
        table.insert(name, Entry { state: KeyState::Claimed, until, fence });
        Ok(Claim::Acquired(ClaimToken::issue(&self.scope, key, fence)))
    }

    /// Deletes one entry that the settings allow to delete.
    fn make_room(&self, table: &mut Table, now: i64) -> bool {
        let evict_until = match self.shared.eviction {
            Eviction::AfterRetries => {
                // A mark expires `ttl` after it was made.
                let age_left = self.shared.ttl.saturating_sub(to_millis(TTL_MIN));
                now.saturating_add(age_left)
            }
            Eviction::Oldest => i64::MAX,
            Eviction::Never => i64::MIN,
        };
        if table.remove_first(KeyState::Claimed, now) {
            return true;
        }
        let has_evicted = table.remove_first(KeyState::Handled, evict_until);
        table.evicted += u64::from(has_evicted);
        has_evicted
    }

    /// Replaces the entry of a claim, if the claim is still held.
    fn update(
        &self,
        token: &ClaimToken,
        allows_handled: bool,
        to: impl FnOnce(i64) -> Option<(KeyState, i64)>,
    ) -> Result<(), InboxError> {
        let now = self.shared.clock.now_millis();
        let name = table_key(token.scope(), token.key());
        let mut table = self.table();
        let fence = token.fence_number();
        let is_held = table.entries.get(&*name).is_some_and(|entry| {
            entry.fence == fence && (allows_handled || entry.state == KeyState::Claimed)
        });
        if !is_held {
            return Err(InboxErrorKind::ClaimLost.into());
        }
        match to(now) {
            Some((state, until)) => table.insert(name, Entry { state, until, fence }),
            None => table.remove(&name),
        }
        Ok(())
    }
}

impl Default for MemoryInbox {
    fn default() -> Self {
        Self::new()
    }
}

/// Scope and key as one text. A scope contains no NUL.
fn table_key(scope: &str, key: &str) -> Arc<str> {
    [scope, "\0", key].concat().into()
}

impl Inbox for MemoryInbox {
    fn claim<'a>(&'a self, key: &'a str, lease: Duration) -> InboxFuture<'a, Claim> {
        Box::pin(async move { self.claim_now(key, lease) })
    }

    fn extend<'a>(&'a self, token: &'a ClaimToken, lease: Duration) -> InboxFuture<'a, ()> {
        Box::pin(async move {
            let lease = check_lease(lease)?;
            let extended = |now: i64| Some((KeyState::Claimed, now.saturating_add(lease)));
            self.update(token, false, extended)
        })
    }

    fn complete<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        let ttl = self.shared.ttl;
        let handled = move |now: i64| Some((KeyState::Handled, now.saturating_add(ttl)));
        Box::pin(async move { self.update(token, true, handled) })
    }

    fn release<'a>(&'a self, token: &'a ClaimToken) -> InboxFuture<'a, ()> {
        Box::pin(async move { self.update(token, false, |_| None) })
    }

    fn prune(&self, at_most: usize) -> InboxFuture<'_, usize> {
        let now = self.shared.clock.now_millis();
        Box::pin(ready(Ok(self.table().prune(now, at_most))))
    }
}

/// The claims and marks. Times are milliseconds since 1970.
#[derive(Debug, Default)]
struct Table {
    entries: HashMap<Arc<str>, Entry>,
    /// The keys of all entries, ordered by state and expiry. Fencing numbers make the order unique.
    by_expiry: BTreeMap<(KeyState, i64, i64), Arc<str>>,
    last_fence: i64,
    evicted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    state: KeyState,
    until: i64,
    fence: i64,
}

impl Entry {
    fn order(self) -> (KeyState, i64, i64) {
        (self.state, self.until, self.fence)
    }
}

impl Table {
    /// Adds an entry, or replaces the entry of the key.
    fn insert(&mut self, key: Arc<str>, entry: Entry) {
        self.remove(&key);
        self.by_expiry.insert(entry.order(), Arc::clone(&key));
        self.entries.insert(key, entry);
    }

    fn remove(&mut self, key: &str) {
        if let Some(entry) = self.entries.remove(key) {
            self.by_expiry.remove(&entry.order());
        }
    }

    /// Deletes the entry of a state that expires first, if it expires at `until` or earlier.
    fn remove_first(&mut self, state: KeyState, until: i64) -> bool {
        let range = (state, i64::MIN, i64::MIN)..=(state, until, i64::MAX);
        let Some(key) = self.by_expiry.range(range).next().map(|(_, key)| Arc::clone(key)) else {
            return false;
        };
        self.remove(&key);
        true
    }

    /// Deletes expired entries. A claim is kept for a while after its lease ended.
    fn prune(&mut self, now: i64, at_most: usize) -> usize {
        let lease_ended = now.saturating_sub(EXPIRED_CLAIM_KEPT);
        let mut remove_one = || {
            self.remove_first(KeyState::Handled, now)
                || self.remove_first(KeyState::Claimed, lease_ended)
        };
        (0..at_most).take_while(|_| remove_one()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expired_claim_is_pruned_after_a_day() {
        let mut table = Table::default();
        table.insert("a".into(), Entry { state: KeyState::Claimed, until: 10, fence: 1 });
        assert_eq!(table.prune(EXPIRED_CLAIM_KEPT + 9, 9), 0);
        assert_eq!(table.prune(EXPIRED_CLAIM_KEPT + 10, 9), 1);
        assert!(table.entries.is_empty() && table.by_expiry.is_empty());
    }

    #[test]
    fn replaced_entry_leaves_one_key_in_order() {
        let mut table = Table::default();
        for (state, until) in
            [(KeyState::Claimed, 1), (KeyState::Claimed, 2), (KeyState::Handled, 3)]
        {
            table.insert("a".into(), Entry { state, until, fence: 1 });
            assert_eq!((table.entries.len(), table.by_expiry.len()), (1, 1));
        }
        assert!(!table.remove_first(KeyState::Claimed, i64::MAX));
        assert!(table.remove_first(KeyState::Handled, 3));
    }
}
