//! The wall's clock is set, forward and back, while deliveries are made and retried.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::RetrySchedule;
use formsvc_server::delivery::{Deliveries, Equipment};
use formsvc_server::store::contract::ManualClock;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{DeliveryState, PageRequest, StoredPage, steady_clock};

use super::endpoint::{Endpoint, Received, Reply};
use super::world::{GRACE, World, carrier, options};

const NOON: i64 = 1_767_225_600_000_000;
const HOUR: i64 = 3_600_000_000;
const SUBMISSIONS: usize = 60;
/// Each delivery fails so often before it succeeds.
const FAILURES: usize = 2;
const BASE: Duration = Duration::from_millis(40);
/// Far more than a retry is ever late, and far less than an hour.
const PATIENCE: Duration = Duration::from_secs(30);

fn page_of(world: &World, before: Option<formsvc_protocol::FormInstant>) -> PageRequest {
    let (user, form) = (world.user.clone(), world.form.id.clone());
    PageRequest { user, form, before, limit: 7 }
}

/// Ids of every page behind a place, newest first.
async fn walk(world: &World, first: StoredPage) -> Vec<String> {
    let (mut ids, mut page) = (Vec::new(), first);
    loop {
        let items = format!("[{}]", std::str::from_utf8(&page.items).unwrap());
        let items: Vec<serde_json::Value> = serde_json::from_str(&items).unwrap();
        ids.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        if !page.has_more {
            return ids;
        }
        page = world.store.page(page_of(world, page.last)).await.unwrap().unwrap();
    }
}

fn signed_at(received: &Received) -> i64 {
    let header = received.header("x-service-signature");
    header["t=".len()..].split(',').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn steps_of_the_wall_clock_lose_and_repeat_nothing() {
    let wall = ManualClock::at(NOON);
    let store = SqliteStore::in_memory(wall.clock()).unwrap().with_steady_clock(steady_clock());
    let world = World::on(Arc::new(store)).await;
    let endpoint = Endpoint::start([Reply::FailsFirst(FAILURES)]).await;
    let mut options = options();
    options.schedule = RetrySchedule { base: BASE, factor: 2, jitter: 0.0, retries: 3 };
    options.timeout = Duration::from_secs(10);
    let deliveries =
        Deliveries::start(Equipment { clock: wall.clock(), ..world.equipment(carrier(), options) });
    world.endpoint("whe_1", endpoint.url()).await;

    let (mut accepted, mut middle) = (Vec::new(), None);
    for number in 0..SUBMISSIONS {
        accepted.push(world.submit("{}").await.as_str().to_owned());
        // Forward, back past where it began, and forth again.
        match number % 6 {
            1 => wall.set(NOON + HOUR),
            3 => wall.set(NOON - HOUR),
            5 => wall.set(NOON),
            _ => wall.advance(1_000),
        }
        endpoint.wait_for(number).await;
        if number == SUBMISSIONS / 2 {
            middle = world.store.page(page_of(&world, None)).await.unwrap();
        }
    }
    let arrivals = SUBMISSIONS * (FAILURES + 1);
    let received = tokio::time::timeout(PATIENCE, endpoint.wait_for(arrivals)).await;
    let received = received.expect("no retry waits for a clock that was set");
    world.until_idle().await;
    deliveries.stop(GRACE).await;
    assert_eq!(endpoint.received().len(), arrivals, "nothing is attempted too often");

    let mut by_submission: HashMap<String, Vec<&Received>> = HashMap::new();
    for one in &received {
        by_submission.entry(one.submission()).or_default().push(one);
    }
    let mut longest = Duration::ZERO;
    for attempts in by_submission.values() {
        assert_eq!(attempts.len(), FAILURES + 1);
        for (retry, pair) in attempts.windows(2).enumerate() {
            let (gap, pause) =
                (pair[1].at - pair[0].at, BASE * 2u32.pow(retry.try_into().unwrap()));
            assert!(gap >= pause, "retry {retry} came after {gap:?}");
            longest = longest.max(gap.saturating_sub(pause));
        }
    }
    // Signatures carry the wall's time, whatever it is.
    let hours = [NOON, NOON + HOUR, NOON - HOUR].map(|micros| micros / 1_000_000);
    for hour in hours {
        assert!(received.iter().any(|one| signed_at(one) == hour), "no attempt at {hour}");
    }
    assert!(received.iter().all(|one| hours.contains(&signed_at(one))));
    // A walk from the newest, and one that began while the clock was being set.
    accepted.reverse();
    let newest = world.store.page(page_of(&world, None)).await.unwrap().unwrap();
    assert_eq!(walk(&world, newest).await, accepted);
    let began_at = SUBMISSIONS - 1 - SUBMISSIONS / 2;
    assert_eq!(walk(&world, middle.unwrap()).await, accepted[began_at..]);
    println!(
        "ledger | the wall's clock set by an hour, again and again | {SUBMISSIONS} | {} | 0 | | \
         attempts {arrivals}, a retry was at most {} ms late |",
        by_submission.len(),
        longest.as_millis()
    );
}

#[tokio::test]
async fn a_clock_that_is_set_back_between_two_runs_loses_no_retry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.db");
    let open = |clock: &ManualClock| Arc::new(SqliteStore::open(&path, clock.clock()).unwrap());
    let before = ManualClock::at(NOON);
    let world = World::on(open(&before)).await;
    let endpoint = Endpoint::start([Reply::Status(500), Reply::Status(200)]).await;
    world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    world.until(DeliveryState::Retrying).await;
    deliveries.stop(GRACE).await;
    world.store.close().await.unwrap();
    let after = ManualClock::at(NOON - HOUR);
    let world = World { store: open(&after), ..world };
    let [due] = world.store.due().await.unwrap()[..] else { panic!("the retry is there") };
    assert_eq!(due.after, Duration::from_secs(3_600) + options().schedule.base);
    after.advance(HOUR + 1_000_000);
    let deliveries = world.deliver(options());
    world.until(DeliveryState::Delivered).await;
    deliveries.stop(GRACE).await;
    assert_eq!(endpoint.received().len(), 2);
}

/// Nobody needs to know the wait: it follows from the clock and the randomness that are passed in.
#[tokio::test]
async fn a_retry_is_due_after_exactly_the_pause_that_its_randomness_makes() {
    for (random, seconds) in [(0.0, 100), (0.5, 125), (1.0, 150)] {
        let wall = ManualClock::at(NOON);
        let store = SqliteStore::in_memory(wall.clock()).unwrap();
        let world = World::on(Arc::new(store)).await;
        let endpoint = Endpoint::start([Reply::Status(500)]).await;
        let mut options = options();
        let base = Duration::from_secs(100);
        options.schedule = RetrySchedule { base, factor: 2, jitter: 0.5, retries: 3 };
        let random = Arc::new(move || random);
        let deliveries =
            Deliveries::start(Equipment { random, ..world.equipment(carrier(), options) });
        world.endpoint("whe_1", endpoint.url()).await;
        world.submit("{}").await;
        let record = world.until(DeliveryState::Retrying).await.record;
        let due = (wall.clock())().plus(Duration::from_secs(seconds)).to_timestamp();
        assert_eq!(record.next_attempt_at, Some(due));
        deliveries.stop(GRACE).await;
    }
}
