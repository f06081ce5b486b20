//! Channels and deliveries.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use formsvc_protocol::signature::{SigningSecret, verify};
use formsvc_server::store::{DeliveriesRequest, DeliveryRecord, DeliveryState};
use http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::browser::Browser;
use super::service::{Service, Wanted};

/// Keeps what comes, and answers 200 below `/ok`, else 500 with what could be a page.
#[derive(Clone)]
struct Receiver {
    addr: SocketAddr,
    /// A permit for each that came.
    arrivals: Arc<Semaphore>,
    came: Arc<Mutex<Vec<(HeaderMap, Bytes)>>>,
}

impl Receiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let came: Arc<Mutex<Vec<(HeaderMap, Bytes)>>> = Arc::default();
        let arrivals = Arc::new(Semaphore::new(0));
        let receiver = Self {
            addr: listener.local_addr().unwrap(),
            arrivals: Arc::clone(&arrivals),
            came: Arc::clone(&came),
        };
        let router = Router::new().fallback(move |request: Request| {
            let (came, arrivals) = (Arc::clone(&came), Arc::clone(&arrivals));
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, usize::MAX).await.unwrap();
                came.lock().unwrap().push((parts.headers, body));
                arrivals.add_permits(1);
                if parts.uri.path() == "/ok" {
                    (StatusCode::OK, "thanks")
                } else {
                    (StatusCode::INTERNAL_SERVER_ERROR, "<script>alert(1)</script>")
                }
            }
        });
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        receiver
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// Waits for so many more to come.
    async fn hears(&self, requests: u32) {
        within(self.arrivals.acquire_many(requests)).await.unwrap().forget();
    }

    fn taken(&self) -> Vec<(HeaderMap, Bytes)> {
        self.came.lock().unwrap().drain(..).collect()
    }
}

/// What takes longer than this never ends.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it ends in time")
}

fn is_signed_with(secret: &str, headers: &HeaderMap, body: &[u8]) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let secret = SigningSecret::new(secret).unwrap();
    let header = headers["x-service-signature"].to_str().unwrap();
    verify(header.as_bytes(), body, &[secret], now, Duration::from_secs(300)).is_ok()
}

/// Adds a webhook, and gives its page and its secret.
async fn add(browser: &Browser, form: &str, url: &str) -> (String, String) {
    let path = format!("/dashboard/forms/{form}/channels/new");
    browser.get(&path).await.is(200);
    let answer = browser.post(&path, &[("url", url)]).await.is(200);
    let secret = answer.value_of("secret");
    assert!(secret.starts_with("whsec_") && secret.len() == 49, "{secret}");
    let page = answer.body.split("id=\"have-it\" href=\"").nth(1).unwrap();
    (page.split('"').next().unwrap().to_owned(), secret)
}

#[tokio::test]
async fn a_secret_is_shown_once_and_signs_the_test() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let fields = r#"[{"label":"E-mail","type":"email","required":true}]"#;
    let form = service.form(&user, "contact", Some(fields)).await;
    let receiver = Receiver::start().await;
    let url = receiver.url("/ok");
    let (page, secret) = add(&browser, form.id.as_str(), &url).await;
    for path in [&page, &format!("/dashboard/forms/{}/channels", form.id)] {
        browser.get(path).await.is(200).says(&url).does_not_say(&secret);
    }
    let answer = browser.post(&format!("{page}/test"), &[]).await.is(200);
    answer.says("The test arrived").says("thanks");
    assert!(answer.body.contains(r#"id="test-status">200<"#), "{}", answer.body);
    let [(headers, body)] = &receiver.taken()[..] else { panic!() };
    assert!(is_signed_with(&secret, headers, body));
    assert_eq!(headers["x-service-event"], "submission.created");
    let event: serde_json::Value = serde_json::from_slice(body).unwrap();
    assert!(event["submission_id"].as_str().unwrap().starts_with("test_"), "{event}");
    assert!(event["data"]["E-mail"].as_str().unwrap().contains('@'), "{event}");
    // It is no submission, and no delivery.
    browser.get(&format!("/dashboard/forms/{}", form.id)).await.says("Nothing was sent yet");
    browser
        .get(&format!("/dashboard/forms/{}/deliveries", form.id))
        .await
        .says("No deliveries yet");
}

#[tokio::test]
async fn tests_are_few_enough_to_bother_nobody_and_say_what_went_wrong() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let receiver = Receiver::start().await;
    let (page, _) = add(&browser, form.id.as_str(), &receiver.url("/fails")).await;
    for _ in 0..6 {
        let answer = browser.post(&format!("{page}/test"), &[]).await.is(200);
        answer.says("The test failed").says("status_not_2xx");
        answer.says("&#60;script&#62;alert(1)").does_not_say("<script");
    }
    let answer = browser.post(&format!("{page}/test"), &[]).await.is(429);
    assert!(!answer.header("retry-after").is_empty());
    assert_eq!(receiver.taken().len(), 6);
    service.pass(Duration::from_secs(61));
    // Taken, so that no other test listens on it.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = socket.local_addr().unwrap();
    let (page, _) = add(&browser, form.id.as_str(), &format!("http://{closed}/")).await;
    browser
        .post(&format!("{page}/test"), &[])
        .await
        .is(200)
        .says("connect_failed")
        .does_not_say("made<br><span class=\"quiet\">no connection");
}

