//! Effect of each fault of the REST API on the SDK, and the raw responses.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::event::ClientEvent;
use formsvc_client::{Client, Error, ErrorCode, ErrorKind, RateLimit, RetryPolicy, Timeouts};
use formsvc_protocol::{Answers, FormId, FormInstant, FormStatus, PublicId, SubmissionId};
use formsvc_server::faults::Faults;
use formsvc_server::serve::Running;
use formsvc_server::store::{NewForm, StagedSubmission};
use formsvc_tests::service::Service;
use secrecy::ExposeSecret;

/// 2026-01-01T00:00:00.000Z
const MIDNIGHT: i64 = 1_767_225_600_000_000;
const ROWS: i64 = 60;
const PAGE: u32 = 25;

/// A service with faults, and with rows that share one millisecond.
struct Sick {
    service: Service,
    faults: Faults,
    running: Running,
}

impl Sick {
    async fn with(faults: &[&str]) -> Self {
        let mut service = Service::now().await;
        let form = NewForm {
            id: FormId::new("frm_ties").unwrap(),
            user: service.user.id.clone(),
            public_id: PublicId::new("ties").unwrap(),
            title: "Ties".to_owned(),
            status: FormStatus::Published,
        };
        let staged = service.store.stage_form(form).await.unwrap();
        let row = |n: i64| StagedSubmission {
            id: SubmissionId::new(&format!("sub_{n:032x}")).unwrap(),
            at: Some(FormInstant::from_micros(MIDNIGHT + n)),
            answers: Answers::parse("{}").unwrap(),
        };
        service.store.stage_submissions(&staged, (1..=ROWS).map(row).collect()).await.unwrap();
        service.form = service.store.publish_staged(&staged).await.unwrap();
        let switches = Faults::new();
        for fault in faults {
            switches.set(fault.parse().unwrap());
        }
        let running = service.serve_with(&switches).await;
        Self { service, faults: switches, running }
    }

    fn client(&self) -> formsvc_client::ClientBuilder {
        Client::builder()
            .base_url(self.running.base_url())
            .api_key(self.service.key.expose_secret())
            .rate_limit(RateLimit::off())
            .retry(RetryPolicy::none())
    }

    /// Reads all rows with the SDK.
    async fn rows(&self, client: &Client) -> Result<Vec<String>, Error> {
        let form = client.form(self.service.form.id.clone());
        let mut rows = form.submissions().page_size(PAGE).items();
        let mut ids = Vec::new();
        while let Some(row) = rows.try_next().await? {
            ids.push(row.id.to_string());
        }
        Ok(ids)
    }

    /// Returns the JSON of a raw response.
    async fn page(&self, query: &str) -> serde_json::Value {
        let path = format!("/api/v1/forms/{}/submissions?{query}", self.service.form.id);
        let request = http::Request::get(path)
            .header("authorization", format!("Bearer {}", self.service.key.expose_secret()))
            .body(Bytes::new())
            .unwrap();
        let answer = self.service.in_process_with(&self.faults).answer(request).await;
        assert_eq!(answer.status(), 200);
        serde_json::from_slice(answer.body()).unwrap()
    }
}

fn all_once(rows: &[String]) -> bool {
    rows.len() == usize::try_from(ROWS).unwrap()
        && rows.iter().collect::<HashSet<_>>().len() == rows.len()
}

fn quick_retries() -> RetryPolicy {
    RetryPolicy::standard().max_attempts(2).base_delay(Duration::from_millis(1))
}

#[tokio::test]
async fn latency_beyond_time_limit_is_timeout() {
    let sick = Sick::with(&["latency=10m"]).await;
    let overall = Some(Duration::from_millis(50));
    let client = sick.client().timeouts(Timeouts::new().overall(overall));
    let client = client.build().unwrap();
    assert_eq!(client.me().await.unwrap_err().kind(), ErrorKind::Timeout);
    sick.faults.clear();
    sick.client().build().unwrap().me().await.unwrap();
}

#[tokio::test]
async fn error_on_every_second_request_is_retried() {
    let sick = Sick::with(&["errors"]).await;
    let client = sick.client().build().unwrap();
    for _ in 0..3 {
        client.me().await.unwrap();
        let error = client.me().await.unwrap_err();
        assert_eq!(error.status().unwrap().as_u16(), 500);
        assert_eq!(error.code(), Some(&ErrorCode::InternalError));
    }
    let client = sick.client().retry(quick_retries()).build().unwrap();
    assert!(all_once(&sick.rows(&client).await.unwrap()));
}

