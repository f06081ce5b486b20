//! Acknowledged submissions and imports survive `kill -9` at any time.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use formsvc_protocol::{FormId, FormInstant, PublicId};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{PageRequest, Store, StoredPage, system_clock};

const KILLS: u64 = 200;
/// Submissions of each imported form; the intake program has the same constant.
const IMPORTED: usize = 50;

/// Submissions and imports that one run acknowledged before it was killed.
struct Acknowledged {
    round: u64,
    form: FormId,
    submitted: HashMap<String, i64>,
    imported: Vec<String>,
}

/// Runs the intake program and kills it after a number of acknowledgements.
fn kill_after(acknowledgements: usize, database: &Path, round: u64) -> Acknowledged {
    let mut child = Command::new(env!("CARGO_BIN_EXE_intake"))
        .arg(database)
        .arg(round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().expect("the intake program prints a first line");
    let form = FormId::new(first.strip_prefix("ready ").unwrap()).unwrap();
    let mut told: Vec<String> = lines.by_ref().take(acknowledgements).collect();
    child.kill().unwrap();
    // Acknowledgements that were printed before the signal took effect count too.
    told.extend(lines);
    child.wait().unwrap();
    let (mut submitted, mut imported) = (HashMap::new(), Vec::new());
    for line in told {
        match *line.split(' ').collect::<Vec<_>>() {
            ["submitted", id, micros] => {
                assert!(submitted.insert(id.to_owned(), micros.parse().unwrap()).is_none());
            }
            ["imported", public_id] => imported.push(public_id.to_owned()),
            _ => panic!("unexpected line of the intake program: `{line}`"),
        }
    }
    Acknowledged { round, form, submitted, imported }
}

/// Reads every submission of a form page by page, newest first. Returns ids and answers.
async fn all(store: &SqliteStore, form: &FormId) -> Vec<(String, serde_json::Value)> {
    let user = store.user_by_email("owner@example.org").await.unwrap().unwrap();
    let (mut rows, mut before) = (Vec::new(), None);
    loop {
        let request = PageRequest { user: user.id.clone(), form: form.clone(), before, limit: 100 };
        let page: StoredPage = store.page(request).await.unwrap().expect("the form exists");
        let items: Vec<serde_json::Value> =
            serde_json::from_str(&format!("[{}]", std::str::from_utf8(&page.items).unwrap()))
                .unwrap();
        for mut item in items {
            rows.push((item["id"].as_str().unwrap().to_owned(), item["data"].take()));
        }
        if !page.has_more {
            return rows;
        }
        assert!(page.last < before || before.is_none(), "a page is not older than the one before");
        before = page.last;
    }
}

async fn check(store: &SqliteStore, acknowledged: &Acknowledged) {
    let rows = all(store, &acknowledged.form).await;
    let ids: HashSet<&String> = rows.iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), rows.len(), "a submission is stored twice");
    for id in acknowledged.submitted.keys() {
        assert!(ids.contains(id), "{id} was acknowledged and is missing");
    }
    // The acknowledged times must be in descending order.
    let instants: Vec<FormInstant> = rows
        .iter()
        .filter_map(|(id, _)| acknowledged.submitted.get(id))
        .map(|micros| FormInstant::from_micros(*micros))
        .collect();
    assert!(instants.is_sorted_by(|newer, older| newer > older));
    // Each of the eight tasks has at most one submission that was stored but not acknowledged, and
    // its numbers have no gap.
    let unacknowledged = rows.len() - acknowledged.submitted.len();
    assert!(unacknowledged <= 8, "{unacknowledged} rows were not acknowledged");
    let mut next: HashMap<i64, i64> = HashMap::new();
    for (_, answers) in rows.iter().rev() {
        let next = next.entry(answers["task"].as_i64().unwrap()).or_default();
        assert_eq!(answers["number"].as_i64(), Some(*next), "a submission is out of order");
        *next += 1;
    }
    check_imports(store, acknowledged).await;
}

/// Runs SQLite's own checks of the file.
fn check_file(database: &Path) {
    let db = rusqlite::Connection::open(database).unwrap();
    let integrity: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    let mut orphans = db.prepare("PRAGMA foreign_key_check").unwrap();
    assert!(!orphans.exists([]).unwrap(), "a row refers to a missing row");
}

/// Checks that acknowledged imports are complete, and that the two unfinished ones are complete or absent.
async fn check_imports(store: &SqliteStore, acknowledged: &Acknowledged) {
    let under_way = (0..2).map(|task| {
        let prefix = format!("import-{}-{task}-", acknowledged.round);
        let done = acknowledged.imported.iter().filter(|id| id.starts_with(&prefix)).count();
        format!("{prefix}{done}")
    });
    for public_id in acknowledged.imported.iter().cloned().chain(under_way) {
        let id = PublicId::new(&public_id).unwrap();
        let Some(form) = store.form_by_public_id(&id).await.unwrap() else {
            let told = acknowledged.imported.contains(&public_id);
            assert!(!told, "{public_id} was acknowledged and is missing");
            continue;
        };
        let rows = all(store, &form.id).await;
        let lines: Vec<i64> = rows.iter().map(|(_, data)| data["line"].as_i64().unwrap()).collect();
        let whole: Vec<i64> = (0..i64::try_from(IMPORTED).unwrap()).rev().collect();
        assert_eq!(lines, whole, "{public_id}");
    }
}

#[tokio::test]
async fn acknowledged_submissions_survive_200_kills_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("kept.db");
    let mut random = fastrand::Rng::with_seed(7);
    let mut rounds = Vec::new();
    for round in 0..KILLS {
        let after = random.usize(0..120);
        let acknowledged = kill_after(after, &database, round);
        let store = SqliteStore::open(&database, system_clock()).unwrap();
        check(&store, &acknowledged).await;
        store.close().await.unwrap();
        // Every 20th time only, because a check of the whole file takes as long as ten rounds. It also finds
        // damage of earlier rounds.
        if round % 20 == 19 {
            check_file(&database);
        }
        rounds.push(acknowledged);
    }
    // Data of earlier rounds must survive the later kills too.
    let store = SqliteStore::open(&database, system_clock()).unwrap();
    for acknowledged in &rounds {
        check(&store, acknowledged).await;
    }
    let submitted: usize = rounds.iter().map(|round| round.submitted.len()).sum();
    let imported: usize = rounds.iter().map(|round| round.imported.len()).sum();
    assert!(
        submitted > 1_000 && imported > 10,
        "{submitted} and {imported} are too few for a test"
    );
    println!(
        "{KILLS} kills, {submitted} submissions and {imported} imports acknowledged, none missing"
    );
}
