//! A store under test, and its clock.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_receiver::inbox::{Claim, ClaimToken, Inbox, InboxErrorKind, Queue};

/// The usual lease of the checks.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// Time to live of marks in the stores under test.
pub(super) const TTL: Duration = Duration::from_secs(86_400);
/// Leaves a mark one lease before it expires.
pub(super) const ALMOST_TTL: Duration = TTL.saturating_sub(LEASE);

type Advanced = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An empty store.
pub(crate) struct TestStore {
    pub(crate) inbox: Arc<dyn Inbox>,
    /// The same store, opened like another process does.
    pub(crate) second: Arc<dyn Inbox>,
    /// Another scope of the store.
    pub(crate) other_scope: Arc<dyn Inbox>,
    /// The three handles above as queues, if the store is a queue.
    pub(crate) queues: Option<[Arc<dyn Queue>; 3]>,
    /// Advances the time of the store.
    pub(crate) advance: Box<dyn Fn(Duration) -> Advanced + Send + Sync>,
    /// Deleted after the test.
    pub(crate) _directory: Option<tempfile::TempDir>,
}

impl TestStore {
    pub(super) async fn advance(&self, time: Duration) {
        (self.advance)(time).await;
    }

    pub(super) fn queues(&self) -> [Arc<dyn Queue>; 3] {
        self.queues.clone().expect("the store is a queue")
    }

    /// Claims a free key.
    pub(super) async fn acquire(&self, key: &str) -> ClaimToken {
        acquire(&*self.inbox, key).await
    }

    /// Claims and completes a free key.
    pub(super) async fn handle(&self, key: &str) {
        let token = self.acquire(key).await;
        self.inbox.complete(&token).await.unwrap();
    }
}

pub(super) async fn acquire(inbox: &dyn Inbox, key: &str) -> ClaimToken {
    match inbox.claim(key, LEASE).await {
        Ok(Claim::Acquired(token)) => token,
        other => panic!("{key:?} is not free: {other:?}"),
    }
}

pub(super) async fn is_duplicate(inbox: &dyn Inbox, key: &str) -> bool {
    inbox.claim(key, LEASE).await.unwrap() == Claim::Duplicate
}

pub(super) async fn is_in_flight(inbox: &dyn Inbox, key: &str) -> bool {
    matches!(inbox.claim(key, LEASE).await.unwrap(), Claim::InFlight { .. })
}

/// Checks that every operation with the token fails.
pub(super) async fn assert_lost(inbox: &dyn Inbox, token: &ClaimToken) {
    for result in
        [inbox.complete(token).await, inbox.release(token).await, inbox.extend(token, LEASE).await]
    {
        assert_eq!(result.unwrap_err().kind(), InboxErrorKind::ClaimLost);
    }
}

/// A clock that tests advance.
#[derive(Clone, Default)]
pub(crate) struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    pub(crate) fn now(&self) -> SystemTime {
        let start = UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        start + Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}
