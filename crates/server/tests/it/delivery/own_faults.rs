//! Faults of this service itself: they use no attempt for an hour, and then end the delivery.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use formsvc_server::delivery::Carrier;
use formsvc_server::egress::{
    DeliveryFailure, DeliveryRequest, DeliveryResponse, FailureCode, Phase,
};
use formsvc_server::secrets::Vault;
use formsvc_server::store::contract::ManualClock;
use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{DeliveryDetail, DeliveryState, Lane, Store};
use futures_util::future::BoxFuture;

use super::world::{GRACE, World, carrier, options};

const NOON: i64 = 1_767_268_800_000_000;
const HOUR: Duration = Duration::from_secs(3_600);
/// More than any delivery needs.
const STEPS_MAX: u32 = 100;

/// Lacks a connection for each attempt.
struct Overloaded;

impl Carrier for Overloaded {
    fn carry<'a>(
        &'a self,
        _: DeliveryRequest<'a>,
    ) -> BoxFuture<'a, Result<DeliveryResponse, DeliveryFailure>> {
        let (code, phase) = (FailureCode::Overloaded, Phase::Connect);
        Box::pin(async move {
            Err(DeliveryFailure { code, phase, peer: None, denied: None, detail: None })
        })
    }
}

/// Panics in each attempt, so that its outcome is never recorded.
struct Panicking(AtomicU32);

impl Carrier for Panicking {
    fn carry<'a>(
        &'a self,
        _: DeliveryRequest<'a>,
    ) -> BoxFuture<'a, Result<DeliveryResponse, DeliveryFailure>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { panic!("on purpose") })
    }
}

/// Lets time pass whenever the delivery waits in a lane that is `over`, until it is finished. Returns it
/// and the time passed.
async fn end(
    world: &World,
    clock: &ManualClock,
    carrier: Arc<dyn Carrier>,
    mut over: impl FnMut(Lane) -> bool,
) -> (DeliveryDetail, Duration) {
    let deliveries = world.deliver_by(carrier, options());
    world.submit("{}").await;
    let (id, mut passed) = (world.deliveries().await[0].key.id(), Duration::ZERO);
    for _ in 0..STEPS_MAX {
        let wait = loop {
            let due = world.store.due().await.unwrap();
            match due.first() {
                None if world.store.backlog().await.unwrap().unfinished == 0 => {
                    deliveries.stop(GRACE).await;
                    return (world.store.delivery(&id).await.unwrap().unwrap(), passed);
                }
                Some(due) if !due.after.is_zero() && over(due.lane) => break *due,
                _ => tokio::task::yield_now().await,
            }
        };
        passed += wait.after;
        clock.advance(i64::try_from(wait.after.as_micros()).unwrap());
        world.store.work().announce([(wait.endpoint, wait.lane)]);
    }
    panic!("not finished after {passed:?}: {:?}", world.store.delivery(&id).await.unwrap());
}

/// Every attempt of the delivery is used after an hour, and none before.
fn assert_failed(detail: &DeliveryDetail, passed: Duration, code: &str) {
    assert_eq!(detail.record.state, DeliveryState::Failed);
    let codes: Vec<_> = detail.history.iter().map(|one| one.error.as_deref().unwrap()).collect();
    assert_eq!(codes, [code; 4]);
    assert!(passed >= HOUR && passed < 6 * HOUR, "{passed:?}");
}

async fn overloaded_service_fails_delivery(store: Arc<dyn Store>, clock: ManualClock) {
    let world = World::on(store).await;
    world.endpoint("whe_1", "http://127.0.0.1:9/".into()).await;
    let (detail, passed) =
        end(&world, &clock, Arc::new(Overloaded), |lane| lane == Lane::Late).await;
    assert_failed(&detail, passed, "overloaded");
}

#[tokio::test]
async fn overload_for_an_hour_fails_delivery_sqlite() {
    let clock = ManualClock::at(NOON);
    let store = Arc::new(SqliteStore::in_memory(clock.clock()).unwrap());
    overloaded_service_fails_delivery(store, clock).await;
}

#[tokio::test]
async fn overload_for_an_hour_fails_delivery_postgres() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let clock = ManualClock::at(NOON);
    let options = PostgresOptions::of(cluster.fresh_schema());
    let store = Arc::new(PostgresStore::open_at(&options, clock.clock()).await.unwrap());
    overloaded_service_fails_delivery(store, clock).await;
}

#[tokio::test]
async fn unreadable_secret_for_an_hour_fails_delivery() {
    let clock = ManualClock::at(NOON);
    let store = Arc::new(SqliteStore::in_memory(clock.clock()).unwrap());
    let mut world = World::on(store).await;
    world.endpoint("whe_1", "http://127.0.0.1:9/".into()).await;
    world.vault = Vault::ephemeral().unwrap();
    let (detail, passed) = end(&world, &clock, carrier(), |lane| lane == Lane::Late).await;
    assert_failed(&detail, passed, "secret_unreadable");
}

#[tokio::test]
async fn delivery_that_never_finishes_fails_after_25_attempts() {
    let clock = ManualClock::at(NOON);
    let store = Arc::new(SqliteStore::in_memory(clock.clock()).unwrap());
    let world = World::on(store).await;
    world.endpoint("whe_1", "http://127.0.0.1:9/".into()).await;
    let panicking = Arc::new(Panicking(AtomicU32::new(0)));
    let carrier = Arc::clone(&panicking) as Arc<dyn Carrier>;
    // While an attempt is still to begin, its delivery is leased as well.
    let mut seen = 0;
    let over = |lane| {
        let before = seen;
        seen = panicking.0.load(Ordering::SeqCst);
        lane == Lane::Late || lane == Lane::Leased && seen > before
    };
    let (detail, passed) = end(&world, &clock, carrier, over).await;
    assert_failed(&detail, passed, "interrupted");
    assert_eq!(panicking.0.load(Ordering::SeqCst), 25, "five before each pause");
}
