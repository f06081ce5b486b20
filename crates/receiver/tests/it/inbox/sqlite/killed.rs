//! Processes that share a file or are killed.
//!
//! Each test starts this binary again with the test [`child`], which runs the operation that an
//! environment variable names.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use formsvc_receiver::bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, DedupeResult, Inbox, Queue, SqliteInbox, SqliteMarks,
};
use rusqlite::{Connection, TransactionBehavior};

const OPERATION: &str = "FORMSVC_INBOX_OPERATION";
const FILE: &str = "FORMSVC_INBOX_FILE";
/// Prefix of a child's reports: the test harness also writes to stdout.
const REPORT: &str = "report: ";
/// Number of keys that processes race for.
const SHARED_KEYS: usize = 100;

fn report(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{REPORT}{text}").and_then(|()| out.flush()).unwrap();
}

#[tokio::test]
async fn child() {
    let (Some(operation), Some(file)) = (std::env::var_os(OPERATION), std::env::var_os(FILE))
    else {
        return;
    };
    let file = PathBuf::from(file);
    match operation.to_str().unwrap() {
        "complete" => complete(&file, usize::MAX).await,
        "race" => complete(&file, SHARED_KEYS).await,
        "accept" => accept(&file).await,
        "mark" => mark_and_wait(&file),
        other => panic!("unknown operation {other}"),
    }
}

/// Completes the keys that are free, and reports each.
async fn complete(file: &Path, count: usize) {
    let inbox = SqliteInbox::open(file).unwrap();
    for key in (0..count).map(|number| format!("sub_{number}")) {
        if let Claim::Acquired(token) = inbox.claim(&key, DEFAULT_LEASE).await.unwrap() {
            inbox.complete(&token).await.unwrap();
            report(&key);
        }
    }
}

async fn accept(file: &Path) {
    let inbox = SqliteInbox::open(file).unwrap();
    for key in (0..).map(|number| format!("sub_{number}")) {
        let payload = Bytes::copy_from_slice(key.as_bytes());
        assert_eq!(inbox.accept(&key, &payload).await.unwrap(), DedupeResult::New);
        report(&key);
    }
}

fn mark_and_wait(file: &Path) {
    let mut db = Connection::open(file).unwrap();
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    assert_eq!(SqliteMarks::new().mark(&tx, "sub_1").unwrap(), DedupeResult::New);
    tx.execute("INSERT INTO effects VALUES ('sub_1')", []).unwrap();
    report("marked");
    loop {
        std::thread::park();
    }
}

/// A child process, killed on drop.
struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Process {
    fn start(operation: &str, file: &Path) -> Self {
        let module = module_path!().split_once("::").unwrap().1;
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([&format!("{module}::child"), "--exact", "--nocapture", "--test-threads=1"]);
        command.env(OPERATION, operation).env(FILE, file);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next report; `None` after the process ended.
    fn next_report(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            let report = line.split_once(REPORT).filter(|_| line.ends_with('\n'));
            if let Some((_, report)) = report {
                return Some(report.trim_end().to_owned());
            }
            line.clear();
        }
        None
    }

    fn kill(&mut self) {
        // SIGKILL. Fails if the process ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn temp_file() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("inbox.db");
    (directory, file)
}

/// Kills a process after 20 reports. Returns all its reports.
fn kill_after_20_reports(operation: &str, file: &Path) -> Vec<String> {
    let mut process = Process::start(operation, file);
    let mut reports: Vec<_> = (0..20).map(|_| process.next_report().unwrap()).collect();
    process.kill();
    reports.extend(std::iter::from_fn(|| process.next_report()));
    reports
}

#[tokio::test]
async fn completed_key_survives_kill() {
    let (_directory, file) = temp_file();
    let reports = kill_after_20_reports("complete", &file);
    let inbox = SqliteInbox::open(&file).unwrap();
    for key in &reports {
        assert_eq!(inbox.claim(key, DEFAULT_LEASE).await.unwrap(), Claim::Duplicate, "{key}");
    }
}

#[tokio::test]
async fn accepted_delivery_survives_kill() {
    let (_directory, file) = temp_file();
    let reports = kill_after_20_reports("accept", &file);
    let inbox = SqliteInbox::open(&file).unwrap();
    for key in &reports {
        let delivery = inbox.next(DEFAULT_LEASE).await.unwrap().unwrap();
        assert_eq!((delivery.token.key(), &*delivery.payload), (&**key, key.as_bytes()));
    }
}

#[test]
fn one_of_racing_processes_handles_each_key() {
    let (_directory, file) = temp_file();
    let mut processes = [(); 3].map(|()| Process::start("race", &file));
    let mut reports: Vec<_> = processes
        .iter_mut()
        .flat_map(|process| std::iter::from_fn(|| process.next_report()))
        .collect();
    reports.sort();
    let mut expected: Vec<_> = (0..SHARED_KEYS).map(|number| format!("sub_{number}")).collect();
    expected.sort();
    assert_eq!(reports, expected);
}

#[test]
fn kill_before_commit_leaves_no_effect_and_no_mark() {
    let (_directory, file) = temp_file();
    let mut db = Connection::open(&file).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE effects (key TEXT)").unwrap();
    SqliteMarks::new().create_table(&db).unwrap();
    let mut process = Process::start("mark", &file);
    assert_eq!(process.next_report().as_deref(), Some("marked"));
    process.kill();
    let effects = db.query_row("SELECT count(*) FROM effects", [], |row| row.get(0));
    assert_eq!(effects, Ok(0));
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    assert_eq!(SqliteMarks::new().mark(&tx, "sub_1").unwrap(), DedupeResult::New);
}
