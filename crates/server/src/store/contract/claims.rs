//! Claims: what is given to a worker, in which order, and that no two get the same.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::task::{Context, Waker};
use std::time::Duration;

use formsvc_protocol::FormInstant;
use futures_util::FutureExt;
use tokio::task::JoinSet;

use super::worker::{MICROSECOND, Queue, accepted_ids, settlement, submissions};
use super::world::{Factory, NOW};
use crate::store::{
    ClaimRequest, DeliveryKey, DeliveryState, Due, Lane, Settled, Store, StoreError, Verdict, Want,
};

fn want(queue: &Queue, lane: Lane, count: u32) -> Want {
    Want { endpoint: queue.number, lane, count }
}

fn retry(after: Duration) -> Verdict {
    Verdict::Retry { after, retries: 1 }
}

/// Instants of a form can be ahead of the clock, and the clock can step back: no reason to wait.
pub(super) async fn fresh_ones_are_claimed_at_once_in_order_of_submission(factory: Factory) {
    let mut queue = Queue::new(factory, 5).await;
    queue.world.clock.set(NOW - 3_600_000_000);
    for _ in 0..5 {
        let accepted = queue.world.submit("{}").await;
        queue.accepted.push(accepted);
    }
    let mut found = Vec::new();
    for (count, got) in [(3, 3), (0, 0), (4, 4), (4, 3), (4, 0)] {
        let claimed = queue.claim(Lane::Fresh, count).await;
        assert_eq!(claimed.len(), got);
        found.extend(claimed);
    }
    assert_eq!(submissions(&found), accepted_ids(&queue.accepted));
}

pub(super) async fn late_ones_are_claimed_by_the_time_they_are_due(factory: Factory) {
    let queue = Queue::new(factory, 4).await;
    let fresh = queue.claim(Lane::Fresh, 4).await;
    for (claimed, seconds) in fresh.iter().zip([40, 10, 30, 20]) {
        queue.world.settle(claimed, retry(Duration::from_secs(seconds))).await;
    }
    let ids = accepted_ids(&queue.accepted);
    queue.world.pass_until_just_before(Duration::from_secs(10));
    assert!(queue.claim(Lane::Late, 9).await.is_empty(), "not before it is due");
    queue.world.pass(MICROSECOND);
    assert_eq!(submissions(&queue.claim(Lane::Late, 9).await), [ids[1]]);
    queue.world.pass(Duration::from_secs(29));
    let claimed = queue.claim(Lane::Late, 9).await;
    assert_eq!(submissions(&claimed), [ids[3], ids[2]], "the longest due first");
    queue.world.pass(Duration::from_secs(1));
    assert_eq!(submissions(&queue.claim(Lane::Late, 9).await), [ids[0]]);
}

pub(super) async fn each_lane_is_claimed_for_itself(factory: Factory) {
    let queue = Queue::new(factory, 3).await;
    let ids = accepted_ids(&queue.accepted);
    let late = queue.first(Lane::Fresh).await;
    queue.world.settle(&late, retry(Duration::ZERO)).await;
    let leased = queue.first(Lane::Fresh).await;
    assert_eq!(leased.submission, *ids[1]);
    assert!(queue.claim(Lane::Leased, 9).await.is_empty(), "the lease holds");
    queue.world.clock.set(leased.lease.until.micros());
    for (lane, id) in [(Lane::Leased, ids[1]), (Lane::Late, ids[0]), (Lane::Fresh, ids[2])] {
        let claimed = queue.claim(lane, 9).await;
        assert_eq!(submissions(&claimed), [id], "{lane:?}");
        assert_eq!(claimed[0].lane, lane);
    }
}

/// Taken in the order of the wants, with what is first in each lane then.
pub(super) async fn a_claim_takes_from_several_lanes_in_their_order(factory: Factory) {
    let queue = Queue::new(factory, 4).await;
    let world = &queue.world;
    let late = queue.claim(Lane::Fresh, 2).await;
    for claimed in &late {
        world.settle(claimed, retry(Duration::ZERO)).await;
    }
    let other = world.add_form().await;
    let theirs = world.add_endpoint(&other.id).await;
    let there = world.submit_to(&other.id, "{}").await.expect("accepted");
    let number = world.number_of(&theirs).await;

    let wants = vec![
        want(&queue, Lane::Late, 1),
        Want { endpoint: number, lane: Lane::Fresh, count: 5 },
        Want { endpoint: number, lane: Lane::Late, count: 5 },
        want(&queue, Lane::Fresh, 5),
    ];
    let claims = world.take(wants, usize::MAX).await;
    let ids = accepted_ids(&queue.accepted);
    assert_eq!(submissions(&claims.deliveries), [ids[0], &there.id, ids[2], ids[3]]);
    let endpoints: Vec<_> = claims.deliveries.iter().map(|claimed| &claimed.endpoint.id).collect();
    let (ours, theirs) = (&queue.endpoint.id, &theirs.id);
    assert_eq!(endpoints, [ours, theirs, ours, ours]);
    let [left] = &claims.due[..] else { panic!("one lane still has something: {claims:?}") };
    assert_eq!((left.endpoint, left.lane, left.after), (queue.number, Lane::Late, Duration::ZERO));
}

