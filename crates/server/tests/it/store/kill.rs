//! A server killed in the middle of its work keeps what it had accepted.

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use formsvc_protocol::PublicId;
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{PageRequest, Store, system_clock};

/// Set for the process that is killed: its database file.
const VICTIM: &str = "FORMSVC_TEST_VICTIM_DATABASE";

/// Not a claim of its own: what the killed process runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn victim() {
    let Some(path) = std::env::var_os(VICTIM) else { return };
    let store: Arc<dyn Store> =
        Arc::new(SqliteStore::open_exclusive(Path::new(&path), system_clock()).unwrap());
    let admin = Admin::new(store);
    let form =
        admin.store().form_by_public_id(&PublicId::new("survey").unwrap()).await.unwrap().unwrap();
    for _ in 0..16 {
        let (admin, form) = (admin.clone(), form.id.clone());
        tokio::spawn(async move {
            loop {
                let accepted = admin.submit(&form, r#"{"a":"b"}"#).await.unwrap();
                println!("accepted {}", accepted.id);
            }
        });
    }
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_killed_server_keeps_every_submission_it_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("formsvc.db");
    let store = SqliteStore::open(&path, system_clock()).unwrap();
    let admin = Admin::new(Arc::new(store));
    let user = admin.create_user("a@example.org", "A").await.unwrap();
    let survey = FormOptions {
        public_id: Some(PublicId::new("survey").unwrap()),
        ..FormOptions::titled("T")
    };
    let form = admin.create_form(&user.id, survey).await.unwrap();
    admin.store().close().await.unwrap();

    let mut accepted = HashSet::new();
    for lines in [1, 10, 100, 300] {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "store::kill::victim", "--nocapture"])
            .env(VICTIM, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(victim.stdout.take().unwrap()).lines();
        let told = |line: std::io::Result<String>| {
            line.unwrap().strip_prefix("accepted ").map(ToOwned::to_owned)
        };
        accepted.extend(output.by_ref().filter_map(told).take(lines));
        victim.kill().unwrap();
        // What it still said before it died is as good a promise.
        accepted.extend(output.filter_map(told).filter(|id| id.len() == "sub_".len() + 32));
        victim.wait().unwrap();
    }
    assert!(accepted.len() >= 411);

    let store = SqliteStore::open_exclusive(&path, system_clock()).unwrap();
    let (mut kept, mut before) = (HashSet::new(), None);
    loop {
        let request =
            PageRequest { user: user.id.clone(), form: form.id.clone(), before, limit: 100 };
        let page = store.page(request).await.unwrap().unwrap();
        let items = format!("[{}]", str::from_utf8(&page.items).unwrap());
        for row in serde_json::from_str::<Vec<formsvc_protocol::Submission>>(&items).unwrap() {
            assert!(kept.insert(row.id.to_string()), "{} came twice", row.id);
        }
        before = page.last;
        if !page.has_more {
            break;
        }
    }
    let lost: Vec<_> = accepted.difference(&kept).collect();
    assert!(lost.is_empty(), "lost {lost:?}");
    store.close().await.unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    let integrity: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
}
