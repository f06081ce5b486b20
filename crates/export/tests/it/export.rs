//! Exports through a spool.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use formsvc_client::test_util::{Fault, MockService, form, generate, submission};
use formsvc_client::{Client, Completeness, ErrorCode, FormId};
use formsvc_export::{
    Destination, Existing, Export, ExportError, ExportEvent, Exported, Format, Operation,
    PullOptions, RenderOptions, RowFilter, SpoolFolder,
};

use tokio::sync::Notify;

use crate::limited::limited;
use crate::spoiled::spoiled;

const FORM: &str = "frm_1";

fn service(rows: u32) -> MockService {
    MockService::new().form(form(FORM, "Survey")).submissions(FORM, generate(rows))
}

fn export(service: &MockService, spools: &SpoolFolder) -> Export {
    export_by(service.client(), spools)
}

fn export_by(client: Client, spools: &SpoolFolder) -> Export {
    Export::new(client, FormId::new(FORM).unwrap()).spools(spools.clone()).title("Survey")
}

async fn run(export: Export, format: Format, path: &Path) -> Result<Exported, ExportError> {
    let destination = Destination::file(path, Existing::Replace)?;
    export.run(format, destination).await
}

/// An export with requests that fail after a number of successes.
fn failing(service: &MockService, spools: &SpoolFolder, requests: u32) -> Export {
    let client = limited(service, requests, Fault::Error(ErrorCode::KeyRevoked));
    export_by(client, spools)
}

#[tokio::test]
async fn continued_export_equals_an_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path().join("state"));
    for format in [Format::Csv, Format::Ndjson, Format::Json] {
        let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
        let service = service(2_000);
        run(export(&service, &spools), format, &whole).await.unwrap();
        std::fs::write(&parts, "the previous file").unwrap();
        for failures in 1..4_u64 {
            let failing = failing(&service, &spools, 4);
            let error = run(failing, format, &parts).await.unwrap_err();
            let ExportError::Unfinished { rows_saved, cause, .. } = error else {
                panic!("{error}");
            };
            assert!(matches!(*cause, ExportError::Service(_)), "{cause}");
            assert!(rows_saved >= 300 * failures, "{rows_saved}");
            assert_eq!(std::fs::read_to_string(&parts).unwrap(), "the previous file");
            assert_eq!(spools.list().unwrap().len(), 1);
        }
        let exported = run(export(&service, &spools), format, &parts).await.unwrap();
        assert_eq!(exported.rendered.rows, 2_000);
        assert_eq!(std::fs::read(&parts).unwrap(), std::fs::read(&whole).unwrap());
        assert_eq!(spools.list().unwrap().len(), 0);
        std::fs::remove_file(&parts).unwrap();
    }
}

#[tokio::test]
async fn fresh_export_reads_everything_again() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path());
    let (service, path) = (service(1_000), folder.path().join("rows.csv"));
    run(failing(&service, &spools, 8), Format::Csv, &path).await.unwrap_err();
    let before = service.requests().len();
    run(export(&service, &spools).fresh(true), Format::Csv, &path).await.unwrap();
    assert_eq!(service.requests().len() - before, 11);
}

#[tokio::test]
async fn range_and_limit_select_the_newest_rows_of_the_range() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path());
    let (service, path) = (service(1_000), folder.path().join("rows.ndjson"));
    let rows = generate(1_000);
    let (since, until) = (rows[700].created_at.clone(), rows[100].created_at.clone());
    let range = PullOptions::default().since(since).until(until);
    let export = export(&service, &spools).pull(range);
    let options = RenderOptions::new(Format::Ndjson).limit(50);
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    let exported = export.clone().run(options, destination).await.unwrap();
    assert_eq!((exported.rendered.rows, service.requests().len()), (50, 2));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&format!("{{\"id\":\"{}\"", rows[101].id)), "{text:.99}");
    assert_eq!(run(export, Format::Ndjson, &path).await.unwrap().rendered.rows, 600);
    assert_eq!(spools.list().unwrap().len(), 0);
}

