//! What an observer is told, and when.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::store::{Commit, StoreObserver};

#[derive(Debug, Default)]
struct Told {
    commits: Mutex<Vec<Commit>>,
    canceled: Mutex<Vec<u64>>,
}

impl StoreObserver for Told {
    fn committed(&self, commit: Commit) {
        self.commits.lock().unwrap().push(commit);
    }

    fn accepted(&self, _took: Duration, _ahead: Duration) {}

    fn canceled(&self, deliveries: u64) {
        self.canceled.lock().unwrap().push(deliveries);
    }
}

impl Bench {
    fn observed(&self) -> Arc<Told> {
        let told = Arc::<Told>::default();
        self.store.observe(Arc::<Told>::clone(&told));
        told
    }
}

#[tokio::test]
async fn writes_that_came_during_a_commit_are_told_as_waiting_at_its_end() {
    let bench = bench().await;
    let told = bench.observed();
    let (release, holding) = bench.hold().await;
    let mut waiting: Vec<_> = (0..3).map(|_| bench.store.submit(bench.submission(1))).collect();
    for write in &mut waiting {
        assert!(futures_poll(write).is_pending());
    }
    release.send(()).unwrap();
    for write in waiting {
        write.await.unwrap();
    }
    holding.await.unwrap();
    let commits = told.commits.lock().unwrap();
    let told: Vec<_> = commits.iter().map(|commit| (commit.writes, commit.waiting)).collect();
    assert_eq!(told, [(1, 3), (3, 0)]);
}

#[tokio::test]
async fn what_a_removal_cancels_is_told_and_what_was_finished_is_not() {
    let bench = bench().await;
    let keys = bench.submit(4, &["whe_1"]).await;
    let wants = vec![Want { endpoint: keys[0].endpoint, lane: Lane::Fresh, count: 2 }];
    let (lease, bytes_max) = (Duration::from_secs(30), usize::MAX);
    let request = ClaimRequest { wants, lease, bytes_max };
    let claimed = bench.store.claim(request).await.unwrap().deliveries;
    let (key, lease, verdict) = (claimed[0].key, claimed[0].lease, Verdict::Delivered);
    bench
        .store
        .settle(vec![Settlement { key, lease, verdict, attempt: None, own_fault: false }])
        .await
        .unwrap();
    // Delivered, and to be sent again; the others are leased and waiting.
    bench.store.resend(&key.id()).await.unwrap();
    assert_eq!(bench.store.backlog().await.unwrap().unfinished, 4, "a resend is to be attempted");
    let told = bench.observed();
    bench.store.remove_endpoint(&EndpointId::new("whe_1").unwrap()).await.unwrap();
    assert_eq!(*told.canceled.lock().unwrap(), [3]);
    assert_eq!(bench.store.backlog().await.unwrap().unfinished, 0);
}
