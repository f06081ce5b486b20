//! What holds of an SQLite file beyond the store contract.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use formsvc_protocol::{Form, FormInstant, User};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::store::contract::ManualClock;
use formsvc_server::store::sqlite::{OpenError, SqliteStore};
use formsvc_server::store::{PageRequest, Store, StoreError, system_clock};
use tokio::task::JoinSet;

struct Place {
    path: PathBuf,
    _dir: tempfile::TempDir,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    Place { path: dir.path().join("formsvc.db"), _dir: dir }
}

fn open(path: &Path) -> Arc<SqliteStore> {
    Arc::new(SqliteStore::open(path, system_clock()).unwrap())
}

async fn survey(store: &Arc<SqliteStore>) -> (Admin, User, Form) {
    let admin = Admin::new(Arc::clone(store) as Arc<dyn Store>);
    let user = admin.create_user("a@example.org", "A").await.unwrap();
    let form = admin.create_form(&user.id, FormOptions::titled("T")).await.unwrap();
    (admin, user, form)
}

/// Instants of all rows, newest first.
async fn instants(store: &SqliteStore, user: &User, form: &Form) -> Vec<FormInstant> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let request =
            PageRequest { user: user.id.clone(), form: form.id.clone(), before, limit: 1 };
        let page = store.page(request).await.unwrap().unwrap();
        found.extend(page.last);
        before = page.last;
        if !page.has_more {
            return found;
        }
    }
}