#[tokio::test]
async fn manifest_describes_the_file_and_is_private() {
    let folder = tempfile::tempdir().unwrap();
    let [path, manifest] = ["rows.csv", "rows.csv.manifest.json"].map(|n| folder.path().join(n));
    let service = service(150);
    let export = export(&service, &SpoolFolder::new(folder.path())).manifest(&manifest);
    run(export, Format::Csv, &path).await.unwrap();
    let text = std::fs::read_to_string(&manifest).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["form"]["id"], FORM);
    assert_eq!((&json["rows"], &json["requests"]), (&150.into(), &2.into()));
    assert_eq!(json["complete"], "proven");
    assert_eq!(json["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(json["bytes"], path.metadata().unwrap().len());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(manifest.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[tokio::test]
async fn manifest_counts_and_describes_invalid_items() {
    let folder = tempfile::tempdir().unwrap();
    let [path, manifest] = ["rows.csv", "rows.csv.manifest.json"].map(|n| folder.path().join(n));
    let spools = SpoolFolder::new(folder.path());
    let export = export_by(spoiled(&service(500), &[7, 9]), &spools).manifest(&manifest);
    let error = run(export.clone(), Format::Csv, &path).await.unwrap_err();
    assert!(matches!(error, ExportError::Unfinished { rows_saved: 491, .. }), "{error:?}");
    let allowed = PullOptions::default().allow_incomplete(true);
    let exported =
        run(export.clone().pull(allowed).keep_spool(true), Format::Csv, &path).await.unwrap();
    assert_eq!((exported.rendered.rows, exported.pull.left_out.items), (498, 2));
    let text = std::fs::read_to_string(&manifest).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["complete"], &json["rows"]), (&"no".into(), &498.into()));
    assert_eq!((&json["skipped"], &json["missing_units"]), (&2.into(), &serde_json::json!([])));
    assert!(json["skipped_items"][0].as_str().unwrap().starts_with("`sub_9` at `data["), "{json}");
    drop(exported);
    // The saved submissions remain incomplete.
    let error = run(export, Format::Csv, &path).await.unwrap_err();
    let ExportError::Unfinished { cause, .. } = error else { panic!("{error:?}") };
    assert_eq!(cause.to_string(), "the result is incomplete: 2 submissions violate the API");
}

#[tokio::test]
async fn streamed_export_counts_invalid_items() {
    let service = service(150);
    let export = Export::new(spoiled(&service, &[7]), FormId::new(FORM).unwrap());
    let export = export.pull(PullOptions::default().allow_incomplete(true));
    let destination = Destination::stream(Box::new(Vec::new()));
    let exported = export.stream(Format::Ndjson, destination, |_| {}).await.unwrap();
    assert_eq!((exported.rendered.rows, exported.pull.left_out.items), (149, 1));
    assert_eq!(exported.pull.completeness, Completeness::Incomplete);
}

#[tokio::test]
async fn unwritable_manifest_fails_before_the_first_request() {
    let folder = tempfile::tempdir().unwrap();
    let (service, path) = (service(150), folder.path().join("rows.csv"));
    let export = export(&service, &SpoolFolder::new(folder.path()));
    let missing = export.clone().manifest(folder.path().join("missing/manifest.json"));
    let error = run(missing, Format::Csv, &path).await.unwrap_err();
    assert!(matches!(error, ExportError::Output { .. }), "{error:?}");
    let existing = folder.path().join("manifest.json");
    std::fs::write(&existing, "old").unwrap();
    let destination = Destination::file(&path, Existing::Keep).unwrap();
    export.manifest(&existing).run(Format::Csv, destination).await.unwrap_err();
    assert_eq!(std::fs::read_to_string(&existing).unwrap(), "old");
    assert_eq!(service.requests().len(), 0);
    assert!(!path.exists());
}

