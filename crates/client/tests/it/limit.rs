//! The limiter, on a paused clock.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use formsvc_client::{ErrorKind, RateLimit, Timeouts};
use formsvc_protocol::RollingWindow;
use tokio::time::Instant;

use crate::support::bodies::USER;
use crate::support::builder;
use crate::support::fake::{Fake, ok, throttled};

fn no_overall() -> Timeouts {
    Timeouts::new().overall(None)
}

#[tokio::test(start_paused = true)]
async fn fifty_tasks_never_exceed_the_services_limit() {
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
    let times = fake.times();
    assert_eq!(times.len(), 1_000);
    // Counted again without RollingWindow: the last of 301 requests is a minute later.
    let crowded = times.windows(301).find(|some| some[300] - some[0] < Duration::from_secs(60));
    assert!(crowded.is_none(), "more than 300 requests within a minute");
    // 1,000 requests are three full windows of 300, and 100 more.
    let elapsed = start.elapsed().as_secs();
    assert!((3 * 60..=3 * 64).contains(&elapsed), "{elapsed}");
}

#[tokio::test(start_paused = true)]
async fn wait_longer_than_max_wait_fails_at_once() {
    let fake = Fake::script([ok(USER)]);
    let client = builder()
        .rate_limit(RateLimit::per_minute(1))
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
async fn overall_timeout_limits_the_wait() {
    let fake = Fake::script([ok(USER)]);
    let timeouts = Timeouts::new().overall(Some(Duration::from_secs(10)));
    let client = builder()
        .rate_limit(RateLimit::per_minute(1))
        .timeouts(timeouts)
        .transport(fake.wire())
        .build()
        .unwrap();
    client.me().await.unwrap();
    assert_eq!(client.me().await.unwrap_err().kind(), ErrorKind::RateLimitWait);
}

#[tokio::test(start_paused = true)]
async fn dropped_waiter_takes_nothing_and_delays_no_call() {
    let fake = Fake::script((0..3).map(|_| ok(USER)));
    let client = builder()
        .rate_limit(RateLimit::per_minute(1))
        .timeouts(no_overall())
        .transport(fake.wire());
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
async fn every_retry_counts_against_the_limit() {
    let fake = Fake::script([throttled("0"), ok(USER)]);
    let client =
        builder().rate_limit(RateLimit::per_minute(1)).transport(fake.wire()).build().unwrap();
    client.me().await.unwrap();
    assert!(fake.gaps()[0] >= Duration::from_secs(60));
}
