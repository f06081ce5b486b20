//! What is claimed before there is a slot for it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use formsvc_server::delivery::Deliveries;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{
    ClaimRequest, Claimed, DeliveryState, EndpointNo, Lane, Store, Want, system_clock,
};

use super::endpoint::{Endpoint, Reply};
use super::world::{GRACE, World, options, slots};
use crate::watched::Watched;

const SUBMISSIONS: usize = 400;
const SLOTS: usize = 4;
/// What the endpoint answers before it hangs: enough for its pace to be known.
const QUICK: usize = 40;

/// An endpoint that answers some deliveries at once and holds all others, as many as there are slots.
async fn hanging() -> (World, Endpoint, Deliveries) {
    let world = World::new().await;
    let quick = (0..QUICK).map(|_| Reply::Status(200));
    let endpoint = Endpoint::start(quick.chain([Reply::Held])).await;
    world.endpoint("whe_1", endpoint.url()).await;
    for _ in 0..SUBMISSIONS {
        world.submit("{}").await;
    }
    let mut options = options();
    options.slots = slots(64, SLOTS.try_into().unwrap());
    let deliveries = world.deliver(options);
    endpoint.wait_for(QUICK + SLOTS).await;
    (world, endpoint, deliveries)
}

/// Claims what nobody else has claimed.
async fn claim(world: &World) -> Vec<Claimed> {
    let want = Want { endpoint: EndpointNo(1), lane: Lane::Fresh, count: 1_000 };
    let lease = Duration::from_secs(60);
    let request = ClaimRequest { wants: vec![want], lease, bytes_max: usize::MAX };
    world.store.claim(request).await.unwrap().deliveries
}

#[tokio::test]
async fn an_endpoint_that_hangs_gives_up_what_was_claimed_ahead() {
    let (world, endpoint, deliveries) = hanging().await;
    let left = SUBMISSIONS - QUICK - SLOTS;
    let mut free = claim(&world).await;
    assert!(free.len() < left, "nothing was claimed ahead of {SLOTS} slots");
    // It hangs for longer than anything waits for a slot.
    while free.len() < left {
        free.extend(claim(&world).await);
        // Sleeps because polling without a pause takes the processor from the delivery worker.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let different: HashSet<_> = free.iter().map(|claimed| claimed.key).collect();
    assert_eq!((different.len(), free.len()), (left, left));
    assert!(free.iter().all(|claimed| claimed.claims == 1), "a claim that came to nothing counted");
    assert_eq!(endpoint.received().len(), QUICK + SLOTS);
    endpoint.open();
    deliveries.stop(GRACE).await;
}

/// As a database in another room is, where nothing is claimed ahead because nobody can look at once whether it
/// still goes.
#[tokio::test]
async fn what_a_store_took_long_to_hand_out_is_attempted() {
    let near = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
    let far = Watched::at(Duration::from_millis(30), near);
    assert!(far.endpoints_at_once().is_none());
    let world = World::on(Arc::new(far)).await;
    let endpoint = Endpoint::ok().await;
    world.endpoint("whe_1", endpoint.url()).await;
    for _ in 0..10 {
        world.submit("{}").await;
    }
    let deliveries = world.deliver(options());
    let arriving = async {
        assert_eq!(endpoint.wait_for(10).await.len(), 10);
        world.until_idle().await;
    };
    tokio::time::timeout(GRACE, arriving).await.expect("they are given back again and again");
    deliveries.stop(GRACE).await;
    let all = world.deliveries().await;
    assert!(all.iter().all(|one| one.state == DeliveryState::Delivered && one.attempts == 1));
}

#[tokio::test]
async fn a_worker_that_stops_gives_back_what_it_claimed_ahead() {
    let (world, endpoint, deliveries) = hanging().await;
    let stopping = tokio::spawn(deliveries.stop(GRACE));
    endpoint.open();
    stopping.await.unwrap();
    let delivered = world.deliveries().await.into_iter();
    let delivered = delivered.filter(|one| one.state == DeliveryState::Delivered).count();
    assert!(delivered < SUBMISSIONS, "all were delivered before it stopped");
    let free = claim(&world).await;
    assert_eq!(free.len() + delivered, SUBMISSIONS);
    assert!(free.iter().all(|claimed| claimed.claims == 1), "a claim that came to nothing counted");
}
