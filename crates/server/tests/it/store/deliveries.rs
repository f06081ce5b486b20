//! What holds of deliveries in SQLite beyond the store contract: two clocks, and processes that come
//! and go.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{EndpointId, FormId};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::store::contract::ManualClock;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{
    Attempt, ClaimRequest, Claimed, Clock, DeliveriesRequest, DeliveryRecord, EndpointNo, Lane,
    NewEndpoint, SealedSecret, Settled, Settlement, Store, Verdict, Want,
};

const NOW: i64 = 1_767_225_600_000_000;
const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;

struct Bench {
    store: Arc<SqliteStore>,
    form: FormId,
    endpoint: EndpointId,
    number: EndpointNo,
}

impl Bench {
    /// A form with an endpoint and submissions on their way to it.
    async fn new(store: SqliteStore, submissions: usize) -> Self {
        let store = Arc::new(store);
        let admin = Admin::new(Arc::clone(&store) as Arc<dyn Store>);
        let user = admin.create_user("a@example.org", "A").await.unwrap();
        let form = admin.create_form(&user.id, FormOptions::titled("T")).await.unwrap().id;
        let endpoint = EndpointId::new("whe_1").unwrap();
        let (id, url) = (endpoint.clone(), "https://a.example".into());
        let new = NewEndpoint { id, form: form.clone(), url, secret: SealedSecret(vec![1]) };
        store.add_endpoint(new).await.unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..submissions {
            let (admin, form) = (admin.clone(), form.clone());
            tasks.spawn(async move { admin.submit(&form, "{}").await.unwrap() });
        }
        tasks.join_all().await;
        let mut bench = Self { store, form, endpoint, number: EndpointNo(0) };
        bench.number = bench.list().await[0].key.endpoint;
        bench
    }

    async fn list(&self) -> Vec<DeliveryRecord> {
        let (form, endpoint, state, after) = (self.form.clone(), None, None, None);
        let request =
            DeliveriesRequest { form, endpoint, state, submission: None, after, limit: u32::MAX };
        self.store.deliveries(request).await.unwrap()
    }

    async fn claim(&self, lane: Lane, count: u32) -> Vec<Claimed> {
        let wants = vec![Want { endpoint: self.number, lane, count }];
        let lease = Duration::from_secs(30);
        let request = ClaimRequest { wants, lease, bytes_max: usize::MAX };
        self.store.claim(request).await.unwrap().deliveries
    }

    async fn settle(&self, claimed: &Claimed, verdict: Verdict) -> Settled {
        let attempt = Attempt {
            started_at: claimed.lease.until,
            duration: Duration::ZERO,
            status: Some(500),
            error: None,
            detail: None,
            address: None,
            snippet: Bytes::new(),
            resend: false,
        };
        let (key, lease, attempt) = (claimed.key, claimed.lease, Some(attempt));
        self.store
            .settle(vec![Settlement { key, lease, verdict, attempt, own_fault: false }])
            .await
            .unwrap()[0]
    }
}

fn open(path: &Path, clock: Clock) -> SqliteStore {
    SqliteStore::open_exclusive(path, clock).unwrap()
}

/// Somebody sets the machine's clock; pauses and leases last as long as they were meant to.
#[tokio::test]
async fn retries_and_leases_do_not_follow_a_clock_that_is_set() {
    let (wall, steady) = (ManualClock::at(NOW), ManualClock::at(NOW));
    let store = SqliteStore::in_memory(wall.clock()).unwrap().with_steady_clock(steady.clock());
    let bench = Bench::new(store, 2).await;
    let retried = bench.claim(Lane::Fresh, 1).await.remove(0);
    let after = Duration::from_secs(10);
    bench.settle(&retried, Verdict::Retry { after, retries: 1 }).await;
    let leased = bench.claim(Lane::Fresh, 1).await.remove(0);
    for set_to in [NOW - 48 * HOUR, NOW + 48 * HOUR, NOW] {
        wall.set(set_to);
        let [late, lease] = bench.store.due().await.unwrap()[..] else { panic!("two lanes") };
        assert_eq!((late.lane, late.after), (Lane::Late, after));
        assert_eq!((lease.lane, lease.after), (Lane::Leased, Duration::from_secs(30)));
        assert!(bench.claim(Lane::Late, 1).await.is_empty());
        assert!(bench.claim(Lane::Leased, 1).await.is_empty());
    }
    wall.set(NOW - 48 * HOUR);
    steady.advance(10 * SECOND);
    assert_eq!(bench.claim(Lane::Late, 1).await[0].key, retried.key);
    steady.advance(20 * SECOND);
    assert_eq!(bench.claim(Lane::Leased, 1).await[0].key, leased.key);
    assert_eq!(bench.settle(&leased, Verdict::Delivered).await, Settled::Lost);
}