pub(super) async fn a_claim_ends_at_its_bytes_but_not_before_its_first(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    queue.settled(Verdict::Delivered).await;
    let data = format!("{{\"a\":\"{}\"}}", "x".repeat(9_992));
    for _ in 0..10 {
        world.submit(&data).await;
    }
    let other = world.add_endpoint(&world.form.id).await;
    world.submit(&data).await;
    let other = Want { endpoint: world.number_of(&other).await, lane: Lane::Fresh, count: 9 };
    let left = async || world.store.backlog().await.expect("a count").unfinished;
    assert_eq!(left().await, 12);
    for (bytes_max, got) in [(0, 1), (9_999, 1), (25_000, 2), (35_000, 3)] {
        let claims = world.take(vec![want(&queue, Lane::Fresh, 9), other], bytes_max).await;
        let bytes: usize = claims.deliveries.iter().map(|claimed| claimed.data.len()).sum();
        assert_eq!((claims.deliveries.len(), bytes), (got, got * 10_000), "of {bytes_max}");
        assert!(claims.deliveries.iter().all(|claimed| claimed.endpoint.number == queue.number));
        assert!(claims.due.iter().any(|due| due.endpoint == queue.number), "some are left");
    }
    let rest = world.take(vec![want(&queue, Lane::Fresh, 9), other], usize::MAX).await;
    assert_eq!(rest.deliveries.len(), 5);
}

/// Many workers at once, none of which settles: each delivery is given to one of them.
pub(super) async fn no_delivery_is_claimed_twice_while_its_lease_holds(factory: Factory) {
    let queue = Arc::new(Queue::new(factory, 40).await);
    for claimed in queue.claim(Lane::Fresh, 20).await {
        queue.world.settle(&claimed, retry(Duration::ZERO)).await;
    }
    queue.world.add_endpoint(&queue.world.form.id).await;
    queue.world.submit_together(60).await;
    let lanes: Vec<_> =
        queue.world.due().await.iter().map(|due| (due.endpoint, due.lane)).collect();
    assert_eq!(lanes.len(), 3);

    let mut workers = JoinSet::new();
    for n in 0_u32..12 {
        let (queue, mut lanes) = (Arc::clone(&queue), lanes.clone());
        workers.spawn(async move {
            let mut got = Vec::new();
            lanes.rotate_left(n as usize % 3);
            loop {
                let wants = lanes.iter().map(|&(endpoint, lane)| {
                    let count = if lane == Lane::Leased { 9 } else { 1 + n % 3 };
                    Want { endpoint, lane, count }
                });
                let claimed = queue.world.take(wants.collect(), usize::MAX).await.deliveries;
                if claimed.is_empty() {
                    return got;
                }
                got.extend(claimed);
            }
        });
    }
    let mut claimed = workers.join_all().await.concat();
    assert_eq!(claimed.len(), 160, "everything, and nothing twice");
    claimed.sort_by_key(|claimed| claimed.key);
    claimed.dedup_by_key(|claimed| claimed.key);
    assert_eq!(claimed.len(), 160);
}

/// Workers so slow that leases run out under them: whoever is overtaken settles nothing, and each
/// delivery gets one outcome.
pub(super) async fn each_delivery_is_settled_once_however_leases_run_out(factory: Factory) {
    const DELIVERIES: usize = 60;
    let queue = Arc::new(Queue::new(factory, DELIVERIES).await);
    let pauses = Arc::new(AtomicU32::new(200));
    let mut workers = JoinSet::new();
    for n in 0_u32..6 {
        let (queue, left) = (Arc::clone(&queue), Arc::clone(&pauses));
        workers.spawn(async move {
            let mut kept: Vec<DeliveryKey> = Vec::new();
            loop {
                let wants = vec![want(&queue, Lane::Leased, 4), want(&queue, Lane::Fresh, 1 + n)];
                let claimed = queue.world.take(wants, usize::MAX).await.deliveries;
                if claimed.is_empty()
                    && queue.world.store.backlog().await.expect("a count").unfinished == 0
                {
                    return kept;
                }
                // Less than a lease, so that some run out and some do not; and not for ever, or they
                // could go on taking each other's.
                if left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
                    queue.world.pass(Duration::from_secs(7));
                }
                let all = claimed.iter().map(|claimed| settlement(claimed, Verdict::Delivered));
                let settled = queue.world.store.settle(all.collect()).await.expect("settled");
                assert_eq!(settled.len(), claimed.len());
                for (claimed, settled) in claimed.iter().zip(settled) {
                    if settled == Settled::Kept {
                        kept.push(claimed.key);
                    }
                }
            }
        });
    }
    let mut kept: Vec<_> = workers.join_all().await.concat();
    assert_eq!(kept.len(), DELIVERIES);
    kept.sort();
    kept.dedup();
    assert_eq!(kept.len(), DELIVERIES);
    for delivery in queue.world.deliveries_of(&queue.world.form.id).await {
        assert_eq!((delivery.state, delivery.attempts), (DeliveryState::Delivered, 1));
    }
}

