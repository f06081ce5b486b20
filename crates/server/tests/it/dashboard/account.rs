//! One's own password and sessions.

use super::service::{EMAIL, PASSWORD, Service, sign_in};

const NEW: &str = "staple battery horse";

#[tokio::test]
async fn a_changed_password_ends_all_other_sessions_and_this_one_gets_a_new_token() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    let other = service.browser();
    sign_in(&other, EMAIL, PASSWORD).await.leads();
    let before = browser.cookie("formsvc_session");
    browser.get("/dashboard/account").await.is(200).says(EMAIL);
    let pairs = [("old", PASSWORD), ("password", NEW), ("again", NEW)];
    let answer = browser.post("/dashboard/account/password", &pairs).await;
    assert_eq!(answer.leads(), "/dashboard/account?said=password");
    assert_ne!(browser.cookie("formsvc_session"), before);
    browser.get("/dashboard/account").await.is(200);
    other.get("/dashboard/account").await.leads();
    sign_in(&service.browser(), EMAIL, PASSWORD).await.is(422);
    assert_eq!(sign_in(&service.browser(), EMAIL, NEW).await.leads(), "/dashboard");
}

#[tokio::test]
async fn a_password_is_changed_by_who_knows_it_and_to_a_good_one() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    for (pairs, told) in [
        ([("old", "wrong password"), ("password", NEW), ("again", NEW)], "not your password"),
        ([("old", PASSWORD), ("password", "short"), ("again", "short")], "at least 12 characters"),
        ([("old", PASSWORD), ("password", NEW), ("again", PASSWORD)], "not what you typed above"),
    ] {
        let answer = browser.post("/dashboard/account/password", &pairs).await.is(422);
        answer.says(told).does_not_say(NEW).does_not_say(PASSWORD);
    }
    sign_in(&service.browser(), EMAIL, PASSWORD).await.leads();
}

#[tokio::test]
async fn sessions_elsewhere_are_ended_and_this_one_stays() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    let other = service.browser();
    sign_in(&other, EMAIL, PASSWORD).await.leads();
    let answer = browser.post("/dashboard/account/sessions", &[]).await;
    assert_eq!(answer.leads(), "/dashboard/account?said=others");
    browser
        .get("/dashboard/account?said=others")
        .await
        .is(200)
        .says("All other sessions are ended.");
    other.get("/dashboard").await.leads();
}
