//! Deliveries that are acknowledged at once and handled later.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use formsvc_receiver::inbox::{
    ClaimToken, InboxErrorKind, LEASE_MAX, PAYLOAD_MAX, Pending, Queue, Recorded,
};

use super::world::{
    LEASE, SHORTLY_BEFORE_THE_END, TTL, World, acquire, assert_lost, is_duplicate, wait_until,
};
use crate::support::polled;

async fn accept(queue: &dyn Queue, key: &str) {
    assert_eq!(
        queue.accept(key, &Bytes::copy_from_slice(key.as_bytes())).await.unwrap(),
        Recorded::New
    );
}

async fn take(queue: &dyn Queue) -> Pending {
    queue.next(LEASE).await.unwrap().expect("something is due")
}

async fn is_idle(queue: &dyn Queue) -> bool {
    queue.next(LEASE).await.unwrap().is_none()
}

pub(crate) async fn what_is_taken_for_somebody_who_has_gone_is_no_attempt(world: World) {
    let [queue, elsewhere, _] = world.queue();
    accept(&*queue, "sub_1").await;
    let mut made = 0;
    for round in 0..20 {
        let mut next = queue.next(LEASE_MAX);
        let at_once = polled(next.as_mut()).await;
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        drop(next);
        // Nothing, where what was asked for in the round before is only now taken for nobody.
        if let Poll::Ready(taken) = at_once
            && let Some(pending) = taken.unwrap()
        {
            queue.release(&pending.token).await.unwrap();
            made += 1;
        }
        // Whoever is told of it has it, and gives it back as somebody who tried.
        let attempts = Mutex::new(None);
        wait_until(async || {
            let pending = elsewhere.next(LEASE_MAX).await.unwrap();
            let Some(pending) = pending else { return false };
            *attempts.lock().unwrap() = Some(pending.attempts);
            elsewhere.release(&pending.token).await.unwrap();
            true
        })
        .await;
        made += 1;
        assert_eq!(attempts.into_inner().unwrap(), Some(made), "attempts that were made");
    }
}

pub(crate) async fn what_was_accepted_is_handled_once(world: World) {
    let [queue, elsewhere, _] = world.queue();
    assert!(is_idle(&*queue).await);
    accept(&*queue, "sub_1").await;
    assert_eq!(
        elsewhere.accept("sub_1", &Bytes::from_static(b"again")).await.unwrap(),
        Recorded::Duplicate
    );
    let pending = take(&*elsewhere).await;
    assert_eq!((&*pending.payload, pending.attempts), (&b"sub_1"[..], 1));
    assert_eq!(pending.token.key(), "sub_1");
    assert!(is_idle(&*queue).await, "it is taken");
    assert_eq!(
        queue.accept("sub_1", &Bytes::from_static(b"again")).await.unwrap(),
        Recorded::Duplicate
    );
    elsewhere.complete(&pending.token).await.unwrap();
    elsewhere.complete(&pending.token).await.expect("completing again does no harm");
    world.pass(LEASE * 2).await;
    assert!(is_idle(&*queue).await);
    assert_eq!(
        queue.accept("sub_1", &Bytes::from_static(b"again")).await.unwrap(),
        Recorded::Duplicate
    );
    assert!(is_idle(&*queue).await);
}

pub(crate) async fn of_a_hundred_that_accept_one_key_one_is_new(world: World) {
    let [queue, elsewhere, _] = world.queue();
    let tasks: Vec<_> = (0..100)
        .map(|task| {
            let queue = Arc::clone(if task % 2 == 0 { &queue } else { &elsewhere });
            tokio::spawn(
                async move { queue.accept("sub_1", &Bytes::from_static(b"{}")).await.unwrap() },
            )
        })
        .collect();
    let mut new = 0;
    for task in tasks {
        new += u32::from(task.await.unwrap() == Recorded::New);
    }
    assert_eq!(new, 1);
    take(&*queue).await;
    assert!(is_idle(&*queue).await);
}

pub(crate) async fn what_was_accepted_is_kept_byte_for_byte(world: World) {
    let [queue, ..] = world.queue();
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for (key, payload) in [("sub_1", &bytes[..]), ("sub_2", &[]), ("\0🦀'", b"\0")] {
        assert_eq!(
            queue.accept(key, &Bytes::copy_from_slice(payload)).await.unwrap(),
            Recorded::New
        );
        let pending = take(&*queue).await;
        assert_eq!(pending.token.key(), key);
        assert!(pending.payload == payload, "{key}");
        let shown = format!("{pending:?}");
        assert!(shown.len() < 300, "{shown}");
    }
}

pub(crate) async fn the_oldest_is_next(world: World) {
    let [queue, ..] = world.queue();
    for key in ["c", "a", "b"] {
        accept(&*queue, key).await;
    }
    for key in ["c", "a", "b"] {
        assert_eq!(take(&*queue).await.token.key(), key);
    }
}

pub(crate) async fn workers_take_each_its_own(world: World) {
    let [queue, elsewhere, _] = world.queue();
    for number in 0..40 {
        accept(&*queue, &format!("sub_{number}")).await;
    }
    let tasks: Vec<_> = (0..40)
        .map(|task| {
            let queue = Arc::clone(if task % 2 == 0 { &queue } else { &elsewhere });
            tokio::spawn(async move { take(&*queue).await.token.key().to_owned() })
        })
        .collect();
    let mut taken = BTreeSet::new();
    for task in tasks {
        taken.insert(task.await.unwrap());
    }
    assert_eq!(taken.len(), 40);
    assert!(is_idle(&*queue).await);
}

