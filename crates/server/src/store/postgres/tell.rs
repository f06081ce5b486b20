//! Telling other processes of submissions that were committed: behind the commit, which nobody waits with,
//! and not for each.
//!
//! A notice within a transaction costs its commit a lock that all of the database's notices share, and
//! wakes everybody who hears notices. So under load one notice is for all the commits of a moment.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use deadpool_postgres::Pool;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::lent::{Lent, in_time};
use super::notify::Notice;
use crate::store::{EndpointNo, Lane, StoreError};
use crate::supervise::supervise;

/// Time between two notices. The first after a pause is sent at once.
const PAUSE: Duration = Duration::from_millis(5);

/// What is told of, and by whom.
#[derive(Debug)]
pub(super) struct Teller {
    untold: Arc<Untold>,
    sender: Arc<Sender>,
    telling: JoinHandle<()>,
}

/// Endpoints that others have not heard of.
#[derive(Debug, Default)]
pub(super) struct Untold {
    endpoints: Mutex<BTreeSet<i64>>,
    some: Notify,
}

struct Sender {
    pool: Pool,
    notice: Notice,
    within: Duration,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("notice", &self.notice).finish_non_exhaustive()
    }
}

impl Untold {
    /// Has others told of work that is committed.
    pub(super) fn add(&self, endpoints: &[EndpointNo]) {
        if endpoints.is_empty() {
            return;
        }
        self.lock().extend(endpoints.iter().map(|endpoint| endpoint.0));
        self.some.notify_one();
    }

    fn take(&self) -> BTreeSet<i64> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<i64>> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Teller {
    /// Begins to tell. Must be called within a tokio runtime.
    pub(super) fn start(
        untold: &Arc<Untold>,
        pool: &Pool,
        notice: &Notice,
        within: Duration,
    ) -> Self {
        let sender = Arc::new(Sender { pool: pool.clone(), notice: notice.clone(), within });
        let telling = {
            let (untold, sender) = (Arc::clone(untold), Arc::clone(&sender));
            tokio::spawn(supervise("telling", move || {
                tell(Arc::clone(&untold), Arc::clone(&sender))
            }))
        };
        Self { untold: Arc::clone(untold), sender, telling }
    }

    /// Tells what is left to be told, and nothing from then on.
    pub(super) async fn close(&self) {
        self.telling.abort();
        let _ = self.sender.send(self.untold.take()).await;
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.telling.abort();
    }
}

impl Sender {
    async fn send(&self, endpoints: BTreeSet<i64>) -> Result<(), StoreError> {
        if endpoints.is_empty() {
            return Ok(());
        }
        let db = Lent::by(&self.pool).await?;
        let lanes = endpoints.into_iter().map(|endpoint| (EndpointNo(endpoint), Lane::Fresh));
        in_time(&self.pool, self.within, self.notice.send(&*db, lanes)).await??;
        db.give_back();
        Ok(())
    }
}

async fn tell(untold: Arc<Untold>, sender: Arc<Sender>) {
    loop {
        untold.some.notified().await;
        // A hint: what is lost of it, a worker's look at the queue finds.
        let _ = sender.send(untold.take()).await;
        tokio::time::sleep(PAUSE).await;
    }
}
