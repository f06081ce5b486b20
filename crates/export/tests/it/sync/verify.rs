//! Comparison of a database with the service.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use formsvc_client::test_util::{Fault, MockService, form, generate};
use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
use formsvc_client::{Client, Completeness};
use formsvc_export::{
    ExportError, PullOptions, RowRange, RowSource, SpoolFolder, SyncError, SyncStore,
    VerifyOptions, VerifySummary,
};
use http::{Request, Response, StatusCode};

use super::database::{Database, texts};
use super::{FORM, form_id, newest, service, submit, sync, sync_by};
use crate::spoiled::spoiled;

/// A service with some of 500 generated submissions.
fn service_without(left_out: impl Fn(usize) -> bool) -> MockService {
    let rows = generate(500).into_iter().enumerate().filter(|(at, _)| !left_out(*at));
    MockService::new().form(form(FORM, "Survey")).submissions(FORM, rows.map(|(_, row)| row))
}

async fn verify(
    store: &SyncStore,
    client: &Client,
    mark_deleted: bool,
) -> Result<VerifySummary, ExportError> {
    let options = VerifyOptions::default().mark_deleted(mark_deleted);
    store.verify(client, &form_id(), &PullOptions::default(), &options, |_| {}).await
}

#[tokio::test]
async fn verify_adds_missing_and_replaces_changed_rows() {
    for database in Database::all().await {
        let service = service(500);
        let store = database.open().await;
        let view = sync(&store, &service).await.unwrap().view;
        let table = database.table("submissions");
        let (missing, changed) = ("('sub_7', 'sub_80', 'sub_200')", "('sub_3', 'sub_499')");
        database.execute(&format!("DELETE FROM {table} WHERE id IN {missing}")).await;
        database.execute(&format!("UPDATE {table} SET data = '{{}}' WHERE id IN {changed}")).await;
        let found = verify(&store, &service.client(), false).await.unwrap();
        assert_eq!((found.rows, found.missing, found.changed, found.deleted), (500, 3, 2, 0));
        assert_eq!(found.completeness, Completeness::Proven);
        let count =
            format!("SELECT count(*) FROM {} WHERE \"Number\" IS NOT NULL", database.table(&view));
        assert_eq!(database.query(&count).await, [texts(&["500"])]);
        let again = verify(&store, &service.client(), true).await.unwrap();
        assert_eq!((again.missing, again.changed, again.deleted), (0, 0, 0));
    }
}

#[tokio::test]
async fn row_that_arrives_after_the_sync_is_stored_but_not_missing() {
    for database in Database::all().await {
        let service = service(500);
        service.set_date(newest());
        let store = database.open().await;
        sync(&store, &service).await.unwrap();
        submit(&service, 0, "{}");
        let found = verify(&store, &service.client(), false).await.unwrap();
        assert_eq!((found.rows, found.missing), (501, 0));
        assert_eq!(database.rows().await.len(), 501);
    }
}

#[tokio::test]
async fn deleted_rows_are_marked_omitted_and_restored() {
    for database in Database::all().await {
        let all = service(500);
        let some = service_without(|at| [0, 130, 131, 499].contains(&at));
        let store = database.open().await;
        let view = sync(&store, &all).await.unwrap().view;
        let found = verify(&store, &some.client(), false).await.unwrap();
        assert_eq!((found.deleted, found.is_marked), (4, false));
        let count = format!("SELECT count(*) FROM {}", database.table(&view));
        assert_eq!(database.query(&count).await, [texts(&["500"])]);

        let found = verify(&store, &some.client(), true).await.unwrap();
        assert_eq!((found.deleted, found.is_marked), (4, true));
        assert_eq!(database.query(&count).await, [texts(&["496"])]);
        let status = store.status().await.unwrap().pop().unwrap();
        assert_eq!((status.rows, status.deleted), (496, 4));
        assert_eq!(sync(&store, &some).await.unwrap().pull.rows, 496);
        let spools = SpoolFolder::temporary().unwrap();
        for (include_deleted, expected) in [(false, 496), (true, 500)] {
            let range = RowRange::default().include_deleted(include_deleted);
            let rows = store.rows(&status, range, &spools).await.unwrap();
            let mut count = 0;
            rows.for_each(&mut |_| {
                count += 1;
                Ok(())
            })
            .unwrap();
            assert_eq!(count, expected);
        }
        assert_eq!(verify(&store, &some.client(), true).await.unwrap().deleted, 0);

        let found = verify(&store, &all.client(), true).await.unwrap();
        assert_eq!((found.restored, found.missing, found.deleted), (4, 0, 0));
        assert_eq!(database.query(&count).await, [texts(&["500"])]);
    }
}

