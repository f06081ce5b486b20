//! Queues: deliveries that are stored first and handled later.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use formsvc_receiver::bytes::Bytes;
use formsvc_receiver::inbox::{DedupeResult, InboxErrorKind, PAYLOAD_MAX, Queue, QueuedDelivery};

use super::test_store::{ALMOST_TTL, LEASE, TTL, TestStore, acquire, assert_lost, is_duplicate};

async fn accept(queue: &dyn Queue, key: &str) -> DedupeResult {
    queue.accept(key, &Bytes::copy_from_slice(key.as_bytes())).await.unwrap()
}

async fn accept_new(queue: &dyn Queue, key: &str) {
    assert_eq!(accept(queue, key).await, DedupeResult::New, "{key}");
}

async fn next(queue: &dyn Queue) -> QueuedDelivery {
    queue.next(LEASE).await.unwrap().expect("a delivery is due")
}

async fn is_idle(queue: &dyn Queue) -> bool {
    queue.next(LEASE).await.unwrap().is_none()
}

pub(crate) async fn accepted_delivery_is_handled_once(store: TestStore) {
    let [queue, second, _] = store.queues();
    assert!(is_idle(&*queue).await);
    accept_new(&*queue, "sub_1").await;
    assert_eq!(accept(&*second, "sub_1").await, DedupeResult::Duplicate);
    let delivery = next(&*second).await;
    assert_eq!((&*delivery.payload, delivery.attempts), (&b"sub_1"[..], 1));
    assert_eq!(delivery.token.key(), "sub_1");
    assert!(is_idle(&*queue).await);
    assert_eq!(accept(&*queue, "sub_1").await, DedupeResult::Duplicate);
    second.complete(&delivery.token).await.unwrap();
    second.complete(&delivery.token).await.expect("completion can be repeated");
    store.advance(LEASE * 2).await;
    assert_eq!(accept(&*queue, "sub_1").await, DedupeResult::Duplicate);
    assert!(is_idle(&*queue).await);
}

pub(crate) async fn one_of_100_concurrent_accepts_is_new(store: TestStore) {
    let [queue, second, _] = store.queues();
    let accept_once = |task: usize| {
        let queue = Arc::clone(if task.is_multiple_of(2) { &queue } else { &second });
        tokio::spawn(async move { accept(&*queue, "sub_1").await })
    };
    let tasks: Vec<_> = (0..100).map(accept_once).collect();
    let mut new = 0;
    for task in tasks {
        new += u32::from(task.await.unwrap() == DedupeResult::New);
    }
    assert_eq!(new, 1);
    next(&*queue).await;
    assert!(is_idle(&*queue).await);
}

pub(crate) async fn payload_is_stored_byte_for_byte(store: TestStore) {
    let [queue, ..] = store.queues();
    let long: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for (key, payload) in [("sub_1", &long[..]), ("sub_2", &[]), ("\0🦀'", b"\0")] {
        let result = queue.accept(key, &Bytes::copy_from_slice(payload)).await.unwrap();
        assert_eq!(result, DedupeResult::New);
        let delivery = next(&*queue).await;
        assert_eq!(delivery.token.key(), key);
        assert!(delivery.payload == payload, "{key}");
        assert!(format!("{delivery:?}").len() < 300, "{key}");
    }
}

pub(crate) async fn oldest_delivery_is_next(store: TestStore) {
    let [queue, ..] = store.queues();
    for key in ["c", "a", "b"] {
        accept_new(&*queue, key).await;
    }
    for key in ["c", "a", "b"] {
        assert_eq!(next(&*queue).await.token.key(), key);
    }
}

pub(crate) async fn workers_get_different_deliveries(store: TestStore) {
    let [queue, second, _] = store.queues();
    for number in 0..40 {
        accept_new(&*queue, &format!("sub_{number}")).await;
    }
    let work = |task: usize| {
        let queue = Arc::clone(if task.is_multiple_of(2) { &queue } else { &second });
        tokio::spawn(async move { next(&*queue).await.token.key().to_owned() })
    };
    let tasks: Vec<_> = (0..40).map(work).collect();
    let mut keys = BTreeSet::new();
    for task in tasks {
        keys.insert(task.await.unwrap());
    }
    assert_eq!(keys.len(), 40);
    assert!(is_idle(&*queue).await);
}

pub(crate) async fn late_worker_loses_its_claim(store: TestStore) {
    let [queue, second, _] = store.queues();
    accept_new(&*queue, "sub_1").await;
    let slow = next(&*queue).await;
    queue.extend(&slow.token, LEASE * 2).await.unwrap();
    store.advance(LEASE).await;
    assert!(is_idle(&*second).await, "the lease was extended");
    store.advance(LEASE).await;
    let again = next(&*second).await;
    assert_eq!(again.attempts, 2);
    assert!(again.token.fence() > slow.token.fence());
    assert_lost(&*queue, &slow.token).await;
    second.complete(&again.token).await.unwrap();
    assert_lost(&*queue, &slow.token).await;
}

