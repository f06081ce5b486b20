//! `GET /metrics`, over a socket, read by a strict parser of the format.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::delivery::AttemptCode;
use formsvc_server::egress::{AddressClass, FailureCode};
use formsvc_server::metrics::{METRICS, Metrics};
use formsvc_server::rate_limit::RateLimit;
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{DeliveryState, Store, StoreObserver, system_clock};
use secrecy::ExposeSecret;
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use super::open_metrics::Scrape;
use super::wire::{connect, read_all, read_until};

const PAGE: &str = "/api/v1/forms/{form_id}/submissions";
const ANSWER: &str = "an answer nobody else may see";

/// A request on a connection of its own: the whole response.
async fn ask(running: &Running, method: &str, path: &str, key: &str) -> String {
    let mut stream = connect(running).await;
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n");
    stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).await.unwrap();
    read_all(&mut stream).await
}

async fn scrape(running: &Running) -> Scrape {
    let answer = ask(running, "GET", "/metrics", "").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let kind = "content-type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.lines().any(|line| line == kind), "{head}");
    Scrape::parse(body)
}

fn store() -> Arc<dyn Store> {
    Arc::new(SqliteStore::in_memory(system_clock()).unwrap())
}

#[tokio::test]
async fn what_was_done_over_sockets_is_what_is_counted() {
    let store = store();
    let admin = Admin::new(Arc::clone(&store));
    let user = admin.create_user("owner@example.org", "Owner").await.unwrap();
    let key = admin.create_key(&user.id, "tests").await.unwrap().secret;
    let key = key.expose_secret();
    let form = admin.create_form(&user.id, FormOptions::titled("A title of theirs")).await.unwrap();
    let rate_limit = RateLimit::per_minute(NonZeroU32::new(3).unwrap());
    let options = ServeOptions { rate_limit, ..ServeOptions::default() };
    let running = Server::bind(options, store).await.unwrap();

    for _ in 0..5 {
        admin.submit(&form.id, &format!("{{\"q\":\"{ANSWER}\"}}")).await.unwrap();
    }
    let page = format!("/api/v1/forms/{}/submissions", form.id);
    for (method, path, key, status) in [
        ("GET", "/api/v1/me", key, "200"),
        ("GET", &page, key, "200"),
        ("GET", "/api/v1/forms/frm_0/submissions", key, "404"),
        ("GET", "/api/v1/me", key, "429"),
        ("GET", &page, key, "429"),
        ("GET", "/api/v1/me", "fsk_nobody", "401"),
        ("POST", "/api/v1/me", key, "405"),
        ("GET", "/some/where?secret=x", key, "404"),
        ("GET", "/livez", "", "200"),
        ("HEAD", "/metrics", "", "200"),
    ] {
        let answer = ask(&running, method, path, key).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path}: {answer}");
    }
    let mut open = connect(&running).await;
    open.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    read_until(&mut open, "live").await;

    let found = scrape(&running).await;
    let requests = |route, status| {
        found.value("formsvc_requests_total", &[("route", route), ("status", status)])
    };
    assert_eq!(requests("/api/v1/me", "2xx"), Some(1.0));
    assert_eq!(requests("/api/v1/me", "4xx"), Some(2.0));
    assert_eq!(requests(PAGE, "2xx"), Some(1.0));
    assert_eq!(requests(PAGE, "4xx"), Some(2.0));
    assert_eq!(requests("/livez", "2xx"), Some(2.0));
    assert_eq!(requests("/metrics", "2xx"), Some(1.0));
    // The wrong method and the wrong path: no route of ours.
    assert_eq!(requests("-", "4xx"), Some(2.0));
    assert_eq!(found.value("formsvc_rate_limited_total", &[("what", "api_key")]), Some(2.0));
    // The open one, and the one that asks.
    assert_eq!(found.value("formsvc_connections", &[]), Some(2.0));
    assert_eq!(found.value("formsvc_accept_seconds_count", &[]), Some(5.0));
    assert_eq!(found.value("formsvc_commit_batch_size_count", &[]), Some(5.0));
    assert_eq!(found.value("formsvc_commit_batch_size_sum", &[]), Some(5.0));
    assert_eq!(found.value("formsvc_write_queue", &[]), Some(0.0));
    for told in [key, ANSWER, "A title of theirs", form.id.as_str(), "owner@", "/some/where"] {
        assert!(!found.text.contains(told), "{told}: {}", found.text);
    }
}

