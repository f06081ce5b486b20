//! Callers that go away, stores that close, readers beside writers.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use formsvc_protocol::FormStatus;

use super::worker::{LEASE, new_endpoint, of_form};
use super::world::{Factory, World, new_form, submission};
use crate::rate_limit::RateLimit;
use crate::store::{ClaimRequest, KeyHash, PageRequest, SpamRequest, StoreError};

/// Futures dropped before, at and after their first poll: each row is there whole or not at all,
/// and the store goes on.
pub(super) async fn a_dropped_write_is_whole_or_absent(factory: Factory) {
    let world = World::new(factory).await;
    let (mut polled, mut awaited) = (HashSet::new(), HashSet::new());
    for n in 0..300 {
        let new = submission(&world.form.id, r#"{"a":1}"#);
        let id = new.id.clone();
        let mut future = world.store.submit(new);
        match n % 3 {
            0 => {}
            1 => {
                let first = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(matches!(first, Poll::Pending | Poll::Ready(Ok(_))));
                polled.insert(id);
            }
            _ => {
                future.await.expect("accepted");
                awaited.insert(id);
            }
        }
    }
    // What was dropped may still come, before this one or after it.
    awaited.insert(world.submit(r#"{"a":1}"#).await.id);
    let rows = world.walk(None, 100).await;
    assert!(rows.iter().all(|row| row.data.as_json() == r#"{"a":1}"#));
    let found: HashSet<_> = rows.iter().map(|row| row.id.clone()).collect();
    assert_eq!(found.len(), rows.len(), "no row came twice");
    assert!(found.is_superset(&awaited), "what was awaited is there");
    let dropped: HashSet<_> = found.difference(&awaited).cloned().collect();
    assert!(dropped.is_subset(&polled), "a future that was never polled did nothing");
}

pub(super) async fn a_probe_changes_nothing_that_is_seen(factory: Factory) {
    let world = World::new(factory).await;
    world.store.can_accept().expect("a store that works takes submissions in");
    world.submit("{}").await;
    let before = (world.page(None, 25).await.items, world.store.forms(&world.user.id).await);
    for _ in 0..3 {
        world.store.probe().await.expect("the store takes writes");
    }
    let after = (world.page(None, 25).await.items, world.store.forms(&world.user.id).await);
    assert_eq!(before.0, after.0);
    assert_eq!(before.1.expect("a list"), after.1.expect("a list"));
}

pub(super) async fn a_closed_store_refuses_everything(factory: Factory) {
    let World { store, user, form, .. } = &World::new(factory).await;
    store.close().await.expect("closed");
    store.close().await.expect("closing again does nothing");
    let page = PageRequest { user: user.id.clone(), form: form.id.clone(), before: None, limit: 1 };
    let outcomes = [
        store.submit(submission(&form.id, "{}")).await.err(),
        store.page(page).await.err(),
        store.forms(&user.id).await.err(),
        store.authenticate(&KeyHash([0; 32]), RateLimit::Off).await.err(),
        store.add_form(new_form(&user.id)).await.err(),
        store.set_form_status(&form.id, FormStatus::Closed).await.err(),
        store.probe().await.err(),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Some(StoreError::Unavailable(_))), "{outcome:?}");
    }
    let claim = ClaimRequest { wants: Vec::new(), lease: LEASE, bytes_max: 1 };
    let endpoint = new_endpoint(&form.id);
    let outcomes = [
        store.public_form(&form.public_id).await.err(),
        store.spam(SpamRequest { form: form.id.clone(), after: None, limit: 1 }).await.err(),
        store.remove_endpoint(&endpoint.id).await.err(),
        store.add_endpoint(endpoint).await.err(),
        store.endpoints(&form.id).await.err(),
        store.finish_removals().await.err(),
        store.recover_claims().await.err(),
        store.due().await.err(),
        store.claim(claim).await.err(),
        store.settle(Vec::new()).await.err(),
        store.backlog().await.err(),
        store.deliveries(of_form(&form.id)).await.err(),
        store.forget_idempotency_keys().await.err(),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Some(StoreError::Unavailable(_))), "{outcome:?}");
    }
}

/// Whoever was told "accepted" before or during a close was told the truth: no answer is lost and
/// nothing hangs.
pub(super) async fn writes_queued_before_close_are_kept(factory: Factory) {
    let world = World::new(factory).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..500 {
        let store = Arc::clone(&world.store);
        let new = submission(&world.form.id, "{}");
        tasks.spawn(async move { store.submit(new).await });
    }
    tokio::task::yield_now().await;
    world.store.close().await.expect("closed");
    for outcome in tasks.join_all().await {
        assert!(matches!(outcome, Ok(_) | Err(StoreError::Unavailable(_))), "{outcome:?}");
    }
}

pub(super) async fn reads_and_writes_do_not_disturb_each_other(factory: Factory) {
    let world = Arc::new(World::new(factory).await);
    world.submit_together(200).await;
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (world, done) = (Arc::clone(&world), Arc::clone(&done));
        readers.spawn(async move {
            let mut reads = 0_u32;
            let mut seen = 0;
            while !done.load(Ordering::SeqCst) || reads == 0 {
                let rows = world.walk(None, 100).await.len();
                assert!(rows >= seen, "a row that was seen is gone");
                seen = rows;
                let found = world.store.authenticate(&KeyHash([9; 32]), RateLimit::Off).await;
                assert!(found.expect("a read beside writes").is_none());
                reads += 1;
            }
        });
    }
    for _ in 0..10 {
        world.submit_together(50).await;
    }
    done.store(true, Ordering::SeqCst);
    readers.join_all().await;
    assert_eq!(world.walk(None, 100).await.len(), 700);
}
