//! Marks that commit with the caller's effect.

use std::path::Path;

use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, Inbox, InboxErrorKind, KEY_MAX, Recorded, SqliteInbox, SqliteMarks,
};
use rusqlite::{Connection, TransactionBehavior};

use super::super::contract::Clock;

fn database(path: &Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS effects (key TEXT)")
        .unwrap();
    SqliteMarks::new().create_table(&db).unwrap();
    db
}

fn effects(db: &Connection) -> i64 {
    db.query_row("SELECT count(*) FROM effects", [], |row| row.get(0)).unwrap()
}

/// Handles a key; commits or leaves it.
fn handle(db: &mut Connection, marks: &SqliteMarks, key: &str, commit: bool) -> Recorded {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let recorded = marks.mark(&tx, key).unwrap();
    if recorded == Recorded::New {
        tx.execute("INSERT INTO effects VALUES (?1)", [key]).unwrap();
    }
    if commit {
        tx.commit().unwrap();
    }
    recorded
}

#[test]
fn a_file_whose_commits_do_not_wait_for_the_disk_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let marks = SqliteMarks::new();
    let mut db = database(&dir.path().join("a.db"));
    for (synchronous, is_refused) in [("NORMAL", true), ("FULL", false), ("OFF", true)] {
        db.pragma_update(None, "synchronous", synchronous).unwrap();
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let refused = marks.mark(&tx, "k").err().map(|error| error.kind());
        assert_eq!(refused, is_refused.then_some(InboxErrorKind::Setup), "{synchronous}");
    }
    let mut memory = Connection::open_in_memory().unwrap();
    marks.create_table(&memory).unwrap();
    memory.pragma_update(None, "synchronous", "OFF").unwrap();
    let tx = memory.transaction().unwrap();
    assert_eq!(marks.mark(&tx, "k").unwrap(), Recorded::New, "no power cut leaves any of it");
}

#[test]
fn effect_and_mark_are_both_there_or_neither() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = database(&dir.path().join("a.db"));
    let marks = SqliteMarks::new();
    assert_eq!(handle(&mut db, &marks, "k", false), Recorded::New);
    assert_eq!(effects(&db), 0);
    assert_eq!(handle(&mut db, &marks, "k", true), Recorded::New, "it was not handled");
    assert_eq!(handle(&mut db, &marks, "k", true), Recorded::Duplicate);
    assert_eq!(effects(&db), 1);
}

#[test]
fn of_transactions_on_one_key_at_once_one_has_its_effect() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let db = database(&path);
    let start = std::sync::Barrier::new(8);
    let new = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut db = database(&path);
                    start.wait();
                    handle(&mut db, &SqliteMarks::new(), "k", true) == Recorded::New
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap().then_some(())).count()
    });
    assert_eq!((new, effects(&db)), (1, 1));
}

#[test]
fn marks_end_are_pruned_and_have_scopes() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = database(&dir.path().join("a.db"));
    let (clock, ttl) = (Clock::default(), std::time::Duration::from_secs(86_400));
    let now = clock.clone();
    let marks = SqliteMarks::new().clock(move || now.now()).ttl(ttl).unwrap();
    let other = marks.clone().scope("other").unwrap();
    for key in ["a", "b", "c"] {
        assert_eq!(handle(&mut db, &marks, key, true), Recorded::New);
    }
    assert_eq!(handle(&mut db, &other, "a", true), Recorded::New);
    assert_eq!(marks.prune(&db, 9).unwrap(), 0);
    clock.pass(ttl);
    assert_eq!(handle(&mut db, &marks, "a", true), Recorded::New);
    assert_eq!(marks.prune(&db, 2).unwrap(), 2);
    assert_eq!(marks.prune(&db, 9).unwrap(), 1);
    assert_eq!(handle(&mut db, &marks, "a", true), Recorded::Duplicate);
}

#[test]
fn a_key_and_a_time_to_live_have_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = database(&dir.path().join("a.db"));
    let tx = db.transaction().unwrap();
    for key in ["", &"k".repeat(KEY_MAX + 1)] {
        let error = SqliteMarks::new().mark(&tx, key).unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::Key);
    }
    let error = SqliteMarks::new().ttl(std::time::Duration::ZERO).unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::Setup);
}

#[tokio::test]
async fn an_inbox_of_the_same_database_knows_what_was_marked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let mut db = database(&path);
    assert_eq!(handle(&mut db, &SqliteMarks::new(), "marked", true), Recorded::New);
    let inbox = SqliteInbox::open(&path).unwrap();
    assert_eq!(inbox.claim("marked", DEFAULT_LEASE).await.unwrap(), Claim::Duplicate);
    let Claim::Acquired(token) = inbox.claim("handled", DEFAULT_LEASE).await.unwrap() else {
        panic!("it is free")
    };
    inbox.complete(&token).await.unwrap();
    assert_eq!(handle(&mut db, &SqliteMarks::new(), "handled", true), Recorded::Duplicate);
}
