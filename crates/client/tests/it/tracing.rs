//! The events that the feature `tracing` logs.

use formsvc_client::Cursor;

use crate::support::bodies::{USER, last, page};
use crate::support::fake::{Fake, ok, status, throttled};
use crate::support::log::log_of_this_thread;
use crate::support::{KEY, builder};

/// The lines of a log without durations, which differ from run to run.
fn lines(log: &str) -> Vec<String> {
    let without_elapsed = |line: &str| match line.split_once(" elapsed=") {
        Some((start, _)) => start.trim().to_owned(),
        None => line.trim().to_owned(),
    };
    log.lines().map(without_elapsed).collect()
}

#[tokio::test(start_paused = true)]
async fn log_warns_of_retries_waits_and_fallbacks() {
    let answers = [status(503), throttled("2"), ok(page([0, 1], "c1")), ok(last([2])), ok(USER)];
    let fake = Fake::script(answers);
    let limit = formsvc_client::RateLimit::per_minute(4);
    let client = builder().rate_limit(limit).transport(fake.wire()).build().unwrap();
    let (log, guard) = log_of_this_thread();
    let query = client.form("frm_1").submissions();
    assert_eq!(query.items().try_collect_max(9).await.unwrap().len(), 3);
    client.me().await.unwrap();
    drop(guard);
    let of_list = "list{operation=\"submissions.list\" form=\"frm_1\"}:";
    let span = |call| {
        format!("{of_list}call{{operation=\"submissions.list\" call={call} form=\"frm_1\"}}:")
    };
    let (list, id) =
        ("operation=\"submissions.list\" call=1 form=\"frm_1\"", "request_id=\"req_1\"");
    let retry = |attempt, delay, status| {
        format!(
            "WARN {} attempt failed, retry scheduled {list} attempt={attempt} delay={delay} \
             reason=status {status}",
            span(1)
        )
    };
    assert_eq!(
        lines(&log.text()),
        [
            format!("DEBUG {} attempt completed call=1 attempt=1 status=503 failure=\"api\"", span(1)),
            retry(1, "0ns", 503),
            format!("DEBUG {} attempt completed call=1 attempt=2 status=429 failure=\"api\"", span(1)),
            retry(2, "2s", 429),
            format!("DEBUG {} attempt completed call=1 {id} attempt=3 status=200", span(1)),
            format!("WARN {of_list} the list is not proven complete form=\"frm_1\" reason=CursorNotTime"),
            format!("DEBUG {of_list} page fetched form=\"frm_1\" {id} rows=2 duplicates=0 bytes={} has_more=true", page([0, 1], "c1").len()),
            format!("DEBUG {} attempt completed call=2 {id} attempt=1 status=200", span(2)),
            format!("DEBUG {of_list} page fetched form=\"frm_1\" {id} rows=1 duplicates=0 bytes={} has_more=false", last([2]).len()),
            "WARN call{operation=\"me\" call=3}: waiting for the rate limit operation=\"me\" call=3 \
             wait=61s reason=the client's rate limit"
                .to_owned(),
            format!("DEBUG call{{operation=\"me\" call=3}}: attempt completed call=3 {id} attempt=1 status=200"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn log_contains_no_key_no_query_and_no_answer() {
    let body = r#"{"error":{"code":"form_not_found","message":"s3cret-message"}}"#;
    let answers = [
        ok(last([1234])),
        crate::support::fake::Answer::Status(404, vec![("x-echo", KEY.into())], body.into()),
        ok(format!(r#"{{"id":"{KEY}"#)),
        ok(USER),
    ];
    let fake = Fake::script(answers);
    let client = builder().transport(fake.wire()).build().unwrap();
    let (log, guard) = log_of_this_thread();
    let query = client.form("frm_1").submissions().page_size(77);
    query.clone().start_at(Cursor::new("c0rsor")).items().try_next().await.unwrap().unwrap();
    query.page().await.unwrap_err();
    client.me().await.unwrap();
    drop(guard);
    let log = log.text();
    assert_eq!(log.lines().count(), 6, "{log}");
    for secret in ["c0rsor", "1234", "77", "s3cret", "fsk_", "ada@", "forms.example"] {
        assert!(!log.contains(secret), "`{secret}` in {log}");
    }
}
