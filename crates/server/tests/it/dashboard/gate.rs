//! What every request passes first.

use formsvc_server::dashboard::{Access, ROUTES, Route, Site, Verb};
use http::Method;

use super::browser::{Answer, Browser};
use super::service::{EMAIL, PASSWORD, Service, Wanted, sign_in};
use super::things::Things;

fn posts(access: Access) -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(move |route| route.verb == Verb::Post && route.access == access)
}

/// What no page does without.
#[track_caller]
fn assert_guarded(answer: &Answer) {
    let csp = answer.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "style-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(csp.contains(part), "{part}: {csp}");
    }
    assert!(!csp.contains("unsafe") && !csp.contains("script-src"), "{csp}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(answer.header("x-frame-options"), "DENY");
    assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin");
    assert_eq!(answer.header("cross-origin-resource-policy"), "same-origin");
    assert_eq!(answer.header("referrer-policy"), "same-origin");
    assert!(answer.header("x-request-id").starts_with("req_"));
}

#[tokio::test]
async fn every_page_is_guarded_and_kept_by_nobody() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let things = Things::of(&service, &user, "mine").await;
    let mut seen = 0;
    for route in ROUTES.iter().filter(|route| route.verb == Verb::Get) {
        let answer = browser.get(&things.path(route.path)).await;
        assert_guarded(&answer);
        assert_eq!(answer.header("cache-control"), "no-store", "{route:?}");
        if route.access == Access::Members {
            let answer = answer.is(200);
            assert_eq!(answer.header("content-type"), "text/html; charset=utf-8", "{route:?}");
            seen += 1;
        }
    }
    assert!(seen >= 16, "{seen}");
    for path in ["/dashboard/", "/dashboard/none", "/dashboard/forms", "/dashboard/keys/"] {
        let answer = browser.get(path).await.is(404);
        assert_guarded(&answer);
        assert_eq!(answer.header("cache-control"), "no-store");
    }
}

#[tokio::test]
async fn the_style_alone_is_kept_for_good_under_a_name_of_its_content() {
    let service = Service::new().await;
    let browser = service.browser();
    let page = browser.get("/dashboard/sign-in").await.is(200);
    let path = page.body.split("rel=\"stylesheet\" href=\"").nth(1).unwrap();
    let path = path.split('"').next().unwrap();
    let style = browser.get(path).await.is(200);
    assert_eq!(style.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(style.header("cache-control"), "public, max-age=31536000, immutable");
    browser.get("/dashboard/assets/other.css").await.is(404);
}

#[tokio::test]
async fn without_a_session_every_route_leads_to_signing_in_and_does_nothing() {
    let service = Service::new().await;
    let user = service.user(EMAIL).await;
    let things = Things::of(&service, &user, "mine").await;
    let browser = service.browser();
    for route in ROUTES.iter().filter(|route| route.access == Access::Members) {
        let path = things.path(route.path);
        let answer = match route.verb {
            Verb::Get => browser.get(&path).await,
            _ => browser.post_with(&path, &[("status", "closed")], None).await,
        };
        assert!(answer.leads().starts_with("/dashboard/sign-in"), "{route:?}");
        assert_guarded(&answer);
    }
    let form = service.admin.find_form("mine").await.unwrap();
    assert_eq!(form.status, formsvc_protocol::FormStatus::Published);
}

/// What is stored that a POST could change.
async fn stored(service: &Service, things: &Things) -> String {
    let form = service.admin.find_form(&things.form).await.unwrap();
    let met = service.store.public_form(&form.public_id).await.unwrap().unwrap();
    let user = service.admin.user(EMAIL).await.unwrap();
    let keys = service.admin.list_keys(&user.id).await.unwrap();
    let endpoints = service.admin.list_endpoints(&form.id).await.unwrap();
    let forms = service.admin.list_forms(&user.id).await.unwrap();
    format!("{met:?} {keys:?} {endpoints:?} {forms:?}")
}

/// What would do something on each route, were it let through.
const DOES: [(&str, &str); 8] = [
    ("status", "closed"),
    ("title", "Changed"),
    ("name", "Changed"),
    ("url", "http://127.0.0.1:10/changed"),
    ("grace", "none"),
    ("do", "save"),
    ("old", PASSWORD),
    ("origins", ""),
];

#[tokio::test]
async fn what_other_sites_have_a_browser_send_does_nothing_on_any_route() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let things = Things::of(&service, &user, "mine").await;
    browser.get("/dashboard").await;
    let before = stored(&service, &things).await;
    let hashed = service.hashed();
    let other = Service::new().await;
    let (elsewhere, _) = other.member().await;
    let right = browser.token();
    for route in posts(Access::Members).chain(posts(Access::Strangers)) {
        let path = things.path(route.path);
        for token in [None, Some(""), Some("x"), Some(&right[..63]), Some(&*elsewhere.token())] {
            let answer = browser.post_with(&path, &DOES, token).await.is(403);
            assert_guarded(&answer);
        }
        for (origin, site) in [
            ("https://evil.example", "cross-site"),
            ("https://evil.example", "same-origin"),
            ("http://127.0.0.1:1", "same-site"),
            ("null", "cross-site"),
        ] {
            let request = browser.request(Method::POST, &path);
            let request = request.header("origin", origin).header("sec-fetch-site", site);
            send(&browser, request, &right).await.is(403);
        }
        // Nobody says where it comes from.
        send(&browser, browser.request(Method::POST, &path), &right).await.is(403);
    }
    assert_eq!(stored(&service, &things).await, before);
    assert_eq!(service.hashed(), hashed);
    browser.get("/dashboard").await.is(200);
}

