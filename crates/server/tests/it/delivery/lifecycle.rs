//! What the specification says of deliveries, seen from the endpoint and from the record.

use std::time::Duration;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SigningSecret, verify};
use formsvc_server::store::DeliveryState;

use super::endpoint::{Endpoint, Received, Reply};
use super::world::{GRACE, World, options, slots};

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn is_signed_with(received: &Received, secret: &str) -> bool {
    let secret = SigningSecret::new(secret).unwrap();
    let header = received.header("x-service-signature").as_bytes();
    verify(header, received.body.as_bytes(), &[secret], now(), SIGNATURE_TOLERANCE).is_ok()
}

#[tokio::test]
async fn a_submission_arrives_as_the_specification_says() {
    let (world, endpoint) = (World::new().await, Endpoint::ok().await);
    let deliveries = world.deliver(options());
    world.endpoint("whe_1", endpoint.url()).await;
    let id = world.submit(r#"{"b":1.50,"a":"\u00e9"}"#).await;
    let received = &endpoint.wait_for(1).await[0];
    assert_eq!((received.method.as_str(), &*received.path), ("POST", "/hook?token=t0k3n"));
    for (name, value) in [
        ("content-type", "application/json"),
        ("user-agent", "service-webhooks/1.0"),
        ("x-service-event", "submission.created"),
    ] {
        assert_eq!(received.header(name), value);
    }
    assert!(is_signed_with(received, "whsec_whe_1"));
    assert!(!is_signed_with(received, "whsec_other"));
    let record = world.until(DeliveryState::Delivered).await;
    let created = record.record.created_at.clone();
    assert_eq!(
        received.body,
        format!(
            r#"{{"event":"submission.created","submission_id":"{id}","form_id":"{}","form_title":"Café \"1\"","data":{{"b":1.50,"a":"\u00e9"}},"created_at":"{created}"}}"#,
            world.form.id
        )
    );
    let [attempt] = &record.history[..] else { panic!("{record:?}") };
    assert_eq!((attempt.status, attempt.error.as_deref()), (Some(200), None));
    assert_eq!(attempt.address, Some(endpoint.addr.to_string()));
    deliveries.stop(GRACE).await;
    assert_eq!(endpoint.received().len(), 1);
}

#[tokio::test]
async fn a_failure_is_retried_with_the_same_body_and_growing_pauses_until_it_succeeds() {
    let script = [Reply::Status(503), Reply::Status(503), Reply::Status(204)];
    let (world, endpoint) = (World::new().await, Endpoint::start(script).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    let received = endpoint.wait_for(3).await;
    let detail = world.until(DeliveryState::Delivered).await;
    let statuses: Vec<_> = detail.history.iter().map(|attempt| attempt.status.unwrap()).collect();
    assert_eq!((statuses, detail.record.attempts), (vec![503, 503, 204], 3));
    assert!(received.iter().all(|one| one.body == received[0].body));
    assert!(received.iter().all(|one| is_signed_with(one, "whsec_whe_1")));
    let gap = |n: usize| received[n].at - received[n - 1].at;
    assert!(gap(1) >= Duration::from_millis(20), "{:?}", gap(1));
    assert!(gap(2) >= Duration::from_millis(40), "{:?}", gap(2));
    assert_eq!(detail.record.next_attempt_at, None);
    assert!(detail.record.finished_at.is_some());
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn after_the_fourth_failure_it_has_failed_for_good() {
    let (world, endpoint) = (World::new().await, Endpoint::start([Reply::Status(500)]).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    endpoint.wait_for(4).await;
    let detail = world.until(DeliveryState::Failed).await;
    assert_eq!(detail.history.len(), 4);
    let errors = detail.history.iter().map(|attempt| attempt.error.as_deref().unwrap());
    assert!(errors.into_iter().all(|error| error == "status_not_2xx"));
    // Whatever comes after it is delivered, and it is not attempted again.
    world.submit("{}").await;
    endpoint.wait_for(8).await;
    deliveries.stop(GRACE).await;
    assert_eq!(world.detail(detail.record.key).await, detail);
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let target = Endpoint::ok().await;
    let location: &'static str = Box::leak(target.url().into_boxed_str());
    let (world, endpoint) =
        (World::new().await, Endpoint::start([Reply::With(302, "location", location)]).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    let detail = world.until(DeliveryState::Failed).await;
    assert_eq!(detail.history[0].error.as_deref(), Some("redirected"));
    assert!(target.received().is_empty());
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn an_endpoint_that_asks_for_time_gets_it() {
    let script = [Reply::With(429, "retry-after", "1"), Reply::Status(200)];
    let (world, endpoint) = (World::new().await, Endpoint::start(script).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    let received = endpoint.wait_for(2).await;
    assert!(received[1].at - received[0].at >= Duration::from_secs(1));
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn during_a_rotation_both_secrets_verify_and_after_it_only_the_new_one() {
    let (world, endpoint) = (World::new().await, Endpoint::ok().await);
    let id = world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    let new = world.seal(&id, "whsec_new");
    world.store.rotate_secret(&id, new.clone(), Duration::from_secs(60)).await.unwrap();
    world.submit("{}").await;
    let received = endpoint.wait_for(1).await;
    assert!(is_signed_with(&received[0], "whsec_whe_1"));
    assert!(is_signed_with(&received[0], "whsec_new"));
    assert_eq!(received[0].header("x-service-signature").matches("v1=").count(), 2);
    world.store.rotate_secret(&id, new, Duration::ZERO).await.unwrap();
    world.submit("{}").await;
    let received = endpoint.wait_for(2).await;
    assert!(!is_signed_with(&received[1], "whsec_whe_1"));
    assert!(is_signed_with(&received[1], "whsec_new"));
    deliveries.stop(GRACE).await;
}

#[tokio::test]
async fn a_disabled_endpoint_waits_and_a_removed_one_gets_nothing_more() {
    let (world, endpoint) = (World::new().await, Endpoint::ok().await);
    let id = world.endpoint("whe_1", endpoint.url()).await;
    world.submit(r#"{"n":1}"#).await;
    world.store.set_endpoint_enabled(&id, false).await.unwrap();
    world.submit(r#"{"n":2}"#).await;
    let other = Endpoint::ok().await;
    world.endpoint("whe_2", other.url()).await;
    let deliveries = world.deliver(options());
    world.submit(r#"{"n":3}"#).await;
    other.wait_for(1).await;
    assert!(endpoint.received().is_empty());
    world.store.set_endpoint_enabled(&id, true).await.unwrap();
    let received = endpoint.wait_for(1).await;
    assert!(received[0].body.contains(r#""data":{"n":1}"#));
    world.store.remove_endpoint(&id).await.unwrap();
    world.submit(r#"{"n":4}"#).await;
    other.wait_for(2).await;
    deliveries.stop(GRACE).await;
    assert_eq!(endpoint.received().len(), 1);
}

#[tokio::test]
async fn a_resend_of_a_failed_delivery_is_one_attempt_and_can_deliver_it() {
    let mut script = vec![Reply::Status(500); 5];
    script.push(Reply::Status(200));
    let (world, endpoint) = (World::new().await, Endpoint::start(script).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    let id = world.until(DeliveryState::Failed).await.record.key.id();
    world.store.resend(&id).await.unwrap();
    let detail = world.until_is(&id, |detail| detail.history.len() == 5).await;
    assert_eq!(detail.record.state, DeliveryState::Failed);
    assert!(detail.history[4].resend && !detail.history[3].resend);
    world.store.resend(&id).await.unwrap();
    let detail = world.until_is(&id, |detail| detail.history.len() == 6).await;
    assert_eq!(detail.record.state, DeliveryState::Delivered);
    deliveries.stop(GRACE).await;
    assert_eq!(endpoint.received().len(), 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_submission_reaches_every_endpoint_once_when_nothing_fails() {
    let world = World::new().await;
    let mut endpoints = Vec::new();
    for n in 0..5 {
        let endpoint = Endpoint::ok().await;
        world.endpoint(&format!("whe_{n}"), endpoint.url()).await;
        endpoints.push(endpoint);
    }
    let mut many = options();
    many.slots = slots(64, 16);
    let deliveries = world.deliver(many);
    let mut accepted = Vec::new();
    for n in 0..200 {
        accepted.push(world.submit(&format!("{{\"n\":{n}}}")).await.to_string());
    }
    for endpoint in &endpoints {
        let mut arrived: Vec<_> =
            endpoint.wait_for(200).await.iter().map(Received::submission).collect();
        arrived.sort();
        accepted.sort();
        assert_eq!(arrived, accepted);
    }
    deliveries.stop(GRACE).await;
    let states = world.deliveries().await;
    assert!(states.iter().all(|delivery| delivery.state == DeliveryState::Delivered));
    assert_eq!(states.len(), 1_000);
}

#[tokio::test]
async fn of_an_answer_16_kib_are_kept() {
    let long = Reply::Body(500, "x".repeat(100_000));
    let (world, endpoint) = (World::new().await, Endpoint::start([long]).await);
    world.endpoint("whe_1", endpoint.url()).await;
    let deliveries = world.deliver(options());
    world.submit("{}").await;
    let detail = world.until(DeliveryState::Failed).await;
    assert!(detail.history.iter().all(|attempt| attempt.snippet.len() == 16 * 1_024));
    deliveries.stop(GRACE).await;
}
