//! Runs in processes of their own, which are killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use formsvc_client::test_util::generate;
use formsvc_export::{ExportError, PullOptions, PullProgress, SyncError, SyncTarget};

use super::database::Database;
use super::{form_id, service, sync};

/// Address and schema of the database of a child process.
const TARGET: &str = "FORMSVC_TEST_SYNC_TARGET";
const SCHEMA: &str = "FORMSVC_TEST_SYNC_SCHEMA";
const ROWS: u32 = 3_000;

/// The child process: synchronizes a generated form and prints a line for each page. Does nothing in an
/// ordinary run of the tests.
#[tokio::test]
async fn child_process() {
    let Ok(target) = std::env::var(TARGET) else { return };
    let target: SyncTarget = target.parse().unwrap();
    let target = target.schema(std::env::var(SCHEMA).unwrap());
    let store = target.open().await.unwrap();
    let (client, options) = (service(ROWS).client(), PullOptions::default());
    let on_page = |page: PullProgress<'_>| {
        writeln!(std::io::stderr(), "page {}", page.rows).unwrap();
    };
    store.sync(&client, &form_id(), None, &options, on_page).await.unwrap();
}

fn start_child(database: &Database) -> Child {
    let (target, schema) = database.address();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sync::process::child_process", "--nocapture"])
        .env(TARGET, target)
        .env(SCHEMA, schema)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the child has stored this many pages; false if it ended before.
fn wait_for_pages(child: &mut Child, pages: usize) -> bool {
    let lines = BufReader::new(child.stderr.as_mut().unwrap()).lines();
    lines.map(Result::unwrap).filter(|line| line.contains("page ")).take(pages).count() == pages
}

#[tokio::test]
async fn killed_processes_leave_a_database_that_a_run_completes() {
    for database in Database::all().await {
        for pages in [1, 2, 5, 9, 3] {
            let mut child = start_child(&database);
            assert!(wait_for_pages(&mut child, pages));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let store = database.open().await;
        assert_eq!(sync(&store, &service(ROWS)).await.unwrap().pull.rows, u64::from(ROWS));
        let mut expected: Vec<_> = generate(ROWS).iter().map(|row| row.id.to_string()).collect();
        expected.sort();
        let ids: Vec<_> =
            database.rows().await.into_iter().map(|row| row[0].clone().unwrap()).collect();
        assert_eq!(ids, expected);
    }
}

#[tokio::test]
async fn lock_of_a_killed_process_is_free() {
    for database in Database::all().await {
        let mut child = start_child(&database);
        assert!(wait_for_pages(&mut child, 1));
        // The child is stopped rather than fast: the lock is held for as long as it exists.
        signal(&child, "STOP");
        let store = database.open().await;
        let error = sync(&store, &service(ROWS)).await.unwrap_err();
        assert!(matches!(error, ExportError::Sync(SyncError::Locked(_))), "{error}");
        child.kill().unwrap();
        child.wait().unwrap();
        sync(&store, &service(ROWS)).await.unwrap();
    }
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}
