//! Submissions that come twice.

use formsvc_protocol::FormStatus;
use http::Request;

use super::service::{Answer, EVERY_KIND, Service, URLENCODED};

async fn keyed(service: &Service, key: &str, body: &'static str) -> Answer {
    let request = Request::post("/f/form").header("content-type", "application/json");
    service.send(request.header("idempotency-key", key), body).await
}

#[tokio::test]
async fn a_repeat_with_a_key_is_told_what_the_first_was_told() {
    let service = Service::with_form().await;
    let first = keyed(&service, "k-1", r#"{"Name":"a"}"#).await;
    let again = keyed(&service, "k-1", r#"{"Name":"a"}"#).await;
    assert_eq!(first.id(), again.id());
    assert_eq!(first.body, again.body);
    // The same answers, spelled otherwise.
    assert_eq!(keyed(&service, "k-1", r#"{ "Name" : "\u0061" }"#).await.id(), first.id());
    assert_ne!(keyed(&service, "k-2", r#"{"Name":"a"}"#).await.id(), first.id());
    assert_eq!(service.kept("form").await.len(), 2);
}

#[tokio::test]
async fn a_key_with_other_answers_is_a_mistake() {
    let service = Service::with_form().await;
    keyed(&service, "k", r#"{"Name":"a"}"#).await.id();
    let other = keyed(&service, "k", r#"{"Name":"b"}"#).await;
    other.assert_error(422, "idempotency_key_reused");
    keyed(&service, "k", r#"{"E-mail":"x"}"#).await.assert_error(422, "invalid_answers");
    assert_eq!(service.kept("form").await.len(), 1);
}

#[tokio::test]
async fn a_key_belongs_to_its_form() {
    let service = Service::with_form().await;
    service.form("other", None).await;
    let first = keyed(&service, "k", r#"{"Name":"a"}"#).await.id();
    let request = Request::post("/f/other").header("content-type", "application/json");
    let second = service.send(request.header("idempotency-key", "k"), r#"{"x":1}"#).await;
    assert_ne!(second.id(), first);
}

#[tokio::test]
async fn a_key_that_is_none_is_refused() {
    let service = Service::with_form().await;
    for key in ["", "a b", &"x".repeat(256)] {
        keyed(&service, key, r#"{"Name":"a"}"#).await.assert_error(400, "bad_request");
    }
    assert!(service.kept("form").await.is_empty());
}

#[tokio::test]
async fn a_double_click_is_one_submission_and_an_edit_is_a_new_one() {
    let service = Service::with_form().await;
    let page = service.get("/f/form").await.body;
    let id = page.split(r#"name="_id" value=""#).nth(1).unwrap().split('"').next().unwrap();
    let send = async |name: &str| {
        service
            .post("/f/form", URLENCODED, format!("Name={name}&_id={id}"))
            .await
            .assert_thanks("form");
    };
    send("a").await;
    send("a").await;
    assert_eq!(service.kept("form").await.len(), 1);
    send("b").await;
    assert_eq!(service.kept("form").await.len(), 2);
    // Another showing of the page.
    let other = format!("Name=a&_id={}", "0".repeat(32));
    service.post("/f/form", URLENCODED, other).await.assert_thanks("form");
    assert_eq!(service.kept("form").await.len(), 3);
}

#[tokio::test]
async fn without_a_key_everything_is_new() {
    let service = Service::with_form().await;
    for _ in 0..2 {
        service.post("/f/form", URLENCODED, "Name=a").await.assert_thanks("form");
    }
    assert_eq!(service.kept("form").await.len(), 2);
}

#[tokio::test]
async fn a_form_that_was_closed_meanwhile_still_knows_its_repeats() {
    let service = Service::new().await;
    let form = service.form("form", Some(EVERY_KIND)).await;
    let first = keyed(&service, "k", r#"{"Name":"a"}"#).await.id();
    service.admin.set_form_status(&form.id, FormStatus::Closed).await.unwrap();
    assert_eq!(keyed(&service, "k", r#"{"Name":"a"}"#).await.id(), first);
    for other in [r#"{"Name":"b"}"#, r#"{"Name":7}"#, r#"{"_gotcha":"x"}"#] {
        keyed(&service, "l", other).await.assert_error(410, "form_closed");
    }
}

#[tokio::test]
async fn repeats_that_arrive_together_are_one() {
    let service = Service::with_form().await;
    let sends = (0..10).map(|_| keyed(&service, "k", r#"{"Name":"a"}"#));
    let mut ids: Vec<_> =
        futures_util::future::join_all(sends).await.iter().map(Answer::id).collect();
    ids.dedup();
    assert_eq!((ids.len(), service.kept("form").await.len()), (1, 1));
}