#[tokio::test]
async fn empty_list_marks_rows_only_if_it_is_allowed() {
    for database in Database::all().await {
        let store = database.open().await;
        sync(&store, &service(2_500)).await.unwrap();
        let empty = service(0).client();
        let error = verify(&store, &empty, true).await.unwrap_err();
        let ExportError::Sync(SyncError::EmptyList(missing)) = error else { panic!("{error}") };
        assert_eq!((missing, store.status().await.unwrap()[0].deleted), (2_500, 0));
        let options = VerifyOptions::default().mark_deleted(true).allow_empty(true);
        let pull = PullOptions::default();
        let found = store.verify(&empty, &form_id(), &pull, &options, |_| {}).await.unwrap();
        assert_eq!((found.rows, found.deleted, found.is_marked), (0, 2_500, true));
        assert_eq!(store.status().await.unwrap()[0].deleted, 2_500);
        // With no stored row left to mark, an empty list is no difference.
        assert_eq!(verify(&store, &empty, true).await.unwrap().deleted, 0);
    }
}

async fn purge(store: &SyncStore, client: &Client) -> Result<VerifySummary, ExportError> {
    let options = VerifyOptions::default().purge_deleted(true);
    store.verify(client, &form_id(), &PullOptions::default(), &options, |_| {}).await
}

#[tokio::test]
async fn purge_removes_marked_and_missing_rows_for_good() {
    for database in Database::all().await {
        let store = database.open().await;
        sync(&store, &service(500)).await.unwrap();
        verify(&store, &service_without(|at| at == 7).client(), true).await.unwrap();
        let left_out = database.table("left_out");
        database
            .execute(&format!(
                "INSERT INTO {left_out} VALUES (1, 9000000000000000000, 'sub_493', 'x')"
            ))
            .await;
        let found = purge(&store, &service_without(|at| [7, 130].contains(&at)).client()).await;
        let found = found.unwrap();
        assert_eq!((found.deleted, found.purged, found.is_marked), (1, 2, true));
        let status = store.status().await.unwrap().pop().unwrap();
        assert_eq!((status.rows, status.deleted), (498, 0));
        assert_eq!(database.rows().await.len(), 498);
        assert!(database.query(&format!("SELECT * FROM {left_out}")).await.is_empty());
        let again = purge(&store, &service_without(|at| [7, 130].contains(&at)).client()).await;
        assert_eq!(again.unwrap().purged, 0);
    }
}

#[tokio::test]
async fn purge_needs_a_list_with_submissions() {
    for database in Database::all().await {
        let store = database.open().await;
        sync(&store, &service(5)).await.unwrap();
        let error = purge(&store, &service(0).client()).await.unwrap_err();
        assert!(matches!(error, ExportError::Sync(SyncError::EmptyList(5))), "{error}");
        assert_eq!(store.status().await.unwrap()[0].rows, 5);
    }
}

