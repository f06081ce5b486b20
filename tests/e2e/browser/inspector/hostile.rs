//! Content of unknown senders and targets neither acts on the page nor breaks it.

use formsvc_tests::browser::{Browser, payloads};
use http::StatusCode;
use serde_json::{Value, json};

use super::super::hook::Hook;
use super::super::inert::{ELSEWHERE, assert_inert_but_for};
use super::listener::{Listener, Page, assert_shows, close_delivery, event, show, wait_for_body};

/// Selects the page's own script.
const OWN_SCRIPT: &str = "script[src=\"main.js\"]";

/// Characters that change the direction of text, control terminals, or are invisible. At the end is a joiner,
/// which is not named, and a variation selector without an effect.
const UNSEEN: &str = "a\u{202e}gnp.exe\u{2066}\u{1b}]0;x\u{7}\u{9b}31m\u{200b}\u{feff}\0z\u{2800}\u{e0100}❤\u{200d}\u{fe0f}";

async fn assert_inert(browser: &Browser, page: &Page, what: &str) {
    assert_inert_but_for(browser, OWN_SCRIPT, |url| page.contains(url), what).await;
    let fits =
        "return document.documentElement.scrollWidth <= document.documentElement.clientWidth";
    assert_eq!(browser.run(fits).await, json!(true), "{what}: the page is too wide");
}

#[tokio::test]
async fn content_of_senders_is_inert_everywhere() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&["--on-invalid", "accept"]).await;
    listener.page.open(&browser).await;
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
        assert!(browser.text().await.contains(odd.trim()), "it is shown as text");
        assert_inert(&browser, &listener.page, "a delivery").await;
        browser.touch("Raw").await;
        browser.touch("Edit and replay").await;
        browser.find("#replay-body").await;
        browser.touch("Copy as curl").await;
        browser.find("#curl").await;
        assert_inert(&browser, &listener.page, "its forms").await;
    }
    browser.close().await;
}

#[tokio::test]
async fn response_of_target_is_inert() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    let hook = Hook::start().await;
    listener.deliver(event("sub_a", &json!({}))).await;
    listener.page.open(&browser).await;
    for payload in payloads(ELSEWHERE).iter().step_by(41) {
        hook.answer(StatusCode::INTERNAL_SERVER_ERROR, format!("{payload}{UNSEEN}"));
        show(&browser, 1).await;
        browser.touch("Replay").await;
        browser.choose("Send to", "Other address").await;
        browser.fill("Address", &hook.url()).await;
        browser.touch("Send").await;
        browser.until("return document.querySelector('.result pre')?.textContent.includes('⟨U+202E⟩') === true").await;
        assert_inert(&browser, &listener.page, payload).await;
        close_delivery(&browser).await;
    }
    browser.close().await;
}

#[tokio::test]
async fn invisible_characters_are_named_and_long_bodies_cut() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&["--on-invalid", "accept"]).await;
    let body = event(UNSEEN, &json!({}));
    // JSON escapes control characters only.
    let unescaped = format!("{{\"submission_id\":\"{UNSEEN}\"}}");
    let long = event("sub_long", &json!({ "x": "é".repeat(450_000) }));
    let deep = "[".repeat(400_000) + &"]".repeat(400_000);
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    for body in
        [unescaped.into_bytes(), body.into_bytes(), long.into_bytes(), deep.into_bytes(), binary]
    {
        listener.deliver(body).await;
    }
    listener.page.open(&browser).await;
    show(&browser, 1).await;
    let named = "⟨U+202E⟩gnp.exe⟨U+2066⟩⟨U+001B⟩]0;x⟨U+0007⟩⟨U+009B⟩31m⟨U+200B⟩⟨U+FEFF⟩⟨U+0000⟩z⟨U+2800⟩⟨U+E0100⟩❤\u{200d}⟨U+FE0F⟩";
    wait_for_body(&browser, named).await;
    assert_inert(&browser, &listener.page, "invisible characters").await;
    show(&browser, 2).await;
    wait_for_body(&browser, "a⟨U+202E⟩gnp.exe⟨U+2066⟩\\u001b]0;x").await;
    assert_shows(&browser, &[named]).await;
    let rows = browser.run("return document.getElementById('rows').textContent").await;
    assert!(rows.as_str().unwrap().contains(named), "{rows}");
    assert_inert(&browser, &listener.page, "invisible characters").await;
    for number in 3..=5 {
        show(&browser, number).await;
        browser.wait_for("Only the beginning is shown.").await;
        assert_inert(&browser, &listener.page, "a long body").await;
        let length = "return document.querySelector('.bytes pre').textContent.length";
        let first = browser.run(length).await.as_u64().unwrap();
        browser.touch("Show more").await;
        let more = browser.run(length).await.as_u64().unwrap();
        assert!(first > 1000 && more > first && more < 500_000, "{number}: {first}, {more}");
    }
    browser.close().await;
}