pub(crate) async fn retried_delivery_is_due_after_pause(store: TestStore) {
    let [queue, second, _] = store.queues();
    accept_new(&*queue, "sub_1").await;
    let delivery = next(&*queue).await;
    queue.retry(&delivery.token, LEASE * 3).await.unwrap();
    let error = queue.retry(&delivery.token, Duration::ZERO).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::ClaimLost);
    assert_lost(&*queue, &delivery.token).await;
    accept_new(&*queue, "sub_2").await;
    let other = next(&*second).await;
    assert_eq!(other.token.key(), "sub_2", "the queue is not blocked");
    second.complete(&other.token).await.unwrap();
    store.advance(LEASE * 2).await;
    assert!(is_idle(&*queue).await);
    store.advance(LEASE).await;
    let again = next(&*second).await;
    assert_eq!((again.token.key(), again.attempts), ("sub_1", 2));
}

pub(crate) async fn released_delivery_is_due_at_once(store: TestStore) {
    let [queue, second, _] = store.queues();
    accept_new(&*queue, "sub_1").await;
    let delivery = next(&*queue).await;
    queue.release(&delivery.token).await.unwrap();
    assert_lost(&*queue, &delivery.token).await;
    assert_eq!(next(&*second).await.attempts, 2);
}

pub(crate) async fn queued_delivery_does_not_expire(store: TestStore) {
    let [queue, ..] = store.queues();
    accept_new(&*queue, "sub_1").await;
    store.advance(TTL * 2).await;
    assert_eq!(queue.prune(100).await.unwrap(), 0);
    assert_eq!(accept(&*queue, "sub_1").await, DedupeResult::Duplicate);
    let delivery = next(&*queue).await;
    queue.complete(&delivery.token).await.unwrap();
    store.advance(ALMOST_TTL).await;
    assert_eq!(accept(&*queue, "sub_1").await, DedupeResult::Duplicate);
    store.advance(LEASE).await;
    accept_new(&*queue, "sub_1").await;
    assert_eq!(next(&*queue).await.attempts, 1);
}

pub(crate) async fn claimed_key_is_not_accepted(store: TestStore) {
    let [queue, ..] = store.queues();
    let token = store.acquire("sub_1").await;
    let error = queue.accept("sub_1", &Bytes::from_static(b"{}")).await.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (InboxErrorKind::InFlight, true));
    assert!(is_idle(&*queue).await);
    store.inbox.complete(&token).await.unwrap();
    assert_eq!(accept(&*queue, "sub_1").await, DedupeResult::Duplicate);
    assert!(is_idle(&*queue).await);
}

pub(crate) async fn expired_claim_does_not_block_accept(store: TestStore) {
    let [queue, ..] = store.queues();
    let token = store.acquire("sub_1").await;
    store.advance(LEASE).await;
    accept_new(&*queue, "sub_1").await;
    assert_lost(&*store.inbox, &token).await;
    let delivery = next(&*queue).await;
    queue.complete(&delivery.token).await.unwrap();
}

pub(crate) async fn accepted_key_is_a_duplicate_for_claims(store: TestStore) {
    let [queue, ..] = store.queues();
    accept_new(&*queue, "sub_1").await;
    assert!(is_duplicate(&*store.inbox, "sub_1").await);
    next(&*queue).await;
    assert!(is_duplicate(&*store.second, "sub_1").await);
    store.advance(LEASE).await;
    assert!(is_duplicate(&*store.inbox, "sub_1").await);
}

pub(crate) async fn queues_of_scopes_are_independent(store: TestStore) {
    let [queue, _, other] = store.queues();
    accept_new(&*queue, "sub_1").await;
    assert!(is_idle(&*other).await);
    accept_new(&*other, "sub_1").await;
    assert_ne!(next(&*other).await.token, next(&*queue).await.token);
    acquire(&*store.other_scope, "sub_2").await;
}

pub(crate) async fn payload_size_is_limited(store: TestStore) {
    let [queue, ..] = store.queues();
    let largest = Bytes::from(vec![7; PAYLOAD_MAX]);
    assert_eq!(queue.accept("sub_1", &largest).await.unwrap(), DedupeResult::New);
    assert!(next(&*queue).await.payload == largest);
    let error = queue.accept("sub_2", &Bytes::from(vec![7; PAYLOAD_MAX + 1])).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::PayloadTooLarge);
    let error = queue.accept("", &Bytes::new()).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InvalidKey);
}
