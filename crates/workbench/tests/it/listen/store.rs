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

/// Makes an operation on a table fail: `INSERT ON outcomes`. Returns the connection to the database.
fn break_operation(folder: &Path, operation: &str) -> Connection {
    let sql =
        format!("CREATE TRIGGER broken BEFORE {operation} BEGIN SELECT RAISE(FAIL, 'broken'); END");
    let database = Connection::open(folder.join("captures.db")).unwrap();
    database.execute_batch(&sql).unwrap();
    database
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
    let database = break_operation(&folder, "INSERT ON outcomes");
    let mut deliveries = running.listener.handle().deliveries().subscribe();
    let lock = async {
        deliveries.recv().await.unwrap();
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
    };
    tokio::join!(deliver(&running), lock);
    // The outcome is still queued when the listener stops.
    let mut shutdown = pin!(running.listener.shutdown(PATIENCE));
    assert!(futures_util::poll!(&mut shutdown).is_pending());
    database.execute_batch("COMMIT").unwrap();
    shutdown.await;
    let mut warnings = Vec::new();
    while let Ok(event) = running.events.try_recv() {
        match event {
            ListenerEvent::Delivered { warnings, .. } => assert_eq!(warnings, []),
            ListenerEvent::Warning(warning) => warnings.push(warning),
            ListenerEvent::Refused(refused) => panic!("{refused:?}"),
        }
    }
    let failed = "cannot store the response to capture 1";
    assert_warning(&warnings[0], WarningCode::ResponseNotStored, failed);
    assert_eq!(warnings.len(), 1);
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
    break_operation(&folder, "DELETE ON captures");
    let (mut running, _store) = start(&folder, Duration::ZERO);
    let event = timeout(PATIENCE, running.events.recv()).await.unwrap();
    let Some(ListenerEvent::Warning(warning)) = event else { panic!("{event:?}") };
    let failed = "cannot remove captures over the limits";
    assert_warning(&warning, WarningCode::NotPruned, failed);
}
