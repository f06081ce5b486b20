//! A completed key is a duplicate for the time to live.

use formsvc_receiver::inbox::InboxErrorKind;

use super::test_store::{ALMOST_TTL, LEASE, TestStore, acquire, is_duplicate};

pub(crate) async fn completed_key_is_a_duplicate(store: TestStore) {
    let token = store.acquire("sub_1").await;
    store.second.complete(&token).await.unwrap();
    for _ in 0..2 {
        assert!(is_duplicate(&*store.inbox, "sub_1").await);
        assert!(is_duplicate(&*store.second, "sub_1").await);
        store.advance(LEASE * 10).await;
    }
    store.acquire("sub_2").await;
}

pub(crate) async fn completion_can_be_repeated(store: TestStore) {
    let token = store.acquire("sub_1").await;
    for inbox in [&store.inbox, &store.inbox, &store.second] {
        inbox.complete(&token).await.unwrap();
    }
    assert!(is_duplicate(&*store.inbox, "sub_1").await);
}

pub(crate) async fn completed_claim_cannot_be_released_or_extended(store: TestStore) {
    let token = store.acquire("sub_1").await;
    store.inbox.complete(&token).await.unwrap();
    for result in [store.inbox.release(&token).await, store.inbox.extend(&token, LEASE).await] {
        assert_eq!(result.unwrap_err().kind(), InboxErrorKind::ClaimLost);
    }
    assert!(is_duplicate(&*store.inbox, "sub_1").await);
}

pub(crate) async fn mark_expires_after_ttl(store: TestStore) {
    store.handle("sub_1").await;
    store.advance(ALMOST_TTL).await;
    assert!(is_duplicate(&*store.second, "sub_1").await);
    store.advance(LEASE).await;
    let again = acquire(&*store.second, "sub_1").await;
    store.inbox.complete(&again).await.unwrap();
    store.advance(ALMOST_TTL).await;
    assert!(is_duplicate(&*store.inbox, "sub_1").await, "a new time to live");
}

pub(crate) async fn prune_deletes_expired_marks_up_to_the_limit(store: TestStore) {
    for key in ["sub_1", "sub_2", "sub_3", "sub_4", "sub_5"] {
        store.handle(key).await;
    }
    assert_eq!(store.inbox.prune(100).await.unwrap(), 0);
    store.advance(ALMOST_TTL).await;
    let late = store.acquire("sub_late").await;
    store.advance(LEASE).await;
    assert_eq!(store.second.prune(0).await.unwrap(), 0);
    assert_eq!(store.second.prune(2).await.unwrap(), 2);
    assert_eq!(store.inbox.prune(100).await.unwrap(), 3);
    assert_eq!(store.inbox.prune(100).await.unwrap(), 0);
    store.inbox.complete(&late).await.expect("an expired claim is kept");
    store.acquire("sub_1").await;
}
