//! Processes that share a file or are killed, and what the file knows afterwards.
//!
//! Each test starts this binary again to run one test, [`child`], which does its part when a variable says
//! which, and may be killed while it does.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, Inbox, LEASE_MAX, Queue, Recorded, SqliteInbox, SqliteMarks,
};
use rusqlite::{Connection, TransactionBehavior};

/// The part and the file of a child.
const PART: &str = "FORMSVC_INBOX_PART";
const FILE: &str = "FORMSVC_INBOX_FILE";

/// What comes before each line that counts: the harness writes lines too.
const MARK: &str = "said: ";

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{MARK}{line}").and_then(|()| out.flush()).expect("somebody listens");
}

#[tokio::test]
async fn child() {
    let (Some(part), Some(file)) = (std::env::var_os(PART), std::env::var_os(FILE)) else { return };
    let file = PathBuf::from(file);
    match part.to_str().expect("a plain name") {
        "complete" => complete_forever(&file).await,
        "accept" => accept_forever(&file).await,
        "claim" => claim_and_wait(&file).await,
        "mark" => mark_and_wait(&file),
        "share" => handle_what_is_free(&file).await,
        other => panic!("no part is called {other}"),
    }
}

async fn complete_forever(file: &Path) {
    let inbox = SqliteInbox::open(file).unwrap();
    for number in 0.. {
        let key = format!("sub_{number}");
        let Claim::Acquired(token) = inbox.claim(&key, DEFAULT_LEASE).await.unwrap() else {
            panic!("{key} is free")
        };
        inbox.complete(&token).await.unwrap();
        say(&key);
    }
}

async fn accept_forever(file: &Path) {
    let inbox = SqliteInbox::open(file).unwrap();
    for number in 0.. {
        let key = format!("sub_{number}");
        assert_eq!(
            inbox.accept(&key, &Bytes::copy_from_slice(key.as_bytes())).await.unwrap(),
            Recorded::New
        );
        say(&key);
    }
}

/// Keys that processes race for.
const SHARED: usize = 100;

async fn handle_what_is_free(file: &Path) {
    let inbox = SqliteInbox::open(file).unwrap();
    for number in 0..SHARED {
        let key = format!("sub_{number}");
        if let Claim::Acquired(token) = inbox.claim(&key, DEFAULT_LEASE).await.unwrap() {
            inbox.complete(&token).await.unwrap();
            say(&key);
        }
    }
}

async fn claim_and_wait(file: &Path) {
    let inbox = SqliteInbox::open(file).unwrap();
    let claim = inbox.claim("sub_1", LEASE_MAX).await.unwrap();
    assert!(matches!(claim, Claim::Acquired(_)));
    say("claimed");
    std::future::pending::<()>().await;
}

fn mark_and_wait(file: &Path) {
    let mut db = Connection::open(file).unwrap();
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    assert_eq!(SqliteMarks::new().mark(&tx, "sub_1").unwrap(), Recorded::New);
    tx.execute("INSERT INTO effects VALUES ('sub_1')", []).unwrap();
    say("marked");
    loop {
        std::thread::park();
    }
}

/// A child at its part, killed when it is dropped.
struct Part {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Part {
    fn start(part: &str, file: &Path) -> Self {
        let module = module_path!().split_once("::").expect("a module of the binary").1;
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([&format!("{module}::child"), "--exact", "--nocapture", "--test-threads=1"]);
        command.env(PART, part).env(FILE, file).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next that it says; `None` when it has ended. The harness may begin its line.
    fn heard(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            if let Some((_, said)) = line.split_once(MARK).filter(|_| line.ends_with('\n')) {
                return Some(said.trim_end().to_owned());
            }
            line.clear();
        }
        None
    }

    fn kill(&mut self) {
        // SIGKILL: it has no say in it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a part said before it was killed while saying more.
fn said_before_it_was_killed(part: &str, file: &Path) -> Vec<String> {
    let mut part = Part::start(part, file);
    let mut said: Vec<_> = (0..20).map(|_| part.heard().expect("it goes on")).collect();
    part.kill();
    said.extend(std::iter::from_fn(|| part.heard()));
    said
}

#[tokio::test]
async fn what_was_completed_is_known_after_its_process_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("inbox.db");
    let said = said_before_it_was_killed("complete", &file);
    let inbox = SqliteInbox::open(&file).unwrap();
    for key in &said {
        assert_eq!(inbox.claim(key, DEFAULT_LEASE).await.unwrap(), Claim::Duplicate, "{key}");
    }
}

#[tokio::test]
async fn what_was_accepted_is_handled_after_its_process_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("inbox.db");
    let said = said_before_it_was_killed("accept", &file);
    let inbox = SqliteInbox::open(&file).unwrap();
    for key in &said {
        let pending = inbox.next(DEFAULT_LEASE).await.unwrap().expect("it is there");
        assert_eq!((pending.token.key(), &*pending.payload), (&**key, key.as_bytes()));
    }
}

#[test]
fn of_processes_that_race_for_a_key_one_handles_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("inbox.db");
    let mut parts = [(); 3].map(|()| Part::start("share", &file));
    let mut said: Vec<_> =
        parts.iter_mut().flat_map(|part| std::iter::from_fn(|| part.heard())).collect();
    said.sort();
    let mut expected: Vec<_> = (0..SHARED).map(|number| format!("sub_{number}")).collect();
    expected.sort();
    assert_eq!(said, expected);
}

#[tokio::test]
async fn a_claim_of_another_process_is_seen_and_ends_with_its_lease() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("inbox.db");
    let mut part = Part::start("claim", &file);
    assert_eq!(part.heard().as_deref(), Some("claimed"));
    let inbox = SqliteInbox::open(&file).unwrap();
    let in_flight = || async {
        matches!(inbox.claim("sub_1", DEFAULT_LEASE).await.unwrap(), Claim::InFlight { .. })
    };
    assert!(in_flight().await);
    part.kill();
    assert!(in_flight().await, "nobody knows that it is dead");
    let later = std::time::SystemTime::now() + LEASE_MAX;
    let inbox = SqliteInbox::builder().clock(move || later).open(&file).unwrap();
    let claim = inbox.claim("sub_1", DEFAULT_LEASE).await.unwrap();
    assert!(matches!(claim, Claim::Acquired(_)), "{claim:?}");
}

#[test]
fn a_process_killed_between_effect_and_commit_leaves_neither() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let mut db = Connection::open(&file).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE effects (key TEXT)").unwrap();
    SqliteMarks::new().create_table(&db).unwrap();
    let mut part = Part::start("mark", &file);
    assert_eq!(part.heard().as_deref(), Some("marked"));
    part.kill();
    let sql = "SELECT count(*) FROM effects";
    assert_eq!(db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    assert_eq!(SqliteMarks::new().mark(&tx, "sub_1").unwrap(), Recorded::New);
}
