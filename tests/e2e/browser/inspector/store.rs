//! `formsvc webhook events open`: the inspector of a store, without a listener.

use formsvc_tests::browser::Browser;
use http::StatusCode;
use serde_json::json;

use super::super::hook::Hook;
use super::listener::{Listener, SECRET, event, show};

#[tokio::test]
async fn events_open_shows_and_replays_stored_deliveries() {
    let Some(browser) = Browser::or_skip().await else { return };
    let (listener, hook) = (Listener::start(&[]).await, Hook::start().await);
    let body = event("sub_stored", &json!({}));
    listener.deliver(body.clone()).await;
    let store = listener.open_store().await;
    store.page.open(&browser).await;
    browser.wait_for("Stored deliveries in").await;
    browser.wait_for("sub_stored").await;
    // Another process writes to the store.
    listener.deliver(event("sub_later", &json!({}))).await;
    browser.wait_for("sub_later").await;
    show(&browser, 1).await;
    hook.answer(StatusCode::OK, "replayed from the store");
    browser.touch("Replay").await;
    // Without a listener and forwards, an address is the only destination.
    browser.fill("Address", &hook.url()).await;
    browser.touch("Send").await;
    browser.wait_for("replayed from the store").await;
    let [request] = &hook.came()[..] else { panic!("{:?}", hook.came()) };
    assert!(request.body == body && request.is_signed_with(SECRET), "{request:?}");
    store.page.assert_undisturbed(&browser).await;
    browser.close().await;
}
