//! Failures of the store that no request sees: lost outcomes, and captures that cannot be removed.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use formsvc_workbench::listen::{ListenLimits, ListenRules, Listener, ListenerEvent, Sockets};
use formsvc_workbench::store::{CaptureStore, StoreLimits};
use formsvc_workbench::warning::{Warning, WarningCode};
use rusqlite::Connection;
use tokio::time::timeout;

use super::{PATIENCE, Running, event, last_request, status};

fn start(folder: &Path, age: Duration) -> (Running, CaptureStore) {
    let store = CaptureStore::open(folder, StoreLimits { bytes: 1 << 20, age }).unwrap();
    let (sockets, mut rules) = (Sockets::open(None, 0).unwrap(), ListenRules::default());
    rules.faults.delay = Some(Duration::from_millis(50));
    let (listener, events) =
        Listener::start(sockets, rules, ListenLimits::default(), store.clone());
    (Running { address: listener.address(), listener, events }, store)
}

/// Opens the database and executes statements.
fn execute(folder: &Path, sql: &str) -> Connection {
    let database = Connection::open(folder.join("captures.db")).unwrap();
    database.execute_batch(sql).unwrap();
    database
}

/// Returns a statement that makes an operation on a table fail, for example `INSERT ON outcomes`.
fn failure_of(operation: &str) -> String {
    format!("CREATE TRIGGER broken BEFORE {operation} BEGIN SELECT RAISE(FAIL, 'broken'); END;")
}

async fn deliver(running: &Running) {
    let response = running.exchange(last_request("", &event("sub_1"))).await;
    assert_eq!(status(&response), 200);
}

#[track_caller]
fn assert_warning(warning: &Warning, code: WarningCode, failed: &str) {
    let message = format!("{failed}: the database of captures failed: broken");
    assert!(warning.message.starts_with(&message), "{warning:?}");
    assert_eq!(warning.code, code);
}

#[tokio::test]
async fn lost_outcome_is_a_warning_with_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("store");
    let (mut running, store) = start(&folder, Duration::MAX);
    let mut deliveries = running.listener.handle().deliveries().subscribe();
    let lock = async {
        deliveries.recv().await.unwrap();
        // The lock keeps the outcome in the queue. Before COMMIT, the trigger has no effect on other connections.
        execute(&folder, &format!("BEGIN IMMEDIATE; {}", failure_of("INSERT ON outcomes")))
    };
    let ((), database) = tokio::join!(deliver(&running), lock);
    let event = running.events.try_recv();
    assert!(matches!(event, Ok(ListenerEvent::Delivered { warnings, .. }) if warnings.is_empty()));
    let mut shutdown = pin!(running.listener.shutdown(PATIENCE));
    assert!(futures_util::poll!(&mut shutdown).is_pending());
    database.execute_batch("COMMIT").unwrap();
    shutdown.await;
    let Ok(ListenerEvent::Warning(warning)) = running.events.try_recv() else { panic!() };
    let failed = "cannot store the response to capture 1";
    assert_warning(&warning, WarningCode::ResponseNotStored, failed);
    assert!(running.events.is_empty());
    assert!(store.get(1).await.unwrap().unwrap().summary.response.is_none());
}

#[tokio::test]
async fn failed_pruning_is_a_warning_with_the_cause() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("store");
    let (running, store) = start(&folder, Duration::MAX);
    deliver(&running).await;
    running.listener.shutdown(PATIENCE).await;
    store.close().await;
    execute(&folder, &failure_of("DELETE ON captures"));
    let (mut running, _store) = start(&folder, Duration::ZERO);
    let event = timeout(PATIENCE, running.events.recv()).await.unwrap();
    let Some(ListenerEvent::Warning(warning)) = event else { panic!("{event:?}") };
    let failed = "cannot remove captures over the limits";
    assert_warning(&warning, WarningCode::NotPruned, failed);
}