async fn send(browser: &Browser, request: http::request::Builder, token: &str) -> Answer {
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(DOES).append_pair("_token", token);
    browser.send(request, &body.finish()).await
}

#[tokio::test]
async fn the_same_is_done_when_a_page_of_ours_asks() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let things = Things::of(&service, &user, "mine").await;
    let before = stored(&service, &things).await;
    browser.get("/dashboard").await;
    let path = things.path("/dashboard/forms/{form}/status");
    let token = browser.token();
    let request = browser.form(&path);
    send(&browser, request, &token).await.leads();
    assert_ne!(stored(&service, &things).await, before);
    // A browser that hides where pages are says "null", and whether they are ours.
    let request = browser.request(Method::POST, &things.path("/dashboard/forms/{form}/settings"));
    let request = request.header("origin", "null").header("sec-fetch-site", "same-origin");
    send(&browser, request, &token).await.leads();
}

#[tokio::test]
async fn forms_of_a_visit_are_worth_nothing_in_another_browser() {
    let service = Service::new().await;
    service.user(EMAIL).await;
    let (browser, other) = (service.browser(), service.browser());
    browser.get("/dashboard/sign-in").await;
    other.get("/dashboard/sign-in").await;
    let pairs = [("email", EMAIL), ("password", PASSWORD)];
    other.post_with("/dashboard/sign-in", &pairs, Some(&browser.token())).await.is(403);
    // Nor without its cookie, which is what a page of another site could have sent.
    browser.forget();
    browser.post("/dashboard/sign-in", &pairs).await.is(403);
    sign_in(&browser, EMAIL, PASSWORD).await.leads();
}

#[tokio::test]
async fn in_the_clear_only_this_machine_gets_in_by_a_name_that_means_it() {
    let service = Service::new().await;
    service.user(EMAIL).await;
    let browser = service.browser();
    for host in ["forms.example.org", "evil.example", "localhost.evil.example"] {
        for path in ["/dashboard", "/dashboard/sign-in", "/dashboard/keys"] {
            let request = browser.request(Method::GET, path).header("host", host);
            let answer = browser.send(request, "").await.is(403);
            answer.says("unencrypted").says("--public-url");
            assert_guarded(&answer);
        }
        let request = browser.form("/dashboard/sign-in").header("host", host);
        browser.send(request, "email=a&password=b").await.is(403);
    }
    let site = Site::default().in_the_clear();
    let service = Service::with(Wanted { site, ..Wanted::default() }).await;
    let browser = service.browser();
    let request = browser.request(Method::GET, "/dashboard/sign-in");
    browser.send(request.header("host", "forms.example.org"), "").await.is(200);
}

#[tokio::test]
async fn paths_are_what_they_are_spelled_as() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    for path in [
        "//dashboard",
        "/dashboard//keys",
        "/dashboard/keys/",
        "/dashboard/./keys",
        "/dashboard/../dashboard/keys",
        "/dashboard/%2e%2e/api/v1/me",
        "/dashboard%2fkeys",
        "/dashboard/%6beys%00",
        "/dashboard/keys%2f",
        "/DASHBOARD",
        "/Dashboard/keys",
        "/dashboard/keys;a=b",
        "/dashboard/forms/%2e%2e/keys",
        "/dashboard/forms/..%2f..",
    ] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status.as_u16(), 404, "{path}: {}", answer.body);
        answer.does_not_say("Your keys");
    }
}

#[tokio::test]
async fn methods_and_bodies_that_no_form_has_are_refused() {
    let service = Service::new().await;
    let (browser, _) = service.member().await;
    for method in [Method::PUT, Method::DELETE, Method::PATCH] {
        let request = browser.request(method, "/dashboard/keys");
        assert_eq!(browser.send(request, "").await.status.as_u16(), 405);
    }
    let json = browser.request(Method::POST, "/dashboard/keys").header("origin", &browser.base);
    let json = json.header("content-type", "application/json");
    browser.send(json, "{}").await.is(400);
    let token = browser.token();
    let long = format!("_token={token}&name={}", "x".repeat(3 << 20));
    browser.send(browser.form("/dashboard/keys"), &long).await.is(413);
    browser.forget();
    browser.get("/dashboard/sign-in").await;
    let long = format!("_token={}&email={}", browser.token(), "x".repeat(20_000));
    browser.send(browser.form("/dashboard/sign-in"), &long).await.is(413);
}
