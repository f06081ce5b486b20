//! The appearance of the page: phone and desktop width, light and dark.

use std::path::Path;

use formsvc_protocol::signature::HEADER;
use formsvc_tests::browser::{Browser, Screen, Theme};
use http::StatusCode;
use serde_json::json;

use super::super::hook::Hook;
use super::super::looks::{FLAWS, LOOKS, PICTURES};
use super::listener::{Listener, event, show, signature, signature_of_age};

/// Returns the pairs of colours whose contrast is too low (WCAG 2.2) in the current theme.
const CONTRAST: &str = "
    const style = getComputedStyle(document.documentElement);
    const light = name => {
        const digits = style.getPropertyValue(`--${name}`).trim().slice(1);
        const [r, g, b] = [0, 2, 4].map(at => {
            const share = parseInt(digits.slice(at, at + 2), 16) / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const sheets = ['page', 'sheet', 'soft', 'chosen'];
    const pairs = [
        ...sheets.flatMap(sheet => [['text', sheet, 7], ['quiet', sheet, 4.5], ['link', sheet, 4.5],
            ['bad', sheet, 4.5], ['good', sheet, 4.5], ['warn', sheet, 4.5], ['accent', sheet, 3]]),
        ...['bad', 'good', 'warn'].flatMap(tone => [[tone, `${tone}-sheet`, 4.5], ['text', `${tone}-sheet`, 7],
            ['quiet', `${tone}-sheet`, 4.5]]),
        ['on-accent', 'accent', 4.5], ['line', 'page', 3], ['line', 'sheet', 3],
    ];
    return pairs.flatMap(([front, back, least]) => {
        const [a, b] = [light(front), light(back)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        return contrast >= least ? [] : [`${front} on ${back}: ${contrast.toFixed(2)}`];
    });
";

/// Checks the page on all screens in all themes, and adds its flaws.
async fn look(browser: &Browser, page: &str, flaws: &mut Vec<String>) {
    for (screen, theme, how) in LOOKS {
        browser.look_with(screen, theme).await;
        for script in [FLAWS, CONTRAST] {
            let found = browser.run(script).await;
            let found = found.as_array().unwrap().iter();
            flaws.extend(found.map(|flaw| format!("{page}, {how}: {flaw}")));
        }
        if let Some(folder) = std::env::var_os(PICTURES) {
            let file = Path::new(&folder).join(format!("inspector-{page}-{how}.png"));
            browser.picture(screen, &file).await;
        }
    }
}

/// Sends deliveries of all kinds. Returns the number of the first of each kind, and a name for it.
async fn furnish(listener: &Listener, hook: &Hook) -> Vec<(u64, &'static str)> {
    let long = "Donaudampfschifffahrtsgesellschaftskapitän".repeat(9);
    let answers = json!({ "Name": "Łucja", "More": long });
    let body = event("sub_019abcde0123456789abcdef01234567", &answers);
    hook.answer(StatusCode::OK, r#"{"received":true,"id":"sub_019abcde0123456789abcdef01234567"}"#);
    for _ in 0..3 {
        listener.deliver(body.clone()).await;
    }
    listener.send("", &[], event(&long, &json!({}))).await;
    listener.send("", &[(HEADER, "t=1,v1=00")], "\0\u{1}").await;
    listener.deliver("not JSON").await;
    let signed = signature(body.as_bytes());
    listener.send("", &[(HEADER, &signed)], format!("{body}\n")).await;
    let old = signature_of_age(4_000, body.as_bytes());
    listener.send("hooks/forms?a=1", &[(HEADER, &old)], body).await;
    hook.answer(StatusCode::BAD_GATEWAY, format!("<h1>upstream gone</h1>\n{long}"));
    let failed = event("sub_0fedcba9876543210fedcba987654321", &json!({ "Name": "Ada" }));
    listener.deliver(failed.clone()).await;
    listener.deliver(failed).await;
    let pages = ["attempts", "unsigned", "malformed", "no-event", "mismatch", "stale"];
    let mut pages: Vec<_> = (3..).zip(pages).collect();
    pages.push((10, "forwarded"));
    pages
}

#[tokio::test]
async fn inspector_fits_all_screens_and_is_accessible() {
    let Some(browser) = Browser::or_skip().await else { return };
    let hook = Hook::start().await;
    let listener = Listener::start(&["--respond", "503,pass", "--forward-to", &hook.url()]).await;
    let mut flaws = Vec::new();
    listener.page.open(&browser).await;
    look(&browser, "empty", &mut flaws).await;
    let pages = furnish(&listener, &hook).await;
    browser.wait_for("#10").await;
    look(&browser, "list", &mut flaws).await;
    for (number, page) in pages {
        show(&browser, number).await;
        look(&browser, page, &mut flaws).await;
    }
    show(&browser, 7).await;
    browser.touch("Explain the signature").await;
    browser.wait_for("when the causes are fixed.").await;
    look(&browser, "explained", &mut flaws).await;
    browser.touch("Replay").await;
    browser.tick("Made now").await;
    browser.wait_for("Sign it although its sender is unknown").await;
    look(&browser, "replay-confirmation", &mut flaws).await;
    browser.tick("As received").await;
    browser.choose("Send to", "Other address").await;
    browser.fill("Address", "ftp://example.org").await;
    browser.touch("Send").await;
    browser.wait_for("The address is not valid").await;
    look(&browser, "replay-refused", &mut flaws).await;
    show(&browser, 2).await;
    browser.touch("Edit and replay").await;
    browser.find("#replay-body").await;
    look(&browser, "edit", &mut flaws).await;
    browser.touch("Send").await;
    browser.wait_for("Replayed to").await;
    look(&browser, "replayed", &mut flaws).await;
    browser.touch("Copy as curl").await;
    browser.find("#curl").await;
    look(&browser, "curl", &mut flaws).await;
    browser.run("document.getElementById('help').showModal()").await;
    look(&browser, "help", &mut flaws).await;
    browser.run("document.getElementById('help').close(); location.hash = '#4711'").await;
    browser.wait_for("There is no delivery 4711.").await;
    look(&browser, "gone", &mut flaws).await;
    browser.run("location.hash = ''").await;
    browser.fill("Search", "nothing has this").await;
    browser.wait_for("No delivery matches the filter.").await;
    look(&browser, "no-match", &mut flaws).await;
    drop(listener);
    browser.wait_for("Not connected").await;
    look(&browser, "lost", &mut flaws).await;
    assert!(flaws.is_empty(), "{}", flaws.join("\n"));
    browser.close().await;
}

#[tokio::test]
async fn hex_on_a_phone_scrolls_to_the_end_of_lines() {
    let Some(browser) = Browser::or_skip().await else { return };
    let listener = Listener::start(&[]).await;
    listener.deliver(event("sub_1", &json!({ "Name": "Ada" }))).await;
    listener.page.open(&browser).await;
    show(&browser, 1).await;
    browser.look_with(Screen::Phone, Theme::Light).await;
    browser.touch("Hex").await;
    browser.run("document.querySelector('#body .hex').scrollIntoView()").await;
    browser.wait_for("00000000").await;
    let covered = browser
        .run(
            "const code = document.querySelector('#body .hex');
             const text = document.createRange();
             text.selectNodeContents(code);
             return code.scrollWidth >= Math.floor(text.getBoundingClientRect().width);",
        )
        .await;
    assert_eq!(covered, true, "the end of a line cannot be reached");
    browser.close().await;
}
