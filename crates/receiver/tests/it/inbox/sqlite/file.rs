//! The file: who may read it, what is refused, and what it knows when it is opened again.

use std::path::{Path, PathBuf};
use std::task::Poll;

use bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, Inbox, InboxError, InboxErrorKind, PAYLOAD_MAX, Queue, Recorded,
    SqliteInbox,
};
use rusqlite::Connection;

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("inbox.db");
    (dir, path)
}

async fn handle(inbox: &SqliteInbox, key: &str) {
    let Claim::Acquired(token) = inbox.claim(key, DEFAULT_LEASE).await.unwrap() else {
        panic!("{key} is free")
    };
    inbox.complete(&token).await.unwrap();
}

#[tokio::test]
async fn payloads_that_wait_are_shared_and_bounded() {
    let (_dir, path) = place();
    let inbox = SqliteInbox::open(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let payloads: Vec<_> = (0..9).map(|_| Bytes::from(vec![7; PAYLOAD_MAX])).collect();
    let keys: Vec<_> = (0..9).map(|number| format!("k{number}")).collect();
    for (key, payload) in keys.iter().zip(&payloads) {
        let counted = allocation_counter::measure(|| {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(inbox.accept(key, payload).as_mut().poll(&mut context).is_pending());
        });
        assert!(counted.bytes_total < 1 << 20, "{} bytes", counted.bytes_total);
    }
    // Those who asked have gone; what was queued is carried out all the same.
    let queued = payloads.iter().filter(|payload| !payload.is_unique()).count();
    assert_eq!(queued, 8, "64 MiB in all");
    other.execute_batch("ROLLBACK").unwrap();
    for (number, (key, payload)) in keys.iter().zip(&payloads).enumerate() {
        let recorded = inbox.accept(key, payload).await.unwrap();
        assert_eq!(recorded == Recorded::Duplicate, number < 8, "{number}");
    }
}

#[tokio::test]
async fn what_was_handled_or_accepted_is_known_when_the_file_is_opened_again() {
    let (_dir, path) = place();
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "handled").await;
    assert_eq!(inbox.accept("accepted", &Bytes::from_static(b"{}")).await.unwrap(), Recorded::New);
    let before = inbox.claim("claimed", DEFAULT_LEASE).await.unwrap();
    drop(inbox);
    let inbox = SqliteInbox::open(&path).unwrap();
    assert_eq!(inbox.claim("handled", DEFAULT_LEASE).await.unwrap(), Claim::Duplicate);
    assert_eq!(
        inbox.accept("accepted", &Bytes::from_static(b"{}")).await.unwrap(),
        Recorded::Duplicate
    );
    assert_eq!(inbox.next(DEFAULT_LEASE).await.unwrap().unwrap().payload, b"{}");
    let Claim::Acquired(after) = inbox.claim("new", DEFAULT_LEASE).await.unwrap() else { panic!() };
    let Claim::Acquired(before) = before else { panic!() };
    assert!(after.fence() > before.fence());
}

#[tokio::test]
async fn a_claim_whose_caller_has_gone_is_given_back_long_before_its_lease_ends() {
    let (_dir, path) = place();
    let inbox = SqliteInbox::open(&path).unwrap();
    let mut gone = 0;
    for round in 0..50 {
        let key = format!("sub_{round}");
        let mut claim = inbox.claim(&key, DEFAULT_LEASE);
        let polled = std::future::poll_fn(|cx| Poll::Ready(claim.as_mut().poll(cx))).await;
        if polled.is_ready() {
            // Answered at once: whoever polled it has it.
            continue;
        }
        gone += 1;
        // What is asked after it is answered after it: now, or a little later, its answer is there.
        if round % 2 == 0 {
            handle(&inbox, &format!("other_{round}")).await;
        }
        drop(claim);
        let free = async {
            while !matches!(inbox.claim(&key, DEFAULT_LEASE).await.unwrap(), Claim::Acquired(_)) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEFAULT_LEASE / 2, free).await.expect("it is free");
    }
    assert!(gone > 0, "somebody was gone");
}

#[tokio::test]
async fn futures_need_no_runtime_of_a_kind() {
    let (_dir, path) = place();
    // No tokio runtime drives this one: a thread with an executor of its own.
    let thread = std::thread::spawn(move || {
        let inbox = SqliteInbox::open(&path).unwrap();
        block_on(handle(&inbox, "k"));
        block_on(async { inbox.claim("k", DEFAULT_LEASE).await.unwrap() })
    });
    assert_eq!(thread.join().unwrap(), Claim::Duplicate);
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        let polled = future.as_mut().poll(&mut std::task::Context::from_waker(&waker));
        match polled {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_can_read_the_file_and_those_beside_it() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, path) = place();
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "k").await;
    let mut seen = 0;
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", file.path());
        seen += 1;
    }
    assert!(seen >= 2, "the file and its log");
}

fn refusal(path: &Path) -> InboxError {
    SqliteInbox::open(path).expect_err("it is refused")
}

#[test]
fn a_directory_that_is_missing_is_not_made() {
    let (dir, _) = place();
    let missing = dir.path().join("missing");
    assert_eq!(refusal(&missing.join("inbox.db")).kind(), InboxErrorKind::Setup);
    assert!(!missing.exists());
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let (_dir, path) = place();
    let text = "not a database, but long enough to be one ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    assert_eq!(refusal(&path).kind(), InboxErrorKind::Setup);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn memory_is_no_file() {
    for path in ["", ":memory:"] {
        assert_eq!(refusal(Path::new(path)).kind(), InboxErrorKind::Setup);
    }
    assert!(!Path::new(":memory:").exists());
}

#[test]
fn tables_of_a_later_release_are_refused_and_left_alone() {
    let (_dir, path) = place();
    drop(SqliteInbox::open(&path).unwrap());
    let db = Connection::open(&path).unwrap();
    db.execute_batch("UPDATE formsvc_inbox SET version = 2").unwrap();
    let read = |sql| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let fence = read("SELECT fence FROM formsvc_inbox");
    assert_eq!(refusal(&path).kind(), InboxErrorKind::Setup);
    assert_eq!(read("SELECT version FROM formsvc_inbox"), 2);
    assert_eq!(read("SELECT fence FROM formsvc_inbox"), fence);
}

#[tokio::test]
async fn the_applications_own_database_can_hold_the_inbox() {
    let (_dir, path) = place();
    let db = Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE orders (total); INSERT INTO orders VALUES (7)").unwrap();
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "k").await;
    let total: i64 = db.query_row("SELECT total FROM orders", [], |row| row.get(0)).unwrap();
    assert_eq!(total, 7);
}

#[tokio::test]
async fn a_damaged_file_is_an_error_and_never_a_new_key() {
    let (_dir, path) = place();
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "k").await;
    let db = Connection::open(&path).unwrap();
    db.execute_batch("DROP TABLE formsvc_inbox_marks").unwrap();
    let error = inbox.claim("k", DEFAULT_LEASE).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (InboxErrorKind::Internal, 503));
}

#[tokio::test]
async fn a_writer_that_is_gone_is_an_error_and_holds_up_nobody() {
    let (_dir, path) = place();
    let broken = SqliteInbox::builder().clock(|| panic!("no time")).open(&path).unwrap();
    for _ in 0..2 {
        let error = broken.claim("k", DEFAULT_LEASE).await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (InboxErrorKind::Unavailable, 503));
    }
    let inbox = SqliteInbox::open(&path).unwrap();
    handle(&inbox, "k").await;
}