#[tokio::test]
async fn failed_manifest_keeps_the_saved_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (service, path) = (service(150), folder.path().join("rows.csv"));
    let spools = SpoolFolder::new(folder.path().join("state"));
    let manifest = folder.path().join("manifest.json");
    let export = export(&service, &spools).manifest(&manifest);
    // A folder takes the name of the manifest while the export runs.
    let events = |event: ExportEvent<'_>| {
        if matches!(event, ExportEvent::Rendering) {
            std::fs::create_dir(&manifest).unwrap();
        }
    };
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    let error = export.run_with(Format::Csv, destination, events).await.unwrap_err();
    let ExportError::Unfinished { rows_saved: 150, cause, .. } = error else { panic!("{error:?}") };
    let is_manifest = matches!(*cause, ExportError::Output { operation: Operation::Manifest, .. });
    assert!(is_manifest, "{cause:?}");
    assert!(path.exists());
    assert_eq!(spools.list().unwrap().len(), 1);
}

#[test]
fn export_can_run_in_a_task_of_another_thread() {
    fn is_send(_: impl Send) {}
    let folder = tempfile::tempdir().unwrap();
    let destination =
        Destination::file(&folder.path().join("rows.csv"), Existing::Replace).unwrap();
    let export = export(&service(1), &SpoolFolder::new(folder.path()));
    is_send(export.run(Format::Csv, destination));
}

#[tokio::test(start_paused = true)]
async fn time_limit_saves_the_rows_received() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path());
    let (service, path) = (service(500), folder.path().join("rows.csv"));
    let client = limited(&service, 1, Fault::Silent);
    let limit = PullOptions::default().time_limit(Duration::from_secs(5));
    let error = run(export_by(client, &spools).pull(limit), Format::Csv, &path).await.unwrap_err();
    assert!(
        matches!(&error, ExportError::Unfinished { rows_saved: 100, cause, .. }
            if matches!(**cause, ExportError::TimeLimit)),
        "{error:?}"
    );
    assert!(!path.exists());
    assert_eq!(
        run(export(&service, &spools), Format::Csv, &path).await.unwrap().rendered.rows,
        500
    );
}

#[tokio::test]
async fn events_report_saved_rows_and_pages() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path());
    let (service, path) = (service(1_000), folder.path().join("rows.csv"));
    run(failing(&service, &spools, 6), Format::Csv, &path).await.unwrap_err();
    let (mut opened, mut pages, mut rendering) = (0, 0, false);
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    let events = |event: ExportEvent<'_>| match event {
        ExportEvent::Opened { rows, .. } => opened = rows,
        ExportEvent::Page(_) => pages += 1,
        ExportEvent::Rendering => rendering = true,
        _ => {}
    };
    export(&service, &spools).run_with(Format::Csv, destination, events).await.unwrap();
    assert_eq!((opened, rendering), (595, true));
    // The newest page, then the rest.
    assert!((5..=7).contains(&pages), "{pages}");
}

#[tokio::test]
async fn to_file_writes_the_format_of_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let since = generate(500)[299].created_at.clone();
    let service = service(500);
    for (name, lines) in [("rows.csv", 301), ("rows", 301), ("rows.ndjson", 300)] {
        let path = folder.path().join(name);
        let export = Export::new(service.client(), FormId::new(FORM).unwrap());
        let range = PullOptions::default().since(since.clone());
        let exported = export.pull(range).to_file(&path).await.unwrap();
        assert_eq!((exported.rendered.rows, exported.pull.requests), (300, 4));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), lines);
    }
}

#[tokio::test]
async fn streamed_json_equals_rendered_json() {
    let folder = tempfile::tempdir().unwrap();
    let (service, path) = (service(250), folder.path().join("rows"));
    for format in [Format::Ndjson, Format::Json] {
        run(export(&service, &SpoolFolder::new(folder.path())), format, &path).await.unwrap();
        let streamed = folder.path().join("streamed");
        let destination = Destination::file(&streamed, Existing::Replace).unwrap();
        let export = Export::new(service.client(), FormId::new(FORM).unwrap());
        export.stream(format, destination, |_| {}).await.unwrap();
        let [streamed, rendered] =
            [streamed, path.clone()].map(|path| std::fs::read(path).unwrap());
        assert_eq!(streamed, rendered, "{}", format.name());
    }
}

