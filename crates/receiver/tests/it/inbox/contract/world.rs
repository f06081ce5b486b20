//! A store under test, and its time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_receiver::inbox::{Claim, ClaimToken, Inbox, InboxErrorKind, Queue};

/// The lease of claims, unless it matters.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// How long marks of the stores under test are kept.
pub(crate) const TTL: Duration = Duration::from_secs(86_400);

/// A mark has the time of a lease left.
pub(crate) const SHORTLY_BEFORE_THE_END: Duration = TTL.saturating_sub(LEASE);

type Moved = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A store that nothing is in.
pub(crate) struct World {
    pub(crate) inbox: Arc<dyn Inbox>,
    /// The same store as another process has it.
    pub(crate) elsewhere: Arc<dyn Inbox>,
    /// Another scope of it.
    pub(crate) other_scope: Arc<dyn Inbox>,
    /// It as a queue, elsewhere, and in another scope.
    pub(crate) queues: Option<[Arc<dyn Queue>; 3]>,
    /// Lets time pass.
    pub(crate) pass: Box<dyn Fn(Duration) -> Moved + Send + Sync>,
    /// What must be there as long as the store is.
    pub(crate) _keep: Box<dyn Send + Sync>,
}

impl World {
    pub(crate) async fn pass(&self, time: Duration) {
        (self.pass)(time).await;
    }

    pub(crate) fn queue(&self) -> [Arc<dyn Queue>; 3] {
        self.queues.clone().expect("the store is a queue")
    }

    /// Claims a key that must be free.
    pub(crate) async fn acquire(&self, key: &str) -> ClaimToken {
        acquire(&*self.inbox, key).await
    }

    /// Handles a key that must be free.
    pub(crate) async fn handle(&self, key: &str) {
        let token = self.acquire(key).await;
        self.inbox.complete(&token).await.expect("it is completed");
    }
}

pub(crate) async fn acquire(inbox: &dyn Inbox, key: &str) -> ClaimToken {
    match inbox.claim(key, LEASE).await {
        Ok(Claim::Acquired(token)) => token,
        other => panic!("{key:?} is not free: {other:?}"),
    }
}

pub(crate) async fn is_duplicate(inbox: &dyn Inbox, key: &str) -> bool {
    matches!(inbox.claim(key, LEASE).await.expect("an answer"), Claim::Duplicate)
}

pub(crate) async fn is_in_flight(inbox: &dyn Inbox, key: &str) -> bool {
    matches!(inbox.claim(key, LEASE).await.expect("an answer"), Claim::InFlight { .. })
}

/// Checks that a claim is lost for everything.
pub(crate) async fn assert_lost(inbox: &dyn Inbox, token: &ClaimToken) {
    let answers =
        [inbox.complete(token).await, inbox.release(token).await, inbox.extend(token, LEASE).await];
    for answer in answers {
        assert_eq!(answer.unwrap_err().kind(), InboxErrorKind::ClaimLost);
    }
}

/// Asks until it is so: what is done in the background tells nobody when it is.
pub(crate) async fn wait_until(is_so: impl AsyncFn() -> bool) {
    let asked = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LEASE / 2, asked).await.expect("it is so long before a lease ends");
}

/// A clock that goes when it is told to.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Clock {
    pub(crate) fn now(&self) -> SystemTime {
        let began = UNIX_EPOCH + Duration::from_secs(1_790_000_000);
        began + Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    pub(crate) fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).expect("a time that tests pass");
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}
