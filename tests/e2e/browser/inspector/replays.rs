//! Deliveries that are sent once more from the page.

use formsvc_tests::browser::Browser;
use http::StatusCode;
use serde_json::json;

use super::super::hook::Hook;
use super::listener::{Listener, SECRET, event, show};

/// Line ends of two kinds, and a character that does not show.
const BODY: &str = "{\"event\" : \"submission.created\",\r\n\"submission_id\":\"sub_a\u{200b}\",\n\"form_id\":\"f\",\
     \"form_title\":\"F\",\"data\":{\"n\":1.10},\"created_at\":\"2026-01-01T00:00:00.000Z\"}";

async fn send_to(browser: &Browser, hook: &Hook) {
    browser.choose("Send to", "another address").await;
    browser.fill("Address", &hook.url()).await;
    browser.touch("Send").await;
}

#[tokio::test]
async fn a_delivery_is_replayed_to_the_byte_and_edited() {
    let Some(browser) = Browser::or_skip().await else { return };
    let (listener, hook) = (Listener::start(&[]).await, Hook::start().await);
    listener.deliver(BODY).await;
    listener.open(&browser).await;
    show(&browser, 1).await;
    hook.answer(StatusCode::IM_A_TEAPOT, "short and stout");
    browser.touch("Replay").await;
    send_to(&browser, &hook).await;
    browser.wait_for("short and stout").await;
    let text = browser.text().await;
    for told in ["418", "with its body to the byte, signed now", "was answered 200 then"] {
        assert!(text.contains(told), "{told}: {text}");
    }
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
    browser.wait_for("with the edited body, signed now").await;
    let came = hook.came();
    assert_eq!(came[1].body, BODY.replace("1.10", "2.50"));
    assert!(came[1].is_signed_with(SECRET));

    // Opened and not edited, it goes as it came; and with its own signature, if that is wished.
    browser.run("location.hash = ''").await;
    browser.until("return document.getElementById('detail-body').hidden").await;
    show(&browser, 1).await;
    browser.touch("Edit and replay").await;
    browser.find("#replay-body").await;
    browser.tick("as it came").await;
    send_to(&browser, &hook).await;
    browser.wait_for("with its body to the byte, with the signature it came with").await;
    assert_eq!(hook.came()[2].body, BODY);
    assert!(hook.came()[2].is_signed_with(SECRET));
    browser.seen().await.assert_inert(|url| listener.is_ours(url));
    browser.close().await;
}

#[tokio::test]
async fn what_goes_wrong_with_a_replay_is_told_and_the_form_stays() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.deliver(event("sub_a", &json!({}))).await;
    listener.open(&browser).await;
    show(&browser, 1).await;
    browser.touch("Replay").await;
    browser.choose("Send to", "another address").await;
    browser.fill("Address", "ftp://example.org").await;
    browser.touch("Send").await;
    browser.wait_for("is no address to send to").await;
    // Taken, so that no other test listens on it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = socket.local_addr().unwrap();
    browser.fill("Address", &format!("http://{closed}/")).await;
    browser.touch("Send").await;
    browser.wait_for("no answer").await;
    // To the listener itself: it comes like any other.
    browser.touch("Replay").await;
    browser.touch("Send").await;
    browser.wait_for("Replayed to http://").await;
    browser.until("return document.querySelectorAll('.row').length === 2").await;
    browser.seen().await.assert_inert(|url| listener.is_ours(url));
    browser.close().await;
}

#[tokio::test]
async fn what_is_refused_is_signed_anew_once_that_is_said() {
    let Some(browser) = Browser::or_skip().await else { return };
    let (listener, hook) = (Listener::start(&[]).await, Hook::start().await);
    assert_eq!(listener.send("", &[], event("sub_a", &json!({}))).await, 401);
    listener.open(&browser).await;
    show(&browser, 1).await;
    browser.touch("Replay").await;
    let chosen = "return document.querySelector('[name=replay-signature]:checked').value";
    browser.find("#replay").await;
    assert_eq!(browser.run(chosen).await, json!("kept"));
    assert!(!browser.text().await.contains("Sign it although"));
    browser.tick("made now").await;
    browser.wait_for("A receiver refuses it: the request has no X-Service-Signature.").await;
    send_to(&browser, &hook).await;
    browser
        .wait_for("Delivery 1 is not signed anew: the request has no X-Service-Signature.")
        .await;
    assert!(hook.came().is_empty());
    browser.tick("Sign it although it is not verified").await;
    browser.touch("Send").await;
    browser.wait_for("with its body to the byte, signed now").await;
    assert!(hook.came()[0].is_signed_with(SECRET));
    // What was verified is asked nothing.
    listener.deliver(event("sub_b", &json!({}))).await;
    show(&browser, 2).await;
    browser.touch("Replay").await;
    browser.find("#replay").await;
    assert_eq!(browser.run(chosen).await, json!("fresh"));
    assert!(!browser.text().await.contains("Sign it although"));
    browser.seen().await.assert_inert(|url| listener.is_ours(url));
    browser.close().await;
}

#[tokio::test]
async fn the_answer_of_a_target_is_seen_and_it_gets_a_replay() {
    let Some(browser) = Browser::or_skip().await else { return };
    let hook = Hook::start().await;
    let listener = Listener::start(&["--forward-to", &hook.url()]).await;
    hook.answer(StatusCode::SERVICE_UNAVAILABLE, "the till is shut");
    assert_eq!(listener.deliver(event("sub_a", &json!({}))).await, 503);
    listener.open(&browser).await;
    show(&browser, 1).await;
    let text = browser.text().await;
    for told in [&*hook.url(), "503 by the target", "the till is shut"] {
        assert!(text.contains(told), "{told}: {text}");
    }
    hook.answer(StatusCode::OK, "sold");
    // The target is where it goes unless somebody says otherwise.
    browser.touch("Replay").await;
    browser.touch("Send").await;
    browser.wait_for("sold").await;
    browser.wait_for("was answered 503 then").await;
    let came = hook.came();
    assert_eq!(came.len(), 2);
    assert!(came[1].is_signed_with(SECRET) && came[1].body == came[0].body);
    browser.seen().await.assert_inert(|url| listener.is_ours(url));
    browser.close().await;
}

#[tokio::test]
async fn a_command_is_copied_or_shown_where_the_browser_does_not_copy() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.deliver(event("sub_a", &json!({ "Name": "O'Neil $(id) `id`" }))).await;
    listener.open(&browser).await;
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
    browser.wait_for("Select the text and copy it.").await;
    assert_eq!(browser.run("return document.getElementById('curl').textContent").await, shown);
    browser.close().await;
}
