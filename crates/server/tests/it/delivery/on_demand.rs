//! Faults of deliveries, as the endpoint sees them.

use std::time::Duration;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SignatureError, SigningSecret, verify};
use formsvc_server::delivery::{Deliveries, Equipment};
use formsvc_server::faults::Faults;
use formsvc_server::store::{DeliveryState, system_clock};

use super::endpoint::{Endpoint, Received, Reply};
use super::world::{GRACE, World, carrier, options};

/// A world that delivers with faults.
async fn sick(faults: &[&str], endpoint: &Endpoint) -> (World, Deliveries, Faults) {
    let switches = Faults::new();
    for fault in faults {
        switches.set(fault.parse().unwrap());
    }
    let world = World::new().await;
    world.endpoint("whe_1", endpoint.url()).await;
    let mut options = options();
    options.timeout = Duration::from_secs(10);
    let deliveries = Deliveries::start(Equipment {
        clock: switches.clock(system_clock()),
        ..world.equipment(switches.carrier(carrier()), options)
    });
    (world, deliveries, switches)
}

fn verified(received: &Received) -> Result<usize, SignatureError> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let secret = SigningSecret::new("whsec_whe_1").unwrap();
    let header = received.header("x-service-signature").as_bytes();
    verify(header, received.body.as_bytes(), &[secret], now.as_secs(), SIGNATURE_TOLERANCE)
}

#[tokio::test]
async fn a_delivery_arrives_twice_and_is_one_attempt() {
    let endpoint = Endpoint::ok().await;
    let (world, deliveries, _) = sick(&["duplicate-deliveries"], &endpoint).await;
    world.submit("{}").await;
    let received = endpoint.wait_for(2).await;
    assert_eq!(received[0].body, received[1].body);
    assert_eq!(received[0].headers, received[1].headers);
    assert!(received.iter().all(|one| verified(one).is_ok()));
    let detail = world.until(DeliveryState::Delivered).await;
    assert_eq!(detail.record.attempts, 1);
    deliveries.stop(GRACE).await;
    assert_eq!(endpoint.received().len(), 2);
}

#[tokio::test]
async fn a_wrong_signature_is_well_formed_and_a_share_of_the_attempts_has_it() {
    // The first attempt is signed right and refused all the same, the second is signed wrong.
    let endpoint = Endpoint::start([500, 500, 200].map(Reply::Status)).await;
    let (world, deliveries, _) = sick(&["wrong-signature=50%"], &endpoint).await;
    world.submit("{}").await;
    let received = endpoint.wait_for(3).await;
    let found: Vec<_> = received.iter().map(|one| verified(one).err()).collect();
    assert_eq!(found, [None, Some(SignatureError::NoMatch), None]);
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn a_stale_signature_is_right_and_too_old() {
    let endpoint = Endpoint::ok().await;
    let (world, deliveries, faults) = sick(&["stale-timestamp"], &endpoint).await;
    world.submit("{}").await;
    assert_eq!(verified(&endpoint.wait_for(1).await[0]), Err(SignatureError::TooOld));
    faults.clear();
    world.submit("{}").await;
    assert!(verified(&endpoint.wait_for(2).await[1]).is_ok());
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn later_submissions_overtake_earlier_ones() {
    let endpoint = Endpoint::ok().await;
    // Longer than the time of an attempt allows: nobody waits in vain here.
    let (world, deliveries, _) = sick(&["out-of-order=10m"], &endpoint).await;
    let mut submitted = Vec::new();
    for pair in 1..=3 {
        for _ in 0..2 {
            submitted.push(world.submit("{}").await.to_string());
        }
        endpoint.wait_for(2 * pair).await;
    }
    let received: Vec<_> = endpoint.received().iter().map(Received::submission).collect();
    let swapped: Vec<_> = submitted.chunks(2).flat_map(|pair| [&pair[1], &pair[0]]).collect();
    assert_eq!(received.iter().collect::<Vec<_>>(), swapped);
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn the_last_of_an_odd_number_is_delivered_when_its_patience_ends() {
    let endpoint = Endpoint::ok().await;
    let (world, deliveries, _) = sick(&["out-of-order=20ms"], &endpoint).await;
    world.submit("{}").await;
    assert_eq!(endpoint.wait_for(1).await.len(), 1);
    world.until(DeliveryState::Delivered).await;
    deliveries.stop(GRACE).await;
}
