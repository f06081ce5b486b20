//! Resends: one attempt more, asked for by a person.

use std::time::Duration;

use formsvc_protocol::Timestamp;

use super::worker::{PAUSE, Queue};
use super::world::Factory;
use crate::store::{
    Claimed, DeliveryKey, DeliveryRecord, DeliveryState, Lane, Settled, StoreError, Verdict,
};

impl Queue {
    async fn resend(&self, key: DeliveryKey) -> DeliveryRecord {
        let record = self.world.store.resend(&key.id()).await.expect("resent");
        assert_eq!(record, self.world.detail(key).await.record);
        assert!(record.next_attempt_at.as_ref().is_some_and(|at| *at <= self.now()), "at once");
        record
    }

    async fn refuses_to_resend(&self, key: DeliveryKey) {
        let before = self.world.detail(key).await;
        let refused = self.world.store.resend(&key.id()).await;
        let Err(StoreError::Invalid { what: "delivery", value, .. }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(value, key.id().as_str());
        assert_eq!(self.world.detail(key).await, before);
    }

    /// Claims the only late one, which is being resent.
    async fn resent(&self) -> Claimed {
        let mut claimed = self.claim(Lane::Late, 9).await;
        assert_eq!(claimed.len(), 1);
        assert!(claimed[0].resend);
        claimed.remove(0)
    }

    fn now(&self) -> Timestamp {
        (self.world.clock.clock())().to_timestamp()
    }
}

pub(super) async fn a_finished_delivery_can_be_attempted_once_more(factory: Factory) {
    for (verdict, state) in
        [(Verdict::Delivered, DeliveryState::Delivered), (Verdict::Failed, DeliveryState::Failed)]
    {
        let queue = Queue::new(factory, 1).await;
        let world = &queue.world;
        let key = queue.settled(verdict).await;
        let finished_at = world.detail(key).await.record.finished_at;
        world.pass(PAUSE);
        let record = queue.resend(key).await;
        assert_eq!((record.state, record.finished_at, record.attempts), (state, finished_at, 1));
        let finished_at = world.detail(key).await.record.finished_at;
        let claimed = queue.resent().await;
        assert_eq!((claimed.key, claimed.state, claimed.attempts), (key, state, 1));
        assert_eq!(world.settle(&claimed, Verdict::Unchanged).await, Settled::Kept);
        let detail = world.detail(key).await;
        assert_eq!((detail.record.state, detail.record.attempts), (state, 2));
        assert_eq!((detail.record.finished_at, detail.history.len()), (finished_at, 2));
        assert_eq!(detail.record.next_attempt_at, None);
        queue.is_finished().await;
    }
}

pub(super) async fn a_resend_that_succeeds_turns_failed_into_delivered(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let key = queue.settled(Verdict::Failed).await;
    world.pass(PAUSE);
    queue.resend(key).await;
    world.settle(&queue.resent().await, Verdict::Delivered).await;
    let record = world.detail(key).await.record;
    assert_eq!((record.state, record.attempts), (DeliveryState::Delivered, 2));
    assert_eq!((record.finished_at, record.next_attempt_at), (Some(queue.now()), None));
    queue.is_finished().await;
}

pub(super) async fn a_resend_of_an_unfinished_one_keeps_its_retries(factory: Factory) {
    let queue = Queue::new(factory, 3).await;
    let world = &queue.world;
    let retry = Verdict::Retry { after: PAUSE, retries: 2 };
    let retrying = queue.settled(retry).await;
    let pending = world.deliveries_of(&world.form.id).await[1].key;
    for (key, state, retries) in
        [(retrying, DeliveryState::Retrying, 2), (pending, DeliveryState::Pending, 0)]
    {
        assert_eq!(queue.resend(key).await.state, state);
        let claimed = queue.resent().await;
        assert_eq!((claimed.key, claimed.state), (key, state));
        assert_eq!((claimed.retries, claimed.claims), (retries, 1));
        // Outside the budget: it goes on with what it had.
        let verdict = Verdict::Retry { after: PAUSE, retries };
        assert_eq!(world.settle(&claimed, verdict).await, Settled::Kept);
        world.pass(PAUSE);
        let again = queue.first(Lane::Late).await;
        assert_eq!((again.key, again.retries, again.resend), (key, retries, false));
        assert_eq!(again.state, DeliveryState::Retrying);
        world.settle(&again, Verdict::Delivered).await;
    }
    let left = queue.claim(Lane::Fresh, 9).await;
    assert_eq!(left.len(), 1, "the one that was not resent stands where it stood");
    assert_eq!(left[0].submission, queue.accepted[2].id);
}

pub(super) async fn a_resend_that_fails_does_not_move_the_next_retry(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let key = queue.settled(Verdict::Retry { after: PAUSE * 4, retries: 2 }).await;
    let due = world.detail(key).await.record.next_attempt_at;
    // Asked for twice, and given back once.
    for _ in 0..2 {
        world.pass(PAUSE);
        queue.resend(key).await;
    }
    world.settle(&queue.resent().await, Verdict::Release).await;
    world.settle(&queue.resent().await, Verdict::Retry { after: PAUSE * 9, retries: 2 }).await;
    let record = world.detail(key).await.record;
    assert_eq!((record.state, record.next_attempt_at), (DeliveryState::Retrying, due));
    assert!(queue.claim(Lane::Late, 9).await.is_empty(), "it is not due yet");
    world.pass(PAUSE * 2);
    let again = queue.first(Lane::Late).await;
    assert_eq!((again.key, again.retries, again.resend), (key, 2, false));
}

pub(super) async fn two_resends_before_an_attempt_are_one(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let key = world.deliveries_of(&world.form.id).await[0].key;
    queue.resend(key).await;
    world.pass(PAUSE);
    queue.resend(key).await;
    assert_eq!(world.store.backlog().await.expect("a count").unfinished, 1);
    world.settle(&queue.resent().await, Verdict::Delivered).await;
    for _ in 0..2 {
        world.pass(PAUSE);
        queue.resend(key).await;
    }
    world.settle(&queue.resent().await, Verdict::Unchanged).await;
    queue.is_finished().await;
}

/// Whoever asks for it, on another machine or before the clock was set, waits for nothing.
pub(super) async fn a_resend_is_due_by_any_clock_and_before_retries(factory: Factory) {
    let queue = Queue::new(factory, 2).await;
    let world = &queue.world;
    let retried = queue.settled(Verdict::Retry { after: Duration::ZERO, retries: 1 }).await;
    world.pass(PAUSE);
    let failed = queue.settled(Verdict::Failed).await;
    queue.resend(failed).await;
    world.clock.advance(-7_200_000_000);
    let [due] = world.due().await[..] else { panic!("one lane") };
    assert_eq!((due.lane, due.after), (Lane::Late, Duration::ZERO));
    assert_eq!(queue.resent().await.key, failed);
    world.clock.advance(7_200_000_000);
    assert_eq!(queue.first(Lane::Late).await.key, retried);
}

pub(super) async fn a_resend_outlives_its_worker(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let key = queue.settled(Verdict::Failed).await;
    queue.resend(key).await;
    let due = queue.now();
    queue.resent().await;
    world.pass(PAUSE);
    let again = queue.first(Lane::Leased).await;
    assert_eq!((again.key, again.resend, again.claims), (key, true, 2));
    assert_eq!(again.state, DeliveryState::Failed);
    world.settle(&again, Verdict::Release).await;
    assert_eq!(world.detail(key).await.record.next_attempt_at, Some(due));
    assert_eq!(queue.resent().await.key, key);
}

pub(super) async fn what_is_being_attempted_or_has_nowhere_to_go_is_not_resent(factory: Factory) {
    let queue = Queue::new(factory, 2).await;
    let world = &queue.world;
    let leased = queue.first(Lane::Fresh).await;
    queue.refuses_to_resend(leased.key).await;
    world.settle(&leased, Verdict::Failed).await;
    let endpoint = &queue.endpoint.id;
    let pending = world.deliveries_of(&world.form.id).await[0].key;
    world.store.set_endpoint_enabled(endpoint, false).await.expect("disabled");
    for key in [leased.key, pending] {
        queue.refuses_to_resend(key).await;
    }
    world.store.set_endpoint_enabled(endpoint, true).await.expect("enabled");
    queue.resend(leased.key).await;
    world.store.remove_endpoint(endpoint).await.expect("removed");
    for key in [leased.key, pending] {
        queue.refuses_to_resend(key).await;
    }
    assert_eq!(world.state(pending).await, DeliveryState::Canceled);
    let failed = world.detail(leased.key).await.record;
    assert_eq!((failed.state, failed.next_attempt_at), (DeliveryState::Failed, None));
    queue.is_finished().await;
}
