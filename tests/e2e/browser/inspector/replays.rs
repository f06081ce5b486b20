//! Replays from the page, and curl commands.

use formsvc_tests::browser::Browser;
use http::StatusCode;
use serde_json::json;

use super::super::hook::Hook;
use super::listener::{Listener, SECRET, assert_shows, close_delivery, event, show, wait_for_rows};

/// Has both kinds of line breaks and an invisible character.
const BODY: &str = "{\"event\" : \"submission.created\",\r\n\"submission_id\":\"sub_a\u{200b}\",\n\"form_id\":\"f\",\
     \"form_title\":\"F\",\"data\":{\"n\":1.10},\"created_at\":\"2026-01-01T00:00:00.000Z\"}";

/// Returns the chosen signature of the open form.
const CHOSEN: &str = "return document.querySelector('[name=replay-signature]:checked').value";

async fn send_to(browser: &Browser, hook: &Hook) {
    browser.choose("Send to", "Other address").await;
    browser.fill("Address", &hook.url()).await;
    browser.touch("Send").await;
}

#[tokio::test]
async fn replay_sends_the_exact_or_the_edited_body() {
    let Some(browser) = Browser::or_skip().await else { return };
    let (listener, hook) = (Listener::start(&[]).await, Hook::start().await);
    listener.deliver(BODY).await;
    listener.page.open(&browser).await;
    show(&browser, 1).await;
    hook.answer(StatusCode::IM_A_TEAPOT, "short and stout");
    browser.touch("Replay").await;
    send_to(&browser, &hook).await;
    browser.wait_for("short and stout").await;
    assert_shows(&browser, &["418", "Same body, signature made now.", "Earlier status: 200."])
        .await;
    let came = hook.came();
    assert_eq!((came.len(), &came[0].body[..]), (1, BODY.as_bytes()));
    assert!(came[0].is_signed_with(SECRET));

    hook.answer(StatusCode::NO_CONTENT, "");
    browser.touch("Edit and replay").await;
    let edit = "
        const area = document.getElementById('replay-body');
        area.value = area.value.replace('1.10', '2.50');
        return area.value.includes('⟨U+200B⟩');
    ";
    browser.find("#replay-body").await;
    assert_eq!(browser.run(edit).await, json!(true));
    send_to(&browser, &hook).await;
    browser.wait_for("Edited body, signature made now.").await;
    let came = hook.came();
    assert_eq!(came[1].body, BODY.replace("1.10", "2.50"));
    assert!(came[1].is_signed_with(SECRET));

    // The editor does not change a body that the user did not edit.
    close_delivery(&browser).await;
    show(&browser, 1).await;
    browser.touch("Edit and replay").await;
    browser.find("#replay-body").await;
    browser.tick("As received").await;
    send_to(&browser, &hook).await;
    browser.wait_for("Same body, signature as received.").await;
    assert_eq!(hook.came()[2].body, BODY);
    assert!(hook.came()[2].is_signed_with(SECRET));
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn failed_replay_is_reported_and_keeps_the_form() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.deliver(event("sub_a", &json!({}))).await;
    listener.page.open(&browser).await;
    show(&browser, 1).await;
    browser.touch("Replay").await;
    browser.choose("Send to", "Other address").await;
    browser.fill("Address", "ftp://example.org").await;
    browser.touch("Send").await;
    browser.wait_for("The address is not valid: the scheme ftp is not http or https.").await;
    // Bound, so that no other test listens at it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = socket.local_addr().unwrap();
    browser.fill("Address", &format!("http://{closed}/")).await;
    browser.touch("Send").await;
    browser.wait_for("no response").await;
    // The default destination is the listener, which records the replay.
    browser.touch("Replay").await;
    browser.touch("Send").await;
    browser.wait_for("Same body, signature made now. Earlier status: 200.").await;
    wait_for_rows(&browser, 2).await;
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn refused_delivery_is_signed_only_when_confirmed() {
    let Some(browser) = Browser::or_skip().await else { return };
    let (listener, hook) = (Listener::start(&[]).await, Hook::start().await);
    assert_eq!(listener.send("", &[], event("sub_a", &json!({}))).await, 401);
    listener.page.open(&browser).await;
    show(&browser, 1).await;
    browser.touch("Replay").await;
    browser.find("#replay").await;
    assert_eq!(browser.run(CHOSEN).await, json!("as_received"));
    let question = "Sign it although its sender is unknown";
    assert!(!browser.text().await.contains(question));
    browser.tick("Made now").await;
    let reason =
        "Delivery 1 may not be from the service: the request has no header X-Service-Signature.";
    browser.wait_for(&format!("{reason} With a fresh signature, a receiver accepts it.")).await;
    send_to(&browser, &hook).await;
    let is_missing = "return document.querySelector('#replay-confirmed').matches(':invalid')";
    assert_eq!(browser.run(is_missing).await, json!(true));
    assert_eq!(browser.count("#replay").await, 1);
    assert!(hook.came().is_empty());
    browser.tick(question).await;
    browser.touch("Send").await;
    browser.wait_for("Same body, signature made now.").await;
    assert!(hook.came()[0].is_signed_with(SECRET));
    // A valid delivery needs no confirmation.
    listener.deliver(event("sub_b", &json!({}))).await;
    show(&browser, 2).await;
    browser.touch("Replay").await;
    browser.find("#replay").await;
    assert_eq!(browser.run(CHOSEN).await, json!("fresh"));
    assert!(!browser.text().await.contains(question));
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn target_is_the_default_destination_of_a_replay() {
    let Some(browser) = Browser::or_skip().await else { return };
    let hook = Hook::start().await;
    let listener = Listener::start(&["--forward-to", &hook.url()]).await;
    hook.answer(StatusCode::SERVICE_UNAVAILABLE, "out of stock");
    assert_eq!(listener.deliver(event("sub_a", &json!({}))).await, 503);
    listener.page.open(&browser).await;
    show(&browser, 1).await;
    assert_shows(&browser, &[&*hook.url(), "503, from the target", "out of stock"]).await;
    hook.answer(StatusCode::OK, "sold");
    browser.touch("Replay").await;
    browser.touch("Send").await;
    browser.wait_for("sold").await;
    browser.wait_for("Earlier status: 503.").await;
    let came = hook.came();
    assert_eq!(came.len(), 2);
    assert!(came[1].is_signed_with(SECRET) && came[1].body == came[0].body);
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn curl_command_is_copied_or_shown_for_selection() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.deliver(event("sub_a", &json!({ "Name": "O'Neil $(id) `id`" }))).await;
    listener.page.open(&browser).await;
    browser.allow_clipboard().await;
    show(&browser, 1).await;
    browser.touch("Copy as curl").await;
    browser.wait_for("Copied.").await;
    let copied = browser.run("return navigator.clipboard.readText()").await;
    let shown = browser.run("return document.getElementById('curl').textContent").await;
    assert_eq!(copied, shown);
    let command = shown.as_str().unwrap();
    assert!(command.contains("curl") && command.contains(&listener.url), "{command}");
    assert!(!command.contains(SECRET), "{command}");
    browser.touch("Close").await;
    browser.run("navigator.clipboard.writeText = () => Promise.reject(new Error())").await;
    browser.touch("Copy as curl").await;
    browser.wait_for("Select the command and copy it.").await;
    // It has another signature if a second has passed.
    let shown = browser.run("return document.getElementById('curl').textContent").await;
    assert!(shown.as_str().unwrap().starts_with("curl "), "{shown}");
    browser.close().await;
}
