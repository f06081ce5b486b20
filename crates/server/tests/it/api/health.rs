//! The health probes.

use super::broken_store::Broken;
use super::service::Service;

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
