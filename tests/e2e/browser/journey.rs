//! The tasks of an owner, starting with the first start of a service.

use formsvc_client::{Client, ErrorCode};
use formsvc_tests::browser::Browser;
use http::StatusCode;

use super::hook::Hook;
use super::started::Started;

const PASSWORD: &str = "correct horse battery staple";

/// Sends the form in the browser, as a visitor.
async fn submit(browser: &Browser, public: &str, message: &str) {
    browser.open(public).await;
    browser.fill("Message required", message).await;
    browser.press("Send").await;
    assert!(browser.text().await.contains("Thank you"));
}

async fn become_the_owner(browser: &Browser, server: &Started) {
    browser.open(&server.link).await;
    browser.fill("Name", "Ada").await;
    browser.fill("E-mail", "ada@example.org").await;
    browser.fill("Password", PASSWORD).await;
    browser.fill("Password, once more", PASSWORD).await;
    browser.press("Become the owner").await;
    assert!(browser.text().await.contains("No forms yet"));
    browser.open(&server.link).await;
    assert!(!browser.text().await.contains("Become the owner"), "the link works once");
}

async fn sign_in_again(browser: &Browser, server: &Started) {
    browser.open(&format!("{}/dashboard", server.base_url)).await;
    browser.press("Sign out").await;
    browser.open(&format!("{}/dashboard/keys", server.base_url)).await;
    browser.fill("E-mail", "ada@example.org").await;
    browser.fill("Password", "wrong horse battery staple").await;
    browser.press("Sign in").await;
    assert!(browser.url().await.ends_with("/dashboard/sign-in"), "{}", browser.url().await);
    browser.fill("Password", PASSWORD).await;
    browser.press("Sign in").await;
    assert!(browser.url().await.ends_with("/dashboard/keys"), "{}", browser.url().await);
}

/// Creates and publishes a form. Returns its public URL and its dashboard URL.
async fn build_a_form(browser: &Browser) -> (String, String) {
    browser.follow("Forms").await;
    browser.follow("New form").await;
    browser.fill("Title", "Guest book").await;
    browser.press("Create the form").await;
    browser.follow("Fields").await;
    browser.fill("Label", "Message").await;
    browser.tick("Must be answered").await;
    browser.press("Add field").await;
    let second = browser.find("#f1-label").await;
    second.send_keys("Name").await.expect("a field that can be typed into");
    browser.press("Move up field 2").await;
    browser.press("Preview").await;
    let preview = browser.find("#preview").await.text().await.unwrap();
    assert!(preview.contains("Name") && preview.contains("Message"), "{preview}");
    browser.press("Save and publish").await;
    assert!(browser.text().await.contains("Published"), "{}", browser.text().await);
    let at = browser.url().await;
    let dashboard = at.split('?').next().unwrap().trim_end_matches("/fields").to_owned();
    let public = browser.find("#view-form").await.prop("href").await.unwrap().unwrap();
    (public, dashboard)
}

/// Adds the webhook. Returns the secret that the page shows.
async fn add_a_webhook(browser: &Browser, dashboard: &str, hook: &Hook) -> String {
    browser.open(&format!("{dashboard}/channels")).await;
    browser.follow("Add webhook").await;
    browser.fill("Address of your program", "http://example.org/hook").await;
    browser.press("Add the webhook").await;
    assert!(browser.find("#url-error").await.text().await.unwrap().contains("https"));
    browser.fill("Address of your program", &hook.url()).await;
    browser.press("Add the webhook").await;
    let secret = browser.field("Signing secret").await.prop("value").await.unwrap().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 49, "{}", secret.len());
    browser.follow("I have it").await;
    let shown = browser.run("return document.documentElement.outerHTML").await.to_string();
    assert!(shown.contains(&hook.url()) && !shown.contains(&secret), "shown once");
    secret
}

#[tokio::test]
async fn owner_builds_form_and_resends_failed_delivery() {
    let Some(browser) = Browser::or_skip().await else { return };
    let server = Started::for_the_first_time().await;
    let hook = Hook::start().await;
    become_the_owner(&browser, &server).await;
    sign_in_again(&browser, &server).await;
    let (public, dashboard) = build_a_form(&browser).await;
    let secret = add_a_webhook(&browser, &dashboard, &hook).await;

    submit(&browser, &public, "all is well").await;
    browser.open(&format!("{dashboard}/deliveries")).await;
    browser.reload_until("delivered").await;
    let came = hook.came();
    assert_eq!(came.len(), 1);
    assert!(came[0].is_signed_with(&secret), "signed with the secret that the page showed");

    hook.answer(StatusCode::INTERNAL_SERVER_ERROR, "no room at the inn");
    submit(&browser, &public, "nobody home").await;
    browser.open(&format!("{dashboard}/deliveries")).await;
    browser.reload_until("failed").await;
    browser.find("tbody th a").await.click().await.unwrap();
    browser.reload_until("Attempt 4").await;
    assert!(browser.text().await.contains("no room at the inn"));
    hook.answer(StatusCode::NO_CONTENT, "");
    browser.press("Send once more").await;
    browser.reload_until("Attempt 5").await;
    assert!(browser.text().await.contains("asked for"));
    let bodies: Vec<_> = hook.came().into_iter().map(|delivery| delivery.body).collect();
    assert_eq!(bodies.len(), 6);
    assert!(bodies[1..].iter().all(|body| *body == bodies[1]), "every attempt has the same body");

    browser.open(&dashboard).await;
    let text = browser.text().await;
    assert!(text.contains("all is well") && text.contains("nobody home"), "{text}");
    browser.seen().await.assert_inert(|url| url.starts_with(&server.base_url));
    browser.close().await;
}

#[tokio::test]
async fn api_key_is_shown_once_and_refused_after_revocation() {
    let Some(browser) = Browser::or_skip().await else { return };
    let server = Started::for_the_first_time().await;
    become_the_owner(&browser, &server).await;
    browser.open(&format!("{}/dashboard/keys", server.base_url)).await;
    browser.fill("What is it for?", "nightly export").await;
    browser.press("Create the key").await;
    let key = browser.field("API key").await.prop("value").await.unwrap().unwrap();
    browser.follow("I have it").await;
    let shown = browser.run("return document.documentElement.outerHTML").await.to_string();
    assert!(shown.contains("nightly export") && !shown.contains(&key), "shown once");
    let client =
        Client::builder().base_url(&server.base_url).api_key(key.as_str()).build().unwrap();
    assert_eq!(client.me().await.unwrap().email, "ada@example.org");
    browser.follow("Revoke nightly export…").await;
    browser.press("Revoke the key").await;
    assert!(browser.text().await.contains("revoked"));
    let refused = client.me().await.unwrap_err();
    assert_eq!(refused.code(), Some(&ErrorCode::KeyRevoked));
    browser.close().await;
}
