//! Leases: that claims end, and that whoever claimed before then has no say.

use std::time::Duration;

use super::worker::{
    LEASE, MICROSECOND, PAUSE, Queue, accepted_ids, attempt, settlement, submissions,
};
use super::world::Factory;
use crate::store::{DeliveryState, Lane, Lease, Settled, Settlement, Verdict};

pub(super) async fn a_lease_that_ran_out_is_claimed_again_and_the_old_one_settles_nothing(
    factory: Factory,
) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    let old = queue.first(Lane::Fresh).await;
    world.pass_until_just_before(LEASE);
    assert!(queue.claim(Lane::Leased, 1).await.is_empty(), "it holds to its end");
    world.pass(MICROSECOND);
    assert!(queue.claim(Lane::Fresh, 1).await.is_empty());
    assert!(queue.claim(Lane::Late, 1).await.is_empty());
    let new = queue.first(Lane::Leased).await;
    assert_eq!((new.key, new.claims, old.claims), (old.key, 2, 1));
    assert_eq!((&new.data, &new.form_title, new.state), (&old.data, &old.form_title, old.state));

    let before = world.detail(old.key).await;
    for verdict in [
        Verdict::Delivered,
        Verdict::Failed,
        Verdict::Retry { after: Duration::ZERO, retries: 1 },
        Verdict::Unchanged,
        Verdict::Release,
    ] {
        assert_eq!(world.settle(&old, verdict).await, Settled::Lost, "{verdict:?}");
    }
    assert_eq!(world.detail(old.key).await, before, "nothing was recorded");
    assert!(queue.claim(Lane::Leased, 1).await.is_empty(), "the new one still holds");
    assert_eq!(world.settle(&new, Verdict::Delivered).await, Settled::Kept);
    assert_eq!(world.settle(&old, Verdict::Failed).await, Settled::Lost);
    assert_eq!(world.state(new.key).await, DeliveryState::Delivered);
    queue.is_finished().await;
}

/// Whoever is late is heard, as long as nobody else has begun.
pub(super) async fn a_lease_that_ran_out_settles_while_nobody_else_claimed(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let claimed = queue.first(Lane::Fresh).await;
    queue.world.pass(PAUSE);
    assert_eq!(queue.world.settle(&claimed, Verdict::Delivered).await, Settled::Kept);
    assert_eq!(queue.world.state(claimed.key).await, DeliveryState::Delivered);
    queue.is_finished().await;
}

pub(super) async fn a_lease_is_good_for_its_delivery_and_for_once(factory: Factory) {
    let queue = Queue::new(factory, 2).await;
    let world = &queue.world;
    let claimed = queue.claim(Lane::Fresh, 2).await;
    let right = settlement(&claimed[0], Verdict::Delivered);
    let Lease { token, until } = right.lease;
    let forged = [
        Lease { token: token + 1, until },
        Lease { token: -token, until },
        Lease { token, until: until.plus(MICROSECOND) },
    ];
    for lease in forged {
        let settled = world.store.settle(vec![Settlement { lease, ..right.clone() }]).await;
        assert_eq!(settled.expect("settled"), [Settled::Lost], "{lease:?}");
    }
    assert_eq!(world.state(claimed[0].key).await, DeliveryState::Pending);
    // Answers come in the order of the settlements; of two for one claim the first counts.
    let other = settlement(&claimed[1], Verdict::Failed);
    let unknown = {
        let mut unknown = other.clone();
        unknown.key.submission += 1;
        unknown
    };
    let again = Settlement { verdict: Verdict::Failed, ..right.clone() };
    let settled = world.store.settle(vec![unknown, right, again, other]).await.expect("settled");
    assert_eq!(settled, [Settled::Lost, Settled::Kept, Settled::Lost, Settled::Kept]);
    assert_eq!(world.state(claimed[0].key).await, DeliveryState::Delivered);
    assert_eq!(world.state(claimed[1].key).await, DeliveryState::Failed);
    assert!(world.store.settle(Vec::new()).await.expect("settled").is_empty());
    queue.is_finished().await;
}