/// Returns true if a database file or its log contains a text.
fn files_contain(database: &Database, text: &str) -> bool {
    ["rows.db", "rows.db-wal"].into_iter().any(|name| {
        let bytes = std::fs::read(database.path().with_file_name(name)).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

#[tokio::test]
async fn purged_answers_are_in_no_file_of_sqlite() {
    let database = Database::sqlite();
    let store = database.open().await;
    let secret =
        |version: u32| format!(r#"{{"name":"{}"}}"#, format!("Zoe-{version}").repeat(2_000));
    // The answers of another version are replaced.
    for version in 0..2 {
        sync(&store, &super::service_with(&["{}", &secret(version), "{}"])).await.unwrap();
    }
    let without = super::service_with(&["{}"]);
    submit(&without, 2, "{}");
    assert!(files_contain(&database, "Zoe-1"));
    let reader = rusqlite::Connection::open(database.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM submissions").unwrap();
    let found = purge(&store, &without.client()).await.unwrap();
    assert_eq!((found.purged, found.log.is_some()), (1, true));
    reader.execute_batch("COMMIT").unwrap();
    // The reader's connection stays open.
    let found = purge(&store, &without.client()).await.unwrap();
    assert_eq!((found.purged, found.log), (0, None));
    assert!(!files_contain(&database, "Zoe"));
}

/// A service that refuses the client's own cursor once.
struct RefusesOnce {
    service: MockService,
    is_first: AtomicBool,
    has_refused: AtomicBool,
}

impl Transport for RefusesOnce {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        context: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let is_first = self.is_first.swap(false, Ordering::Relaxed);
        if !is_first && !self.has_refused.swap(true, Ordering::Relaxed) {
            self.service.fail_next(Fault::Status(StatusCode::BAD_REQUEST, "{}".into()));
        }
        self.service.send(request, context)
    }
}

#[tokio::test]
async fn unproven_list_marks_nothing() {
    for database in Database::all().await {
        let store = database.open().await;
        sync(&store, &service(500)).await.unwrap();
        for is_purge in [false, true] {
            let some = service_without(|at| at == 300);
            let transport = RefusesOnce {
                service: some.clone(),
                is_first: AtomicBool::new(true),
                has_refused: AtomicBool::new(false),
            };
            let client = some.client_builder().transport(transport).build().unwrap();
            let options = VerifyOptions::default().mark_deleted(!is_purge).purge_deleted(is_purge);
            let pull = PullOptions::default();
            let result = store.verify(&client, &form_id(), &pull, &options, |_| {}).await;
            let error = result.unwrap_err();
            let ExportError::Sync(SyncError::NotProven { missing, completeness }) = error else {
                panic!("{error}")
            };
            assert_eq!((missing, completeness), (1, Completeness::Unproven));
            let status = store.status().await.unwrap().pop().unwrap();
            assert_eq!((status.rows, status.deleted), (500, 0));
        }
    }
}

#[tokio::test]
async fn verify_of_a_complete_list_proves_the_database() {
    for database in Database::all().await {
        let service = service(500);
        let store = database.open().await;
        sync(&store, &service).await.unwrap();
        let (coverage, left_out) = (database.table("coverage"), database.table("left_out"));
        database.execute(&format!("UPDATE {coverage} SET completeness = 'incomplete'")).await;
        database.execute(&format!("INSERT INTO {left_out} VALUES (1, 5, '', 'a second')")).await;
        database.execute(&format!("INSERT INTO {left_out} VALUES (1, 5, 'sub_1', 'bad')")).await;
        let before = sync(&store, &service).await.unwrap().pull;
        assert_eq!(before.completeness, Completeness::Incomplete);
        assert_eq!(
            (before.left_out.units, before.left_out.items),
            (vec!["a second".to_owned()], 1)
        );
        assert_eq!(before.left_out.described_items, ["bad"]);
        verify(&store, &service.client(), false).await.unwrap();
        let status = store.status().await.unwrap().pop().unwrap();
        assert_eq!(status.coverage.intervals()[0].completeness(), Completeness::Proven);
        let after = sync(&store, &service).await.unwrap().pull;
        assert_eq!((after.completeness, after.left_out.is_empty()), (Completeness::Proven, true));
    }
}

#[tokio::test]
async fn verify_does_not_take_an_invalid_item_for_deleted() {
    for database in Database::all().await {
        let service = service(500);
        let store = database.open().await;
        sync(&store, &service).await.unwrap();
        let client = spoiled(&service, &[100]);
        let pull = PullOptions::default().allow_incomplete(true);
        let verify = VerifyOptions::default();
        let summary = store.verify(&client, &form_id(), &pull, &verify, |_| {}).await.unwrap();
        assert_eq!((summary.deleted, summary.missing, summary.left_out.items), (0, 0, 1));
        assert_eq!(summary.completeness, Completeness::Incomplete);
    }
}

#[tokio::test]
async fn sync_stores_what_it_leaves_out_until_verified() {
    for database in Database::all().await {
        let service = service(500);
        let store = database.open().await;
        let client = spoiled(&service, &[100, 101]);
        let pull = PullOptions::default().allow_incomplete(true);
        let first = store.sync(&client, &form_id(), None, &pull, |_| {}).await.unwrap().pull;
        assert_eq!((first.left_out.items, first.completeness), (2, Completeness::Incomplete));
        let second = sync_by(&store, &client).await.unwrap().pull;
        assert_eq!(second.left_out, first.left_out);
        verify(&store, &service.client(), false).await.unwrap();
        let third = sync(&store, &service).await.unwrap().pull;
        assert!(third.left_out.is_empty() && third.completeness == Completeness::Proven);
        assert_eq!(third.rows, 500);
    }
}
