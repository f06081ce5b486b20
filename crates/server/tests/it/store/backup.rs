//! Copies of a database that is being written to.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use formsvc_protocol::{FormId, FormInstant, UserId};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::store::sqlite::{BackupError, SqliteStore, backup};
use formsvc_server::store::{
    Accepted, DeliveriesRequest, NewEndpoint, PageRequest, SealedSecret, Store, system_clock,
};

struct World {
    dir: tempfile::TempDir,
    admin: Admin,
    user: UserId,
    form: FormId,
}

impl World {
    /// A form with an endpoint.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_exclusive(&dir.path().join("a.db"), system_clock()).unwrap();
        let admin = Admin::new(Arc::new(store));
        let user = admin.create_user("a@b.c", "A").await.unwrap().id;
        let form = admin.create_form(&user, FormOptions::titled("T")).await.unwrap().id;
        let (id, url) = ("whe_1".parse().unwrap(), "https://a.example".into());
        let endpoint = NewEndpoint { id, form: form.clone(), url, secret: SealedSecret(vec![1]) };
        admin.store().add_endpoint(endpoint).await.unwrap();
        Self { dir, admin, user, form }
    }

    fn database(&self) -> PathBuf {
        self.path("a.db")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The ids of a copy's submissions, oldest first, each of which has to have its delivery.
    async fn submissions_of(&self, copy: &Path) -> Vec<String> {
        let store = SqliteStore::open_exclusive(copy, system_clock()).unwrap();
        let (mut found, mut before) = (Vec::new(), None::<FormInstant>);
        loop {
            let (user, form) = (self.user.clone(), self.form.clone());
            let request = PageRequest { user, form, before, limit: 100 };
            let page = store.page(request).await.unwrap().unwrap();
            let items = format!("[{}]", std::str::from_utf8(&page.items).unwrap());
            let items: Vec<serde_json::Value> = serde_json::from_str(&items).unwrap();
            found.extend(items.iter().map(|item| item["id"].as_str().unwrap().to_owned()));
            before = page.last;
            if !page.has_more {
                break;
            }
        }
        let (form, limit) = (self.form.clone(), u32::MAX);
        let request = DeliveriesRequest {
            form,
            endpoint: None,
            state: None,
            submission: None,
            after: None,
            limit,
        };
        let deliveries = store.deliveries(request).await.unwrap();
        let delivered: Vec<_> =
            deliveries.iter().map(|delivery| delivery.submission.as_str().to_owned()).collect();
        assert_eq!(delivered, found, "each with its delivery");
        assert_eq!(store.backlog().await.unwrap().unfinished, found.len() as u64);
        // It can be used, and goes on after what it has.
        let admin = Admin::new(Arc::new(store));
        admin.submit(&self.form, "{}").await.unwrap();
        admin.store().close().await.unwrap();
        found.reverse();
        found
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_copy_made_beside_writers_is_the_beginning_of_what_was_acknowledged() {
    let world = World::new().await;
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let (admin, form, stop) = (world.admin.clone(), world.form.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut made: Vec<Accepted> = Vec::new();
                while !stop.load(Ordering::SeqCst) {
                    made.push(
                        admin.submit(&form, r#"{"a":"some text of a visitor"}"#).await.unwrap(),
                    );
                }
                made
            })
        })
        .collect();
    let mut copies = Vec::new();
    for name in ["1.db", "2.db", "3.db"] {
        let before = world.admin.submit(&world.form, "{}").await.unwrap();
        let (database, copy) = (world.database(), world.path(name));
        let made = tokio::task::spawn_blocking(move || backup(&database, &copy, false));
        copies.push((name, before, made.await.unwrap().unwrap()));
    }
    stop.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    acknowledged.extend(copies.iter().map(|(_, before, _)| before.clone()));
    acknowledged.sort_by_key(|accepted| accepted.instant);
    let acknowledged: Vec<_> =
        acknowledged.iter().map(|accepted| accepted.id.as_str().to_owned()).collect();
    world.admin.store().close().await.unwrap();

    let mut lens = Vec::new();
    for (name, before, report) in copies {
        let found = world.submissions_of(&world.path(name)).await;
        assert_eq!(found, acknowledged[..found.len()], "{name}: a beginning without a gap");
        assert!(found.iter().any(|id| id == before.id.as_str()), "with all from before it began");
        let len = found.len() as u64;
        assert_eq!((report.submissions, report.deliveries), (len, len));
        assert_eq!((report.users, report.forms), (1, 1));
        lens.push(len);
    }
    assert!(lens[0] < lens[1] && lens[1] < lens[2], "{lens:?}");
    assert!(lens[2] < acknowledged.len() as u64 + 1);
}

