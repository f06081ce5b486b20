//! What goes wrong, and what becomes of deliveries then.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use formsvc_server::delivery::Carrier;
use formsvc_server::egress::{DeliveryFailure, DeliveryRequest, DeliveryResponse};
use formsvc_server::secrets::Vault;
use formsvc_server::store::{DeliveryDetail, DeliveryState, Lane};
use futures_util::future::BoxFuture;

use super::endpoint::{Endpoint, Reply};
use super::world::{GRACE, World, options, slots};

#[tokio::test]
async fn a_silent_endpoint_holds_up_nobody_else() {
    let (world, silent, healthy) =
        (World::new().await, Endpoint::start([Reply::Held]).await, Endpoint::ok().await);
    world.endpoint("whe_silent", silent.url()).await;
    world.endpoint("whe_healthy", healthy.url()).await;
    let mut few = options();
    few.slots = slots(8, 4);
    let deliveries = world.deliver(few);
    for _ in 0..50 {
        world.submit("{}").await;
    }
    // All arrive while the silent one has not answered once.
    healthy.wait_for(50).await;
    assert_eq!(silent.wait_for(4).await.len(), 4, "its cap");
    silent.open();
    silent.wait_for(50).await;
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_in_time_is_retried() {
    let script = [Reply::Held, Reply::Status(200)];
    let (world, endpoint) = (World::new().await, Endpoint::start(script).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let mut impatient = options();
    impatient.timeout = Duration::from_millis(50);
    let deliveries = world.deliver(impatient);
    world.submit("{}").await;
    let detail = world.until(DeliveryState::Delivered).await;
    assert_eq!(detail.history[0].error.as_deref(), Some("timeout"));
    assert!(detail.history[0].duration >= Duration::from_millis(50));
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn attempts_under_way_finish_and_are_recorded_before_the_service_stops() {
    let (world, endpoint) = (World::new().await, Endpoint::start([Reply::Held]).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let patient = options();
    let deliveries = world.deliver(patient);
    world.submit("{}").await;
    endpoint.wait_for(1).await;
    let stopping = tokio::spawn(deliveries.stop(GRACE));
    tokio::task::yield_now().await;
    endpoint.open();
    stopping.await.unwrap();
    assert_eq!(world.deliveries().await[0].state, DeliveryState::Delivered);
}

#[tokio::test]
async fn what_a_crash_left_is_delivered_after_the_next_start() {
    let (world, endpoint) = (World::new().await, Endpoint::start([Reply::Held]).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    endpoint.wait_for(1).await;
    // Nothing is settled, and the claim is left.
    drop(deliveries);
    let leased: Vec<_> = world.store.due().await.unwrap().iter().map(|due| due.lane).collect();
    assert_eq!(leased, [Lane::Leased]);
    endpoint.open();
    let deliveries = world.deliver(options());
    world.until(DeliveryState::Delivered).await;
    deliveries.stop(GRACE).await;
}

/// Panics instead of carrying.
struct Explosive(AtomicU32);

impl Carrier for Explosive {
    fn carry<'a>(
        &'a self,
        _: DeliveryRequest<'a>,
    ) -> BoxFuture<'a, Result<DeliveryResponse, DeliveryFailure>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { panic!("on purpose") })
    }
}

#[tokio::test]
async fn a_delivery_that_brings_its_worker_down_rests_after_five_times() {
    let world = World::new().await;
    world.endpoint("whe_1", "http://127.0.0.1:9/".into()).await;
    let explosive = Arc::new(Explosive(AtomicU32::new(0)));
    world.submit("{}").await;
    for begun in 1..=5 {
        let deliveries = world.deliver_by(Arc::clone(&explosive) as Arc<dyn Carrier>, options());
        while explosive.0.load(Ordering::SeqCst) < begun {
            tokio::task::yield_now().await;
        }
        drop(deliveries);
    }
    let deliveries = world.deliver_by(Arc::clone(&explosive) as Arc<dyn Carrier>, options());
    let id = world.deliveries().await[0].key.id();
    let rests = |detail: &DeliveryDetail| {
        detail.record.next_attempt_at.as_ref() > Some(&detail.record.created_at)
    };
    let detail = world.until_is(&id, rests).await;
    assert_eq!((detail.record.state, detail.record.attempts), (DeliveryState::Pending, 0));
    assert_eq!(explosive.0.load(Ordering::SeqCst), 5);
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_costs_no_retry() {
    let (mut world, endpoint) = (World::new().await, Endpoint::ok().await);
    world.endpoint("whe_1", endpoint.url()).await;
    world.vault = Vault::ephemeral().unwrap();
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    let id = world.deliveries().await[0].key.id();
    let put_off = |detail: &DeliveryDetail| {
        detail.record.next_attempt_at.as_ref() > Some(&detail.record.created_at)
    };
    let detail = world.until_is(&id, put_off).await;
    assert_eq!((detail.record.state, detail.record.attempts), (DeliveryState::Pending, 0));
    assert!(endpoint.received().is_empty());
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn a_secret_of_before_that_does_not_open_holds_up_nothing() {
    let (mut world, endpoint) = (World::new().await, Endpoint::ok().await);
    let id = world.endpoint("whe_1", endpoint.url()).await;
    // The key was lost, and the secret replaced under a new one by somebody who kept the old one.
    world.vault = Vault::ephemeral().unwrap();
    let sealed = world.seal(&id, "whsec_new");
    world.store.rotate_secret(&id, sealed, Duration::from_secs(3_600)).await.unwrap();
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    let detail = world.until(DeliveryState::Delivered).await;
    assert_eq!(detail.history.len(), 1);
    let received = &endpoint.received()[0];
    assert_eq!(received.header("x-service-signature").matches("v1=").count(), 1);
    deliveries.stop(GRACE).await;
}
