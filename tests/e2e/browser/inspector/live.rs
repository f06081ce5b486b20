//! The list and the details of deliveries: live changes, filters, keys.

use formsvc_tests::browser::{Browser, Screen, Theme};
use serde_json::json;

use super::listener::{
    Listener, SECRET, assert_shows, event, show, signature, wait_for_body, wait_for_rows,
};

/// Returns the text of a response that the page requests.
async fn fetch(browser: &Browser, path: &str) -> String {
    let script = format!("return fetch('{path}').then((response) => response.text())");
    browser.run(&script).await.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn url_of_open_page_has_no_token() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.page.open(&browser).await;
    let (url, token) = listener.page.url.split_once("?token=").unwrap();
    assert!(token.len() >= 32, "{token}");
    assert_eq!(browser.url().await, url);
    assert_eq!(browser.run("return document.cookie").await, json!(""), "scripts cannot read it");
    // The cookie gives access from now on.
    browser.open(url).await;
    browser.until("return document.getElementById('live').dataset.state === 'live'").await;
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn new_deliveries_appear_with_details_and_are_filtered() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.page.open(&browser).await;
    browser.wait_for("No deliveries yet.").await;
    let body = event("sub_ada", &json!({ "Name": "Ada Lovelace" }));
    let signed = signature(body.as_bytes());
    let headers = [("x-service-signature", signed.as_str()), ("authorization", "Bearer hunter2")];
    assert_eq!(listener.send("", &headers, body.clone()).await, 200);
    browser.wait_for("sub_ada").await;
    assert_eq!(listener.send("", &[], event("sub_bob", &json!({}))).await, 401);
    assert_eq!(listener.deliver("{ \"n\" : 12345678901234567890.10 }").await, 400);
    browser.wait_for("no submission ID").await;
    assert_eq!(browser.count(".row").await, 3);

    show(&browser, 1).await;
    let expected = [
        "Valid signature",
        "Signed with the secret secret.txt.",
        "SPEC §5",
        "200, from the listener",
        "Secrets are masked.",
    ];
    assert_shows(&browser, &expected).await;
    let digits = signed.rsplit('=').next().unwrap();
    let page = browser.run("return document.documentElement.outerHTML").await.to_string();
    let record = fetch(&browser, "api/delivery?number=1").await;
    assert!(record.contains("sub_ada"), "{record}");
    for secret in [digits, SECRET, "hunter2"] {
        assert!(!page.contains(secret) && !record.contains(secret), "{secret}");
    }
    assert_eq!(fetch(&browser, "api/body?number=1").await, body);

    // Numbers keep their digits.
    show(&browser, 3).await;
    wait_for_body(&browser, "12345678901234567890.10").await;
    browser.touch("Raw").await;
    wait_for_body(&browser, "{ \"n\" : 12345678901234567890.10 }").await;
    browser.touch("Hex").await;
    wait_for_body(&browser, "00000000  7b 20 22 6e").await;

    browser.fill("Search", "LOVELACE").await;
    wait_for_rows(&browser, 1).await;
    // Only new deliveries that match the filter are shown.
    listener.deliver(event("sub_cy", &json!({ "Name": "Cy" }))).await;
    listener.deliver(event("sub_di", &json!({ "Name": "Di Lovelace" }))).await;
    browser.wait_for("sub_di").await;
    assert_eq!(browser.count(".row").await, 2);
    browser.touch("Clear").await;
    wait_for_rows(&browser, 5).await;
    browser.choose("Signature", "✗ missing signature").await;
    wait_for_rows(&browser, 1).await;
    browser.choose("Signature", "any refused").await;
    wait_for_rows(&browser, 2).await;
    browser.choose("Signature", "any").await;
    browser.choose("Response", "4xx").await;
    wait_for_rows(&browser, 2).await;
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn hidden_page_pauses_and_catches_up() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.page.open(&browser).await;
    let hide = async |is_hidden: bool| {
        let script = format!(
            "Object.defineProperty(document, 'hidden', {{ value: {is_hidden}, configurable: true }}); \
             document.dispatchEvent(new Event('visibilitychange'))"
        );
        browser.run(&script).await;
    };
    hide(true).await;
    browser.wait_for("Paused").await;
    listener.deliver(event("sub_missed", &json!({}))).await;
    hide(false).await;
    browser.wait_for("sub_missed").await;
    listener.deliver(event("sub_live", &json!({}))).await;
    browser.wait_for("sub_live").await;
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn attempts_are_listed_and_new_ones_keep_the_page() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&["--respond", "503,200"]).await;
    let body = event("sub_retried", &json!({}));
    let statuses = [
        listener.deliver(body.clone()).await,
        listener.deliver(body.clone()).await,
        listener.deliver(body).await,
    ];
    assert_eq!(statuses, [503, 200, 200]);
    listener.page.open(&browser).await;
    show(&browser, 3).await;
    let expected = [
        "All deliveries of this submission.",
        "attempt 2",
        "duplicate, because an earlier one was accepted",
    ];
    assert_shows(&browser, &expected).await;
    assert_eq!(browser.count(".attempts > li").await, 3);
    let attempts =
        "[[1, 'valid'], [2, 'valid'], [1, 'valid'], [1, 'signature_mismatch'], [2, 'valid']]";
    let runs = format!(
        "return import('./detail.js').then(({{ runsOf }}) =>
            runsOf({attempts}.map(([attempt, verdict]) => ({{ attempt, verdict }})))
                .map(run => run.length))"
    );
    assert_eq!(browser.run(&runs).await, json!([2, 3]), "one list for each run of the listener");
    // Elements that the user may be about to press are not replaced.
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
async fn page_is_usable_with_keys_alone() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    for id in ["sub_a", "sub_b", "sub_c"] {
        listener.deliver(event(id, &json!({}))).await;
    }
    listener.page.open(&browser).await;
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
    // Shortcuts are off in fields.
    browser.keys("sub_c").await;
    wait_for_rows(&browser, 1).await;
    browser.keys("\u{1b}").await;
    browser.keys("?").await;
    browser.until("return document.getElementById('help').open").await;
    browser.keys("\n").await;
    browser.until("return !document.getElementById('help').open").await;
    browser.keys("r").await;
    browser.until("return document.activeElement.textContent === 'Send'").await;
    browser.keys("\n").await;
    browser.wait_for("Replayed to").await;
    // A phone shows either the list or a delivery.
    browser.look_with(Screen::Phone, Theme::Dark).await;
    let is_visible = |selector: &str| {
        format!("return getComputedStyle(document.querySelector('{selector}')).display !== 'none'")
    };
    assert_eq!(browser.run(&is_visible(".list")).await, json!(false));
    browser.follow_here("← Deliveries").await;
    browser.until(&is_visible(".list")).await;
    assert_eq!(browser.run(&is_visible(".detail")).await, json!(false));
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}