pub(super) async fn what_is_due_is_told_of_each_lane_of_enabled_endpoints(factory: Factory) {
    let queue = Queue::new(factory, 4).await;
    let world = &queue.world;
    let late = queue.claim(Lane::Fresh, 2).await;
    for (claimed, seconds) in late.iter().zip([50, 20]) {
        world.settle(claimed, retry(Duration::from_secs(seconds))).await;
    }
    let leased = queue.first(Lane::Fresh).await;
    let third = queue.accepted[3].instant;
    let row = |lane, after, overdue| Due { endpoint: queue.number, lane, after, overdue };
    let seconds = Duration::from_secs;
    assert_eq!(
        world.due().await,
        [
            row(Lane::Fresh, Duration::ZERO, FormInstant::from_micros(NOW).since(third)),
            row(Lane::Late, seconds(20), Duration::ZERO),
            row(Lane::Leased, seconds(30), Duration::ZERO),
        ]
    );
    world.pass(seconds(32));
    let fresh_since = FormInstant::from_micros(NOW + 32_000_000).since(third);
    let expected = [
        row(Lane::Fresh, Duration::ZERO, fresh_since),
        row(Lane::Late, Duration::ZERO, seconds(12)),
        row(Lane::Leased, Duration::ZERO, seconds(2)),
    ];
    assert_eq!(world.due().await, expected);

    // Others are told of too, and the disabled are not, wherever they stand.
    let mut others = Vec::new();
    for _ in 0..3 {
        others.push(world.add_endpoint(&world.form.id).await);
    }
    world.submit("{}").await;
    world.store.set_endpoint_enabled(&others[1].id, false).await.expect("disabled");
    let due = world.due().await;
    let endpoints: Vec<_> = due.iter().map(|due| due.endpoint).collect();
    let numbers = [world.number_of(&others[0]).await, world.number_of(&others[2]).await];
    assert_eq!(endpoints, [[queue.number; 3].as_slice(), &numbers].concat());
    world.store.set_endpoint_enabled(&queue.endpoint.id, false).await.expect("disabled");
    let endpoints: Vec<_> = world.due().await.iter().map(|due| due.endpoint).collect();
    assert_eq!(endpoints, numbers);
    assert_eq!(world.settle(&leased, Verdict::Delivered).await, Settled::Kept);
}

pub(super) async fn work_is_announced_once_it_is_committed(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let work = world.store.work();
    let announced = || {
        let woken = work.announced().now_or_never().is_some();
        let lanes = work.take();
        assert!(woken || lanes.is_empty(), "a worker that waits is woken");
        lanes.into_iter().collect::<Vec<_>>()
    };
    let of = |lane| (queue.number, lane);
    assert_eq!(announced(), [of(Lane::Fresh)], "of the submission before");
    assert_eq!(announced(), []);
    let key = queue.settled(Verdict::Failed).await;
    assert_eq!(announced(), []);
    world.store.resend(&key.id()).await.expect("resent");
    assert_eq!(announced(), [of(Lane::Late)]);
    world.store.set_endpoint_enabled(&queue.endpoint.id, false).await.expect("disabled");
    assert_eq!(announced(), []);
    world.submit("{}").await;
    assert_eq!(announced(), [], "no delivery, no work");
    let refused = world.store.resend(&key.id()).await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })), "{refused:?}");
    assert_eq!(announced(), []);
    world.store.set_endpoint_enabled(&queue.endpoint.id, true).await.expect("enabled");
    assert!(announced().contains(&of(Lane::Late)), "what waited may go on");
    let other = world.add_endpoint(&world.form.id).await;
    assert_eq!(announced(), []);
    world.submit_together(50).await;
    let other = world.number_of(&other).await;
    assert_eq!(announced(), [of(Lane::Fresh), (other, Lane::Fresh)]);
}

/// Dropping the future of a claim gives nothing to anybody, until the lease runs out.
pub(super) async fn a_dropped_claim_comes_back(factory: Factory) {
    let queue = Queue::new(factory, 3).await;
    let store: &dyn Store = &*queue.world.store;
    let request = ClaimRequest {
        wants: vec![want(&queue, Lane::Fresh, 3)],
        lease: super::worker::LEASE,
        bytes_max: usize::MAX,
    };
    drop(store.claim(request.clone()));
    assert_eq!(queue.claim(Lane::Fresh, 1).await.len(), 1, "what was not polled did nothing");
    let mut claim = store.claim(request);
    let _ = claim.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(claim);
    // It may still be carried out, some time later: then they come back another lease later.
    let mut back = HashSet::new();
    for _ in 0..100 {
        store.probe().await.expect("the store goes on");
        queue.world.pass(super::worker::PAUSE);
        let wants = vec![want(&queue, Lane::Fresh, 9), want(&queue, Lane::Leased, 9)];
        let claims = queue.world.take(wants, usize::MAX).await;
        back.extend(claims.deliveries.iter().map(|claimed| claimed.key));
        if back.len() == 3 {
            return;
        }
    }
    panic!("only {} of 3 came back", back.len());
}
