//! The limit of 300 requests a minute: the service enforces it, and the SDK never exceeds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::RetryPolicy;
use formsvc_client::event::ClientEvent;
use formsvc_tests::service::{Service, client_over, per_minute, tokio_clock};
use secrecy::ExposeSecret;

#[tokio::test(start_paused = true)]
async fn request_301_is_accepted_after_retry_after() {
    let service = Service::now().await;
    let transport = service.in_process(per_minute(300), tokio_clock());
    let ask = || {
        http::Request::get("/api/v1/me")
            .header("authorization", format!("Bearer {}", service.key.expose_secret()))
            .body(Bytes::new())
            .unwrap()
    };
    for _ in 0..300 {
        assert_eq!(transport.answer(ask()).await.status(), 200);
    }
    let refused = transport.answer(ask()).await;
    assert_eq!(refused.status(), 429);
    assert!(refused.body().starts_with(br#"{"error":{"code":"rate_limited","#));
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    tokio::time::advance(Duration::from_secs(wait - 1)).await;
    assert_eq!(transport.answer(ask()).await.status(), 429, "the wait is one second too short");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(transport.answer(ask()).await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn sdk_limiter_prevents_429() {
    let service = Service::now().await;
    let transport = service.in_process(per_minute(300), tokio_clock());
    let waits = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&waits);
    let client = client_over(transport, &service.key)
        // Without retries, the first 429 fails the test.
        .retry(RetryPolicy::none())
        .on_event(move |event| {
            if matches!(event, ClientEvent::RateLimited { .. }) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        })
        .build()
        .unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..5 {
        let client = client.clone();
        tasks.spawn(async move {
            for _ in 0..300 {
                client.me().await.unwrap();
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    assert!(waits.load(Ordering::Relaxed) > 0, "no request had to wait");
}

#[tokio::test(start_paused = true)]
async fn sdk_without_limiter_retries_after_429() {
    let service = Service::now().await;
    let transport = service.in_process(per_minute(10), tokio_clock());
    let client = client_over(transport, &service.key)
        .rate_limit(formsvc_client::RateLimit::off())
        .build()
        .unwrap();
    for _ in 0..35 {
        client.me().await.unwrap();
    }
}
