//! Opening, refusing and reopening the file.

use std::path::{Path, PathBuf};

use formsvc_receiver::bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, ClaimToken, DEFAULT_LEASE, DedupeResult, Inbox, InboxErrorKind, Queue, SqliteInbox,
};
use rusqlite::Connection;

fn temp_file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("inbox.db");
    (directory, path)
}

async fn acquire(inbox: &SqliteInbox, key: &str) -> ClaimToken {
    match inbox.claim(key, DEFAULT_LEASE).await.unwrap() {
        Claim::Acquired(token) => token,
        claim => panic!("{key} is not free: {claim:?}"),
    }
}

async fn handle(inbox: &SqliteInbox, key: &str) {
    let token = acquire(inbox, key).await;
    inbox.complete(&token).await.unwrap();
}

fn open_error(path: &Path) -> InboxErrorKind {
    SqliteInbox::open(path).unwrap_err().kind()
}

#[tokio::test]
async fn reopened_file_contains_all_operations() {
    let (_directory, path) = temp_file();
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "handled").await;
    let payload = Bytes::from_static(b"{}");
    assert_eq!(inbox.accept("accepted", &payload).await.unwrap(), DedupeResult::New);
    let before = acquire(&inbox, "claimed").await;
    drop(inbox);
    let inbox = SqliteInbox::open(&path).unwrap();
    assert_eq!(inbox.claim("handled", DEFAULT_LEASE).await.unwrap(), Claim::Duplicate);
    let claim = inbox.claim("claimed", DEFAULT_LEASE).await.unwrap();
    assert!(matches!(claim, Claim::InFlight { .. }), "{claim:?}");
    assert_eq!(inbox.accept("accepted", &payload).await.unwrap(), DedupeResult::Duplicate);
    assert_eq!(inbox.next(DEFAULT_LEASE).await.unwrap().unwrap().payload, payload);
    assert!(acquire(&inbox, "new").await.fence() > before.fence());
}

#[cfg(unix)]
#[tokio::test]
async fn only_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, path) = temp_file();
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "k").await;
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
    assert!(files.len() >= 2, "the file and its log");
    for file in files {
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.path());
    }
}

#[test]
fn missing_directory_is_not_created() {
    let (directory, _) = temp_file();
    let missing = directory.path().join("missing");
    assert_eq!(open_error(&missing.join("inbox.db")), InboxErrorKind::InvalidConfig);
    assert!(!missing.exists());
}

#[test]
fn file_that_is_not_a_database_is_not_changed() {
    let (_directory, path) = temp_file();
    let text = "not a database, but long enough to be one ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert_eq!(open_error(&path), InboxErrorKind::InvalidConfig);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn path_of_memory_database_is_refused() {
    for path in ["", ":memory:"] {
        assert_eq!(open_error(Path::new(path)), InboxErrorKind::InvalidConfig);
    }
    assert!(!Path::new(":memory:").exists());
}

#[test]
fn tables_of_later_release_are_refused() {
    let (_directory, path) = temp_file();
    drop(SqliteInbox::open(&path).unwrap());
    let db = Connection::open(&path).unwrap();
    db.execute_batch("UPDATE formsvc_inbox SET version = 2").unwrap();
    assert_eq!(open_error(&path), InboxErrorKind::InvalidConfig);
    let version = db.query_row("SELECT version FROM formsvc_inbox", [], |row| row.get(0));
    assert_eq!(version, Ok(2));
}

#[tokio::test]
async fn inbox_shares_database_of_the_application() {
    let (_directory, path) = temp_file();
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE orders (total); INSERT INTO orders VALUES (7)").unwrap();
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "k").await;
    let total = db.query_row("SELECT total FROM orders", [], |row| row.get(0));
    assert_eq!(total, Ok(7));
}

#[tokio::test]
async fn damaged_file_is_an_error_and_not_a_new_key() {
    let (_directory, path) = temp_file();
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "k").await;
    let db = Connection::open(&path).unwrap();
    db.execute_batch("DROP TABLE formsvc_inbox_marks").unwrap();
    let error = inbox.claim("k", DEFAULT_LEASE).await.unwrap_err();
    assert_eq!((error.kind(), error.status().as_u16()), (InboxErrorKind::Internal, 503));
}

#[tokio::test]
async fn panicking_clock_does_not_lock_the_file() {
    let (_directory, path) = temp_file();
    let broken = SqliteInbox::builder().clock(|| panic!("no time")).open(&path).unwrap();
    for _ in 0..2 {
        let error = broken.claim("k", DEFAULT_LEASE).await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::Unavailable);
    }
    handle(&SqliteInbox::open(&path).unwrap(), "k").await;
}
