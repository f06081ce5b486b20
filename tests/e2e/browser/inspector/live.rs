//! Deliveries on the page: as they come, filtered, opened, and gone through by keys.

use formsvc_tests::browser::{Browser, Screen, Theme};
use serde_json::json;

use super::listener::{Listener, SECRET, body_has, event, show, signature};

#[tokio::test]
async fn deliveries_come_live_are_filtered_and_told_whole() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.open(&browser).await;
    browser.wait_for("Nothing has come yet").await;
    let body = event("sub_ada", &json!({ "Name": "Ada Lovelace" }));
    let signed = signature(body.as_bytes());
    let headers = [("x-service-signature", signed.as_str()), ("authorization", "Bearer hunter2")];
    assert_eq!(listener.send("", &headers, body.clone()).await, 200);
    browser.wait_for("sub_ada").await;
    assert_eq!(listener.send("", &[], event("sub_bob", &json!({}))).await, 401);
    assert_eq!(listener.deliver("{ \"n\" : 12345678901234567890.10 }").await, 400);
    browser.wait_for("no submission id").await;
    assert_eq!(browser.count(".row").await, 3);

    show(&browser, 1).await;
    let text = browser.text().await;
    for told in
        ["It was signed with the secret of secret.txt", "SPEC §5", "200 by the listener", "masked"]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    let digits = signed.rsplit('=').next().unwrap();
    let page = browser.run("return document.documentElement.outerHTML").await.to_string();
    let read = listener.read("api/capture?number=1").await;
    let read = String::from_utf8_lossy(&read);
    for secret in [digits, SECRET, "hunter2"] {
        assert!(!page.contains(secret) && !read.contains(secret), "{secret}");
    }
    assert_eq!(listener.read("api/body?number=1").await, body);

    // A number keeps its digits.
    show(&browser, 3).await;
    body_has(&browser, "12345678901234567890.10").await;
    browser.touch("Raw").await;
    body_has(&browser, "{ \"n\" : 12345678901234567890.10 }").await;
    browser.touch("Hex").await;
    body_has(&browser, "00000000  7b 20 22 6e").await;

    browser.fill("Filter", "LOVELACE").await;
    browser.until("return document.querySelectorAll('.row').length === 1").await;
    // What comes now fits the filter, or does not.
    listener.deliver(event("sub_cy", &json!({ "Name": "Cy" }))).await;
    listener.deliver(event("sub_di", &json!({ "Name": "Di Lovelace" }))).await;
    browser.wait_for("sub_di").await;
    assert_eq!(browser.count(".row").await, 2);
    browser.touch("Clear").await;
    browser.until("return document.querySelectorAll('.row').length === 5").await;
    browser.choose("Verdict", "✗ unsigned").await;
    browser.until("return document.querySelectorAll('.row').length === 1").await;
    browser.choose("Verdict", "any").await;
    browser.choose("Answer", "not 2xx").await;
    browser.until("return document.querySelectorAll('.row').length === 2").await;
    browser.seen().await.assert_inert(|url| listener.is_ours(url));
    browser.close().await;
}

#[tokio::test]
async fn attempts_of_a_submission_stand_together_and_are_held_against_the_schedule() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&["--respond", "503,200"]).await;
    let body = event("sub_retried", &json!({}));
    let statuses = [
        listener.deliver(body.clone()).await,
        listener.deliver(body.clone()).await,
        listener.deliver(body).await,
    ];
    assert_eq!(statuses, [503, 200, 200]);
    listener.open(&browser).await;
    show(&browser, 3).await;
    let text = browser.text().await;
    // The second came at once, and the third although the second was accepted.
    for told in [
        "Attempts of this submission",
        "✗ waited",
        "10 s to 12 s",
        "no retry: came again",
        "duplicate",
    ] {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert_eq!(browser.count(".attempts > li").await, 3);
    // One more is shown as it comes, and what somebody is about to press stays where it is.
    let parts = "['.back a', '.do', '#detail-title', '#body', '.headers']";
    browser
        .run(&format!("for (const part of {parts}) document.querySelector(part).seen = true"))
        .await;
    listener.deliver(event("sub_retried", &json!({}))).await;
    browser.until("return document.querySelectorAll('.attempts > li').length === 4").await;
    let same = format!("return {parts}.every(part => document.querySelector(part).seen)");
    assert_eq!(browser.run(&same).await, json!(true));
    browser.close().await;
}

