//! Retries, on a paused clock.

use std::time::Duration;

use formsvc_client::transport::TransportErrorKind;
use formsvc_client::{Client, ErrorCode, ErrorKind, RateLimit, RetryPolicy, Timeouts};
use tokio::time::Instant;

use crate::support::bodies::USER;
use crate::support::builder;
use crate::support::fake::{Answer, Fake, ok, status, throttled};

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

#[tokio::test(start_paused = true)]
async fn classify_decides_which_failures_are_retried() {
    let policy = RetryPolicy::standard()
        .classify(|error| error.status().is_some_and(|status| status == 404));
    let client_of = |fake: &std::sync::Arc<Fake>| {
        builder().retry(policy.clone()).transport(fake.wire()).build().unwrap()
    };
    let fake = Fake::script([status(404), status(404), ok(USER)]);
    assert_eq!(client_of(&fake).me().await.unwrap().attempts(), 3);
    let fake = Fake::script([status(503)]);
    let error = client_of(&fake).me().await.unwrap_err();
    assert!(error.attempts() == 1 && !error.is_retryable(), "{error}");
    let fake = Fake::rule(|_| status(404));
    assert_eq!(client_of(&fake).me().await.unwrap_err().attempts(), 4);
}

#[tokio::test(start_paused = true)]
async fn temporary_failure_is_retried() {
    for answer in [
        status(408),
        status(429),
        status(500),
        status(502),
        status(503),
        status(504),
        Answer::Fails(TransportErrorKind::Connect),
        Answer::Fails(TransportErrorKind::Timeout),
        Answer::Fails(TransportErrorKind::Interrupted),
        Answer::BreaksOff(200, "req_broken"),
        ok(r#"{"id":"usr_1","ema"#),
        ok(""),
        Answer::Silence,
    ] {
        let fake = Fake::script([answer.clone(), ok(USER)]);
        let client = builder().transport(fake.wire()).build().unwrap();
        let me = client.me().await.unwrap_or_else(|error| panic!("{answer:?}: {error}"));
        assert_eq!(me.attempts(), 2, "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_failure_is_not_retried() {
    for (answer, kind) in [
        (status(301), ErrorKind::Api),
        (status(204), ErrorKind::Api),
        (status(400), ErrorKind::Api),
        (status(401), ErrorKind::Api),
        (status(403), ErrorKind::Api),
        (status(404), ErrorKind::Api),
        (status(501), ErrorKind::Api),
        (Answer::Fails(TransportErrorKind::Tls), ErrorKind::Connect),
        (Answer::Fails(TransportErrorKind::TooLarge), ErrorKind::TooLarge),
        (Answer::Fails(TransportErrorKind::Other), ErrorKind::Transport),
        (ok("<html>"), ErrorKind::Decode),
        (ok(r#"{"id":7}"#), ErrorKind::Decode),
    ] {
        let fake = Fake::script([answer.clone()]);
        let client = builder().transport(fake.wire()).build().unwrap();
        let error = client.me().await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (kind, 1), "{answer:?}");
        assert!(!error.is_retryable(), "{answer:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn last_failure_is_returned_after_all_attempts() {
    let answers = [status(500), status(502), status(503), status(504)];
    let fake = Fake::script(answers);
    let client = builder().transport(fake.wire()).build().unwrap();
    let error = client.me().await.unwrap_err();
    assert_eq!((error.status().unwrap().as_u16(), error.attempts()), (504, 4));
    assert!(error.is_retryable());
    let fake = Fake::script([status(500)]);
    let client = builder().retry(RetryPolicy::none()).transport(fake.wire()).build().unwrap();
    assert_eq!(client.me().await.unwrap_err().attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn retry_after_applies_as_seconds_and_as_date() {
    let date = "Thu, 01 Jan 2026 00:00:20 GMT";
    let dated = |now: &str| {
        let headers = vec![("retry-after", date.to_owned()), ("date", now.to_owned())];
        Answer::Status(503, headers, String::new())
    };
    for (answer, wait) in [
        (throttled("7"), 7),
        (throttled("0"), 0),
        (Answer::Status(503, vec![("retry-after", "9".into())], String::new()), 9),
        (dated("Thu, 01 Jan 2026 00:00:05 GMT"), 15),
        (dated("Thu, 01 Jan 2026 00:01:00 GMT"), 0),
        (Answer::Status(503, vec![("retry-after", date.into())], String::new()), 12),
        (Answer::Status(503, vec![("retry-after", "soon".into())], String::new()), 0),
    ] {
        let fake = Fake::script([answer.clone(), ok(USER)]);
        let now = std::time::UNIX_EPOCH + secs(1_767_225_608);
        let client = builder().clock(move || now).transport(fake.wire()).build().unwrap();
        client.me().await.unwrap();
        let gap = fake.gaps()[0];
        assert!(gap >= secs(wait) && gap < secs(wait) + secs(1) / 20, "{answer:?}: {gap:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn wait_longer_than_max_wait_fails_at_once() {
    for (answer, kind) in [
        (throttled("3600"), ErrorKind::RateLimitWait),
        (Answer::Status(503, vec![("retry-after", "3600".into())], String::new()), ErrorKind::Api),
    ] {
        let fake = Fake::script([answer]);
        let client = builder().transport(fake.wire()).build().unwrap();
        let start = Instant::now();
        let error = client.me().await.unwrap_err();
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!((error.kind(), error.retry_after()), (kind, Some(secs(3_600))));
        assert!(error.is_retryable());
    }
}

#[tokio::test(start_paused = true)]
async fn retry_after_beyond_the_call_timeout_keeps_the_code() {
    let fake = Fake::script([throttled("30")]);
    let timeouts = Timeouts::new().overall(Some(secs(20)));
    let client = builder().timeouts(timeouts).transport(fake.wire()).build().unwrap();
    let error = client.me().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RateLimitWait);
    assert_eq!(error.code(), Some(&ErrorCode::RateLimited));
    assert!(error.is_rate_limited());
    assert_eq!(
        error.to_string(),
        "me: 429 rate_limited: the service asks for a wait of 30.0 s, and the call has 20.0 s left (1 attempt)"
    );
}

#[tokio::test(start_paused = true)]
async fn rate_limit_error_names_wait_and_limit() {
    let none = Timeouts::new().overall(None);
    for (retry_after, expected) in [
        ("61", "61.0 s, and at most 60.0 s are allowed"),
        ("3600", "3600.0 s or more, and at most 60.0 s are allowed"),
        ("99999999999999999999", "3600.0 s or more, and at most 60.0 s are allowed"),
    ] {
        let fake = Fake::script([throttled(retry_after)]);
        let client = builder().max_wait(secs(60)).timeouts(none).transport(fake.wire());
        let error = client.build().unwrap().me().await.unwrap_err();
        let text =
            format!("me: 429 rate_limited: the service asks for a wait of {expected} (1 attempt)");
        assert_eq!(error.to_string(), text);
    }
    let left = Timeouts::new().overall(Some(Duration::from_millis(1)));
    let fake = Fake::script([Answer::Status(429, Vec::new(), String::new())]);
    let client = builder().random(|| 1.0).timeouts(left).transport(fake.wire()).build().unwrap();
    let error = client.me().await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "me: 429: the rate limit is exceeded, and the call has 0.0 s left, too little for a wait (1 attempt)"
    );
}

#[tokio::test(start_paused = true)]
async fn missing_answer_exceeds_attempt_and_call_timeout() {
    let fake = Fake::script((0..4).map(|_| Answer::Silence));
    let none = Timeouts::new().overall(None);
    let client = builder().timeouts(none).transport(fake.wire()).build().unwrap();
    let start = Instant::now();
    let error = client.me().await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Timeout, 4));
    assert_eq!(start.elapsed().as_secs(), 120);

    let fake = Fake::script([Answer::Silence, Answer::Silence]);
    let short = Timeouts::new().overall(Some(secs(40)));
    let client = builder().timeouts(short).transport(fake.wire()).build().unwrap();
    let start = Instant::now();
    let error = client.me().await.unwrap_err();
    assert_eq!((error.kind(), start.elapsed().as_secs()), (ErrorKind::Timeout, 40));
}

#[tokio::test(start_paused = true)]
async fn clones_share_the_retry_budget() {
    let fake = Fake::rule(|_| status(503));
    let policy = RetryPolicy::standard().budget(Some(5));
    let client = builder().retry(policy).transport(fake.wire()).build().unwrap();
    for attempts in [4, 3, 1, 1] {
        assert_eq!(client.clone().me().await.unwrap_err().attempts(), attempts);
    }
}

#[tokio::test(start_paused = true)]
async fn a_429_pauses_every_clone() {
    let mut count = 0;
    let fake = Fake::rule(move |_| {
        count += 1;
        if count == 1 { throttled("10") } else { ok(USER) }
    });
    let limit = RateLimit::off();
    let client = builder().rate_limit(limit).transport(fake.wire()).build().unwrap();
    let start = Instant::now();
    let first = tokio::spawn(me(client.clone()));
    tokio::time::sleep(secs(1)).await;
    let tasks: Vec<_> = (0..50).map(|_| tokio::spawn(me(client.clone()))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    first.await.unwrap();
    let times = fake.times();
    assert_eq!(times.len(), 52);
    assert_eq!(times[0], start);
    assert!(times[1..].iter().all(|at| *at - start >= secs(10)), "{times:?}");
}

async fn me(client: Client) {
    client.me().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn error_status_counts_although_its_body_is_cut() {
    let fake = Fake::script([Answer::BreaksOff(404, "req_broken")]);
    let client = builder().transport(fake.wire()).build().unwrap();
    let failure = client.me().await.unwrap_err();
    assert_eq!((failure.kind(), failure.attempts()), (ErrorKind::Api, 1));
    assert!(failure.is_not_found());
}