#[tokio::test]
async fn an_address_that_breaks_a_rule_is_told_the_rule_at_the_field() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let path = format!("/dashboard/forms/{}/channels/new", form.id);
    browser.get(&path).await.is(200).says("http:// for a program on this machine");
    for (url, rule) in [
        ("", "no scheme"),
        ("example.org/hook", "no scheme"),
        ("javascript:alert(1)", "only <code>https</code> is accepted"),
        ("http://example.org/", "plain <code>http</code> is accepted for localhost only"),
        ("https://user:pass@example.org/", "user name or password"),
        ("https://169.254.169.254/", "metadata addresses open only when named one by one"),
    ] {
        let answer = browser.post(&path, &[("url", url)]).await.is(422);
        let error = answer.body.split("id=\"url-error\"").nth(1).unwrap();
        let error = error.split("</p>").next().unwrap();
        assert!(error.contains(rule), "{url}: {error}");
        answer.says("aria-invalid=\"true\"");
    }
    add(&browser, form.id.as_str(), "http://127.0.0.1:9/").await;
    browser.post(&path, &[("url", "http://127.0.0.1:9/")]).await.is(422).says("already");
}

#[tokio::test]
async fn a_rotated_secret_signs_beside_the_old_one_for_as_long_as_was_chosen() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let receiver = Receiver::start().await;
    let (page, first) = add(&browser, form.id.as_str(), &receiver.url("/ok")).await;
    let rotate = format!("{page}/rotate");
    browser.post(&rotate, &[("grace", "ever")]).await.is(404);
    let answer = browser.post(&rotate, &[("grace", "day")]).await.is(200);
    let second = answer.value_of("secret");
    answer.does_not_say(&first).says("as well, until");
    browser.get(&page).await.says("Both secrets sign").does_not_say(&second);
    browser.post(&format!("{page}/test"), &[]).await.is(200);
    let third = browser.post(&rotate, &[("grace", "none")]).await.is(200).value_of("secret");
    browser.post(&format!("{page}/test"), &[]).await.is(200);
    let came = receiver.taken();
    let signed = |secret: &str| -> Vec<bool> {
        came.iter().map(|(headers, body)| is_signed_with(secret, headers, body)).collect()
    };
    assert_eq!(signed(&first), [true, false]);
    assert_eq!(signed(&second), [true, false]);
    assert_eq!(signed(&third), [false, true]);
}

#[tokio::test]
async fn a_webhook_is_disabled_enabled_and_removed_after_a_question() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let (page, _) = add(&browser, form.id.as_str(), "http://127.0.0.1:9/").await;
    let status = format!("{page}/status");
    assert_eq!(
        browser.post(&status, &[("status", "disabled")]).await.leads(),
        format!("{page}?said=disabled")
    );
    browser.get(&page).await.says("disabled</span>").says("id=\"enable-webhook\"");
    browser.post(&status, &[("status", "enabled")]).await.leads();
    browser.post(&status, &[("status", "gone")]).await.is(404);
    let remove = format!("{page}/remove");
    browser.get(&remove).await.is(200).says("cannot be undone");
    let list = format!("/dashboard/forms/{}/channels", form.id);
    browser.get(&list).await.says("127.0.0.1:9");
    assert_eq!(browser.post(&remove, &[]).await.leads(), format!("{list}?said=removed"));
    browser.get(&list).await.says("No webhooks yet");
    for gone in [&page, &remove] {
        browser.get(gone).await.is(404);
    }
}

async fn deliveries(service: &Service, form: &formsvc_protocol::Form) -> Vec<DeliveryRecord> {
    let form = form.id.clone();
    let request = DeliveriesRequest {
        form,
        endpoint: None,
        state: None,
        submission: None,
        after: None,
        limit: 500,
    };
    service.store.deliveries(request).await.unwrap()
}

