//! Clients with other options or another key.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use formsvc_client::{ErrorKind, RateLimit, RequestOptions, RetryPolicy};
use http::header::{AUTHORIZATION, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue};
use tokio::time::Instant;

use crate::support::bodies::{USER, last};
use crate::support::fake::{Answer, Fake, ok, status, throttled};
use crate::support::{KEY, builder};

fn one_per_minute() -> RateLimit {
    RateLimit::per_minute(1)
}

#[tokio::test(start_paused = true)]
async fn options_change_only_the_given_settings() {
    let fake = Fake::script([Answer::Silence, status(503), ok(USER)]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let options =
        RequestOptions::new().attempt_timeout(Duration::from_secs(2)).retry(RetryPolicy::none());
    let start = Instant::now();
    let error = client.with_options(options).unwrap().me().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 1));
    assert_eq!(start.elapsed().as_secs(), 2);
    // The client itself still tries again.
    assert_eq!(client.me().await.unwrap().attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn overall_timeout_and_max_wait_can_be_set_per_call() {
    let fake = Fake::rule(|_| Answer::Silence);
    let client = builder().transport(fake.wire()).build().unwrap();
    let short = RequestOptions::new().overall_timeout(Some(Duration::from_secs(3)));
    let start = Instant::now();
    client.with_options(short).unwrap().me().await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 3);

    let fake = Fake::script([throttled("5")]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let hurried = RequestOptions::new().max_wait(Duration::from_secs(4));
    let error = client.with_options(hurried).unwrap().me().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimitWait);
}

#[tokio::test]
async fn headers_are_sent_with_every_request_of_a_list() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let fake = Fake::rule(move |request| {
        let headers = request.headers();
        assert_eq!(headers[AUTHORIZATION], format!("Bearer {KEY}"));
        log.lock().unwrap().push(["x-a", "x-b"].map(|name| headers.get(name).cloned()));
        ok(last([1]))
    });
    let client = builder().transport(fake.wire()).build().unwrap();
    let header = |name, value| {
        let (name, value) = (HeaderName::from_static(name), HeaderValue::from_static(value));
        RequestOptions::new().header(name, value)
    };
    let one = client.with_options(header("x-a", "1")).unwrap();
    let both = one.with_options(header("x-b", "2")).unwrap();
    for client in [&client, &one, &both] {
        client.form("frm_1").submissions().items().try_next().await.unwrap();
    }
    let value = |text| Some(HeaderValue::from_static(text));
    assert_eq!(*seen.lock().unwrap(), [[None, None], [value("1"), None], [value("1"), value("2")]]);
}

#[test]
fn invalid_options_are_config_errors() {
    let client = builder().transport(Fake::script([]).wire()).build().unwrap();
    for name in [AUTHORIZATION, HOST, USER_AGENT] {
        let options = RequestOptions::new().header(name.clone(), HeaderValue::from_static("x"));
        let error = client.with_options(options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(&format!("`{name}` is set by the client")), "{error}");
    }
    for options in [
        RequestOptions::new().attempt_timeout(Duration::ZERO),
        RequestOptions::new().overall_timeout(Some(Duration::ZERO)),
    ] {
        let error = client.with_options(options).unwrap_err();
        assert!(error.to_string().contains("is zero"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn client_with_options_shares_limiter_and_budget() {
    let fake = Fake::rule(|_| status(503));
    let policy = RetryPolicy::standard().budget(Some(3));
    let client = builder().retry(policy).transport(fake.wire()).build().unwrap();
    let other = client.with_options(RequestOptions::new().retry(RetryPolicy::standard())).unwrap();
    assert_eq!(client.me().await.unwrap_err().attempts(), 4);
    assert_eq!(other.me().await.unwrap_err().attempts(), 1);

    let fake = Fake::rule(|_| ok(USER));
    let client = builder().rate_limit(one_per_minute()).transport(fake.wire()).build().unwrap();
    client.me().await.unwrap();
    client.with_options(RequestOptions::new()).unwrap().me().await.unwrap();
    assert!(fake.gaps()[0] >= Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn another_key_has_its_own_limiter_and_budget() {
    let fake = Fake::rule(|request| {
        match request.headers()[AUTHORIZATION].to_str().unwrap().strip_prefix("Bearer ").unwrap() {
            "fsk_other" => ok(USER),
            KEY => throttled("3"),
            key => panic!("an unknown key {key}"),
        }
    });
    let policy = RetryPolicy::standard().budget(Some(0));
    let client = builder().rate_limit(one_per_minute()).retry(policy).transport(fake.wire());
    let client = client.build().unwrap();
    assert_eq!(client.me().await.unwrap_err().attempts(), 1);
    let start = Instant::now();
    let other = client.with_api_key("fsk_other").unwrap();
    other.me().await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "it does not wait for the first key");
    // Its clones share its limiter.
    other.clone().me().await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(60));
    assert!(client.with_api_key("").is_err());
}
