//! A claim can be taken over after its lease ended.

use std::time::Duration;

use super::claims::claim_from_100_tasks;
use super::test_store::{LEASE, TestStore, acquire, assert_lost, is_duplicate, is_in_flight};

const SHORT: Duration = Duration::from_secs(2);
const ALMOST_LEASE: Duration = LEASE.saturating_sub(SHORT);

pub(crate) async fn expired_claim_is_taken_over(store: TestStore) {
    store.acquire("sub_1").await;
    store.advance(ALMOST_LEASE).await;
    assert!(is_in_flight(&*store.second, "sub_1").await);
    store.advance(SHORT).await;
    acquire(&*store.second, "sub_1").await;
    assert!(is_in_flight(&*store.inbox, "sub_1").await);
}

pub(crate) async fn claim_taken_over_changes_nothing(store: TestStore) {
    let slow = store.acquire("sub_1").await;
    store.advance(LEASE).await;
    let next = acquire(&*store.second, "sub_1").await;
    assert_lost(&*store.inbox, &slow).await;
    assert!(is_in_flight(&*store.inbox, "sub_1").await);
    store.second.complete(&next).await.unwrap();
    assert_lost(&*store.inbox, &slow).await;
    assert!(is_duplicate(&*store.inbox, "sub_1").await);
}

pub(crate) async fn one_of_100_takeovers_succeeds(store: TestStore) {
    store.acquire("sub_1").await;
    store.advance(LEASE).await;
    assert_eq!(claim_from_100_tasks(&store, "sub_1").await, 1);
}

pub(crate) async fn expired_claim_can_be_completed(store: TestStore) {
    let token = store.acquire("sub_1").await;
    store.advance(LEASE * 100).await;
    store.handle("sub_2").await;
    store.inbox.complete(&token).await.unwrap();
    assert!(is_duplicate(&*store.second, "sub_1").await);
}

pub(crate) async fn extended_lease_ends_later(store: TestStore) {
    let token = store.acquire("sub_1").await;
    store.advance(ALMOST_LEASE).await;
    store.inbox.extend(&token, LEASE).await.unwrap();
    store.advance(ALMOST_LEASE).await;
    assert!(is_in_flight(&*store.second, "sub_1").await);
    store.advance(SHORT).await;
    acquire(&*store.second, "sub_1").await;
    assert_lost(&*store.inbox, &token).await;
}

pub(crate) async fn shortened_lease_ends_earlier(store: TestStore) {
    let token = store.acquire("sub_1").await;
    store.inbox.extend(&token, SHORT).await.unwrap();
    store.advance(SHORT).await;
    acquire(&*store.second, "sub_1").await;
}

pub(crate) async fn fencing_numbers_increase(store: TestStore) {
    let mut last = 0;
    for round in 0..6 {
        let inbox = if round % 2 == 0 { &store.inbox } else { &store.second };
        let token = acquire(&**inbox, "sub_1").await;
        assert!(token.fence() > last, "{} after {last}", token.fence());
        last = token.fence();
        if round < 3 {
            inbox.release(&token).await.unwrap();
        } else {
            store.advance(LEASE).await;
        }
    }
}
