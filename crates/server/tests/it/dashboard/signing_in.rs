//! Getting in and out: links, passwords, sessions, cookies, and how often somebody may try.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use formsvc_protocol::FormInstant;
use formsvc_server::admin::CreatedLink;
use formsvc_server::dashboard::{FirstLink, Site, first_link};
use formsvc_server::store::TokenHash;
use secrecy::ExposeSecret;

use super::service::{EMAIL, PASSWORD, Service, Wanted, sign_in};

const SESSION: &str = "formsvc_session";
fn path_of(link: &CreatedLink) -> String {
    link.path().expose_secret().to_owned()
}

const OWNER: [(&str, &str); 4] =
    [("name", "Ada"), ("email", EMAIL), ("password", PASSWORD), ("again", PASSWORD)];

#[tokio::test]
async fn the_first_owner_gets_in_by_a_link_that_works_once() {
    let service = Service::new().await;
    let FirstLink::Link(link) = first_link(&service.admin).await.unwrap() else { panic!() };
    let (browser, url) = (service.browser(), path_of(&link));
    // A mail program or a preview that opens it uses nothing up.
    service.browser().get(&url).await.is(200);
    browser.get(&url).await.is(200).says("You become the owner");
    for (wrong, told) in [
        (("password", "short"), "at least 12 characters"),
        (("again", "something else"), "not what you typed"),
        (("email", "nobody"), "needs a name, an @ and a domain"),
        (("name", " "), "cannot be blank"),
    ] {
        let pairs = OWNER.map(|pair| if pair.0 == wrong.0 { wrong } else { pair });
        let answer = browser.post(&url, &pairs).await.is(422);
        answer.says(told).does_not_say(PASSWORD);
    }
    let answer = browser.post(&url, &OWNER).await;
    assert_eq!(answer.leads(), "/dashboard?said=welcome");
    browser.get("/dashboard?said=welcome").await.is(200).says(EMAIL).says("Welcome.");
    assert!(matches!(first_link(&service.admin).await.unwrap(), FirstLink::NotNeeded));
    for other in [&browser, &service.browser()] {
        other.get(&url).await.is(410).says("does not work any more");
        other.post(&url, &OWNER).await;
    }
    assert_eq!(service.admin.list_users().await.unwrap().len(), 1);
    assert_eq!(sign_in(&service.browser(), EMAIL, PASSWORD).await.leads(), "/dashboard");
}

#[tokio::test]
async fn a_link_is_for_the_only_user_and_somebody_has_to_choose_among_several() {
    let service = Service::new().await;
    service.admin.create_user(EMAIL, "Ada").await.unwrap();
    let FirstLink::Link(link) = first_link(&service.admin).await.unwrap() else { panic!() };
    let (browser, url) = (service.browser(), path_of(&link));
    browser.get(&url).await.is(200).says("Choose a password").says(EMAIL);
    service.admin.create_user("bob@example.org", "Bob").await.unwrap();
    assert!(matches!(first_link(&service.admin).await.unwrap(), FirstLink::Ask));
    let pairs = [("password", PASSWORD), ("again", PASSWORD)];
    assert_eq!(browser.post(&url, &pairs).await.leads(), "/dashboard?said=password-set");
    browser.get("/dashboard").await.is(200).says(EMAIL);
}

#[tokio::test]
async fn what_is_no_link_is_gone() {
    let service = Service::new().await;
    let browser = service.browser();
    for token in ["x".repeat(43), "x".to_owned(), "..%2f".to_owned(), "%ff".to_owned()] {
        browser.get(&format!("/dashboard/welcome/{token}")).await.is(410);
    }
}

