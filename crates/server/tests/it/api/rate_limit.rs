//! SPEC §8: 300 requests per minute and key.

use std::num::NonZeroU32;
use std::time::Duration;

use formsvc_server::rate_limit::RateLimit;

use super::service::{Answer, Service};

fn wait(answer: &Answer) -> u64 {
    answer.assert_error(429, "rate_limited");
    let seconds = answer.header("retry-after").parse().unwrap();
    assert!(seconds >= 1);
    seconds
}

#[tokio::test]
async fn the_301st_request_is_refused_and_whoever_waits_as_told_is_served() {
    let service = Service::new().await;
    service.pass(Duration::from_millis(12_345));
    for _ in 0..300 {
        service.get("/api/v1/me").await.assert_ok();
    }
    let seconds = wait(&service.get("/api/v1/forms").await);
    service.pass(Duration::from_secs(seconds - 1));
    assert_eq!(wait(&service.get("/api/v1/me").await), 1);
    service.pass(Duration::from_secs(1));
    service.get("/api/v1/me").await.assert_ok();
}

#[tokio::test]
async fn answers_announce_the_limit_while_it_is_on() {
    let service = Service::with_limit(RateLimit::per_minute(NonZeroU32::MIN)).await;
    for (target, status) in [("/api/v1/me", 200), ("/api/v1/forms/none/submissions", 429)] {
        let answer = service.get(target).await;
        assert_eq!(answer.status.as_u16(), status, "{target}");
        assert_eq!(answer.header("ratelimit-policy"), "\"default\";q=1;w=60", "{target}");
    }
    assert_eq!(service.get("/livez").await.header("ratelimit-policy"), "");
    let unlimited = Service::with_limit(RateLimit::Off).await;
    assert_eq!(unlimited.get("/api/v1/me").await.header("ratelimit-policy"), "");
}

#[tokio::test]
async fn keys_of_one_user_have_quotas_of_their_own() {
    let service = Service::with_limit(RateLimit::per_minute(NonZeroU32::MIN)).await;
    service.get("/api/v1/me").await.assert_ok();
    wait(&service.get("/api/v1/me").await);
    let second = service.admin.create_key(&service.user.id, "second").await.unwrap();
    let bearer = format!("Bearer {}", secrecy::ExposeSecret::expose_secret(&second.secret));
    let request = service.request("/api/v1/me").header("authorization", bearer);
    service.send(request).await.assert_ok();
}

#[tokio::test]
async fn a_401_a_wrong_path_and_a_health_probe_spend_nothing() {
    let service = Service::with_limit(RateLimit::per_minute(NonZeroU32::MIN)).await;
    for target in ["/api/v1/no", "/livez", "/readyz"] {
        service.get(target).await;
    }
    for bad in ["", "Basic x", "Bearer nobody"] {
        let request = service.request("/api/v1/me").header("authorization", bad);
        assert_eq!(service.send(request).await.status.as_u16(), 401);
    }
    service.get("/api/v1/me").await.assert_ok();
    wait(&service.get("/api/v1/me").await);
    service.get("/livez").await.assert_ok();
    service.get("/readyz").await.assert_ok();
}

#[tokio::test]
async fn a_bad_request_spends_one_and_is_judged_after_the_limit() {
    let service = Service::with_limit(RateLimit::per_minute(NonZeroU32::MIN)).await;
    let bad = "/api/v1/forms/frm_0/submissions?limit=0";
    service.get(bad).await.assert_error(400, "bad_request");
    wait(&service.get(bad).await);
}

#[tokio::test]
async fn a_revoked_key_that_used_up_its_quota_is_told_that_it_is_revoked() {
    let service = Service::with_limit(RateLimit::per_minute(NonZeroU32::MIN)).await;
    service.get("/api/v1/me").await.assert_ok();
    service.admin.revoke_key(&service.key.record.id).await.unwrap();
    service.get("/api/v1/me").await.assert_error(401, "key_revoked");
}

#[tokio::test]
async fn off_means_off() {
    let service = Service::with_limit(RateLimit::Off).await;
    for _ in 0..400 {
        service.get("/api/v1/me").await.assert_ok();
    }
}
