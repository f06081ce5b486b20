//! SQLite databases: types of columns, files of other programs, modes.

use formsvc_export::{
    Destination, Existing, ExportError, Format, RenderOptions, SourceInfo, StoreProblem, SyncError,
    SyncTarget, render,
};
use rusqlite::Connection;

use super::database::{Database, query, texts};
use super::{FORM, service, service_with, sync};

#[tokio::test]
async fn column_types_widen_and_the_view_follows() {
    let database = Database::sqlite();
    let store = database.open().await;
    let first = service_with(&[r#"{"n":7,"b":true,"r":1.5}"#, "{}"]);
    let view = sync(&store, &first).await.unwrap().view;
    let types =
        format!("SELECT typeof(n), typeof(b), typeof(r), n, b FROM {view} WHERE id = 'sub_000'");
    let rows = database.query(&types).await;
    assert_eq!(rows, [texts(&["integer", "integer", "real", "7", "1"])]);
    let wider = service_with(&[r#"{"n":7,"b":true,"r":1.5}"#, r#"{"n":"007","b":0,"r":2}"#]);
    sync(&store, &wider).await.unwrap();
    let rows = database.query(&format!("SELECT n, b, typeof(r) FROM {view} ORDER BY id")).await;
    assert_eq!(rows, [texts(&["7", "true", "real"]), texts(&["007", "0", "real"])]);
}

#[tokio::test]
async fn run_with_nothing_new_leaves_the_schema() {
    let database = Database::sqlite();
    let store = database.open().await;
    sync(&store, &service(3)).await.unwrap();
    let version = database.query("PRAGMA schema_version").await;
    sync(&store, &service(3)).await.unwrap();
    assert_eq!(database.query("PRAGMA schema_version").await, version);
}

#[tokio::test]
async fn dropped_view_is_created_again() {
    let database = Database::sqlite();
    let store = database.open().await;
    let view = sync(&store, &service(3)).await.unwrap().view;
    database.execute(&format!("DROP VIEW {view}")).await;
    sync(&store, &service(3)).await.unwrap();
    assert_eq!(database.query(&format!("SELECT count(*) FROM {view}")).await, [texts(&["3"])]);
}

#[tokio::test]
async fn foreign_and_exported_files_are_refused_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE users (id)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = SyncTarget::sqlite(&path).open().await.unwrap_err();
    let ExportError::Store(error) = error else { panic!("{error}") };
    assert!(matches!(error.problem(), StoreProblem::Foreign), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let path = folder.path().join("export.db");
    let source = SourceInfo { form_id: FORM.into(), ..SourceInfo::default() };
    let options = RenderOptions::new(Format::Sqlite).source(source);
    for rows in [Vec::new(), vec![crate::support::stored("s1", "{}")]] {
        render(&rows, &options, Destination::file(&path, Existing::Replace).unwrap()).unwrap();
        let before = std::fs::read(&path).unwrap();
        let store = SyncTarget::sqlite(&path).open().await.unwrap();
        let error = sync(&store, &service(1)).await.unwrap_err();
        assert!(matches!(error, ExportError::Sync(SyncError::Exported(_))), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_str().unwrap().contains("lock")), "{left:?}");

    let newer = Database::sqlite();
    sync(&newer.open().await, &service(1)).await.unwrap();
    newer.execute("UPDATE meta SET version = 9").await;
    let error = newer.target.open().await.unwrap_err();
    assert!(error.to_string().contains("its version is `9`"), "{error}");
}

#[tokio::test]
async fn open_of_a_missing_file_creates_nothing() {
    let database = Database::sqlite();
    let store = database.open().await;
    let error = store.status().await.unwrap_err();
    assert!(error.to_string().contains("rows.db"), "{error}");
    assert!(!database.path().exists());
}

#[tokio::test]
async fn database_without_tables_has_no_forms_and_is_continued() {
    let database = Database::sqlite();
    // As a run leaves it that was interrupted at its start.
    Connection::open(database.path()).unwrap().execute_batch("PRAGMA journal_mode=WAL").unwrap();
    let store = database.open().await;
    assert!(store.status().await.unwrap().is_empty());
    assert_eq!(sync(&store, &service(3)).await.unwrap().pull.rows, 3);
}

#[tokio::test]
async fn rows_without_a_view_are_refused() {
    let database = Database::sqlite();
    sync(&database.open().await, &service(3)).await.unwrap();
    // As an unfinished export leaves its database.
    database.execute("UPDATE sources SET view = NULL").await;
    let error = sync(&database.open().await, &service(3)).await.unwrap_err();
    assert!(matches!(error, ExportError::Sync(SyncError::Exported(_))), "{error}");
}

#[tokio::test]
async fn database_is_private_and_the_lock_file_is_removed() {
    use std::os::unix::fs::PermissionsExt;
    let database = Database::sqlite();
    sync(&database.open().await, &service(3)).await.unwrap();
    let mode = database.path().metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let folder = database.path().parent().unwrap().to_owned();
    let names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(names, ["rows.db"]);
}

#[test]
fn target_is_a_path_or_an_address() {
    for (text, shown) in [
        ("sqlite:rows.db", "sqlite:rows.db"),
        ("sqlite:///var/rows.db", "sqlite:/var/rows.db"),
        ("sqlite:a b?c.db", "sqlite:a b?c.db"),
    ] {
        let target: SyncTarget = text.parse().unwrap();
        assert_eq!((target.to_string(), target.is_postgres()), (shown.to_owned(), false));
    }
    for text in ["", "sqlite:", "sqlite::memory:", "rows.db", "mysql://u:hunter2@h/d"] {
        let error = text.parse::<SyncTarget>().unwrap_err().to_string();
        assert!(error.contains("sqlite:") && !error.contains("hunter2"), "{error}");
    }
}

#[tokio::test]
async fn file_has_all_rows_while_another_program_has_it_open() {
    let database = Database::sqlite();
    let store = database.open().await;
    sync(&store, &service(100)).await.unwrap();
    let other = Connection::open(database.path()).unwrap();
    assert_eq!(query(&other, "SELECT count(*) FROM submissions"), [texts(&["100"])]);
    let summary = sync(&store, &service(400)).await.unwrap();
    assert_eq!(summary.log, None);
    let copy = database.path().with_file_name("copy.db");
    std::fs::copy(database.path(), &copy).unwrap();
    let count = "SELECT count(*) FROM submissions";
    let rows = summary.pull.rows.to_string();
    assert_eq!(query(&Connection::open(&copy).unwrap(), count), [texts(&[&rows])]);
    // A reader that is within a transaction keeps the rows of a run in the log.
    other.execute_batch("BEGIN").unwrap();
    query(&other, count);
    let summary = sync(&store, &service(500)).await.unwrap();
    assert_eq!(summary.log, Some(database.path().with_file_name("rows.db-wal")));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(sync(&store, &service(500)).await.unwrap().log, None);
}

#[tokio::test]
async fn view_is_readable_while_a_run_writes() {
    let database = Database::sqlite();
    let store = database.open().await;
    let view = sync(&store, &service(100)).await.unwrap().view;
    let reader = Connection::open(database.path()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = format!("SELECT count(*) FROM {view}");
    assert_eq!(query(&reader, &count), [texts(&["100"])]);
    sync(&store, &service(400)).await.unwrap();
    assert_eq!(query(&reader, &count), [texts(&["100"])]);
    reader.execute_batch("COMMIT").unwrap();
    assert_ne!(query(&reader, &count), [texts(&["100"])]);
}