#[tokio::test]
async fn signing_in_begins_a_session_of_its_own_and_ends_the_one_before() {
    let service = Service::new().await;
    service.user(EMAIL).await;
    let browser = service.browser();
    // Somebody else's session is no way in: the token is ours and new.
    browser.set_cookie(SESSION, &"A".repeat(43));
    assert_eq!(sign_in(&browser, EMAIL, PASSWORD).await.leads(), "/dashboard");
    let first = browser.cookie(SESSION).unwrap();
    assert_ne!(first, "A".repeat(43));
    browser.get("/dashboard/sign-in").await.leads();
    // Who is signed in and signs in again has another token, and the first one is worth nothing.
    browser.get("/dashboard").await.is(200);
    let pairs = [("email", EMAIL), ("password", PASSWORD)];
    browser.post("/dashboard/sign-in", &pairs).await.leads();
    let second = browser.cookie(SESSION).unwrap();
    assert_ne!(first, second);
    assert_eq!(service.store.session(&TokenHash::of(&first)).await.unwrap(), None);
    assert!(service.store.session(&TokenHash::of(&second)).await.unwrap().is_some());
    // What a store has is no way in either.
    let stolen = service.browser();
    stolen.set_cookie(SESSION, &hex::encode(TokenHash::of(&second).0)[..43]);
    assert!(stolen.get("/dashboard").await.leads().starts_with("/dashboard/sign-in"));
}

#[tokio::test]
async fn signing_out_ends_the_session_on_the_server() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    let token = browser.cookie(SESSION).unwrap();
    let answer = browser.post("/dashboard/sign-out", &[]).await;
    assert_eq!(answer.leads(), "/dashboard/sign-in?said=signed-out");
    assert_eq!(browser.cookie(SESSION), None);
    browser.set_cookie(SESSION, &token);
    assert_eq!(
        browser.get("/dashboard/keys").await.leads(),
        "/dashboard/sign-in?next=%2Fdashboard%2Fkeys"
    );
    browser.get("/dashboard/sign-in?said=signed-out").await.is(200).says("You are signed out.");
}

#[tokio::test]
async fn a_session_ends_by_itself_after_14_days() {
    let now = Arc::new(AtomicI64::new(1_700_000_000_000_000));
    let clock = Arc::clone(&now);
    let store_clock = Arc::new(move || FormInstant::from_micros(clock.load(Ordering::Relaxed)));
    let service = Service::with(Wanted { store_clock, ..Wanted::default() }).await;
    let (browser, _) = service.member().await;
    let day = 24 * 3_600 * 1_000_000;
    now.fetch_add(14 * day - 1_000_000, Ordering::Relaxed);
    browser.get("/dashboard").await.is(200);
    now.fetch_add(2_000_000, Ordering::Relaxed);
    assert_eq!(browser.get("/dashboard").await.leads(), "/dashboard/sign-in");
}

#[tokio::test]
async fn cookies_are_out_of_reach_of_scripts_other_sites_and_the_rest_of_the_service() {
    let service = Service::new().await;
    service.user(EMAIL).await;
    let browser = service.browser();
    let visit = browser.get("/dashboard/sign-in").await;
    let [visit] = visit.cookies()[..] else { panic!("{visit:?}") };
    assert!(visit.ends_with("; Path=/dashboard; HttpOnly; SameSite=Lax"), "{visit}");
    let pairs = [("email", EMAIL), ("password", PASSWORD)];
    let answer = browser.post("/dashboard/sign-in", &pairs).await;
    let [session, gone] = answer.cookies()[..] else { panic!("{answer:?}") };
    let fourteen_days = "; Path=/dashboard; Max-Age=1209600; HttpOnly; SameSite=Lax";
    assert!(session.starts_with("formsvc_session=") && session.ends_with(fourteen_days));
    assert!(gone.starts_with("formsvc_visit=;"), "{gone}");
    // Behind a proxy that brings TLS.
    let site = Site::at("https://forms.example.org").unwrap();
    let service = Service::with(Wanted { site, ..Wanted::default() }).await;
    let answer = service.browser().get("/dashboard/sign-in").await.is(200);
    let [visit] = answer.cookies()[..] else { panic!("{answer:?}") };
    assert!(visit.starts_with("__Secure-formsvc_visit="), "{visit}");
    assert!(visit.ends_with("; Path=/dashboard; HttpOnly; SameSite=Lax; Secure"), "{visit}");
}