#[tokio::test]
async fn resume_token_of_another_form_is_a_config_error() {
    let (folder, other_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let spools = SpoolFolder::new(folder.path());
    let (service, path) = (service(1_000), folder.path().join("rows.csv"));
    run(failing(&service, &spools, 8), Format::Csv, &path).await.unwrap_err();
    let other =
        MockService::new().form(form("frm_2", "Other")).submissions("frm_2", generate(1_000));
    let client = limited(&other, 8, Fault::Error(ErrorCode::KeyRevoked));
    let other_spools = SpoolFolder::new(other_folder.path());
    let export_other =
        Export::new(client, FormId::new("frm_2").unwrap()).spools(other_spools.clone());
    run(export_other, Format::Csv, &path).await.unwrap_err();
    let open =
        |spools: &SpoolFolder| rusqlite::Connection::open(&spools.list().unwrap()[0].path).unwrap();
    let token: String =
        open(&other_spools).query_row("SELECT resume FROM coverage", [], |row| row.get(0)).unwrap();
    open(&spools).execute("UPDATE coverage SET resume = ?1", [token]).unwrap();
    let error = run(export(&service, &spools), Format::Csv, &path).await.unwrap_err();
    let ExportError::Unfinished { cause, .. } = error else { panic!("{error}") };
    let ExportError::Service(error) = *cause else { panic!("{cause}") };
    assert_eq!(error.kind(), formsvc_client::ErrorKind::Config, "{error}");
}

#[tokio::test]
async fn similar_form_ids_have_spools_and_rows_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path());
    let long = "q7/3=".repeat(200);
    let ids = ["q7/3=", "Q7/3=", "q7_3_", "q7%2F3%3D", "../q7", "q7\n\u{1b}", &long];
    let mut service = MockService::new();
    for id in ids {
        let row = |n: u32| submission(&format!("{id} {n}"), "{}", "2026-01-01T00:00:00Z");
        service = service.form(form(id, "Survey")).submissions(id, (0..2).map(row));
    }
    let export = |client, id| Export::new(client, FormId::new(id).unwrap()).spools(spools.clone());
    for id in ids {
        let client = limited(&service, 0, Fault::Error(ErrorCode::KeyRevoked));
        let path = folder.path().join("rows.json");
        run(export(client, id), Format::Json, &path).await.unwrap_err();
    }
    // A list leaves out spools without submissions.
    assert_eq!(spools.list().unwrap().len(), 0);
    let files = std::fs::read_dir(spools.path()).unwrap().map(|entry| entry.unwrap().path());
    let databases = files.filter(|path| path.extension().is_some_and(|end| end == "sqlite"));
    assert_eq!(databases.count(), ids.len());
    for id in ids {
        for format in [Format::Json, Format::Sqlite] {
            let path = folder.path().join("rows");
            let exported = run(export(service.client(), id), format, &path).await.unwrap();
            assert_eq!(exported.rendered.rows, 2, "{id:?} {format:?}");
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            let shown = serde_json::to_string(&format!("{id} 0")).unwrap();
            assert!(format != Format::Json || text.contains(&shown), "{text}");
        }
    }
}

#[tokio::test]
async fn rendering_lets_other_tasks_run() {
    let folder = tempfile::tempdir().unwrap();
    let (service, path) = (service(3), folder.path().join("rows.csv"));
    let (has_run, runs) = std::sync::mpsc::channel();
    let begins = Arc::new(Notify::new());
    let begun = Arc::clone(&begins);
    let other = tokio::spawn(async move {
        begun.notified().await;
        (0..3).for_each(|_| has_run.send(()).unwrap());
    });
    let filter: RowFilter = Box::new(move |_| {
        begins.notify_one();
        runs.recv_timeout(Duration::from_secs(20)).map(|()| true).map_err(|error| error.to_string())
    });
    let options = RenderOptions::new(Format::Csv).filter(filter);
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    let export = export(&service, &SpoolFolder::new(folder.path()));
    assert_eq!(export.run(options, destination).await.unwrap().rendered.rows, 3);
    other.await.unwrap();
}

/// Locks the database of a spool, so that writes wait.
fn lock(spool: &Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(spool).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    connection
}