pub(crate) async fn a_worker_that_died_is_succeeded_and_comes_too_late(world: World) {
    let [queue, elsewhere, _] = world.queue();
    accept(&*queue, "sub_1").await;
    let slow = take(&*queue).await;
    world.pass(LEASE).await;
    let next = take(&*elsewhere).await;
    assert_eq!(next.attempts, 2);
    assert!(next.token.fence() > slow.token.fence());
    assert_lost(&*queue, &slow.token).await;
    assert!(is_idle(&*queue).await, "it is still the other's");
    elsewhere.complete(&next.token).await.unwrap();
    assert_lost(&*queue, &slow.token).await;
}

async fn give_back(queue: &dyn Queue, token: &ClaimToken, pause: Duration) {
    queue.retry(token, pause).await.unwrap();
    let error = queue.retry(token, pause).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::ClaimLost);
    assert_lost(queue, token).await;
}

pub(crate) async fn what_is_retried_is_due_after_its_pause(world: World) {
    let [queue, elsewhere, _] = world.queue();
    accept(&*queue, "sub_1").await;
    let pending = take(&*queue).await;
    give_back(&*queue, &pending.token, LEASE * 3).await;
    accept(&*queue, "sub_2").await;
    assert_eq!(take(&*elsewhere).await.token.key(), "sub_2", "it holds up nobody");
    world.pass(LEASE * 2).await;
    assert_eq!(take(&*queue).await.token.key(), "sub_2", "its lease has ended, the pause has not");
    world.pass(LEASE).await;
    let again = take(&*elsewhere).await;
    let again = if again.token.key() == "sub_1" { again } else { take(&*elsewhere).await };
    assert_eq!((again.token.key(), again.attempts), ("sub_1", 2));
}

pub(crate) async fn what_is_released_is_due_at_once(world: World) {
    let [queue, elsewhere, _] = world.queue();
    accept(&*queue, "sub_1").await;
    let pending = take(&*queue).await;
    queue.release(&pending.token).await.unwrap();
    assert_lost(&*queue, &pending.token).await;
    assert_eq!(take(&*elsewhere).await.attempts, 2);
}

pub(crate) async fn what_is_queued_outlasts_the_time_to_live(world: World) {
    let [queue, ..] = world.queue();
    accept(&*queue, "sub_1").await;
    world.pass(TTL * 2).await;
    assert_eq!(queue.prune(100).await.unwrap(), 0);
    assert_eq!(queue.accept("sub_1", &Bytes::from_static(b"")).await.unwrap(), Recorded::Duplicate);
    let pending = take(&*queue).await;
    queue.complete(&pending.token).await.unwrap();
    world.pass(SHORTLY_BEFORE_THE_END).await;
    assert_eq!(queue.accept("sub_1", &Bytes::from_static(b"")).await.unwrap(), Recorded::Duplicate);
    world.pass(LEASE).await;
    accept(&*queue, "sub_1").await;
    assert_eq!(take(&*queue).await.attempts, 1);
}

pub(crate) async fn a_key_that_is_claimed_cannot_be_accepted(world: World) {
    let [queue, ..] = world.queue();
    let token = world.acquire("sub_1").await;
    let error = queue.accept("sub_1", &Bytes::from_static(b"{}")).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (InboxErrorKind::InFlight, 503));
    assert!(is_idle(&*queue).await);
    world.inbox.complete(&token).await.unwrap();
    assert_eq!(
        queue.accept("sub_1", &Bytes::from_static(b"{}")).await.unwrap(),
        Recorded::Duplicate
    );
    assert!(is_idle(&*queue).await);
}

pub(crate) async fn a_claim_that_ran_out_does_not_keep_a_key_from_being_accepted(world: World) {
    let [queue, ..] = world.queue();
    let token = world.acquire("sub_1").await;
    world.pass(LEASE).await;
    accept(&*queue, "sub_1").await;
    assert_lost(&*world.inbox, &token).await;
    let pending = take(&*queue).await;
    queue.complete(&pending.token).await.unwrap();
}

pub(crate) async fn what_was_accepted_is_a_duplicate_for_a_claim(world: World) {
    let [queue, ..] = world.queue();
    accept(&*queue, "sub_1").await;
    assert!(is_duplicate(&*world.inbox, "sub_1").await);
    take(&*queue).await;
    assert!(is_duplicate(&*world.elsewhere, "sub_1").await);
    world.pass(LEASE).await;
    assert!(is_duplicate(&*world.inbox, "sub_1").await);
}

pub(crate) async fn scopes_have_queues_of_their_own(world: World) {
    let [queue, _, other] = world.queue();
    accept(&*queue, "sub_1").await;
    assert!(is_idle(&*other).await);
    accept(&*other, "sub_1").await;
    assert_ne!(take(&*other).await.token, take(&*queue).await.token);
    acquire(&*world.other_scope, "sub_2").await;
}

pub(crate) async fn a_payload_has_bounds(world: World) {
    let [queue, ..] = world.queue();
    let longest = vec![7; PAYLOAD_MAX];
    assert_eq!(queue.accept("sub_1", &Bytes::from(longest.clone())).await.unwrap(), Recorded::New);
    assert!(take(&*queue).await.payload == longest);
    let error = queue.accept("sub_2", &Bytes::from(vec![7; PAYLOAD_MAX + 1])).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (InboxErrorKind::Payload, 413));
    let error = queue.accept("", &Bytes::from_static(b"")).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::Key);
}