#[tokio::test]
async fn long_list_shows_newest_and_loads_older_on_request() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&["--quiet"]).await;
    for number in 0..230 {
        listener.deliver(event(&format!("sub_{number}"), &json!({}))).await;
    }
    listener.page.open(&browser).await;
    wait_for_rows(&browser, 100).await;
    browser.touch("Show older").await;
    wait_for_rows(&browser, 200).await;
    browser.touch("Show older").await;
    wait_for_rows(&browser, 230).await;
    let order = "
        const numbers = [...document.querySelectorAll('.row')].map(row => Number(row.dataset.key));
        return numbers.every((number, at) => number === 230 - at);
    ";
    assert_eq!(browser.run(order).await, json!(true));
    // A new delivery does not move a list that the user has scrolled.
    browser.until("document.querySelector('#list-scroll').scrollTop = 4000; scrollTo(0, 4000); return true").await;
    listener.deliver(event("sub_new", &json!({}))).await;
    browser.wait_for("Show 1 new").await;
    assert_eq!(browser.count(".row").await, 230);
    browser.touch("Show 1 new").await;
    browser.wait_for("sub_new").await;
    browser.close().await;
}

#[tokio::test]
async fn signature_mismatch_is_explained() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    let body = event("sub_a", &json!({ "Name": "Ada" }));
    let signed = signature(body.as_bytes());
    let headers = [("x-service-signature", signed.as_str())];
    assert_eq!(listener.send("", &headers, format!("{body}\n")).await, 401);
    listener.page.open(&browser).await;
    show(&browser, 1).await;
    browser.wait_for("No known secret made this signature over this body.").await;
    browser.keys("w").await;
    browser
        .wait_for("The signature matches with the secret secret.txt when the causes are fixed.")
        .await;
    browser.wait_for("line break added").await;
    listener.page.assert_undisturbed(&browser).await;
    browser.close().await;
}
