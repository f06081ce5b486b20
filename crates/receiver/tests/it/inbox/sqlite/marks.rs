//! Marks in a transaction of the caller.

use std::path::Path;
use std::time::Duration;

use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, DedupeResult, Inbox, InboxErrorKind, SqliteInbox, SqliteMarks,
};
use rusqlite::{Connection, TransactionBehavior};

use super::super::contract::ManualClock;

fn open_database(path: &Path) -> Connection {
    let db = Connection::open(path).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS effects (key TEXT)")
        .unwrap();
    SqliteMarks::new().create_table(&db).unwrap();
    db
}

fn new_database() -> (tempfile::TempDir, Connection) {
    let directory = tempfile::tempdir().unwrap();
    let db = open_database(&directory.path().join("a.db"));
    (directory, db)
}

fn count_effects(db: &Connection) -> i64 {
    db.query_row("SELECT count(*) FROM effects", [], |row| row.get(0)).unwrap()
}

fn handle(db: &mut Connection, marks: &SqliteMarks, key: &str, commit: bool) -> DedupeResult {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let result = marks.mark(&tx, key).unwrap();
    if result == DedupeResult::New {
        tx.execute("INSERT INTO effects VALUES (?1)", [key]).unwrap();
    }
    if commit {
        tx.commit().unwrap();
    }
    result
}

#[test]
fn mark_by_its_sql_is_a_mark() {
    let (_directory, mut db) = new_database();
    let (scope, key, end) = ("default", &b"by sql"[..], i64::MAX);
    for changed in [1, 0] {
        let values = rusqlite::params![scope, key, end, 0];
        assert_eq!(db.execute(SqliteMarks::MARK, values).unwrap(), changed);
    }
    assert_eq!(handle(&mut db, &SqliteMarks::new(), "by sql", true), DedupeResult::Duplicate);
    assert_eq!(handle(&mut db, &SqliteMarks::new(), "other", true), DedupeResult::New);
    let values = rusqlite::params![scope, &b"other"[..], end, 0];
    assert_eq!(db.execute(SqliteMarks::MARK, values).unwrap(), 0);
}

#[test]
fn mark_requires_synchronous_commits() {
    let (_directory, mut db) = new_database();
    for (synchronous, is_refused) in [("NORMAL", true), ("FULL", false), ("OFF", true)] {
        db.pragma_update(None, "synchronous", synchronous).unwrap();
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let error = SqliteMarks::new().mark(&tx, "k").err().map(|error| error.kind());
        assert_eq!(error, is_refused.then_some(InboxErrorKind::InvalidConfig), "{synchronous}");
    }
    let mut memory = Connection::open_in_memory().unwrap();
    SqliteMarks::new().create_table(&memory).unwrap();
    memory.pragma_update(None, "synchronous", "OFF").unwrap();
    let tx = memory.transaction().unwrap();
    assert_eq!(SqliteMarks::new().mark(&tx, "k").unwrap(), DedupeResult::New);
}

#[test]
fn effect_and_mark_commit_together() {
    let (_directory, mut db) = new_database();
    let marks = SqliteMarks::new();
    assert_eq!(handle(&mut db, &marks, "k", false), DedupeResult::New);
    assert_eq!(count_effects(&db), 0);
    assert_eq!(handle(&mut db, &marks, "k", true), DedupeResult::New);
    assert_eq!(handle(&mut db, &marks, "k", true), DedupeResult::Duplicate);
    assert_eq!(count_effects(&db), 1);
}

#[test]
fn one_of_concurrent_transactions_has_its_effect() {
    let (directory, db) = new_database();
    let path = directory.path().join("a.db");
    let start = std::sync::Barrier::new(8);
    let handle_once = || {
        let mut db = open_database(&path);
        start.wait();
        handle(&mut db, &SqliteMarks::new(), "k", true)
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(handle_once);
        }
    });
    assert_eq!(count_effects(&db), 1);
}

#[test]
fn marks_have_scopes_and_expire() {
    let (_directory, mut db) = new_database();
    let (clock, ttl) = (ManualClock::default(), Duration::from_secs(86_400));
    let now = clock.clone();
    let marks = SqliteMarks::new().clock(move || now.now()).ttl(ttl).unwrap();
    let other = marks.clone().scope("other").unwrap();
    for (marks, key) in [(&marks, "a"), (&marks, "b"), (&marks, "c"), (&other, "a")] {
        assert_eq!(handle(&mut db, marks, key, true), DedupeResult::New);
    }
    assert_eq!(marks.prune(&db, 9).unwrap(), 0);
    clock.advance(ttl);
    assert_eq!(handle(&mut db, &marks, "a", true), DedupeResult::New);
    assert_eq!(marks.prune(&db, 2).unwrap(), 2);
    assert_eq!(marks.prune(&db, 9).unwrap(), 1);
    assert_eq!(handle(&mut db, &marks, "a", true), DedupeResult::Duplicate);
}

#[tokio::test]
async fn inbox_of_same_database_sees_marks() {
    let (directory, mut db) = new_database();
    assert_eq!(handle(&mut db, &SqliteMarks::new(), "marked", true), DedupeResult::New);
    let inbox = SqliteInbox::open(directory.path().join("a.db")).unwrap();
    assert_eq!(inbox.claim("marked", DEFAULT_LEASE).await.unwrap(), Claim::Duplicate);
    let Claim::Acquired(token) = inbox.claim("handled", DEFAULT_LEASE).await.unwrap() else {
        panic!("not free")
    };
    inbox.complete(&token).await.unwrap();
    assert_eq!(handle(&mut db, &SqliteMarks::new(), "handled", true), DedupeResult::Duplicate);
}
