//! That a page shows what strangers wrote, and does nothing of it.

use formsvc_tests::browser::{Browser, MARK};

use super::service::Service;

/// Where payloads want to go: nobody listens there, and it is none of ours.
pub(super) const ELSEWHERE: &str = "http://127.0.0.1:9/stolen";

/// Touches every element as a visitor with a mouse and a keyboard would, and gives what is there that no
/// template of ours makes.
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

/// Waits for the next frame. A browser sees to `autofocus` before its first one, and complains in the console
/// of an element that was focused meanwhile.
const A_FRAME: &str = "return new Promise(done => requestAnimationFrame(() => done(true)));";

/// That the page that is shown has done nothing, and does nothing when it is touched.
///
/// # Panics
///
/// When it does.
pub(super) async fn assert_inert(browser: &Browser, service: &Service, what: &str) {
    assert_inert_but_for(browser, "", |url| service.is_ours(url), what).await;
}

/// The same of a page that has a script of its own, which a selector finds.
///
/// # Panics
///
/// When it does something.
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