#[tokio::test]
async fn a_request_whose_client_went_away_is_counted_as_abandoned() {
    let entered = Arc::new(Notify::new());
    let handler = {
        let entered = Arc::clone(&entered);
        async move || {
            entered.notify_one();
            std::future::pending::<()>().await;
        }
    };
    let wrap = |router: axum::Router| router.route("/held", axum::routing::get(handler));
    let running = Server::bind_with(ServeOptions::default(), store(), wrap).await.unwrap();
    let mut held = connect(&running).await;
    held.write_all(b"GET /held HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    entered.notified().await;
    drop(held);
    while running.connections() > 0 {
        // Sleeps because polling without a pause takes the processor from what it waits for.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let found = scrape(&running).await;
    let abandoned = [("route", "-"), ("status", "abandoned")];
    assert_eq!(found.value("formsvc_requests_total", &abandoned), Some(1.0));
}

#[tokio::test]
async fn what_is_read_is_what_the_table_says() {
    let metrics = Metrics::new();
    metrics.request("/x", Some(http::StatusCode::OK));
    let found = Scrape::parse(&metrics.render());
    let of = |row: &formsvc_server::metrics::MetricRow| format!("formsvc_{}", row.name);
    let mut table: Vec<_> =
        METRICS.iter().map(|row| (of(row), row.kind.word().to_owned())).collect();
    let mut read: Vec<_> = found.types.clone().into_iter().collect();
    table.sort();
    read.sort();
    assert_eq!(read, table);
    for row in METRICS {
        let labels: Vec<_> = row.labels.iter().map(|label| (*label).to_owned()).collect();
        assert_eq!(found.label_names(&of(row)), labels, "{}", row.name);
        assert!(found.help[&of(row)].starts_with(row.about), "{}", row.name);
    }
}

#[tokio::test]
async fn deliveries_are_counted_by_closed_sets_that_are_there_from_the_start() {
    let metrics = Metrics::new();
    let before = Scrape::parse(&metrics.render());
    metrics.attempt(None, Duration::from_millis(30));
    metrics.attempt(Some(AttemptCode::StatusNot2xx), Duration::from_secs(3));
    let timeout = AttemptCode::NoAnswer(FailureCode::Timeout);
    metrics.attempt(Some(timeout), Duration::from_secs(10));
    metrics.attempt_not_made(AttemptCode::UrlRefused);
    for state in DeliveryState::ALL.map(|(state, _)| state) {
        metrics.delivery_finished(state);
    }
    StoreObserver::canceled(&*metrics, 5);
    metrics.set_unfinished(7);
    metrics.set_in_flight(4);
    metrics.set_oldest_due(Duration::from_millis(1500));
    metrics.leases_lost(2);
    metrics.leases_expired(3);
    metrics.egress_denied(AddressClass::Loopback);
    let found = Scrape::parse(&metrics.render());
    for (name, labels, value) in [
        ("delivery_attempts_total", &[("outcome", "success"), ("error", "")][..], 1.0),
        ("delivery_attempts_total", &[("outcome", "failure"), ("error", "status_not_2xx")], 1.0),
        ("delivery_attempts_total", &[("outcome", "failure"), ("error", "timeout")], 1.0),
        ("delivery_attempts_total", &[("outcome", "failure"), ("error", "url_refused")], 1.0),
        ("delivery_attempts_total", &[("outcome", "failure"), ("error", "redirected")], 0.0),
        ("delivery_seconds_count", &[("outcome", "success")], 1.0),
        ("delivery_seconds_sum", &[("outcome", "failure")], 13.0),
        ("delivery_seconds_count", &[("outcome", "failure")], 2.0),
        ("deliveries_finished_total", &[("state", "delivered")], 1.0),
        ("deliveries_finished_total", &[("state", "failed")], 1.0),
        ("deliveries_finished_total", &[("state", "canceled")], 6.0),
        ("deliveries_unfinished", &[], 7.0),
        ("deliveries_in_flight", &[], 4.0),
        ("oldest_due_age_seconds", &[], 1.5),
        ("leases_lost_total", &[], 2.0),
        ("leases_expired_total", &[], 3.0),
        ("egress_denied_total", &[("class", "loopback")], 1.0),
        ("egress_denied_total", &[("class", "metadata")], 0.0),
    ] {
        let name = format!("formsvc_{name}");
        assert_eq!(found.value(&name, labels), Some(value), "{name} {labels:?}");
        assert_eq!(before.value(&name, labels), Some(0.0), "{name} {labels:?}");
    }
    let unfinished = found.value("formsvc_deliveries_finished_total", &[("state", "pending")]);
    assert_eq!(unfinished, None);
    for (what, value) in [("api_key", Some(0.0)), ("public_form", Some(0.0)), ("sign_in", None)] {
        let limited = found.value("formsvc_rate_limited_total", &[("what", what)]);
        assert_eq!(limited, value, "nobody signs in, and nothing else has a quota: {what}");
    }
}

#[test]
fn every_value_of_a_label_is_in_the_manual() {
    let manual = include_str!("../../../../../docs/METRICS.md");
    let (_, manual) = manual.split_once("## Values of labels").unwrap();
    let rendered = Metrics::new().render();
    let mut found = 0;
    for line in rendered.lines().filter(|line| !line.starts_with('#')) {
        let Some((_, labels)) = line.split_once('{') else { continue };
        let labels = labels.split_once('}').unwrap().0;
        for pair in labels.split(',') {
            let (label, value) = pair.split_once('=').unwrap();
            let value = value.trim_matches('"');
            // Buckets are the format's, and no label of ours.
            if label == "le" || value.is_empty() {
                continue;
            }
            let row = manual.lines().find(|row| row.starts_with(&format!("| `{label}` |")));
            let row = row.unwrap_or_else(|| panic!("no row for `{label}`"));
            assert!(row.contains(&format!("`{value}`")), "{label} {value}: {row}");
            found += 1;
        }
    }
    assert!(found > 30, "{found} values were looked for");
}
