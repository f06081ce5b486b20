//! SPEC §8 over any number of processes: 300 requests per minute and key.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use formsvc_protocol::limits::RATE_LIMIT;
use formsvc_protocol::{KeyId, UserId};
use formsvc_server::admin::Admin;
use formsvc_server::api::{Api, Edge, router};
use formsvc_server::rate_limit::{RateLimit, RateLimiter, monotonic_clock};
use formsvc_server::store::contract::ManualClock;
use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};
use formsvc_server::store::{KeyHash, NewKey, Store, UserRecord};
use futures_util::future::join_all;
use http::{Request, StatusCode};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use secrecy::ExposeSecret;

const NOW: i64 = 1_767_225_600_000_000;

async fn count(store: &PostgresStore, key: KeyHash, limit: RateLimit) -> Result<(), u64> {
    let found = store.authenticate(&key, limit).await.unwrap().expect("the key is there");
    found.counted.expect("it is counted there")
}

/// A key with a hash made of a number.
async fn add_key(store: &PostgresStore, user: &UserId, number: u64) -> KeyHash {
    let mut hash = KeyHash([0; 32]);
    hash.0[..8].copy_from_slice(&number.to_le_bytes());
    let id = KeyId::new(&format!("key_{number}")).unwrap();
    let (name, prefix) = ("k".to_owned(), "fsk_".to_owned());
    store.add_key(NewKey { id, user: user.clone(), name, prefix, hash }).await.unwrap();
    hash
}

async fn add_user(store: &PostgresStore) -> UserId {
    let (id, email) = (UserId::new("usr_1").unwrap(), "a@example.org".to_owned());
    store.add_user(UserRecord { id, email, name: "A".to_owned() }).await.unwrap().id
}

/// What comes at some instants: how long after the last, or before it, and how many requests, of which
/// of two processes.
fn schedule() -> impl Strategy<Value = Vec<(i64, u8, bool)>> {
    let step = prop_oneof![
        4 => 0_i64..400_000,
        4 => 0_i64..3_000_000,
        1 => -2_000_000_i64..0,
        1 => 4_000_000_i64..9_000_000,
    ];
    prop::collection::vec((step, 1_u8..5, any::<bool>()), 1..40)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_together_decide_as_one_does_in_memory() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let options = PostgresOptions::of(cluster.fresh_schema());
    let clock = ManualClock::at(NOW);
    let one = PostgresStore::open_at(&options, clock.clock()).await.unwrap();
    let other = PostgresStore::open_at(&options, clock.clock()).await.unwrap();
    let user = add_user(&one).await;
    let runtime = tokio::runtime::Handle::current();
    let next_key = AtomicU64::new(0);
    tokio::task::block_in_place(|| {
        let mut runner = TestRunner::new(Config { cases: 64, ..Config::default() });
        runner
            .run(&(schedule(), 1_u32..9, 1_u64..6), |(schedule, requests, window)| {
                let number = next_key.fetch_add(1, Ordering::Relaxed);
                let key = runtime.block_on(add_key(&one, &user, number));
                let requests = NonZeroU32::new(requests).unwrap();
                let limit = RateLimit::Per { requests, window: Duration::from_secs(window) };
                let reading = clock.clock();
                let in_memory = RateLimiter::new(
                    limit,
                    Arc::new(move || Duration::from_micros(reading().micros().unsigned_abs())),
                );
                clock.set(NOW);
                for (step, together, first) in schedule {
                    clock.advance(step);
                    let store = if first { &one } else { &other };
                    let counting = (0..together).map(|_| count(store, key, limit));
                    let mut shared = runtime.block_on(join_all(counting));
                    let mut alone: Vec<_> = (0..together).map(|_| in_memory.admit(&key)).collect();
                    // Which of those that come together is admitted does not matter.
                    shared.sort_unstable();
                    alone.sort_unstable();
                    prop_assert_eq!(shared, alone);
                }
                Ok(())
            })
            .unwrap();
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_requests_that_come_to_all_processes_at_once_300_pass() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let options = PostgresOptions::of(cluster.fresh_schema());
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(PostgresStore::open(&options).await.unwrap());
    }
    let user = add_user(&stores[0]).await;
    let (key, neighbour) =
        (add_key(&stores[0], &user, 1).await, add_key(&stores[0], &user, 2).await);
    let counting = (0..400).map(|n| count(&stores[n % 3], key, RateLimit::default()));
    let answers = join_all(counting).await;
    let (passed, waits): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(passed.len(), RATE_LIMIT as usize);
    assert!(waits.iter().all(|wait| (50..=61).contains(&wait.unwrap_err())), "{waits:?}");
    assert_eq!(count(&stores[0], neighbour, RateLimit::default()).await, Ok(()));
    let unlimited = stores[0].authenticate(&key, RateLimit::Off).await.unwrap().unwrap();
    assert_eq!(unlimited.counted, None);
    let revoked = stores[0].revoke_key(&KeyId::new("key_2").unwrap()).await.unwrap().id;
    let found = stores[0].authenticate(&neighbour, RateLimit::default()).await.unwrap().unwrap();
    assert_eq!((found.key, found.revoked, found.counted), (revoked, true, None));
    assert!(
        stores[0].authenticate(&KeyHash([9; 32]), RateLimit::default()).await.unwrap().is_none()
    );
}

#[tokio::test]
async fn a_database_that_cannot_count_lets_nobody_through() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let options = PostgresOptions::of(cluster.fresh_schema());
    let store: Arc<dyn Store> = Arc::new(PostgresStore::open(&options).await.unwrap());
    let admin = Admin::new(Arc::clone(&store));
    let user = admin.create_user("a@example.org", "A").await.unwrap();
    let key = admin.create_key(&user.id, "k").await.unwrap();
    let limiter = RateLimiter::new(RateLimit::default(), monotonic_clock());
    let edge = Edge::new(router(Arc::new(Api::new(store, limiter))));
    let ask = async || {
        let bearer = format!("Bearer {}", key.secret.expose_secret());
        let request =
            Request::get("/api/v1/me").header("host", "x").header("authorization", bearer);
        edge.answer(request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(ask().await.status(), StatusCode::OK);
    let schema = options.address.expose_secret().rsplit("%3D").next().unwrap().to_owned();
    cluster.sql(&format!("DROP TABLE {schema}.rate_windows"));
    let refused = ask().await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
}
