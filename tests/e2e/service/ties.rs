//! Many submissions in one millisecond, paged while more arrive.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use formsvc_protocol::{Answers, FormInstant, SubmissionId};
use formsvc_server::store::NewSubmission;
use formsvc_tests::service::Service;
use tokio::task::JoinSet;

/// 2026-01-01T00:00:00.000Z
const NOON: i64 = 1_767_225_600_000_000;
const SUBMISSIONS: usize = 10_000;

/// Submits from 64 tasks at once, for speed and for disorder.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_in_one_millisecond_are_all_paged_while_more_arrive() {
    // The clock stands still: all of them are made in one millisecond.
    let clock = Arc::new(|| FormInstant::from_micros(NOON));
    let service = Arc::new(Service::new(clock).await);
    let accepted = submit_many(&service, SUBMISSIONS).await;
    let running = service.serve().await;
    let client = service.client(&running);
    let done = Arc::new(AtomicBool::new(false));
    let arriving = {
        let (service, done) = (Arc::clone(&service), Arc::clone(&done));
        tokio::spawn(async move {
            let mut arrived = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let id =
                    SubmissionId::new(&format!("sub_{:032x}", u128::MAX - u128::from(arrived)));
                let (id, form) = (id.unwrap(), service.form.id.clone());
                let answers = Answers::parse(r#"{"late":1}"#).unwrap();
                service.store.submit(NewSubmission { id, form, answers }).await.unwrap();
                arrived += 1;
            }
            arrived
        })
    };
    let mut walks = JoinSet::new();
    for limit in [1, 7, 25, 100] {
        let form = client.form(service.form.id.clone());
        walks.spawn(async move {
            let mut items = form.submissions().page_size(limit).items();
            let (mut seen, mut late) = (HashSet::new(), 0);
            while let Some(submission) = items.try_next().await.unwrap() {
                if submission.data.as_json() == r#"{"late":1}"# {
                    late += 1;
                }
                assert!(seen.insert(submission.id.clone()), "{} twice at {limit}", submission.id);
            }
            (limit, seen, late)
        });
    }
    while let Some(walk) = walks.join_next().await {
        let (limit, seen, late) = walk.unwrap();
        let missing = accepted.difference(&seen).count();
        assert_eq!(missing, 0, "{missing} lost at limit {limit}");
        assert_eq!(seen.len(), accepted.len() + late, "limit {limit}");
    }
    done.store(true, Ordering::Relaxed);
    assert!(arriving.await.unwrap() > 0, "nothing arrived meanwhile");
    running.shutdown().await.unwrap();
}