fn integrity(path: &Path) -> String {
    let db = rusqlite::Connection::open(path).unwrap();
    db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_on_one_file_keep_one_order() {
    let place = place();
    let server = Arc::new(SqliteStore::open_exclusive(&place.path, system_clock()).unwrap());
    let (_, user, form) = survey(&server).await;
    // Another process differs from another store in this one only by the file locks' owner.
    let beside = open(&place.path);
    let mut tasks = JoinSet::new();
    for n in 0..200 {
        let store = if n % 2 == 0 { &server } else { &beside };
        let admin = Admin::new(Arc::clone(store) as Arc<dyn Store>);
        let form = form.id.clone();
        tasks.spawn(async move { admin.submit(&form, "{}").await.unwrap().instant });
    }
    let mut accepted = tasks.join_all().await;
    accepted.sort();
    accepted.reverse();
    assert_eq!(instants(&server, &user, &form).await, accepted);

    let made = Admin::new(Arc::clone(&beside) as Arc<dyn Store>);
    let key = made.create_key(&user.id, "laptop").await.unwrap();
    beside.close().await.unwrap();
    assert_eq!(server.keys(&user.id).await.unwrap(), [key.record], "the server sees it at once");
    server.close().await.unwrap();
    assert_eq!(integrity(&place.path), "ok");
}

#[tokio::test]
async fn two_servers_never_share_a_file() {
    let place = place();
    let server = SqliteStore::open_exclusive(&place.path, system_clock()).unwrap();
    let refused = SqliteStore::open_exclusive(&place.path, system_clock()).unwrap_err();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused:?}");
    assert!(refused.to_string().contains("formsvc.db.lock"), "{refused}");
    open(&place.path).close().await.unwrap();
    server.close().await.unwrap();
    let next = SqliteStore::open_exclusive(&place.path, system_clock()).unwrap();
    next.close().await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn two_servers_never_share_a_file_by_two_names() {
    let place = place();
    let link = place.path.with_file_name("link.db");
    std::os::unix::fs::symlink(&place.path, &link).unwrap();
    let nowhere = SqliteStore::open_exclusive(&link, system_clock()).unwrap_err();
    assert!(matches!(nowhere, OpenError::Io(_)), "a link to nowhere: {nowhere:?}");

    let around = place.path.with_file_name("around");
    std::os::unix::fs::symlink(place.path.parent().unwrap(), &around).unwrap();
    let server = SqliteStore::open_exclusive(&place.path, system_clock()).unwrap();
    for name in [link.clone(), around.join("formsvc.db"), around.join("around/link.db")] {
        let refused = SqliteStore::open_exclusive(&name, system_clock()).unwrap_err();
        assert!(matches!(refused, OpenError::Locked { .. }), "{}: {refused:?}", name.display());
    }
    survey(&open(&link)).await;
    assert!(server.user_by_email("a@example.org").await.unwrap().is_some(), "one log, one file");
    assert!(!place.path.with_file_name("link.db-wal").exists());
    server.close().await.unwrap();
}

#[tokio::test]
async fn a_file_of_a_newer_release_is_refused_and_left_alone() {
    let place = place();
    open(&place.path).close().await.unwrap();
    let db = rusqlite::Connection::open(&place.path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let before = std::fs::read(&place.path).unwrap();
    let refused = SqliteStore::open(&place.path, system_clock()).unwrap_err();
    assert!(std::fs::read(&place.path).unwrap() == before, "the file was changed");
    assert_eq!(
        refused.to_string(),
        "the database has schema version 99, and this release knows versions up to 2"
    );
}

#[test]
fn a_file_of_another_program_is_refused_and_left_alone() {
    let place = place();
    let db = rusqlite::Connection::open(&place.path).unwrap();
    db.execute_batch("CREATE TABLE theirs (x)").unwrap();
    let before = std::fs::read(&place.path).unwrap();
    let refused = SqliteStore::open(&place.path, system_clock()).unwrap_err();
    assert!(matches!(refused, OpenError::NotOurs), "{refused:?}");
    drop(db);
    assert!(std::fs::read(&place.path).unwrap() == before, "the file was changed");

    std::fs::write(&place.path, "this is a text, and long enough to be no database").unwrap();
    let refused = SqliteStore::open(&place.path, system_clock()).unwrap_err();
    assert!(matches!(refused, OpenError::NotADatabase), "{refused:?}");
    let nowhere = place.path.with_file_name("missing").join("formsvc.db");
    assert!(matches!(SqliteStore::open(&nowhere, system_clock()), Err(OpenError::Io(_))));
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let place = place();
    let store = open(&place.path);
    survey(&store).await;
    let beside = place.path.with_file_name("formsvc.db.lock");
    std::fs::write(&beside, "").unwrap();
    std::fs::set_permissions(&beside, std::fs::Permissions::from_mode(0o666)).unwrap();
    let server = SqliteStore::open_exclusive(&place.path, system_clock()).unwrap();
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let path = format!("{}{suffix}", place.path.display());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{path}");
    }
    server.close().await.unwrap();
}

#[tokio::test]
async fn what_was_accepted_is_there_after_reopening() {
    let place = place();
    let store = open(&place.path);
    let (admin, user, form) = survey(&store).await;
    let mut accepted = Vec::new();
    for _ in 0..20 {
        accepted.push(admin.submit(&form.id, r#"{"a":1}"#).await.unwrap().instant);
    }
    accepted.reverse();
    // Dropped, not closed: what was answered is on the disk already.
    drop((admin, store));
    let store = open(&place.path);
    assert_eq!(instants(&store, &user, &form).await, accepted);
    let admin = Admin::new(Arc::clone(&store) as Arc<dyn Store>);
    assert!(admin.submit(&form.id, "{}").await.unwrap().instant > accepted[0]);
}

#[tokio::test]
async fn closing_leaves_one_file_that_is_whole() {
    let place = place();
    let store = open(&place.path);
    let (admin, _, form) = survey(&store).await;
    admin.submit(&form.id, "{}").await.unwrap();
    store.close().await.unwrap();
    let moved = place.path.with_file_name("moved.db");
    std::fs::rename(&place.path, &moved).unwrap();
    assert_eq!(integrity(&moved), "ok");
    let db = rusqlite::Connection::open(&moved).unwrap();
    let rows: i64 = db.query_row("SELECT count(*) FROM submissions", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[tokio::test]
async fn a_clock_that_panics_fails_the_write_and_not_the_store() {
    let place = place();
    let clock = ManualClock::at(1_767_225_600_000_000);
    let broken = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (inner, breaks) = (clock.clock(), Arc::clone(&broken));
    let clock: formsvc_server::store::Clock = Arc::new(move || {
        assert!(!breaks.load(std::sync::atomic::Ordering::SeqCst), "on purpose");
        inner()
    });
    let store = Arc::new(SqliteStore::open(&place.path, clock).unwrap());
    let (admin, _, form) = survey(&store).await;
    broken.store(true, std::sync::atomic::Ordering::SeqCst);
    assert!(matches!(store.probe().await, Err(StoreError::Internal(_))));
    broken.store(false, std::sync::atomic::Ordering::SeqCst);
    admin.submit(&form.id, "{}").await.unwrap();
}

#[test]
fn a_database_in_memory_is_not_taken_for_a_file() {
    let memory = Path::new(":memory:");
    for refused in [
        SqliteStore::open(memory, system_clock()),
        SqliteStore::open_exclusive(memory, system_clock()),
    ] {
        assert!(matches!(refused, Err(OpenError::InMemory)), "{refused:?}");
    }
}

#[tokio::test]
async fn databases_in_memory_are_apart() {
    let [one, two] = [(); 2].map(|()| Arc::new(SqliteStore::in_memory(system_clock()).unwrap()));
    let (_, user, _) = survey(&one).await;
    assert!(two.user_by_email(&user.email).await.unwrap().is_none());
    survey(&two).await;
}
