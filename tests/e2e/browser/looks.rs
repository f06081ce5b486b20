//! The appearance of pages on phones and desktops, in the light and the dark theme.

use std::ffi::OsString;
use std::path::Path;

use formsvc_tests::browser::{Browser, Screen, Theme};
use http::StatusCode;
use serde_json::json;

use super::hook::Hook;
use super::pages::{Names, is_there, paths};
use super::service::Service;

/// Environment variable with the directory for screenshots of every page. Optional.
pub(super) const PICTURES: &str = "FORMSVC_PICTURES";

pub(super) const LOOKS: [(Screen, Theme, &str); 4] = [
    (Screen::Phone, Theme::Light, "phone-light"),
    (Screen::Phone, Theme::Dark, "phone-dark"),
    (Screen::Desktop, Theme::Light, "desktop-light"),
    (Screen::Desktop, Theme::Dark, "desktop-dark"),
];

/// Finds elements that are wider than the screen and do not scroll, controls that are too small for a
/// finger, and elements without an accessible name.
pub(super) const FLAWS: &str = "
    const flaws = [];
    const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
    if (wide > 0) flaws.push(`the page is ${wide} px too wide`);
    for (const field of document.querySelectorAll('input:not([type=hidden], [hidden]), select, textarea'))
        if (!field.labels.length && !field.ariaLabel && !field.ariaHidden)
            flaws.push(`no label: ${field.outerHTML}`);
    for (const able of document.querySelectorAll('button:not([aria-hidden]), a.button')) {
        const { width, height } = able.getBoundingClientRect();
        if (width && (width < 24 || height < 24)) flaws.push(`too small: ${able.outerHTML}`);
        if (!able.innerText.trim()) flaws.push(`no name: ${able.outerHTML}`);
    }
    if (document.querySelectorAll('h1').length !== 1) flaws.push('not one h1');
    let level = 1;
    for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
        const next = Number(heading.localName[1]);
        if (next > level + 1) flaws.push(`h${level} is followed by h${next}`);
        level = next;
    }
    const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
    for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) flaws.push(`twice: #${id}`);
    return flaws;
";

/// Adds a realistic form with long words, and a failed delivery.
async fn furnish(service: &Service, hook: &Hook) -> Names {
    let fields = json!([
        { "label": "Name", "type": "text", "required": true, "help": "As on your passport." },
        { "label": "E-mail", "type": "email", "required": true },
        { "label": "Which workshops?", "type": "multiple_choice", "choices": ["Rust", "SQL", "Tea"] },
        { "label": "Anything else?", "type": "long_text" },
    ]);
    let form = service.form("Summer school 2027: registration", &fields).await;
    hook.answer(StatusCode::BAD_GATEWAY, "upstream gone ".repeat(60));
    let url = format!("{}/{}", hook.url(), "rather-long-path/".repeat(6));
    service.admin.add_endpoint(&form.id, &url, &service.registrar).await.unwrap();
    for (name, more) in [("Grace Hopper", "No."), ("Łucja Wałęsa-Brzęczyszczykiewicz", "")] {
        let more = format!("{more}{}", "Donaudampfschifffahrtsgesellschaftskapitän".repeat(3));
        let answers = json!({
            "Name": name, "E-mail": "someone@example.org", "Which workshops?": ["Rust", "Tea"],
            "Anything else?": more,
        });
        service.admin.submit(&form.id, &answers.to_string()).await.unwrap();
    }
    service.admin.create_key(&service.user.id, "nightly export").await.unwrap();
    Names::of_form(service, &form.id).await
}

/// Checks the appearance of pages and collects their flaws.
struct Looker<'a> {
    browser: &'a Browser,
    service: &'a Service,
    pictures: Option<OsString>,
    flaws: Vec<String>,
}

impl Looker<'_> {
    /// Opens pages and checks each.
    async fn open(&mut self, paths: &[String]) {
        for path in paths {
            self.browser.open(&self.service.at(path)).await;
            assert!(is_there(self.browser).await, "{path}");
            self.look(&name(path)).await;
        }
    }

    /// Checks the current page with every screen and theme.
    async fn look(&mut self, page: &str) {
        for (screen, theme, how) in LOOKS {
            self.browser.look_with(screen, theme).await;
            let found = self.browser.run(FLAWS).await;
            let found = found.as_array().unwrap().iter();
            self.flaws.extend(found.map(|flaw| format!("{page}, {how}: {flaw}")));
            if let Some(folder) = &self.pictures {
                let file = Path::new(folder).join(format!("{page}-{how}.png"));
                self.browser.picture(screen, &file).await;
            }
        }
    }
}

/// Returns a name for a page: its path, with a mark in place of each id.
fn name(path: &str) -> String {
    let path = path.split('?').next().unwrap_or_default();
    let words = path.split('/').filter(|word| !word.is_empty());
    words.map(|word| if word.len() < 24 { word } else { "it" }).collect::<Vec<_>>().join("-")
}

#[tokio::test]
async fn pages_fit_all_screens_and_controls_have_names() {
    let Some(browser) = Browser::or_skip().await else { return };
    let service = Service::start().await;
    let hook = Hook::start().await;
    let pictures = std::env::var_os(PICTURES);
    let mut looker = Looker { browser: &browser, service: &service, pictures, flaws: Vec::new() };
    looker.open(&["/dashboard/sign-in".to_owned(), service.welcome().await]).await;
    service.sign_in(&browser).await;
    looker.look("dashboard-empty").await;
    let names = furnish(&service, &hook).await;
    let signed_in = |path: &String| !path.contains("sign-in");
    looker.open(&paths(&names).into_iter().filter(signed_in).collect::<Vec<_>>()).await;

    let form = service.at(&format!("/dashboard/forms/{}", names.of("{form}")));
    let endpoint = format!("{form}/channels/{}", names.of("{endpoint}"));
    for (page, button, name) in [
        (&format!("{form}/fields"), "Preview", "fields-preview"),
        (&endpoint, "Send test", "webhook-tested"),
        (&endpoint, "Make a new secret", "webhook-secret"),
    ] {
        browser.open(page).await;
        browser.press(button).await;
        looker.look(name).await;
    }
    browser.open(&service.at("/dashboard/keys")).await;
    browser.fill("What is it for?", "reports").await;
    browser.press("Create the key").await;
    looker.look("key-made").await;
    browser.open(&format!("{form}/channels/new")).await;
    browser.fill("Address of your program", "http://example.org").await;
    browser.press("Add the webhook").await;
    looker.look("webhook-refused").await;

    assert!(looker.flaws.is_empty(), "{}", looker.flaws.join("\n"));
    browser.close().await;
    service.stop().await;
}