#[tokio::test]
async fn the_page_is_gone_through_by_keys_alone() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    for id in ["sub_a", "sub_b", "sub_c"] {
        listener.deliver(event(id, &json!({}))).await;
    }
    listener.open(&browser).await;
    browser.wait_for("sub_a").await;
    browser.keys("j").await;
    browser.until("return document.activeElement.dataset.key === '3'").await;
    browser.keys("jj").await;
    browser.until("return document.activeElement.dataset.key === '1'").await;
    browser.keys("k\n").await;
    browser.until("return location.hash === '#2'").await;
    browser.wait_for("#2 submission.created").await;
    browser.keys("/").await;
    browser.until("return document.activeElement.id === 'filter-text'").await;
    // In a field, letters are letters.
    browser.keys("sub_c").await;
    browser.until("return document.querySelectorAll('.row').length === 1").await;
    browser.keys("\u{1b}").await;
    browser.keys("?").await;
    browser.until("return document.getElementById('help').open").await;
    browser.keys("\n").await;
    browser.until("return !document.getElementById('help').open").await;
    browser.keys("r").await;
    browser.until("return document.activeElement.textContent === 'Send'").await;
    browser.keys("\n").await;
    browser.wait_for("Replayed to").await;
    // On a phone there is room for one of both, and «back» leads to the list.
    browser.look_with(Screen::Phone, Theme::Dark).await;
    let seen = |id: &str| {
        format!("return getComputedStyle(document.querySelector('{id}')).display !== 'none'")
    };
    assert_eq!(browser.run(&seen(".list")).await, json!(false));
    browser.follow_here("← Deliveries").await;
    browser.until(&seen(".list")).await;
    assert_eq!(browser.run(&seen(".detail")).await, json!(false));
    browser.seen().await.assert_inert(|url| listener.is_ours(url));
    browser.close().await;
}

#[tokio::test]
async fn of_many_deliveries_the_newest_are_shown_and_older_ones_when_they_are_asked_for() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&["--quiet"]).await;
    for number in 0..230 {
        listener.deliver(event(&format!("sub_{number}"), &json!({}))).await;
    }
    listener.open(&browser).await;
    browser.until("return document.querySelectorAll('.row').length === 100").await;
    browser.touch("More").await;
    browser.until("return document.querySelectorAll('.row').length === 200").await;
    browser.touch("More").await;
    browser.until("return document.querySelectorAll('.row').length === 230").await;
    let order = "
        const numbers = [...document.querySelectorAll('.row')].map(row => Number(row.dataset.key));
        return numbers.every((number, at) => number === 230 - at);
    ";
    assert_eq!(browser.run(order).await, json!(true));
    // Whoever reads further down is not disturbed, and told.
    browser.until("document.querySelector('#list-scroll').scrollTop = 4000; scrollTo(0, 4000); return true").await;
    listener.deliver(event("sub_new", &json!({}))).await;
    browser.wait_for("1 newer: show it").await;
    assert_eq!(browser.count(".row").await, 230);
    browser.touch("1 newer: show it").await;
    browser.wait_for("sub_new").await;
    browser.close().await;
}

#[tokio::test]
async fn why_a_signature_is_not_right_is_found_out() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    let body = event("sub_a", &json!({ "Name": "Ada" }));
    let signed = signature(body.as_bytes());
    let headers = [("x-service-signature", signed.as_str())];
    assert_eq!(listener.send("", &headers, format!("{body}\n")).await, 401);
    listener.open(&browser).await;
    show(&browser, 1).await;
    browser.wait_for("No signature of the header was made with a secret given here").await;
    browser.keys("w").await;
    browser
        .wait_for("The signature matches with the secret of secret.txt once this is fixed")
        .await;
    browser.wait_for("To do:").await;
    browser.seen().await.assert_inert(|url| listener.is_ours(url));
    browser.close().await;
}
