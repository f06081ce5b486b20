//! Rows, cells and views of a run, and its requests.

use std::time::{Duration, SystemTime};

use formsvc_client::Completeness;
use formsvc_client::test_util::{MockService, form, generate, submission};
use formsvc_export::{PullOptions, PullProgress, RowRange, RowSource, SpoolFolder, ViewChanges};

use super::database::{Database, texts};
use super::{FORM, ORIGIN, form_id, newest, service, service_with, submit, sync, sync_by};

#[tokio::test]
async fn sync_stores_exact_rows_cells_and_a_view() {
    for database in Database::all().await {
        let data = r#"{"Name":"Zo\u00eb","n" : 1.50,"b":true,"l":["a", "b"],"e":"","z":null}"#;
        let service = service_with(&[data, r#"{"Name":"Bo"}"#]);
        let store = database.open().await;
        let summary = sync(&store, &service).await.unwrap();
        assert_eq!((summary.pull.new, summary.pull.rows), (2, 2));
        assert_eq!(summary.changes.new_columns, ["Name", "n", "b", "l", "e", "z"]);
        assert!(summary.view.starts_with("survey_"), "{}", summary.view);
        assert_eq!(database.rows().await[0][2].as_deref(), Some(data));
        let view = database.table(&summary.view);
        let rows =
            database.query(&format!(r#"SELECT id, "Name", l, e, z FROM {view} ORDER BY id"#)).await;
        let list = r#"["a", "b"]"#;
        let first = ["sub_000", "Zoë", list, ""].map(|text| Some(text.to_owned()));
        assert_eq!(rows[0], [first.as_slice(), &[None]].concat());
        let second = ["sub_001", "Bo"].map(|text| Some(text.to_owned()));
        assert_eq!(rows[1], [second.as_slice(), &[None, None, None]].concat());
        let columns = database.columns(&summary.view).await;
        assert_eq!(columns[..3], ["id", "created_at", "other_answers"]);
    }
}

#[tokio::test]
async fn nothing_new_costs_one_request_and_no_write() {
    for database in Database::all().await {
        let answers: Vec<&str> = vec![r#"{"a":1}"#; 300];
        let service = service_with(&answers);
        let store = database.open().await;
        sync(&store, &service).await.unwrap();
        let (before, rows) = (service.requests().len(), database.rows().await);
        let summary = sync(&store, &service).await.unwrap();
        assert_eq!(service.requests().len(), before + 1);
        assert_eq!((summary.pull.new, summary.pull.rows, summary.pull.requests), (0, 300, 1));
        assert_eq!(summary.changes, ViewChanges::default());
        assert_eq!(database.rows().await, rows);
    }
}

#[tokio::test]
async fn changed_row_is_replaced_counted_and_shown() {
    for database in Database::all().await {
        let store = database.open().await;
        sync(&store, &service_with(&[r#"{"a":"old"}"#, "{}"])).await.unwrap();
        let summary = sync(&store, &service_with(&[r#"{"a":"new"}"#, "{}"])).await.unwrap();
        assert_eq!((summary.pull.new, summary.pull.replaced), (0, 1));
        let view = database.table(&summary.view);
        let rows = database.query(&format!("SELECT a FROM {view} WHERE id = 'sub_000'")).await;
        assert_eq!(rows, [texts(&["new"])]);
    }
}

#[tokio::test]
async fn forms_have_views_of_their_own() {
    for database in Database::all().await {
        let service = service(3).form(form("frm_2", "Survey")).submissions("frm_2", generate(5));
        let store = database.open().await;
        let first = sync(&store, &service).await.unwrap();
        let options = PullOptions::default();
        let other = form("frm_2", "Survey");
        let client = service.client();
        let second = store.sync(&client, &other.id, Some(&other), &options, |_| {}).await.unwrap();
        assert_ne!(first.view, second.view);
        for (view, rows) in [(first.view, "3"), (second.view, "5")] {
            let count = format!("SELECT count(*) FROM {}", database.table(&view));
            assert_eq!(database.query(&count).await, [texts(&[rows])]);
        }
        let forms = store.status().await.unwrap();
        let ids: Vec<_> = forms.iter().map(|form| &*form.form_id).collect();
        assert_eq!(ids, [FORM, "frm_2"]);
    }
}

#[tokio::test]
async fn title_and_public_id_are_those_of_the_last_list() {
    for database in Database::all().await {
        let (client, options, id) = (service(3).client(), PullOptions::default(), form_id());
        let (store, first) = (database.open().await, form(FORM, "Survey"));
        let mut renamed = form(FORM, "Poll");
        renamed.public_id = "poll".parse().unwrap();
        for (listed, expected) in [
            (None, (None, None)),
            (Some(&first), (Some("Survey"), Some(first.public_id.as_str()))),
            (None, (Some("Survey"), Some(first.public_id.as_str()))),
            (Some(&renamed), (Some("Poll"), Some("poll"))),
        ] {
            store.sync(&client, &id, listed, &options, |_| {}).await.unwrap();
            let form = store.status().await.unwrap().pop().unwrap();
            assert_eq!((form.title.as_deref(), form.public_id.as_deref()), expected);
        }
    }
}

#[tokio::test]
async fn counts_are_right_after_rows_were_deleted_by_hand() {
    for database in Database::all().await {
        let service = service(300);
        let store = database.open().await;
        sync(&store, &service).await.unwrap();
        let table = database.table("submissions");
        let half = format!("DELETE FROM {table} WHERE instant % 2000000 = 0");
        database.execute(&half).await;
        database.execute(&format!("UPDATE {table} SET deleted_at = 1 WHERE id = 'sub_9'")).await;
        let count = format!("SELECT count(*) FROM {table} WHERE deleted_at IS NULL");
        let left: u64 = database.query(&count).await[0][0].as_ref().unwrap().parse().unwrap();
        let status = store.status().await.unwrap().pop().unwrap();
        assert_eq!((status.rows, status.deleted), (left, 1));
        let summary = sync(&store, &service).await.unwrap().pull;
        let now: u64 = database.query(&count).await[0][0].as_ref().unwrap().parse().unwrap();
        assert_eq!((summary.rows, summary.new), (now, now - left));
    }
}

#[tokio::test]
async fn since_leaves_a_gap_that_a_later_run_closes() {
    for database in Database::all().await {
        let service = service(1_000);
        let store = database.open().await;
        let since = generate(1_000)[300].created_at.clone();
        let options = PullOptions::default().since(since.clone());
        let client = service.client();
        store.sync(&client, &form_id(), None, &options, |_| {}).await.unwrap();
        let status = store.status().await.unwrap().pop().unwrap();
        assert!(status.coverage.is_complete_since(Some(&since)));
        assert!(!status.coverage.is_complete_since(None));
        assert!((300..500).contains(&status.rows), "{}", status.rows);
        let range = RowRange::default();
        let spools = SpoolFolder::temporary().unwrap();
        let rows = store.rows(&status, range, &spools).await.unwrap();
        assert_eq!(rows.completeness, Completeness::Incomplete);
        drop(rows);
        sync(&store, &service).await.unwrap();
        let status = store.status().await.unwrap().pop().unwrap();
        assert_eq!((status.rows, status.coverage.is_complete_since(None)), (1_000, true));
        assert_eq!(status.coverage.intervals().len(), 1);
    }
}

#[tokio::test]
async fn rows_are_read_back_without_a_request() {
    for database in Database::all().await {
        let service = service(250);
        let store = database.open().await;
        sync(&store, &service).await.unwrap();
        let before = service.requests().len();
        let spools = SpoolFolder::temporary().unwrap();
        let form = store.status().await.unwrap().pop().unwrap();
        assert_eq!((&*form.origin, form.title.as_deref()), (ORIGIN, Some("Survey")));
        let rows = store.rows(&form, RowRange::default(), &spools).await.unwrap();
        assert_eq!(rows.completeness, Completeness::Proven);
        // A later change is not seen.
        database.execute(&format!("DELETE FROM {}", database.table("submissions"))).await;
        for _ in 0..2 {
            let mut ids = Vec::new();
            rows.for_each(&mut |row| {
                ids.push(row.id.to_owned());
                Ok(())
            })
            .unwrap();
            let expected: Vec<_> = generate(250).iter().map(|row| row.id.to_string()).collect();
            assert_eq!(ids, expected);
        }
        assert_eq!(service.requests().len(), before);
    }
}

#[tokio::test]
async fn progress_reports_each_page() {
    let database = Database::sqlite();
    let mut pages = Vec::new();
    let on_page = |page: PullProgress<'_>| pages.push((page.rows, page.new));
    let (client, options) = (service(150).client(), PullOptions::default());
    let store = database.open().await;
    store.sync(&client, &form_id(), None, &options, on_page).await.unwrap();
    assert_eq!(pages, [(100, 100), (150, 150)]);
}

#[tokio::test]
async fn form_of_two_services_has_the_rows_of_each() {
    let database = Database::sqlite();
    let store = database.open().await;
    let service = service(3);
    sync(&store, &service).await.unwrap();
    let other = service.client_builder().base_url("https://other.example").build().unwrap();
    sync_by(&store, &other).await.unwrap();
    submit(&service, 0, "{}");
    sync(&store, &service).await.unwrap();
    let spools = SpoolFolder::temporary().unwrap();
    for (form, expected) in
        store.status().await.unwrap().iter().zip([(ORIGIN, 4), ("https://other.example", 3)])
    {
        let mut count = 0;
        let rows = store.rows(form, RowRange::default(), &spools).await.unwrap();
        rows.for_each(&mut |_| {
            count += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!((&*form.origin, &*form.form_id, count), (expected.0, FORM, expected.1));
    }
}

#[tokio::test]
async fn late_rows_between_runs_are_stored() {
    for database in Database::all().await {
        let service = service_with(&["{}", "{}"]);
        service.set_date(newest());
        let store = database.open().await;
        sync(&store, &service).await.unwrap();
        let late = MockService::new().form(form(FORM, "Survey"));
        for age in 0..2 {
            submit(&late, age, "{}");
        }
        // Made 200 s before the newest row, committed after the first run.
        let row = submission("sub_late", "{}", "2025-12-31T23:56:40Z");
        late.submit(FORM, row);
        assert_eq!(sync(&store, &late).await.unwrap().pull.new, 1);
    }
}

/// A service with 1,000 submissions within a second, and one that is a day older.
fn service_with_burst() -> MockService {
    let service = service_with(&[]);
    submit(&service, 1, "{}");
    for at in 0..1_000 {
        let time = format!("2026-01-01T00:00:00.{at:03}Z");
        service.submit(FORM, submission(&format!("sub_burst_{at}"), "{}", &time));
    }
    service
}

#[tokio::test]
async fn burst_older_than_the_overlap_is_not_read_again() {
    for database in Database::all().await {
        let service = service_with_burst();
        service.set_date(newest() + Duration::from_secs(5 * 60 + 10));
        // The clock of this machine is years behind.
        let clock = || SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let client = service.client_builder().clock(clock).build().unwrap();
        let store = database.open().await;
        for expected in [(1_001, 11), (0, 1), (0, 1)] {
            let pull = sync_by(&store, &client).await.unwrap().pull;
            assert_eq!((pull.new, pull.requests), expected);
        }
    }
}

#[tokio::test]
async fn burst_within_the_overlap_is_read_again_once() {
    for database in Database::all().await {
        let service = service_with_burst();
        let store = database.open().await;
        let minutes = |minutes: u64| newest() + Duration::from_secs(minutes * 60);
        let runs = [(1, (1_001, 11)), (7, (0, 11)), (7, (0, 1)), (99, (0, 1))];
        for (now, expected) in runs {
            service.set_date(minutes(now));
            let pull = sync(&store, &service).await.unwrap().pull;
            assert_eq!((pull.new, pull.requests), expected, "after {now} min");
        }
    }
}
