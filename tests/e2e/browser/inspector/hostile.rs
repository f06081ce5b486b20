//! What strangers send does nothing on the page, and does not break it.

use formsvc_tests::browser::{Browser, payloads};
use http::StatusCode;
use serde_json::{Value, json};

use super::super::hook::Hook;
use super::super::inert::{ELSEWHERE, assert_inert_but_for};
use super::listener::{Listener, body_has, event, show};

/// The page's own script.
const OWN: &str = "script[src=\"main.js\"]";

/// What turns the direction of writing, acts on terminals, or shows as nothing.
const UNSEEN: &str = "a\u{202e}gnp.exe\u{2066}\u{1b}]0;x\u{7}\u{9b}31m\u{200b}\u{feff}\0z";

async fn assert_inert(browser: &Browser, listener: &Listener, what: &str) {
    assert_inert_but_for(browser, OWN, |url| listener.is_ours(url), what).await;
    let wide =
        "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
    assert_eq!(browser.run(wide).await, json!(true), "{what}: it is too wide");
}

#[tokio::test]
async fn what_strangers_send_is_inert_wherever_it_stands() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&["--on-invalid", "accept"]).await;
    listener.open(&browser).await;
    let payloads = payloads(ELSEWHERE);
    for (number, some) in payloads.chunks(96).enumerate() {
        let data: Value = some.iter().map(|payload| (payload.clone(), json!(payload))).collect();
        let odd = &some[number];
        let body = json!({
            "event": odd, "submission_id": odd, "form_id": odd, "form_title": odd, "data": data,
        });
        let path: String = form_urlencoded::byte_serialize(odd.as_bytes()).collect();
        let headers =
            [("x-service-signature", odd.as_str()), ("x-odd", odd), ("content-type", odd)];
        listener.send(&format!("?{path}"), &headers, body.to_string()).await;
        let number = number as u64 + 1;
        show(&browser, number).await;
        assert!(browser.text().await.contains(odd.trim()), "it is shown as it is");
        assert_inert(&browser, &listener, "a delivery").await;
        browser.touch("Raw").await;
        browser.touch("Edit and replay").await;
        browser.find("#replay-body").await;
        browser.touch("Copy as curl").await;
        browser.find("#curl").await;
        assert_inert(&browser, &listener, "its forms").await;
    }
    browser.close().await;
}

#[tokio::test]
async fn what_a_program_answers_is_inert_too() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    let hook = Hook::start().await;
    listener.deliver(event("sub_a", &json!({}))).await;
    listener.open(&browser).await;
    for payload in payloads(ELSEWHERE).iter().step_by(41) {
        hook.answer(StatusCode::INTERNAL_SERVER_ERROR, format!("{payload}{UNSEEN}"));
        show(&browser, 1).await;
        browser.touch("Replay").await;
        browser.choose("Send to", "another address").await;
        browser.fill("Address", &hook.url()).await;
        browser.touch("Send").await;
        browser.until("return document.querySelector('.result pre')?.textContent.includes('⟨U+202E⟩') === true").await;
        assert_inert(&browser, &listener, payload).await;
        // The next one is looked at anew.
        browser.run("location.hash = ''").await;
        browser.until("return document.getElementById('detail-body').hidden").await;
    }
    browser.close().await;
}

#[tokio::test]
async fn unseen_characters_are_named_and_large_bodies_shown_in_part() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&["--on-invalid", "accept"]).await;
    let body = format!("{{\"event\":\"submission.created\",\"submission_id\":\"{UNSEEN}\"}}");
    let long = event("sub_long", &json!({ "x": "é".repeat(450_000) }));
    let deep = "[".repeat(400_000) + &"]".repeat(400_000);
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for body in [body.into_bytes(), long.into_bytes(), deep.into_bytes(), binary] {
        listener.deliver(body).await;
    }
    listener.open(&browser).await;
    show(&browser, 1).await;
    body_has(
        &browser,
        "⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+001B⟩]0;x⟨U+0007⟩⟨U+009B⟩31m⟨U+200B⟩⟨U+FEFF⟩⟨U+0000⟩",
    )
    .await;
    assert_inert(&browser, &listener, "unseen characters").await;
    for number in 2..=4 {
        show(&browser, number).await;
        browser.wait_for("This is the beginning of it.").await;
        assert_inert(&browser, &listener, "a large body").await;
        let length = "return document.querySelector('.bytes pre').textContent.length";
        let first = browser.run(length).await.as_u64().unwrap();
        browser.touch("Show more").await;
        let more = browser.run(length).await.as_u64().unwrap();
        assert!(first > 1000 && more > first && more < 500_000, "{number}: {first}, {more}");
    }
    browser.close().await;
}