/// Returns when the service has received this number of requests.
async fn requested(service: &MockService, requests: usize) {
    while service.requests().len() < requests {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn next_page_is_requested_while_one_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (service, path) = (service(500), folder.path().join("rows.csv"));
    let (mut database, mut unlocking) = (PathBuf::new(), None);
    let events = |event: ExportEvent<'_>| match event {
        ExportEvent::Opened { spool, .. } => database = spool.to_owned(),
        ExportEvent::Page(_) if unlocking.is_none() => {
            let (lock, service) = (lock(&database), service.clone());
            unlocking = Some(tokio::spawn(async move {
                requested(&service, 3).await;
                lock.execute_batch("ROLLBACK").unwrap();
            }));
        }
        _ => {}
    };
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    let export = export(&service, &SpoolFolder::new(folder.path()));
    let exported = export.run_with(Format::Csv, destination, events).await.unwrap();
    assert_eq!((exported.rendered.rows, exported.pull.requests), (500, 6));
    unlocking.unwrap().await.unwrap();
}

#[tokio::test]
async fn page_of_a_dropped_export_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path());
    let (service, path) = (service(500), folder.path().join("rows.csv"));
    let locked = std::cell::RefCell::new(None);
    let events = |event: ExportEvent<'_>| {
        if let ExportEvent::Opened { spool, .. } = event {
            *locked.borrow_mut() = Some(lock(spool));
        }
    };
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    let running = export(&service, &spools).run_with(Format::Csv, destination, events);
    let stop = async {
        requested(&service, 1).await;
        // The page is received, and its write begins.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = running => panic!("the spool is locked"),
        () = stop => {}
    }
    locked.take().unwrap().execute_batch("ROLLBACK").unwrap();
    // The same spool is used as soon as the page is stored.
    let mut saved = 0;
    let events = |event: ExportEvent<'_>| {
        if let ExportEvent::Opened { rows, .. } = event {
            saved = rows;
        }
    };
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    let export = export(&service, &spools);
    export.run_with(Format::Csv, destination, events).await.unwrap();
    assert_eq!(saved, 100);
}

#[tokio::test]
async fn dropped_export_ends_its_rendering() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path());
    let (service, path) = (service(500), folder.path().join("rows.csv"));
    let (begins, calls) = (Arc::new(Notify::new()), Arc::new(AtomicU32::new(0)));
    let (is_running, ended) = tokio::sync::oneshot::channel::<()>();
    let (goes_on, wait) = std::sync::mpsc::channel::<()>();
    let (began, called) = (Arc::clone(&begins), Arc::clone(&calls));
    let filter: RowFilter = Box::new(move |_| {
        let _ = (&is_running, began.notify_one());
        called.fetch_add(1, Ordering::Relaxed);
        // Ends when the other side is dropped.
        let _ = wait.recv();
        Ok(true)
    });
    let options = RenderOptions::new(Format::Csv).filter(filter);
    let destination = Destination::file(&path, Existing::Replace).unwrap();
    tokio::select! {
        _ = export(&service, &spools).run(options, destination) => panic!("a row waits"),
        () = begins.notified() => {}
    }
    drop(goes_on);
    // The filter is dropped with the rendering.
    ended.await.unwrap_err();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert!(!path.exists());
    let exported = run(export(&service, &spools), Format::Csv, &path).await.unwrap();
    assert_eq!((exported.rendered.rows, exported.pull.new), (500, 0));
}

#[tokio::test]
async fn failed_export_requests_one_page_again_and_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let spools = SpoolFolder::new(folder.path());
    let (service, path) = (service(2_000), folder.path().join("rows.csv"));
    run(export(&service, &spools), Format::Csv, &path).await.unwrap();
    let uninterrupted = service.requests().len();
    for _ in 0..3 {
        run(failing(&service, &spools, 5), Format::Csv, &path).await.unwrap_err();
    }
    run(export(&service, &spools), Format::Csv, &path).await.unwrap();
    // The failed requests are those that are made again.
    assert_eq!(service.requests().len() - uninterrupted, uninterrupted + 3 * 2);
}
