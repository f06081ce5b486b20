//! Outcomes of attempts: what becomes of a delivery, and that some ends are final.

use std::time::Duration;

use super::worker::{MICROSECOND, PAUSE, Queue, attempt};
use super::world::Factory;
use crate::store::{Claimed, DeliveryState, Lane, Settled, Settlement, Verdict};

pub(super) async fn delivered_and_failed_are_final(factory: Factory) {
    for (verdict, state) in
        [(Verdict::Delivered, DeliveryState::Delivered), (Verdict::Failed, DeliveryState::Failed)]
    {
        let queue = Queue::new(factory, 1).await;
        let world = &queue.world;
        world.pass(Duration::from_secs(3));
        let claimed = queue.first(Lane::Fresh).await;
        assert_eq!(world.state(claimed.key).await, DeliveryState::Pending, "no outcome yet");
        world.pass(Duration::from_secs(2));
        assert_eq!(world.settle(&claimed, verdict).await, Settled::Kept);
        let record = world.detail(claimed.key).await.record;
        assert_eq!((record.state, record.attempts, &record.next_attempt_at), (state, 1, &None));
        let finished = (world.clock.clock())().to_timestamp();
        assert_eq!(record.finished_at, Some(finished));
        queue.is_finished().await;
        assert_eq!(world.detail(claimed.key).await.record, record);
    }
}

pub(super) async fn a_retry_is_due_after_its_pause_and_not_before(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let mut claimed = queue.first(Lane::Fresh).await;
    for (retries, pause) in [(1, 10_123), (2, 60_000), (3, 360_000)] {
        world.pass(Duration::from_secs(1));
        let after = Duration::from_millis(pause);
        let due = (world.clock.clock())().plus(after);
        assert_eq!(world.settle(&claimed, Verdict::Retry { after, retries }).await, Settled::Kept);
        let record = world.detail(claimed.key).await.record;
        assert_eq!((record.state, record.attempts), (DeliveryState::Retrying, retries));
        assert_eq!((record.next_attempt_at, record.finished_at), (Some(due.to_timestamp()), None));
        world.pass_until_just_before(after);
        for lane in Lane::ALL {
            assert!(queue.claim(lane, 1).await.is_empty(), "{lane:?}");
        }
        world.pass(MICROSECOND);
        claimed = queue.first(Lane::Late).await;
        assert_eq!((claimed.state, claimed.retries), (DeliveryState::Retrying, retries));
        assert_eq!((claimed.attempts, claimed.claims, claimed.resend), (retries, 1, false));
    }
    assert_eq!(world.settle(&claimed, Verdict::Failed).await, Settled::Kept);
    assert_eq!(world.detail(claimed.key).await.history.len(), 4);
    queue.is_finished().await;
}

fn without_attempt(claimed: &Claimed, verdict: Verdict) -> Settlement {
    Settlement { key: claimed.key, lease: claimed.lease, verdict, attempt: None, own_fault: false }
}

/// For what is no fault of the endpoint.
pub(super) async fn what_is_put_off_without_an_attempt_stays_what_it_was(factory: Factory) {
    let queue = Queue::new(factory, 3).await;
    let world = &queue.world;
    let put_off = async |claimed: &Claimed| {
        let retries = claimed.retries;
        let verdict = Verdict::Retry { after: PAUSE, retries };
        let settlement = without_attempt(claimed, verdict);
        assert_eq!(world.store.settle(vec![settlement]).await.expect("settled"), [Settled::Kept]);
        let record = world.detail(claimed.key).await.record;
        assert_eq!((record.state, record.attempts), (claimed.state, claimed.attempts));
        let due = (world.clock.clock())().plus(PAUSE).to_timestamp();
        assert_eq!(record.next_attempt_at, Some(due));
        world.pass_until_just_before(PAUSE);
        assert!(queue.claim(Lane::Late, 9).await.is_empty());
        world.pass(MICROSECOND);
        let again = queue.first(Lane::Late).await;
        assert_eq!(
            (again.key, again.state, again.attempts),
            (claimed.key, claimed.state, claimed.attempts)
        );
        assert_eq!((again.retries, again.resend), (claimed.retries, claimed.resend));
        assert_eq!(again.claims, 1);
        again
    };
    let pending = queue.first(Lane::Fresh).await;
    let pending = put_off(&pending).await;
    let retry = Verdict::Retry { after: Duration::ZERO, retries: 2 };
    world.settle(&pending, retry).await;
    let retrying = queue.first(Lane::Late).await;
    let retrying = put_off(&retrying).await;
    world.settle(&retrying, Verdict::Delivered).await;

    // What a person asked for stays asked for.
    let failed = queue.settled(Verdict::Failed).await;
    let unattempted = world.deliveries_of(&world.form.id).await[0].key;
    for key in [failed, retrying.key, unattempted] {
        let finished_at = world.detail(key).await.record.finished_at;
        world.store.resend(&key.id()).await.expect("resent");
        let resent = queue.first(Lane::Late).await;
        assert!(resent.resend);
        let resent = put_off(&resent).await;
        assert_eq!(world.detail(key).await.record.finished_at, finished_at);
        world.settle(&resent, Verdict::Delivered).await;
    }
    queue.is_finished().await;
}

