//! The limiter, on a paused clock.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use formsvc_client::{Client, ErrorKind, RateLimit, Timeouts};
use formsvc_protocol::RollingWindow;
use tokio::time::Instant;

use crate::support::bodies::USER;
use crate::support::builder;
use crate::support::fake::{Fake, ok, throttled};

fn per_minute(n: u32) -> RateLimit {
    RateLimit::per_minute(NonZeroU32::new(n).unwrap())
}

fn no_overall() -> Timeouts {
    Timeouts { overall: None, ..Timeouts::default() }
}

#[tokio::test(start_paused = true)]
async fn fifty_tasks_never_make_a_service_of_the_same_limit_say_429() {
    let start = Instant::now();
    let limit = NonZeroU32::new(300).unwrap();
    let service = Mutex::new(RollingWindow::new(limit, Duration::from_secs(60)));
    let refused = Arc::new(Mutex::new(0));
    let count = refused.clone();
    let fake = Fake::rule(move |_| {
        if service.lock().unwrap().try_acquire(start.elapsed()).is_ok() {
            return ok(USER);
        }
        *count.lock().unwrap() += 1;
        throttled("1")
    });
    let client = builder()
        .timeouts(no_overall())
        .max_wait(Duration::from_secs(600))
        .transport(fake.wire())
        .build()
        .unwrap();
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    client.me().await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*refused.lock().unwrap(), 0);
    assert_eq!(fake.times().len(), 1_000);
    // 1,000 requests are three full windows of 300 and a rest.
    let elapsed = start.elapsed().as_secs();
    assert!((3 * 60..=3 * 64).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_longer_than_max_wait_is_refused_at_once() {
    let fake = Fake::script([ok(USER)]);
    let client = builder()
        .rate_limit(per_minute(1))
        .max_wait(Duration::from_secs(5))
        .transport(fake.wire())
        .build()
        .unwrap();
    client.me().await.unwrap();
    let start = Instant::now();
    let error = client.clone().me().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::RateLimitWait, 0));
    assert!(error.retry_after().unwrap() > Duration::from_secs(55));
    assert!(error.is_rate_limited() && error.is_retryable());
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_bounds_the_wait_too() {
    let fake = Fake::script([ok(USER)]);
    let timeouts = Timeouts { overall: Some(Duration::from_secs(10)), ..Timeouts::default() };
    let client = builder()
        .rate_limit(per_minute(1))
        .timeouts(timeouts)
        .transport(fake.wire())
        .build()
        .unwrap();
    client.me().await.unwrap();
    assert_eq!(client.me().await.unwrap_err().kind(), ErrorKind::RateLimitWait);
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_is_dropped_takes_nothing_and_holds_nobody_up() {
    let fake = Fake::script((0..3).map(|_| ok(USER)));
    let client = builder().rate_limit(per_minute(1)).timeouts(no_overall()).transport(fake.wire());
    let client = client.max_wait(Duration::from_secs(300)).build().unwrap();
    client.me().await.unwrap();
    for _ in 0..20 {
        let waiting = client.me();
        assert!(tokio::time::timeout(Duration::from_secs(1), waiting).await.is_err());
    }
    client.me().await.unwrap();
    client.me().await.unwrap();
    assert!(fake.gaps().iter().all(|gap| (60..=63).contains(&gap.as_secs())), "{:?}", fake.gaps());
}

#[tokio::test(start_paused = true)]
async fn waiters_are_served_in_the_order_they_came() {
    let fake = Fake::rule(|_| ok(USER));
    let client: Client = builder()
        .rate_limit(per_minute(1))
        .timeouts(no_overall())
        .max_wait(Duration::from_secs(3_600))
        .transport(fake.wire())
        .build()
        .unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = (0..6)
        .map(|n| {
            let (client, order) = (client.clone(), order.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(n)).await;
                client.me().await.unwrap();
                order.lock().unwrap().push(n);
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[tokio::test(start_paused = true)]
async fn every_retry_pays_the_limiter() {
    let fake = Fake::script([throttled("0"), ok(USER)]);
    let client = builder().rate_limit(per_minute(1)).transport(fake.wire()).build().unwrap();
    client.me().await.unwrap();
    assert!(fake.gaps()[0] >= Duration::from_secs(60));
}
