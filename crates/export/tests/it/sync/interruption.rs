//! Runs that fail, are dropped, or run at the same time.

use std::time::Duration;

use formsvc_client::ErrorCode;
use formsvc_client::test_util::{Fault, generate};
use formsvc_export::{ExportError, PullOptions, PullProgress, SyncError, SyncStatus};

use super::database::{Database, Texts};
use super::{form_id, service, sync, sync_by};
use crate::limited::limited;

/// The rows that a complete database has.
fn expected(rows: u32) -> Vec<Texts> {
    let mut rows: Vec<Texts> = generate(rows)
        .iter()
        .map(|row| {
            let texts = [row.id.as_str(), row.created_at.as_str(), row.data.as_json()];
            texts.map(|text| Some(text.to_owned())).to_vec()
        })
        .collect();
    rows.sort();
    rows
}

fn assert_complete(status: &SyncStatus) {
    assert_eq!(status.coverage.intervals().len(), 1);
    assert!(status.coverage.is_complete_since(None));
}

#[tokio::test]
async fn failed_runs_are_continued_by_the_same_call() {
    for database in Database::all().await {
        let service = service(2_000);
        let store = database.open().await;
        for pages in [0, 1, 3, 7, 2, 8] {
            let fault = Fault::Error(ErrorCode::KeyRevoked);
            let error = sync_by(&store, &limited(&service, pages, fault)).await.unwrap_err();
            assert!(matches!(error, ExportError::Service(_)), "{error}");
        }
        let summary = sync(&store, &service).await.unwrap();
        assert_eq!(summary.pull.rows, 2_000);
        assert_eq!(database.rows().await, expected(2_000));
        assert_complete(&store.status().await.unwrap()[0]);
        let view = database.table(&summary.view);
        let count = database.query(&format!("SELECT count(\"Number\") FROM {view}")).await;
        assert_eq!(count[0][0].as_deref(), Some("2000"));
    }
}

#[tokio::test]
async fn dropped_run_is_continued_and_frees_the_lock() {
    for database in Database::all().await {
        let service = service(1_000);
        let (client, form, options) = (service.client(), form_id(), PullOptions::default());
        let store = database.open().await;
        for pages in [1, 4, 2] {
            let (send, receive) = tokio::sync::oneshot::channel();
            let (mut send, mut left) = (Some(send), pages);
            let on_page = |_: PullProgress<'_>| {
                left -= 1;
                if left == 0 {
                    send.take().map(|send| send.send(()));
                    left = u32::MAX;
                }
            };
            tokio::select! {
                biased;
                _ = receive => {}
                done = store.sync(&client, &form, None, &options, on_page) => {
                    done.unwrap();
                }
            }
        }
        let other = database.open().await;
        assert_eq!(sync(&other, &service).await.unwrap().pull.rows, 1_000);
        assert_eq!(database.rows().await, expected(1_000));
    }
}

#[tokio::test]
async fn second_run_of_a_form_is_refused_while_the_first_runs() {
    for database in Database::all().await {
        let service = service(300);
        let (client, form, options) = (service.client(), form_id(), PullOptions::default());
        let (send, opened) = tokio::sync::oneshot::channel();
        let mut send = Some(send);
        // The second request has no answer, so that the run keeps its lock.
        let slow = limited(&service, 1, Fault::Slow(Duration::from_secs(3_600)));
        let first = database.open().await;
        let on_page = |_: PullProgress<'_>| {
            send.take().map(|send| send.send(()));
        };
        let mut run = Box::pin(first.sync(&slow, &form, None, &options, on_page));
        tokio::select! {
            _ = &mut run => panic!("the run ended"),
            _ = opened => {}
        }
        let second = database.open().await;
        let error = sync(&second, &service).await.unwrap_err();
        let ExportError::Sync(SyncError::Locked(locked)) = error else { panic!("{error}") };
        assert_eq!(locked, form.as_str());
        drop(run);
        drop(first);
        let summary = second.sync(&client, &form, None, &options, |_| {}).await.unwrap();
        assert_eq!(summary.pull.rows, 300);
    }
}

#[tokio::test]
async fn time_limit_saves_the_pages_received() {
    for database in Database::all().await {
        let service = service(500);
        let options = PullOptions::default().time_limit(Duration::from_secs(20));
        let store = database.open().await;
        let client = limited(&service, 1, Fault::Silent);
        // After the first page nothing but the clock can wake the run.
        let on_page = |_: PullProgress<'_>| tokio::time::pause();
        let error = store.sync(&client, &form_id(), None, &options, on_page).await.unwrap_err();
        tokio::time::resume();
        assert!(matches!(error, ExportError::TimeLimit), "{error}");
        assert_eq!(store.status().await.unwrap()[0].rows, 100);
        assert_eq!(sync(&store, &service).await.unwrap().pull.rows, 500);
    }
}

/// A run can be spawned on a runtime with several threads.
#[test]
fn futures_of_a_store_are_send() {
    fn assert_send<T: Send>(_: &T) {}
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, form, options) = (service(1).client(), form_id(), PullOptions::default());
        let store = Database::sqlite().open().await;
        let verify = formsvc_export::VerifyOptions::default();
        assert_send(&store.sync(&client, &form, None, &options, |_| {}));
        assert_send(&store.verify(&client, &form, &options, &verify, |_| {}));
        assert_send(&store.status());
    });
}
