//! Untrusted text on the pages of the dashboard.

use formsvc_protocol::Form;
use formsvc_tests::browser::{Browser, payloads};
use http::StatusCode;
use serde_json::{Value, json};

use super::hook::Hook;
use super::inert::{ELSEWHERE, assert_inert};
use super::pages::{Names, is_there, paths};
use super::service::Service;

fn naughty() -> Vec<String> {
    serde_json::from_str(include_str!("../../../fixtures/forms/naughty.json")).unwrap()
}

/// Returns true if a text can be a label or a choice: one line without control characters.
fn is_a_line(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= 200 && !text.chars().any(char::is_control)
}

/// Removes duplicates, and splits the texts into groups that fit one form.
fn groups(texts: Vec<String>) -> Vec<Vec<String>> {
    let mut lines: Vec<_> = texts.into_iter().filter(|text| is_a_line(text)).collect();
    for line in &mut lines {
        *line = line.trim().to_owned();
    }
    lines.sort();
    lines.dedup();
    lines.chunks(150).map(<[String]>::to_vec).collect()
}

/// Returns the first and the last text of a group, for pages with few texts.
fn some(group: &[String]) -> [&String; 2] {
    [&group[0], &group[group.len() - 1]]
}

/// Adds a form with the texts of a group as labels and answers, a submission, a webhook, and a failed
/// delivery with all texts in the response.
async fn fill(service: &Service, group: &[String], hook: &Hook) -> Form {
    let field = |text: &String| json!({ "label": text, "type": "text", "help": text });
    let fields = Value::Array(group.iter().map(field).collect());
    let form = service.form(&group[0], &fields).await;
    hook.answer(StatusCode::BAD_GATEWAY, group.join("\n"));
    let url = format!("{}?{}", hook.url(), group.join("&"));
    let url: String = url.chars().filter(|c| !c.is_whitespace() && *c != '#').take(1_500).collect();
    service.admin.add_endpoint(&form.id, &url, &service.registrar).await.unwrap();
    let answers: serde_json::Map<_, _> =
        group.iter().map(|text| (text.clone(), Value::from(text.as_str()))).collect();
    service.admin.submit(&form.id, &Value::Object(answers).to_string()).await.unwrap();
    for text in some(group) {
        service.admin.create_key(&service.user.id, text).await.unwrap();
    }
    form
}

/// Opens every page and asserts that it is inert.
async fn look_at_every_page(browser: &Browser, service: &Service, names: &Names) {
    for path in paths(names) {
        browser.open(&service.at(&path)).await;
        assert!(is_there(browser).await, "{path}");
        assert_inert(browser, service, &path).await;
    }
}

/// Opens every page with the text in each query parameter that any page reads.
async fn look_with_parameters(browser: &Browser, service: &Service, names: &Names, text: &str) {
    let names_of_all = ["q", "state", "endpoint", "before", "after", "said", "next"];
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(names_of_all.map(|name| (name, text)))
        .finish();
    for path in paths(names) {
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}{query}");
        browser.open(&service.at(&path)).await;
        assert!(is_there(browser).await, "{path}");
        assert_inert(browser, service, &path).await;
    }
}

/// Sends forms that the service answers with a page that contains the text.
async fn do_what_shows_text_again(browser: &Browser, service: &Service, names: &Names, text: &str) {
    let (form, endpoint) = (names.of("{form}"), names.of("{endpoint}"));
    let form = format!("/dashboard/forms/{form}");
    let typed = [
        ("/dashboard/keys", "What is it for?", "Create the key"),
        ("/dashboard/new", "Title", "Create the form"),
        (&format!("{form}/channels/new"), "Address of your program", "Add the webhook"),
        (&format!("{form}/settings"), "Sites whose pages may send to it", "Save"),
    ];
    for (path, label, button) in typed {
        browser.open(&service.at(path)).await;
        browser.fill(label, text).await;
        browser.press(button).await;
        assert_inert(browser, service, path).await;
    }
    let pressed = [
        (format!("{form}/channels/{endpoint}"), "Send test"),
        (format!("{form}/fields"), "Preview"),
    ];
    for (path, button) in pressed {
        browser.open(&service.at(&path)).await;
        browser.press(button).await;
        assert_inert(browser, service, &path).await;
    }
}

/// Stores texts in every place that accepts text, and checks every page.
async fn show_everywhere(texts: Vec<String>, at_least: usize) {
    let Some(browser) = Browser::or_skip().await else { return };
    let groups = groups(texts);
    let shown: usize = groups.iter().map(Vec::len).sum();
    assert!(shown >= at_least, "{shown}");
    let service = Service::of(&groups[0][0]).await;
    let hook = Hook::start().await;
    service.sign_in(&browser).await;
    for (number, group) in groups.iter().enumerate() {
        let form = fill(&service, group, &hook).await;
        let names = Names::of_form(&service, &form.id).await;
        browser.open(&service.at(&format!("/dashboard/forms/{}", form.id))).await;
        let heading = browser.find("h1").await.prop("textContent").await.unwrap();
        assert_eq!(heading.as_deref(), Some(group[0].as_str()), "the title is shown unchanged");
        look_at_every_page(&browser, &service, &names).await;
        if number == 0 {
            look_with_parameters(&browser, &service, &names, &group[group.len() / 2]).await;
        }
        do_what_shows_text_again(&browser, &service, &names, &group[group.len() / 3]).await;
    }
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn payloads_are_inert_on_every_page() {
    show_everywhere(payloads(ELSEWHERE), 280).await;
}

#[tokio::test]
async fn naughty_strings_are_inert_on_every_page() {
    show_everywhere(naughty(), 440).await;
}