#[tokio::test]
async fn rate_limited_error_has_retry_after() {
    let sick = Sick::with(&["rate-limited=7"]).await;
    let error = sick.client().build().unwrap().me().await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::RateLimited));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn truncated_response_is_retried() {
    let sick = Sick::with(&["truncated=100%"]).await;
    let client = sick.client().build().unwrap();
    assert_eq!(client.me().await.unwrap_err().kind(), ErrorKind::Transport);
    sick.faults.set("truncated=50%".parse().unwrap());
    let client = sick.client().retry(quick_retries()).build().unwrap();
    assert!(all_once(&sick.rows(&client).await.unwrap()));
}

#[tokio::test]
async fn html_response_is_decode_error() {
    let sick = Sick::with(&["html"]).await;
    let error = sick.client().build().unwrap().me().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert_eq!(error.status().map(|status| status.as_u16()), Some(200));
}

#[tokio::test]
async fn millisecond_cursors_end_crowded_list_with_error() {
    let sick = Sick::with(&["cursor-millis"]).await;
    let first = sick.page("limit=25").await;
    assert_eq!(first["pagination"]["next_cursor"], "2026-01-01T00:00:00.000Z");
    assert_eq!(first["pagination"]["has_more"], true);
    let second = sick.page("limit=25&cursor=2026-01-01T00:00:00.000Z").await;
    assert_eq!(second["data"], serde_json::json!([]));
    let client = sick.client().build().unwrap();
    let error = sick.rows(&client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TieOverflow);
    assert!(error.to_string().contains("`2026-01-01T00:00:00.000Z`"), "{error}");
    sick.faults.clear();
    assert!(all_once(&sick.rows(&client).await.unwrap()));
}

#[tokio::test]
async fn stuck_cursor_ends_list_with_error() {
    let sick = Sick::with(&["stuck-cursor"]).await;
    let first = sick.page("limit=25").await;
    let cursor = first["pagination"]["next_cursor"].as_str().unwrap();
    let second = sick.page(&format!("limit=25&cursor={cursor}")).await;
    assert_eq!(second["pagination"]["next_cursor"], cursor);
    let client = sick.client().build().unwrap();
    let error = sick.rows(&client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Pagination);
}

#[tokio::test]
async fn empty_page_does_not_end_list() {
    let sick = Sick::with(&["empty-page"]).await;
    let first = sick.page("limit=25").await;
    assert_eq!(first["data"].as_array().unwrap().len(), 25);
    let cursor = first["pagination"]["next_cursor"].as_str().unwrap();
    let empty = sick.page(&format!("limit=25&cursor={cursor}")).await;
    assert_eq!(empty["data"], serde_json::json!([]));
    assert_eq!(empty["pagination"]["has_more"], true);
    let cursor = empty["pagination"]["next_cursor"].as_str().unwrap();
    let second = sick.page(&format!("limit=25&cursor={cursor}")).await;
    assert_eq!(second["data"].as_array().unwrap().len(), 25);
    let client = sick.client().build().unwrap();
    assert!(all_once(&sick.rows(&client).await.unwrap()));
}

#[tokio::test]
async fn repeated_rows_are_yielded_once() {
    let sick = Sick::with(&["duplicate-rows"]).await;
    let first = sick.page("limit=25").await;
    let cursor = first["pagination"]["next_cursor"].as_str().unwrap();
    let second = sick.page(&format!("limit=25&cursor={cursor}")).await;
    assert_eq!(second["data"][0], first["data"][24]);
    let repeated = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&repeated);
    let client = sick.client().on_event(move |event| {
        if let ClientEvent::PageFetched { duplicates, .. } = event {
            *counted.lock().unwrap() += *duplicates;
        }
    });
    let client = client.build().unwrap();
    assert!(all_once(&sick.rows(&client).await.unwrap()));
    // Each page after the first begins with a known row, and the fault repeats another.
    assert_eq!(*repeated.lock().unwrap(), 4, "two for each page after the first");
}

#[tokio::test]
async fn list_is_complete_despite_combined_faults() {
    let sick = Sick::with(&["errors=20%", "truncated=25%", "empty-page", "duplicate-rows"]).await;
    let retry = quick_retries().max_attempts(5).budget(None);
    let client = sick.client().retry(retry).build().unwrap();
    assert!(all_once(&sick.rows(&client).await.unwrap()));
}
