//! Of claims on a key, one is acquired.

use std::sync::Arc;
use std::time::Duration;

use formsvc_receiver::inbox::{Claim, Inbox};

use super::world::{LEASE, World, acquire, assert_lost, is_in_flight};

/// Claims a key from many tasks, half of them elsewhere, and gives what they got.
pub(super) async fn claim_at_once(world: &World, key: &'static str) -> Vec<Claim> {
    let tasks: Vec<_> = (0..100)
        .map(|task| {
            let inbox = if task % 2 == 0 { &world.inbox } else { &world.elsewhere };
            let inbox = Arc::clone(inbox);
            tokio::spawn(async move { inbox.claim(key, LEASE).await.expect("an answer") })
        })
        .collect();
    let mut claims = Vec::new();
    for task in tasks {
        claims.push(task.await.unwrap());
    }
    claims
}

pub(super) fn acquired(claims: &[Claim]) -> usize {
    claims.iter().filter(|claim| matches!(claim, Claim::Acquired(_))).count()
}

pub(crate) async fn of_a_hundred_claims_at_once_one_is_acquired(world: World) {
    let claims = claim_at_once(&world, "sub_1").await;
    assert_eq!(acquired(&claims), 1);
    let in_flight = claims.iter().filter(|claim| matches!(claim, Claim::InFlight { .. })).count();
    assert_eq!(in_flight, 99);
}

pub(crate) async fn a_key_under_way_is_in_flight(world: World) {
    let token = world.acquire("sub_1").await;
    assert_eq!(token.key(), "sub_1");
    for inbox in [&world.inbox, &world.elsewhere] {
        match inbox.claim("sub_1", Duration::from_secs(3_600)).await.unwrap() {
            Claim::InFlight { retry_after } => {
                assert!(retry_after <= LEASE, "{retry_after:?}");
                assert!(retry_after > LEASE / 2, "{retry_after:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    world.acquire("sub_2").await;
}

pub(crate) async fn a_released_key_is_claimed_again(world: World) {
    let token = world.acquire("sub_1").await;
    world.inbox.release(&token).await.unwrap();
    let next = acquire(&*world.elsewhere, "sub_1").await;
    assert!(is_in_flight(&*world.inbox, "sub_1").await);
    // A token is the store's, not a handle's.
    world.inbox.release(&next).await.unwrap();
    world.acquire("sub_1").await;
}

pub(crate) async fn a_released_claim_is_worth_nothing(world: World) {
    let token = world.acquire("sub_1").await;
    world.inbox.release(&token).await.unwrap();
    assert_lost(&*world.inbox, &token).await;
    let next = world.acquire("sub_1").await;
    assert_lost(&*world.inbox, &token).await;
    world.inbox.complete(&next).await.unwrap();
}

/// Asks until a key is free: what is given up in the background tells nobody when it is.
async fn wait_until_free(inbox: &dyn Inbox, key: &str) {
    let free = async {
        while is_in_flight(inbox, key).await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LEASE / 2, free).await.expect("it is free long before its lease ends");
}

pub(crate) async fn an_abandoned_claim_is_released(world: World) {
    let token = world.acquire("sub_1").await;
    world.inbox.abandon(&token);
    wait_until_free(&*world.elsewhere, "sub_1").await;
    // Abandoning what somebody else has by now takes nothing from them.
    world.inbox.abandon(&token);
    let handled = world.acquire("sub_2").await;
    world.inbox.complete(&handled).await.unwrap();
    world.inbox.abandon(&handled);
    assert!(!is_in_flight(&*world.inbox, "sub_2").await);
    assert!(is_in_flight(&*world.inbox, "sub_1").await);
}

pub(crate) async fn a_claim_whose_caller_has_gone_does_not_stay(world: World) {
    for round in 0..20 {
        let key = format!("sub_{round}");
        let mut claim = world.inbox.claim(&key, Duration::from_secs(1));
        // Asked, and gone before or after the answer came.
        let polled =
            std::future::poll_fn(|cx| std::task::Poll::Ready(claim.as_mut().poll(cx))).await;
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        drop((claim, polled));
    }
    // By its own lease at the latest.
    world.pass(Duration::from_secs(2)).await;
    for round in 0..20 {
        let key = format!("sub_{round}");
        wait_until_free(&*world.elsewhere, &key).await;
    }
}
