//! What was handled is known for its time to live.

use super::world::{LEASE, SHORTLY_BEFORE_THE_END, World, acquire, is_duplicate};
use formsvc_receiver::inbox::InboxErrorKind;

pub(crate) async fn a_handled_key_is_a_duplicate(world: World) {
    world.handle("sub_1").await;
    assert!(is_duplicate(&*world.inbox, "sub_1").await);
    world.pass(LEASE * 10).await;
    assert!(is_duplicate(&*world.inbox, "sub_1").await, "leases have nothing to do with it");
    world.acquire("sub_2").await;
}

pub(crate) async fn a_handled_key_is_a_duplicate_whoever_asks(world: World) {
    let token = world.acquire("sub_1").await;
    world.elsewhere.complete(&token).await.unwrap();
    assert!(is_duplicate(&*world.inbox, "sub_1").await);
    assert!(is_duplicate(&*world.elsewhere, "sub_1").await);
}

pub(crate) async fn completing_again_does_no_harm(world: World) {
    let token = world.acquire("sub_1").await;
    world.inbox.complete(&token).await.unwrap();
    world.inbox.complete(&token).await.unwrap();
    world.elsewhere.complete(&token).await.unwrap();
    assert!(is_duplicate(&*world.inbox, "sub_1").await);
}

pub(crate) async fn a_handled_key_cannot_be_released_or_extended(world: World) {
    let token = world.acquire("sub_1").await;
    world.inbox.complete(&token).await.unwrap();
    for answer in [world.inbox.release(&token).await, world.inbox.extend(&token, LEASE).await] {
        assert_eq!(answer.unwrap_err().kind(), InboxErrorKind::ClaimLost);
    }
    assert!(is_duplicate(&*world.inbox, "sub_1").await);
}

pub(crate) async fn a_mark_ends_with_its_time_to_live(world: World) {
    world.handle("sub_1").await;
    world.pass(SHORTLY_BEFORE_THE_END).await;
    assert!(is_duplicate(&*world.elsewhere, "sub_1").await);
    world.pass(LEASE).await;
    let again = acquire(&*world.elsewhere, "sub_1").await;
    world.inbox.complete(&again).await.unwrap();
    world.pass(SHORTLY_BEFORE_THE_END).await;
    assert!(is_duplicate(&*world.inbox, "sub_1").await, "its time began anew");
}

pub(crate) async fn pruning_takes_what_has_ended_and_no_more_than_was_asked(world: World) {
    for key in ["sub_1", "sub_2", "sub_3", "sub_4", "sub_5"] {
        world.handle(key).await;
    }
    assert_eq!(world.inbox.prune(100).await.unwrap(), 0, "nothing has ended");
    world.pass(SHORTLY_BEFORE_THE_END).await;
    let late = world.acquire("sub_late").await;
    world.pass(LEASE).await;
    assert_eq!(world.elsewhere.prune(0).await.unwrap(), 0);
    assert_eq!(world.elsewhere.prune(2).await.unwrap(), 2);
    assert_eq!(world.inbox.prune(100).await.unwrap(), 3);
    assert_eq!(world.inbox.prune(100).await.unwrap(), 0);
    world.inbox.complete(&late).await.expect("a claim that can be completed is kept");
    world.acquire("sub_1").await;
}
