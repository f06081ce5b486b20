//! Only one caller holds the claim of a key.

use std::sync::Arc;
use std::time::Duration;

use formsvc_receiver::inbox::Claim;

use super::test_store::{LEASE, TestStore, acquire, assert_lost, is_in_flight};
use crate::support::poll_once;

/// Claims a key from 100 tasks, half of them on the second handle. Returns the number of acquired claims.
pub(super) async fn claim_from_100_tasks(store: &TestStore, key: &'static str) -> usize {
    let claim = |task: usize| {
        let inbox = Arc::clone(if task.is_multiple_of(2) { &store.inbox } else { &store.second });
        tokio::spawn(async move { inbox.claim(key, LEASE).await.unwrap() })
    };
    let tasks: Vec<_> = (0..100).map(claim).collect();
    let mut acquired = 0;
    for task in tasks {
        match task.await.unwrap() {
            Claim::Acquired(_) => acquired += 1,
            claim => assert!(matches!(claim, Claim::InFlight { .. }), "{claim:?}"),
        }
    }
    acquired
}

pub(crate) async fn one_of_100_concurrent_claims_is_acquired(store: TestStore) {
    assert_eq!(claim_from_100_tasks(&store, "sub_1").await, 1);
}

pub(crate) async fn claimed_key_is_in_flight(store: TestStore) {
    let token = store.acquire("sub_1").await;
    assert_eq!(token.key(), "sub_1");
    for inbox in [&store.inbox, &store.second] {
        match inbox.claim("sub_1", Duration::from_secs(3_600)).await.unwrap() {
            Claim::InFlight { retry_after } => {
                assert!(retry_after > LEASE / 2 && retry_after <= LEASE, "{retry_after:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    store.acquire("sub_2").await;
}

pub(crate) async fn released_key_can_be_claimed(store: TestStore) {
    let token = store.acquire("sub_1").await;
    store.inbox.release(&token).await.unwrap();
    let next = acquire(&*store.second, "sub_1").await;
    assert!(is_in_flight(&*store.inbox, "sub_1").await);
    // A token is valid for the store, not for one handle.
    store.inbox.release(&next).await.unwrap();
    store.acquire("sub_1").await;
}

pub(crate) async fn released_claim_is_lost(store: TestStore) {
    let token = store.acquire("sub_1").await;
    store.inbox.release(&token).await.unwrap();
    assert_lost(&*store.inbox, &token).await;
    let next = store.acquire("sub_1").await;
    assert_lost(&*store.inbox, &token).await;
    store.inbox.complete(&next).await.unwrap();
}

pub(crate) async fn dropped_claim_ends_with_its_lease(store: TestStore) {
    for round in 0..20 {
        let key = format!("sub_{round}");
        let mut claim = store.inbox.claim(&key, LEASE);
        let _ = poll_once(claim.as_mut()).await;
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
    }
    // A claim that a dropped future left behind on the server is committed by now or later.
    store.handle("last").await;
    let free = async {
        for round in 0..20 {
            let key = format!("sub_{round}");
            while is_in_flight(&*store.second, &key).await {
                store.advance(LEASE).await;
            }
        }
    };
    tokio::time::timeout(LEASE, free).await.expect("every lease ends");
}
