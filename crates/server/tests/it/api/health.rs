//! The health probes.

use std::sync::Arc;

use axum::body::Body;
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::system_clock;
use futures_util::FutureExt;
use http::Request;

use super::broken_store::Broken;
use super::service::{Service, answer, edge_of};

#[tokio::test]
async fn probes_need_no_key() {
    let service = Service::new().await;
    for (target, body) in [("/livez", r#"{"status":"live"}"#), ("/readyz", r#"{"status":"ready"}"#)]
    {
        let answer = service.send(service.request(target)).await;
        answer.assert_ok();
        assert_eq!(answer.body, body);
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_turns_readiness_red_within_two_seconds_and_leaves_liveness() {
    let began = tokio::time::Instant::now();
    let answer = Broken::Hangs.get("/readyz").await;
    answer.assert_error(503, "unavailable");
    assert!(answer.message().contains("`store`"), "{}", answer.message());
    assert!(began.elapsed().as_secs_f64() <= 2.1);
    Broken::Hangs.get("/livez").await.assert_ok();
}

#[tokio::test]
async fn a_store_that_fails_turns_readiness_red_without_telling_why() {
    let answer = Broken::Fails.get("/readyz").await;
    answer.assert_error(503, "unavailable");
    assert!(answer.message().contains("`store`") && !answer.body.contains("torn"));
}

#[tokio::test]
async fn probes_that_are_given_up_share_one_write() {
    // On a disk, where no write is done before whoever asked for it has gone.
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&dir.path().join("db"), system_clock()).unwrap());
    let edge = edge_of(Arc::<SqliteStore>::clone(&store), RateLimit::default(), Arc::default());
    let ready = || {
        let request = Request::get("/readyz").header("host", "service.test");
        answer(&edge, request.body(Body::empty()).unwrap())
    };
    let before = store.write_stats().writes;
    for _ in 0..100 {
        // Whoever asks goes away at once.
        let _gone = ready().now_or_never();
        tokio::task::yield_now().await;
    }
    ready().await.assert_ok();
    // A result stands for a second, which on a busy machine may pass.
    let writes = store.write_stats().writes - before;
    assert!((1..5).contains(&writes), "{writes} writes");
}
