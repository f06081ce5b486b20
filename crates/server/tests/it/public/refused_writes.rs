//! A store that takes no writes, or does not answer.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use formsvc_server::public::PublicOptions;
use futures_util::stream;
use http::Request;

use super::service::{Answer, Service, answer, edge_of, whole};
use crate::api::broken_store::Broken;

async fn post(broken: Broken, accept: &str, body: Body) -> Answer {
    let edge = edge_of(Arc::new(broken), PublicOptions::default(), Arc::default());
    let request = Request::post("/f/form").header("content-type", "application/json");
    answer(&edge, whole(request.header("accept", accept), body)).await
}

#[tokio::test]
async fn a_full_disk_is_told_before_the_body_is_read() {
    let never = || Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
    let refused = post(Broken::IsFull, "application/json", never()).await;
    refused.assert_error(503, "unavailable");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert!(!refused.body.contains("space"), "the cause is not told");
    let page = post(Broken::IsFull, "text/html", never()).await;
    page.assert_page(503);
    assert_eq!(page.header("retry-after"), refused.header("retry-after"));
}

#[tokio::test]
async fn a_fault_of_the_store_is_a_500_that_tells_nothing() {
    let refused = post(Broken::Fails, "application/json", Body::from("{}")).await;
    refused.assert_error(500, "internal_error");
    let page = post(Broken::Fails, "text/html", Body::from("{}")).await;
    page.assert_page(500);
    assert!(!page.body.contains("torn") && !refused.body.contains("torn"));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_is_a_503_and_never_a_thank_you() {
    for broken in [Broken::Hangs, Broken::HangsAtWrites] {
        let began = tokio::time::Instant::now();
        post(broken, "application/json", Body::from("{}")).await.assert_error(503, "unavailable");
        post(broken, "text/html", Body::from("{}")).await.assert_page(503);
        let trapped = Body::from(r#"{"_gotcha":"x"}"#);
        post(broken, "application/json", trapped).await.assert_error(503, "unavailable");
        assert!(began.elapsed().as_secs() <= 30);
    }
}

#[tokio::test]
async fn a_form_that_is_changed_each_time_is_a_503() {
    let refused = post(Broken::IsChanged, "application/json", Body::from("{}")).await;
    refused.assert_error(503, "unavailable");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
}

#[tokio::test]
async fn a_closed_store_is_a_503() {
    let service = Service::with_form().await;
    service.store.close().await.unwrap();
    service.post_json("/f/form", "{}").await.assert_error(503, "unavailable");
    service.get("/f/form").await.assert_page(503);
}
