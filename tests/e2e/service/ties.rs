//! Pages through many submissions of one millisecond while more arrive.

use std::collections::HashSet;
use std::sync::Arc;

use formsvc_protocol::{Answers, FormInstant, SubmissionId};
use formsvc_server::store::NewSubmission;
use formsvc_tests::service::Service;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// 2026-01-01T00:00:00.000Z
const MIDNIGHT: i64 = 1_767_225_600_000_000;
const LATE: &str = r#"{"late":1}"#;

/// Submits from 64 tasks at the same time, which is fast and leads to a random order.
async fn submit_many(service: &Service, count: usize) -> HashSet<SubmissionId> {
    let (mut tasks, mut accepted) = (JoinSet::new(), HashSet::new());
    for _ in 0..64 {
        let (admin, form) = (service.admin.clone(), service.form.id.clone());
        tasks.spawn(async move {
            let mut ids = Vec::new();
            for _ in 0..count.div_ceil(64) {
                ids.push(admin.submit(&form, r#"{"a":1}"#).await.unwrap().id);
            }
            ids
        });
    }
    while let Some(ids) = tasks.join_next().await {
        accepted.extend(ids.unwrap());
    }
    accepted
}

/// Submits with descending ids and ascending times, until the receiver of `arrived` is dropped.
async fn keep_submitting(service: Arc<Service>, arrived: watch::Sender<u128>) {
    for number in 1.. {
        let id = SubmissionId::new(&format!("sub_{:032x}", u128::MAX - number)).unwrap();
        let answers = Answers::parse(LATE).unwrap();
        let form = service.form.id.clone();
        service
            .store
            .submit(NewSubmission { id, form, answers, revision: None, idempotency: None })
            .await
            .unwrap();
        if arrived.send(number).is_err() {
            return;
        }
    }
}

/// Reads a number of submissions of one millisecond over HTTP, once with each page size at the same time,
/// while more arrive.
async fn page_through(submissions: usize, limits: [u32; 2]) {
    // The clock does not advance, so all submissions have the same millisecond.
    let clock = Arc::new(|| FormInstant::from_micros(MIDNIGHT));
    let service = Arc::new(Service::new(clock).await);
    let accepted = submit_many(&service, submissions).await;
    let running = service.serve().await;
    let client = service.client(&running);
    let (sender, mut arrived) = watch::channel(0);
    let arriving = tokio::spawn(keep_submitting(Arc::clone(&service), sender));
    // A list starts at its first page and goes back in time, so it contains only submissions that arrived
    // before that page. Waits for one, so that each list contains a late submission.
    arrived.wait_for(|arrived| *arrived > 0).await.unwrap();
    let mut walks = JoinSet::new();
    for limit in limits {
        let (form, arrived) = (client.form(service.form.id.clone()), arrived.clone());
        walks.spawn(async move {
            let mut items = form.submissions().page_size(limit).items();
            let (mut seen, mut late) = (HashSet::new(), 0);
            while let Some(submission) = items.try_next().await.unwrap() {
                late += u128::from(submission.data.as_json() == LATE);
                assert!(seen.insert(submission.id.clone()), "{} twice at {limit}", submission.id);
            }
            (limit, seen, late, *arrived.borrow())
        });
    }
    while let Some(walk) = walks.join_next().await {
        let (limit, seen, late, arrived) = walk.unwrap();
        let missing = accepted.difference(&seen).count();
        assert_eq!(missing, 0, "{missing} lost at limit {limit}");
        assert_eq!(seen.len() as u128, accepted.len() as u128 + late, "limit {limit}");
        assert!(
            0 < late && late < arrived,
            "{late} of {arrived} late submissions found at {limit}"
        );
    }
    drop(arrived);
    arriving.await.unwrap();
    running.shutdown().await.unwrap();
}

// Only 1,000, because a page size of 1 needs a request for each; the store's contract tests 10,000.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousand_equal_times_are_paged_one_by_one() {
    page_through(1_000, [1, 7]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_equal_times_are_paged() {
    page_through(10_000, [25, 100]).await;
}