pub(super) async fn what_is_released_goes_back_to_its_place(factory: Factory) {
    let queue = Queue::new(factory, 4).await;
    let world = &queue.world;
    let ids = accepted_ids(&queue.accepted);
    // A fresh one between its neighbours.
    let fresh = queue.claim(Lane::Fresh, 3).await;
    for claimed in [&fresh[1], &fresh[0], &fresh[2]] {
        assert_eq!(world.settle(claimed, Verdict::Release).await, Settled::Kept);
    }
    let fresh = queue.claim(Lane::Fresh, 9).await;
    assert_eq!(submissions(&fresh), ids);
    assert!(fresh.iter().all(|claimed| claimed.claims == 1), "not counted");

    // A late one to the time it was due, long ago by now.
    for (claimed, seconds) in fresh.iter().zip([40, 10, 30, 20]) {
        let verdict = Verdict::Retry { after: Duration::from_secs(seconds), retries: 2 };
        world.settle(claimed, verdict).await;
    }
    let shown = world.detail(fresh[1].key).await;
    world.pass(Duration::from_secs(20));
    let late = queue.claim(Lane::Late, 9).await;
    assert_eq!(submissions(&late), [ids[1], ids[3]]);
    world.pass(Duration::from_secs(5));
    for claimed in &late {
        assert_eq!(world.settle(claimed, Verdict::Release).await, Settled::Kept);
    }
    assert_eq!(world.detail(fresh[1].key).await, shown, "as if it had never been claimed");
    let front = world.due().await;
    let overdue: Vec<_> = front.iter().map(|due| (due.lane, due.overdue)).collect();
    assert_eq!(overdue, [(Lane::Late, Duration::from_secs(15))]);
    let late = queue.claim(Lane::Late, 9).await;
    assert_eq!(submissions(&late), [ids[1], ids[3]]);
    assert!(late.iter().all(|claimed| (claimed.claims, claimed.retries) == (1, 2)));
}

/// Also after the lease ran out and the delivery was claimed from there.
pub(super) async fn what_is_released_late_goes_back_to_its_place(factory: Factory) {
    let queue = Queue::new(factory, 3).await;
    let world = &queue.world;
    let ids = accepted_ids(&queue.accepted);
    queue.first(Lane::Fresh).await;
    world.pass(PAUSE);
    let again = queue.first(Lane::Leased).await;
    world.settle(&again, Verdict::Release).await;
    let fresh = queue.claim(Lane::Fresh, 9).await;
    assert_eq!(submissions(&fresh), ids);
    let claims: Vec<_> = fresh.iter().map(|claimed| claimed.claims).collect();
    assert_eq!(claims, [2, 1, 1], "the claim that ran out is counted, the released one is not");
}

/// So that one that brings its workers down can be told.
pub(super) async fn claims_are_counted_until_one_is_settled(factory: Factory) {
    let queue = Queue::new(factory, 1).await;
    let world = &queue.world;
    queue.first(Lane::Fresh).await;
    for claims in 2..6 {
        world.pass(LEASE);
        assert_eq!(queue.first(Lane::Leased).await.claims, claims);
    }
    world.pass(LEASE);
    let last = queue.first(Lane::Leased).await;
    let verdict = Verdict::Retry { after: Duration::ZERO, retries: 1 };
    assert_eq!(world.settle(&last, verdict).await, Settled::Kept);
    assert_eq!(queue.first(Lane::Late).await.claims, 1);
}

/// A store that can know that workers are gone gives their claims back; one that cannot gives none
/// back, and leases run out.
pub(super) async fn recovered_claims_are_where_they_were(factory: Factory) {
    let queue = Queue::new(factory, 4).await;
    let world = &queue.world;
    let ids = accepted_ids(&queue.accepted);
    let late = queue.first(Lane::Fresh).await;
    world.settle(&late, Verdict::Retry { after: Duration::from_secs(5), retries: 1 }).await;
    world.pass(Duration::from_secs(5));
    let late = queue.first(Lane::Late).await;
    let fresh = queue.claim(Lane::Fresh, 2).await;
    let given_back = world.store.recover_claims().await.expect("recovered");
    assert!([0, 3].contains(&given_back), "all or none: {given_back}");
    if given_back == 0 {
        return;
    }
    for old in fresh.iter().chain([&late]) {
        assert_eq!(world.settle(old, Verdict::Delivered).await, Settled::Lost);
    }
    assert_eq!(world.store.recover_claims().await.expect("recovered"), 0);
    let again = queue.claim(Lane::Late, 9).await;
    assert_eq!(submissions(&again), [ids[0]]);
    assert_eq!((again[0].claims, again[0].retries), (2, 1), "a claim of one that is gone counts");
    let again = queue.claim(Lane::Fresh, 9).await;
    assert_eq!(submissions(&again), [ids[1], ids[2], ids[3]]);
    let claims: Vec<_> = again.iter().map(|claimed| claimed.claims).collect();
    assert_eq!(claims, [2, 2, 1]);
    for claimed in &again {
        let (key, lease, verdict) = (claimed.key, claimed.lease, Verdict::Delivered);
        let attempt = Some(attempt(200));
        let settled = world
            .store
            .settle(vec![Settlement { key, lease, verdict, attempt, own_fault: false }])
            .await;
        assert_eq!(settled.expect("settled"), [Settled::Kept]);
    }
}