#[tokio::test]
async fn who_is_unknown_and_who_has_no_password_cost_one_hash_like_anybody() {
    let service = Service::new().await;
    service.user(EMAIL).await;
    service.admin.create_user("new@example.org", "New").await.unwrap();
    let mut bodies = Vec::new();
    for (email, password) in [
        (EMAIL, "wrong password"),
        ("new@example.org", "wrong password"),
        ("nobody@example.org", "wrong password"),
        ("", "wrong password"),
        (EMAIL, ""),
        ("nobody@example.org", ""),
        (EMAIL, &"x".repeat(2_000)),
    ] {
        let (browser, before) = (service.browser(), service.hashed());
        let answer = sign_in(&browser, email, password).await.is(422);
        assert_eq!(service.hashed() - before, 1, "{email}");
        let token = browser.token();
        bodies.push(answer.body.replace(&token, "").replace(email, ""));
    }
    // With an e-mail address typed, the next thing to type is the password.
    assert!(bodies.iter().take(3).all(|body| *body == bodies[0]));
    let (browser, before) = (service.browser(), service.hashed());
    sign_in(&browser, EMAIL, PASSWORD).await.leads();
    assert_eq!(service.hashed() - before, 1);
}

#[tokio::test]
async fn an_address_may_try_ten_times_a_minute_and_is_told_to_wait() {
    let service = Service::new().await;
    service.user(EMAIL).await;
    let browser = service.browser();
    for _ in 0..10 {
        sign_in(&browser, "nobody@example.org", "wrong password").await.is(422);
    }
    let before = service.hashed();
    let answer = sign_in(&browser, EMAIL, PASSWORD).await.is(429);
    answer.says("Too many tries");
    let wait: u64 = answer.header("retry-after").parse().unwrap();
    assert_eq!(service.hashed(), before, "nothing is computed for who has to wait");
    service.pass(Duration::from_secs(wait));
    sign_in(&browser, EMAIL, PASSWORD).await.leads();
}

#[tokio::test]
async fn somebody_goes_where_they_wanted_and_nowhere_else() {
    let service = Service::new().await;
    service.user(EMAIL).await;
    for (asked, to) in [
        ("/dashboard/keys", "/dashboard/keys"),
        ("/dashboard/forms/frm_1?q=a", "/dashboard/forms/frm_1?q=a"),
        ("", "/dashboard"),
        ("https://evil.example/", "/dashboard"),
        ("//evil.example/dashboard", "/dashboard"),
        ("/\\evil.example", "/dashboard"),
        ("/dashboard/../f/x", "/dashboard"),
        ("/dashboard/%2e%2e/%2e%2e//evil.example", "/dashboard"),
        ("/dashboard\r\nset-cookie: a=b", "/dashboard"),
        ("javascript:alert(1)", "/dashboard"),
    ] {
        service.pass(Duration::from_secs(120));
        let browser = service.browser();
        let query =
            form_urlencoded::Serializer::new(String::new()).append_pair("next", asked).finish();
        let page = browser.get(&format!("/dashboard/sign-in?{query}")).await.is(200);
        page.does_not_say("evil").does_not_say("alert");
        let pairs = [("email", EMAIL), ("password", PASSWORD), ("next", asked)];
        assert_eq!(browser.post("/dashboard/sign-in", &pairs).await.leads(), to, "{asked}");
        assert_eq!(browser.get(&format!("/dashboard/sign-in?{query}")).await.leads(), to);
    }
}

#[tokio::test]
async fn a_new_link_replaces_the_one_before() {
    let service = Service::new().await;
    let user = service.user(EMAIL).await;
    let [first, second] = [
        service.admin.create_link(Some(&user.id)).await.unwrap(),
        service.admin.create_link(Some(&user.id)).await.unwrap(),
    ];
    let browser = service.browser();
    browser.get(&path_of(&first)).await.is(410);
    browser.get(&path_of(&second)).await.is(200);
}