/// A grace ends at a time that people were told.
#[tokio::test]
async fn a_secret_s_grace_and_a_key_s_day_are_of_the_clock_on_the_wall() {
    let (wall, steady) = (ManualClock::at(NOW), ManualClock::at(NOW));
    let store = SqliteStore::in_memory(wall.clock()).unwrap().with_steady_clock(steady.clock());
    let bench = Bench::new(store, 2).await;
    let secret = SealedSecret(vec![2]);
    bench.store.rotate_secret(&bench.endpoint, secret, Duration::from_secs(3_600)).await.unwrap();
    steady.advance(2 * HOUR);
    let claimed = bench.claim(Lane::Fresh, 1).await.remove(0);
    assert!(claimed.endpoint.previous_secret.is_some());
    wall.advance(HOUR);
    let claimed = bench.claim(Lane::Fresh, 1).await.remove(0);
    assert!(claimed.endpoint.previous_secret.is_none());
}

#[tokio::test]
async fn claims_of_a_process_that_is_gone_are_given_back_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let clock = ManualClock::at(NOW);
    let bench = Bench::new(open(&path, clock.clock()), 3).await;
    let late = bench.claim(Lane::Fresh, 1).await.remove(0);
    let retry = Verdict::Retry { after: Duration::ZERO, retries: 1 };
    bench.settle(&late, retry).await;
    let late = bench.claim(Lane::Late, 1).await.remove(0);
    let fresh = bench.claim(Lane::Fresh, 1).await.remove(0);
    bench.store.close().await.unwrap();

    let bench = Bench { store: Arc::new(open(&path, clock.clock())), ..bench };
    assert!(bench.claim(Lane::Late, 9).await.is_empty(), "not before it is asked for");
    assert_eq!(bench.store.recover_claims().await.unwrap(), 2);
    assert_eq!(bench.claim(Lane::Late, 9).await[0].key, late.key);
    let again = bench.claim(Lane::Fresh, 9).await;
    assert_eq!((again.len(), again[0].key, again[0].claims), (2, fresh.key, 2));
    // At the same instant, under the same deadline: only the token tells the claims apart.
    assert_eq!(again[0].lease.until, fresh.lease.until);
    assert_eq!(bench.settle(&fresh, Verdict::Failed).await, Settled::Lost);
    assert_eq!(bench.settle(&again[0], Verdict::Delivered).await, Settled::Kept);
}

/// Its clock was a year ahead, and is set now: nothing waits for a year.
#[tokio::test]
async fn retries_of_a_clock_that_was_far_ahead_come_near_at_the_next_start() {
    let (wall, steady) = (ManualClock::at(NOW), ManualClock::at(NOW));
    let store = SqliteStore::in_memory(wall.clock()).unwrap().with_steady_clock(steady.clock());
    let bench = Bench::new(store, 3).await;
    let day = 24 * HOUR;
    let mut retried = Vec::new();
    for days in [365, 50, 0] {
        steady.set(NOW + days * day);
        let claimed = bench.claim(Lane::Fresh, 1).await.remove(0);
        let after = Duration::from_secs(60);
        bench.settle(&claimed, Verdict::Retry { after, retries: 1 }).await;
        retried.push(claimed.key);
    }
    bench.store.recover_claims().await.unwrap();
    let due = bench.claim(Lane::Late, 9).await;
    assert_eq!(due.iter().map(|claimed| claimed.key).collect::<Vec<_>>(), retried[..1]);
    steady.advance(60 * SECOND);
    assert_eq!(bench.claim(Lane::Late, 9).await[0].key, retried[2], "at its time");
    steady.set(NOW + 50 * day);
    assert!(bench.claim(Lane::Late, 9).await.is_empty(), "a pause can be as long as that");
    steady.advance(60 * SECOND);
    assert_eq!(bench.claim(Lane::Late, 9).await[0].key, retried[1]);
    // What is shown agrees with what is done.
    assert_eq!(bench.settle(&due[0], Verdict::Release).await, Settled::Kept);
    assert_eq!(bench.claim(Lane::Late, 9).await[0].key, retried[0]);
}

/// A command disables, enables and resends beside the server, which finds what there is to do.
#[tokio::test]
async fn what_another_process_did_is_due_here() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let clock = ManualClock::at(NOW);
    let server = Bench::new(open(&path, clock.clock()), 2).await;
    let beside = SqliteStore::open(&path, clock.clock()).unwrap();
    let failed = server.claim(Lane::Fresh, 1).await.remove(0);
    server.settle(&failed, Verdict::Failed).await;
    beside.resend(&failed.key.id()).await.unwrap();
    let lanes = async || {
        let due = server.store.due().await.unwrap();
        due.iter().map(|due| due.lane).collect::<Vec<_>>()
    };
    assert_eq!(lanes().await, [Lane::Fresh, Lane::Late]);
    beside.set_endpoint_enabled(&server.endpoint, false).await.unwrap();
    assert_eq!(lanes().await, []);
    assert!(server.claim(Lane::Fresh, 1).await.is_empty());
    beside.set_endpoint_enabled(&server.endpoint, true).await.unwrap();
    assert_eq!(lanes().await, [Lane::Fresh, Lane::Late]);
    assert_eq!(server.claim(Lane::Late, 1).await[0].key, failed.key);
    beside.remove_endpoint(&server.endpoint).await.unwrap();
    assert!(server.claim(Lane::Fresh, 1).await.is_empty());
    beside.close().await.unwrap();
    server.store.close().await.unwrap();
}