pub(super) async fn a_failure_without_an_attempt_counts_none(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let claimed = queue.first(Lane::Fresh).await;
    let settlement = without_attempt(&claimed, Verdict::Failed);
    assert_eq!(world.store.settle(vec![settlement]).await.expect("settled"), [Settled::Kept]);
    let detail = world.detail(claimed.key).await;
    assert_eq!((detail.record.state, detail.record.attempts), (DeliveryState::Failed, 0));
    assert!(detail.history.is_empty() && detail.record.finished_at.is_some());
    queue.is_finished().await;
}

pub(super) async fn what_is_unfinished_is_not_lost_by_a_verdict_that_changes_nothing(
    factory: Factory,
) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let pending = queue.first(Lane::Fresh).await;
    let unattempted = without_attempt(&pending, Verdict::Unchanged);
    world.store.settle(vec![unattempted]).await.expect("an answer");
    assert_eq!(world.state(pending.key).await, DeliveryState::Pending);
    let again = queue.first(Lane::Fresh).await;
    assert_eq!((again.key, again.retries, again.claims), (pending.key, 0, 2));

    world.settle(&again, Verdict::Retry { after: PAUSE, retries: 2 }).await;
    let due = world.detail(again.key).await.record.next_attempt_at;
    world.pass(PAUSE);
    let retrying = queue.first(Lane::Late).await;
    world.settle(&retrying, Verdict::Unchanged).await;
    let record = world.detail(retrying.key).await.record;
    assert_eq!((record.state, record.next_attempt_at), (DeliveryState::Retrying, due));
    assert_eq!(world.store.backlog().await.expect("a count").unfinished, 1);
    let again = queue.first(Lane::Late).await;
    assert_eq!((again.key, again.retries, again.claims), (retrying.key, 2, 2));
    assert_eq!(world.settle(&again, Verdict::Delivered).await, Settled::Kept);
    queue.is_finished().await;
}

pub(super) async fn own_faults_are_timed_until_an_attempt(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let settle = async |claimed: &Claimed, attempted: bool, own_fault: bool, verdict: Verdict| {
        let attempt = attempted.then(|| attempt(503));
        let settlement = Settlement { attempt, own_fault, ..without_attempt(claimed, verdict) };
        assert_eq!(world.store.settle(vec![settlement]).await.expect("settled"), [Settled::Kept]);
    };
    let put_off = async |claimed: &Claimed, attempted: bool, own_fault: bool| {
        let retry = Verdict::Retry { after: PAUSE, retries: 0 };
        settle(claimed, attempted, own_fault, retry).await;
        world.pass(PAUSE);
        queue.first(Lane::Late).await
    };
    let claimed = queue.first(Lane::Fresh).await;
    assert_eq!(claimed.own_fault_for, Duration::ZERO);
    let claimed = put_off(&claimed, false, true).await;
    assert_eq!(claimed.own_fault_for, PAUSE);
    let claimed = put_off(&claimed, false, true).await;
    assert_eq!(claimed.own_fault_for, 2 * PAUSE);

    // Giving a claim back changes nothing, and neither does an attempt that a fault of our own used.
    settle(&claimed, false, false, Verdict::Release).await;
    let claimed = queue.first(Lane::Late).await;
    assert_eq!(claimed.own_fault_for, 2 * PAUSE);
    let claimed = put_off(&claimed, true, true).await;
    assert_eq!((claimed.own_fault_for, claimed.attempts), (3 * PAUSE, 1));

    // A clock that is set back makes the time begin again, not last for ever.
    world.clock.advance(-86_400_000_000);
    let claimed = put_off(&claimed, false, true).await;
    assert_eq!(claimed.own_fault_for, PAUSE);

    let claimed = put_off(&claimed, true, false).await;
    assert_eq!(claimed.own_fault_for, Duration::ZERO, "the endpoint was reached");
    let claimed = put_off(&claimed, false, true).await;
    settle(&claimed, true, true, Verdict::Failed).await;
    world.store.resend(&claimed.key.id()).await.expect("resent");
    assert_eq!(queue.first(Lane::Late).await.own_fault_for, Duration::ZERO, "it was finished");
}
