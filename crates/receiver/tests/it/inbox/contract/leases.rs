//! A claim lasts as long as its lease, and then until somebody takes it over.

use std::time::Duration;

use super::claims::{acquired, claim_at_once};
use super::world::{LEASE, World, acquire, assert_lost, is_duplicate, is_in_flight};

const MOMENT: Duration = Duration::from_secs(2);
/// A lease has a moment left.
const BEFORE_ITS_END: Duration = LEASE.saturating_sub(MOMENT);

pub(crate) async fn a_lease_that_ran_out_is_taken_over(world: World) {
    world.acquire("sub_1").await;
    world.pass(BEFORE_ITS_END).await;
    assert!(is_in_flight(&*world.elsewhere, "sub_1").await);
    world.pass(MOMENT).await;
    acquire(&*world.elsewhere, "sub_1").await;
    assert!(is_in_flight(&*world.inbox, "sub_1").await);
}

pub(crate) async fn a_claim_that_was_taken_over_changes_nothing(world: World) {
    let slow = world.acquire("sub_1").await;
    world.pass(LEASE).await;
    let next = acquire(&*world.elsewhere, "sub_1").await;
    assert_lost(&*world.inbox, &slow).await;
    assert!(is_in_flight(&*world.inbox, "sub_1").await, "it is still the other's");
    world.elsewhere.complete(&next).await.unwrap();
    assert_lost(&*world.inbox, &slow).await;
    assert!(is_duplicate(&*world.inbox, "sub_1").await);
}

pub(crate) async fn of_a_hundred_that_take_over_one_does(world: World) {
    world.acquire("sub_1").await;
    world.pass(LEASE).await;
    assert_eq!(acquired(&claim_at_once(&world, "sub_1").await), 1);
}

pub(crate) async fn a_lease_that_ran_out_completes_while_nobody_took_over(world: World) {
    let token = world.acquire("sub_1").await;
    world.pass(LEASE * 100).await;
    // What others do meanwhile does not count against it.
    world.handle("sub_2").await;
    world.inbox.complete(&token).await.unwrap();
    assert!(is_duplicate(&*world.elsewhere, "sub_1").await);
}

pub(crate) async fn an_extended_lease_holds_longer(world: World) {
    let token = world.acquire("sub_1").await;
    world.pass(BEFORE_ITS_END).await;
    world.inbox.extend(&token, LEASE).await.unwrap();
    world.pass(BEFORE_ITS_END).await;
    assert!(is_in_flight(&*world.elsewhere, "sub_1").await);
    world.pass(MOMENT).await;
    acquire(&*world.elsewhere, "sub_1").await;
    assert_lost(&*world.inbox, &token).await;
}

pub(crate) async fn a_shortened_lease_ends_sooner(world: World) {
    let token = world.acquire("sub_1").await;
    world.inbox.extend(&token, MOMENT).await.unwrap();
    world.pass(MOMENT).await;
    acquire(&*world.elsewhere, "sub_1").await;
}

pub(crate) async fn fencing_numbers_grow(world: World) {
    let mut last = 0;
    for round in 0..6 {
        let inbox = if round % 2 == 0 { &world.inbox } else { &world.elsewhere };
        let token = acquire(&**inbox, "sub_1").await;
        assert!(token.fence() > last, "{} after {last}", token.fence());
        last = token.fence();
        if round < 3 {
            inbox.release(&token).await.unwrap();
        } else {
            world.pass(LEASE).await;
        }
    }
}
