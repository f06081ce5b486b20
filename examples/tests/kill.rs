//! The program `resume`, killed at random instants.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::Duration;

use fastrand::Rng;
use formsvc_client::{FormHandle, ResumeToken};
use formsvc_tests::scale::scaled;
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::sandbox::Sandbox;

const PROGRAM: &str = env!("CARGO_BIN_EXE_resume");
/// Rows of a page.
const PAGE: usize = 100;
/// A kill comes after 0 to 3 pages, and up to this many microseconds: more than the program takes
/// to start, or for a page.
const PAGES_MAX: usize = 3;
const DELAY_MAX: u64 = 30_000;
const SIGKILL: i32 = 9;

/// The content of `rows.ndjson`.
#[derive(Default)]
struct Rows {
    /// The line of each id.
    lines: HashMap<String, String>,
    repeated: usize,
    cut: usize,
}

/// The counts that the long run prints.
#[derive(Default)]
struct Report {
    exports: usize,
    kills: usize,
    tokens_loaded: usize,
    kills_without_token: usize,
    kills_between_rows_and_token: usize,
    most_rows_after_token: usize,
    rows: usize,
    repeated: usize,
    cut: usize,
    temporary_files: usize,
}

impl Rows {
    fn read(sandbox: &Sandbox) -> Self {
        let mut rows = Self::default();
        // A kill can cut a character, too.
        let bytes = fs::read(sandbox.path("rows.ndjson")).unwrap_or_default();
        for line in String::from_utf8_lossy(&bytes).lines().filter(|line| !line.is_empty()) {
            let Ok(row) = serde_json::from_str::<serde_json::Value>(line) else {
                rows.cut += 1;
                continue;
            };
            let id = row["id"].as_str().unwrap().to_owned();
            if let Some(earlier) = rows.lines.insert(id, line.to_owned()) {
                assert_eq!(earlier, line, "a repeated row is the same");
                rows.repeated += 1;
            }
        }
        rows
    }
}

/// Starts the program and kills it at a random instant. Returns false if it completes before.
async fn kill_at_random(sandbox: &Sandbox, random: &mut Rng) -> bool {
    let mut child = sandbox.command(PROGRAM).stdout(Stdio::piped()).spawn().unwrap();
    let mut pages = BufReader::new(child.stdout.take().unwrap()).lines();
    for _ in 0..random.usize(0..=PAGES_MAX) {
        if pages.next_line().await.unwrap().is_none() {
            break;
        }
    }
    // Sleeps because the kill must be able to hit every instant of a page.
    tokio::time::sleep(Duration::from_micros(random.u64(0..DELAY_MAX))).await;
    // Fails if the program ended before.
    let _ = child.start_kill();
    let status = child.wait().await.unwrap();
    assert!(status.success() || status.signal() == Some(SIGKILL), "{status}");
    !status.success()
}

/// Loads the token, as the program does when it starts; `None` before the first one is saved.
fn load_token(sandbox: &Sandbox) -> Option<ResumeToken> {
    ResumeToken::load_if_exists(sandbox.path("rows.token")).expect("a saved token is complete")
}

/// The ids that a list from this token on still yields.
async fn rest(form: &FormHandle, token: Option<ResumeToken>) -> HashSet<String> {
    let query = form.submissions();
    let query = match token {
        Some(token) => query.resume_from(token),
        None => query,
    };
    let (mut items, mut ids) = (query.items(), HashSet::new());
    while let Some(submission) = items.try_next().await.unwrap() {
        assert!(ids.insert(submission.id.to_string()), "yielded once");
    }
    ids
}

/// Checks files and token after a kill: every row is in the file or after the token.
async fn check_after_kill(
    sandbox: &Sandbox,
    form: &FormHandle,
    all: &HashSet<String>,
    report: &mut Report,
) {
    let (rows, token) = (Rows::read(sandbox), load_token(sandbox));
    report.kills += 1;
    report.kills_without_token += usize::from(token.is_none());
    report.tokens_loaded += usize::from(token.is_some());
    let rest = rest(form, token).await;
    let lost: Vec<_> =
        all.iter().filter(|id| !rest.contains(*id) && !rows.lines.contains_key(*id)).collect();
    assert!(lost.is_empty(), "the token leads past rows that are not in the file: {lost:?}");
    let after_token = rows.lines.keys().filter(|id| rest.contains(*id)).count();
    assert!(after_token <= PAGE, "{after_token} rows are read again");
    report.kills_between_rows_and_token += usize::from(after_token > 0);
    report.most_rows_after_token = report.most_rows_after_token.max(after_token);
}

/// Runs the program until it completes, and kills it while kills are left.
async fn export(
    sandbox: &Sandbox,
    form: &FormHandle,
    all: &HashSet<String>,
    kills: usize,
    random: &mut Rng,
    report: &mut Report,
) {
    for name in ["rows.ndjson", "rows.token"] {
        // The first export finds no files.
        let _ = fs::remove_file(sandbox.path(name));
    }
    let kills_before = report.kills;
    while report.kills < kills && kill_at_random(sandbox, random).await {
        check_after_kill(sandbox, form, all, report).await;
    }
    sandbox.run(PROGRAM).await;
    let (rows, kills) = (Rows::read(sandbox), report.kills - kills_before);
    assert_eq!(rows.lines.keys().cloned().collect::<HashSet<_>>(), *all, "exactly once");
    assert!(rows.repeated <= kills * PAGE && rows.cut <= kills, "one page per kill");
    assert!(load_token(sandbox).is_some_and(|token| token.is_finished()));
    report.exports += 1;
    report.rows += rows.lines.len();
    report.repeated += rows.repeated;
    report.cut += rows.cut;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_resume_loses_no_row_and_no_token() {
    let (kills, rows) = scaled((10, 1_500), (200, 5_000));
    let sandbox = Sandbox::with_rows(rows).await;
    let client = sandbox.service.client(&sandbox.running);
    let form = client.form(&sandbox.service.form.id);
    let all = rest(&form, None).await;
    assert_eq!(all.len(), rows);
    let (mut random, mut report) = (Rng::with_seed(29), Report::default());
    while report.kills < kills {
        export(&sandbox, &form, &all, kills, &mut random, &mut report).await;
    }
    let names = fs::read_dir(sandbox.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    report.temporary_files = names.filter(|name| name.to_string_lossy().ends_with(".tmp")).count();
    println!("{report}");
    assert!(report.tokens_loaded > 0, "{report}");
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "kills: {}, during {} exports", self.kills, self.exports)?;
        writeln!(f, "  before the first token: {}", self.kills_without_token)?;
        writeln!(f, "  between rows and token: {}", self.kills_between_rows_and_token)?;
        writeln!(f, "tokens loaded after a kill: {}, refused: 0", self.tokens_loaded)?;
        writeln!(f, "rows exported: {}, missing: 0", self.rows)?;
        writeln!(f, "  repeated and dropped by id: {}", self.repeated)?;
        writeln!(f, "  most after one kill: {}", self.most_rows_after_token)?;
        writeln!(f, "lines cut: {}", self.cut)?;
        write!(f, "temporary files of tokens left: {}", self.temporary_files)
    }
}