#[tokio::test]
async fn a_copy_has_its_name_once_it_is_whole_and_only_its_owner_reads_it() {
    let world = World::new().await;
    let copy = world.path("copy.db");
    let report = backup(&world.database(), &copy, false).unwrap();
    let metadata = std::fs::metadata(&copy).unwrap();
    assert_eq!(metadata.len(), report.bytes);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(world.names(), ["a.db", "a.db-shm", "a.db-wal", "a.db.lock", "copy.db"]);

    world.admin.submit(&world.form, "{}").await.unwrap();
    let before = std::fs::read(&copy).unwrap();
    let refused = backup(&world.database(), &copy, false).unwrap_err();
    assert!(matches!(refused, BackupError::Exists(_)), "{refused:?}");
    assert_eq!(std::fs::read(&copy).unwrap(), before);
    assert_eq!(backup(&world.database(), &copy, true).unwrap().submissions, 1);
    assert_eq!(world.submissions_of(&copy).await.len(), 1);
}

#[tokio::test]
async fn a_copy_never_replaces_the_database_or_what_belongs_to_it() {
    let world = World::new().await;
    std::fs::write(world.path("a.db.key"), "precious").unwrap();
    for name in ["a.db", "a.db-wal", "a.db-shm", "a.db.lock", "a.db.key"] {
        for replace in [false, true] {
            let refused = backup(&world.database(), &world.path(name), replace).unwrap_err();
            assert!(matches!(refused, BackupError::Itself(_)), "{name}: {refused:?}");
        }
    }
    #[cfg(unix)]
    {
        let link = world.path("link.db");
        std::os::unix::fs::symlink(world.database(), &link).unwrap();
        let refused = backup(&world.database(), &link, true).unwrap_err();
        assert!(matches!(refused, BackupError::Itself(_)), "{refused:?}");
        std::os::unix::fs::symlink(world.path("nowhere"), world.path("lost")).unwrap();
        let refused = backup(&world.database(), &world.path("lost"), true).unwrap_err();
        assert!(matches!(refused, BackupError::NotAFile(_)), "{refused:?}");
    }
    let refused = backup(&world.database(), world.dir.path(), true).unwrap_err();
    assert!(matches!(refused, BackupError::NotAFile(_)), "{refused:?}");
    world.admin.submit(&world.form, "{}").await.unwrap();
    assert!(world.names().iter().all(|name| !name.starts_with(".formsvc-backup")));
}

#[tokio::test]
async fn a_copy_takes_no_name_of_the_databases_own_where_nothing_is_yet() {
    let world = World::new().await;
    world.admin.submit(&world.form, "{}").await.unwrap();
    world.admin.store().close().await.unwrap();
    let database = world.path("made.db");
    backup(&world.database(), &database, false).unwrap();
    std::fs::create_dir(world.path("sub")).unwrap();
    for suffix in ["-wal", "-shm", "-journal", ".lock", ".key"] {
        let name = format!("made.db{suffix}");
        for copy in [world.path(&name), world.path("sub").join("..").join(&name)] {
            for replace in [false, true] {
                let refused = backup(&database, &copy, replace);
                let is_refused = matches!(refused, Err(BackupError::Itself(_)));
                assert!(is_refused, "{}: {refused:?}", copy.display());
            }
        }
        // Another name, or the same elsewhere, is anybody's.
        backup(&database, &world.path("sub").join(&name), false).unwrap();
    }
    #[cfg(unix)]
    {
        let link = world.path("link.db");
        std::os::unix::fs::symlink(&database, &link).unwrap();
        let refused = backup(&link, &world.path("made.db-journal"), false);
        assert!(matches!(refused, Err(BackupError::Itself(_))), "{refused:?}");
    }
    let lost = backup(&database, &world.path("none").join("copy.db"), false);
    assert!(matches!(lost, Err(BackupError::Io(_))), "{lost:?}");
}

#[tokio::test]
async fn what_is_no_whole_database_gets_no_copy() {
    let world = World::new().await;
    let copy = world.path("copy.db");
    for (name, content) in [("empty", &b""[..]), ("text", &[b'x'; 5_000])] {
        std::fs::write(world.path(name), content).unwrap();
        let refused = backup(&world.path(name), &copy, false).unwrap_err();
        assert!(matches!(refused, BackupError::Open(_)), "{name}: {refused:?}");
    }
    // A row that somebody took out behind our back.
    for _ in 0..3 {
        world.admin.submit(&world.form, "{}").await.unwrap();
    }
    world.admin.store().close().await.unwrap();
    let broken = world.path("broken.db");
    backup(&world.database(), &broken, false).unwrap();
    let connection = rusqlite::Connection::open(&broken).unwrap();
    connection.execute("DELETE FROM submissions WHERE key & 0xff = 2", []).unwrap();
    drop(connection);
    let refused = backup(&broken, &copy, false).unwrap_err();
    assert!(matches!(refused, BackupError::Damaged(_)), "{refused:?}");
    assert!(!copy.exists());
    assert!(world.names().iter().all(|name| !name.starts_with(".formsvc-backup")));
}
