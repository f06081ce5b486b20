//! A visitor of a public form.

use formsvc_server::store::PageRequest;
use formsvc_tests::browser::{Browser, payloads};
use serde_json::json;

use super::inert::{ELSEWHERE, assert_inert};
use super::service::Service;

#[tokio::test]
async fn visitor_corrects_refused_answers_and_submits() {
    let Some(browser) = Browser::or_skip().await else { return };
    let service = Service::start().await;
    let fields = json!([
        { "label": "Name", "type": "text", "required": true },
        { "label": "Nights", "type": "number", "max": 14 },
        { "label": "Room", "type": "choice", "choices": ["North", "South"] },
        { "label": "Anything else?", "type": "long_text" },
    ]);
    let form = service.form("Stay with us", &fields).await;
    browser.open(&service.at(&form.url)).await;
    // The checks of the browser would keep invalid answers from the server.
    browser.run("document.querySelector('form').noValidate = true").await;
    browser.fill("Nights", "15").await;
    browser.tick("South").await;
    browser.press("Send").await;
    let text = browser.text().await;
    assert!(text.contains("Nothing was sent yet"), "{text}");
    assert_eq!(browser.field("Nights").await.prop("value").await.unwrap().unwrap(), "15");
    browser.fill("Name required", "Grace").await;
    browser.fill("Nights", "14").await;
    browser.press("Send").await;
    assert!(browser.text().await.contains("Thank you"));
    browser.seen().await.assert_inert(|url| service.is_ours(url));
    let request =
        PageRequest { user: service.user.id.clone(), form: form.id, before: None, limit: 10 };
    let page = service.admin.store().page(request).await.unwrap().unwrap();
    let kept: serde_json::Value = serde_json::from_slice(&page.items).unwrap();
    assert_eq!(kept["data"], json!({ "Name": "Grace", "Nights": 14, "Room": "South" }));
    browser.close().await;
    service.stop().await;
}

#[tokio::test]
async fn untrusted_text_is_inert_on_public_form() {
    let Some(browser) = Browser::or_skip().await else { return };
    let service = Service::start().await;
    let payloads = payloads(ELSEWHERE);
    assert!(payloads.len() >= 200);
    for (number, some) in payloads.chunks(96).enumerate() {
        let field = |payload: &String| json!({ "label": payload, "type": "choice", "choices": [payload], "help": payload });
        let fields = some.iter().map(field).collect();
        let form = service.form(&some[number], &serde_json::Value::Array(fields)).await;
        browser.open(&service.at(&form.url)).await;
        assert!(browser.text().await.contains(some[number].trim()), "the title is shown unchanged");
        assert_inert(&browser, &service, "the page").await;
        // Sends an invalid choice for each field.
        browser
            .run(
                "for (const choice of document.querySelectorAll('[type=radio]')) {
                     choice.value = choice.name + '!';
                     choice.checked = true;
                 }
                 document.querySelector('form').submit()",
            )
            .await;
        assert!(browser.find("h2").await.text().await.unwrap().contains("Nothing was sent yet"));
        assert_inert(&browser, &service, "the page with the refused answers").await;
    }
    browser.close().await;
    service.stop().await;
}