#[tokio::test]
async fn a_failed_delivery_tells_each_attempt_and_is_sent_once_more() {
    let service = Service::with(Wanted { delivers: true, ..Wanted::default() }).await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let receiver = Receiver::start().await;
    add(&browser, form.id.as_str(), &receiver.url("/fails")).await;
    service.admin.submit(&form.id, r#"{"a":1}"#).await.unwrap();
    receiver.hears(2).await;
    // What came of the second one is recorded once it is answered.
    let failed = async {
        loop {
            let found = deliveries(&service, &form).await.remove(0);
            if found.state == DeliveryState::Failed {
                return found;
            }
            // Sleeps because polling without a pause takes the processor from what it waits for.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let delivery = within(failed).await;
    let list = format!("/dashboard/forms/{}/deliveries", form.id);
    browser.get(&list).await.is(200).says("failed</span>").says("500");
    browser.get(&format!("{list}?state=failed")).await.says("failed</span>");
    browser.get(&format!("{list}?state=delivered")).await.says("No delivery is like that");
    let page = format!("{list}/{}", delivery.key.id());
    let answer = browser.get(&page).await.is(200);
    answer.says("Attempt 1:").says("Attempt 2:").says("status_not_2xx");
    answer.says("another status than 2xx").says("&#60;script&#62;").does_not_say("<script");
    assert_eq!(
        browser.post(&format!("{page}/resend"), &[]).await.leads(),
        format!("{page}?said=resent")
    );
    receiver.hears(1).await;
    let recorded = async {
        loop {
            let answer = browser.get(&page).await.is(200);
            if answer.body.contains("Attempt 3:") {
                return answer;
            }
        }
    };
    within(recorded).await.says("asked for");
}

#[tokio::test]
async fn what_cannot_be_sent_once_more_says_why() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    let (page, _) = add(&browser, form.id.as_str(), "http://127.0.0.1:9/").await;
    service.admin.submit(&form.id, "{}").await.unwrap();
    let delivery = deliveries(&service, &form).await.remove(0).key.id();
    browser.post(&format!("{page}/status"), &[("status", "disabled")]).await.leads();
    let resend = format!("/dashboard/forms/{}/deliveries/{delivery}/resend", form.id);
    browser.post(&resend, &[]).await.is(409).says("an endpoint that is not enabled");
    browser.post(&format!("{page}/remove"), &[]).await.leads();
    browser.post(&resend, &[]).await.is(409).says("its endpoint was removed");
    // It is there to be looked at all the same.
    browser.get(&resend.replace("/resend", "")).await.is(200).says("canceled");
}

#[tokio::test]
async fn deliveries_are_paged_and_those_of_one_submission_are_found_among_many() {
    let service = Service::new().await;
    let (browser, user) = service.member().await;
    let form = service.form(&user, "contact", None).await;
    add(&browser, form.id.as_str(), "http://127.0.0.1:9/a").await;
    for n in 0..70 {
        if n == 30 {
            add(&browser, form.id.as_str(), "http://127.0.0.1:9/b").await;
        }
        service.admin.submit(&form.id, &format!("{{\"n\":{n}}}")).await.unwrap();
    }
    let list = format!("/dashboard/forms/{}/deliveries", form.id);
    let (mut path, mut pages, mut seen) = (list.clone(), 0, Vec::new());
    loop {
        let page = browser.get(&path).await.is(200);
        let link = format!("href=\"{list}/");
        let links = page.body.split(&link).skip(1);
        seen.extend(links.map(|rest| rest.split('"').next().unwrap().to_owned()));
        pages += 1;
        let Some(older) = page.body.split("id=\"older\" href=\"").nth(1) else { break };
        path = older.split('"').next().unwrap().replace("&#38;", "&");
    }
    let all: Vec<_> = deliveries(&service, &form).await;
    let ids: Vec<_> = all.iter().map(|record| record.key.id().as_str().to_owned()).collect();
    assert_eq!((pages, seen), (3, ids));
    for record in all.iter().step_by(9) {
        let (id, at) = (record.submission.as_str(), record.created_at.as_str());
        let path = format!("/dashboard/forms/{}/submissions/{id}?at={at}", form.id);
        let page = browser.get(&path).await.is(200);
        let of_it = all.iter().filter(|other| other.submission == record.submission);
        let of_it: Vec<_> = of_it.map(|record| record.key.id()).collect();
        assert_eq!(page.body.matches(&format!("href=\"{list}/")).count(), of_it.len());
        for id in &of_it {
            page.says(id.as_str());
        }
    }
}
