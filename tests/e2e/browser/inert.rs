//! Asserts that a page displays untrusted text without acting on it.

use formsvc_tests::browser::{Browser, MARK};

use super::service::Service;

/// Target of payloads: an address without a listener, outside the service.
pub(super) const ELSEWHERE: &str = "http://127.0.0.1:9/stolen";

/// Moves the mouse over every element and focuses it. Returns the elements that no template of the project
/// creates.
const LOOK: &str = "
    const own = '{own}';
    const all = [...document.querySelectorAll('*')].filter(element => !own || !element.matches(own));
    for (const element of all) {
        if (element.focus) element.focus({ preventScroll: true });
        for (const kind of ['mouseover', 'focus', 'toggle', 'error', 'load'])
            element.dispatchEvent(new Event(kind, { bubbles: false }));
    }
    const strange = element =>
        element.matches('script, iframe, object, embed, img, svg *, math, base, video, audio, marquee')
        || [...element.attributes].some(({ name, value }) =>
            name.startsWith('on') || /^\\s*javascript:/i.test(value) && /^(href|src|action|formaction)$/.test(name));
    return all.filter(strange).map(element => element.outerHTML);
";

/// Waits for the next frame. Before its first frame a browser handles `autofocus`, and logs an error if
/// another element has the focus by then.
const A_FRAME: &str = "return new Promise(done => requestAnimationFrame(() => done(true)));";

/// Asserts that the current page did not act on untrusted text, and does not when a user touches it.
pub(super) async fn assert_inert(browser: &Browser, service: &Service, what: &str) {
    assert_inert_but_for(browser, "", |url| service.is_ours(url), what).await;
}

/// The same as [`assert_inert`] for a page with its own script, which the selector `own` matches.
pub(super) async fn assert_inert_but_for(
    browser: &Browser,
    own: &str,
    is_ours: impl Fn(&str) -> bool,
    what: &str,
) {
    browser.run(A_FRAME).await;
    let strange = browser.run(&LOOK.replace("{own}", own)).await;
    assert_eq!(strange, serde_json::json!([]), "{what}");
    let mark = browser.run(&format!("return {MARK} === undefined")).await;
    assert_eq!(mark, serde_json::json!(true), "{what}: a script ran");
    browser.seen().await.assert_inert(is_ours);
}
