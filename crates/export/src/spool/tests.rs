//! Tests of spools.

use std::fs::File;
use std::time::SystemTime;

use formsvc_client::Timestamp;

use super::*;
use crate::store::{PageToWrite, RowRange};

fn folder() -> (TempDir, SpoolFolder) {
    let state = tempfile::tempdir().unwrap();
    let folder = SpoolFolder::new(state.path().join("deep/state"));
    (state, folder)
}

fn request(range: &str) -> SpoolRequest<'_> {
    SpoolRequest {
        origin: "https://forms.example",
        form_id: "frm_1",
        title: Some("Survey"),
        identity: identity(RowRange::default(), Some(range), None),
        since: 7,
        command: Some("formsvc submissions export frm_1"),
        fresh: false,
    }
}

fn add_row(spool: &mut Spool, id: &str) {
    let row = formsvc_client::test_util::submission(id, "{}", "2026-01-01T00:00:00Z");
    let page = PageToWrite { rows: vec![row], now: 1, ..PageToWrite::default() };
    let mut form = spool.form.lock();
    let source = form.source;
    form.store.write_page(source, &page).unwrap();
}

fn rows(spool: &Spool) -> u64 {
    let form = spool.form.lock();
    form.store.count(form.source, RowRange::default(), u64::MAX).unwrap()
}

#[test]
fn spool_is_kept_until_finished_and_private() {
    let (_state, folder) = folder();
    assert_eq!(folder.list().unwrap().len(), 0);
    let mut spool = folder.open(&request("all")).unwrap();
    add_row(&mut spool, "sub_1");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        for file in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }
    drop(spool);
    let spool = folder.open(&request("all")).unwrap();
    assert_eq!(rows(&spool), 1);
    File::create(beside(&spool.path, "-journal")).unwrap();
    spool.finish().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn folder_of_another_user_is_refused() {
    let (state, folder) = folder();
    folder.create().unwrap();
    let other = rustix::fs::Uid::from_raw(65_534);
    // Only root can give a folder away; others see one of root.
    let folder = match rustix::fs::chown(folder.path(), Some(other), None) {
        Ok(()) => folder,
        Err(_) => SpoolFolder { path: "/usr".into(), temporary: None },
    };
    let errors = [
        folder.open(&request("all")).map(drop).unwrap_err(),
        folder.list().map(drop).unwrap_err(),
        folder.clean().map(drop).unwrap_err(),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.ends_with("the folder belongs to another user"), "{text}");
    }
    drop(state);
}

#[cfg(unix)]
#[test]
fn folder_loses_the_rights_of_others_and_is_no_link() {
    use std::os::unix::fs::PermissionsExt;
    let (state, folder) = folder();
    folder.create().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder.list().unwrap();
    assert_eq!(folder.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let target = state.path().join("elsewhere");
    fs::create_dir(&target).unwrap();
    fs::remove_dir(folder.path()).unwrap();
    std::os::unix::fs::symlink(&target, folder.path()).unwrap();
    let error = folder.open(&request("all")).unwrap_err().to_string();
    assert!(error.ends_with("it is a symbolic link"), "{error}");
}

#[cfg(unix)]
#[test]
fn lock_file_that_is_a_link_is_refused() {
    let (state, folder) = folder();
    let spool = folder.open(&request("all")).unwrap();
    let lock = beside(&spool.path, ".lock");
    drop(spool);
    for target in ["precious", "missing"] {
        let target = state.path().join(target);
        std::os::unix::fs::symlink(&target, &lock).unwrap();
        let error = folder.open(&request("all")).unwrap_err().to_string();
        assert!(error.contains(".lock`") && error.ends_with("it is a symbolic link"), "{error}");
        assert!(!target.exists());
        fs::remove_file(&lock).unwrap();
    }
}

#[test]
fn second_run_uses_a_spool_of_its_own() {
    let (_state, folder) = folder();
    let mut first = folder.open(&request("all")).unwrap();
    add_row(&mut first, "sub_1");
    let second = folder.open(&request("all")).unwrap();
    assert_eq!(rows(&second), 0);
    assert_eq!(folder.list().unwrap().iter().filter(|spool| spool.in_use).count(), 2);
    assert_eq!(folder.clean().unwrap(), 0);
    // The spool that is left is continued, also if it is not the first.
    first.finish().unwrap();
    drop(second);
    let again = folder.open(&request("all")).unwrap();
    assert!(again.path.to_str().unwrap().ends_with("-1.sqlite"));
}

#[test]
fn finish_keeps_a_spool_of_a_larger_range() {
    let (_state, folder) = folder();
    let mut spool = folder.open(&request("all")).unwrap();
    add_row(&mut spool, "sub_1");
    drop(spool);
    folder.open(&request("since 7d")).unwrap().finish().unwrap();
    assert_eq!(rows(&folder.open(&request("all")).unwrap()), 1);
}

#[test]
fn damaged_spool_is_discarded_with_a_warning() {
    let (_state, folder) = folder();
    let damage: [fn(&Path); 3] = [
        |path| fs::write(path, "x".repeat(9_999)).unwrap(),
        |path| {
            let connection = Connection::open(path).unwrap();
            connection.execute("UPDATE meta SET version = 99", []).unwrap();
        },
        |path| {
            let connection = Connection::open(path).unwrap();
            let insert = "INSERT INTO coverage VALUES (1, 9, 1, 'no token', 'proven')";
            connection.execute(insert, []).unwrap();
        },
    ];
    for damage in damage {
        let mut spool = folder.open(&request("all")).unwrap();
        add_row(&mut spool, "sub_1");
        let path = spool.path.clone();
        drop(spool);
        damage(&path);
        let spool = folder.open(&request("all")).unwrap();
        assert_eq!(rows(&spool), 0);
        let warning = spool.warning.as_deref().unwrap();
        assert!(warning.contains("discarded"), "{warning}");
    }
}

#[test]
fn fresh_discards_saved_rows() {
    let (_state, folder) = folder();
    add_row(&mut folder.open(&request("all")).unwrap(), "sub_1");
    let fresh = SpoolRequest { fresh: true, ..request("all") };
    assert_eq!(rows(&folder.open(&fresh).unwrap()), 0);
}

#[test]
fn list_describes_and_clean_removes() {
    let (_state, folder) = folder();
    add_row(&mut folder.open(&request("all")).unwrap(), "sub_1");
    let spools = folder.list().unwrap();
    let content = spools[0].content.as_ref().unwrap();
    assert!(!spools[0].in_use && spools[0].size > 0);
    assert_eq!((content.form_id.as_str(), content.rows), ("frm_1", 1));
    assert_eq!(content.title.as_deref(), Some("Survey"));
    assert_eq!(content.command, request("all").command.map(str::to_owned));
    assert_eq!(content.newest_and_oldest.as_ref().unwrap().1.as_str(), "2026-01-01T00:00:00Z");
    assert_eq!(folder.clean().unwrap(), 1);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn expired_spool_is_removed_by_the_next_export() {
    let (_state, folder) = folder();
    add_row(&mut folder.open(&request("all")).unwrap(), "sub_1");
    let other = SpoolRequest { form_id: "frm_2", ..request("all") };
    let age = |age: Duration| {
        for path in fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()) {
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
    };
    age(MAX_AGE.mul_f32(0.9));
    folder.open(&other).unwrap().finish().unwrap();
    assert_eq!(folder.list().unwrap().len(), 1);
    age(MAX_AGE.mul_f32(1.1));
    // A list does not prolong the life of a spool.
    for _ in 0..2 {
        let age = Timestamp::now().unix_nanos() - folder.list().unwrap()[0].modified.unix_nanos();
        assert!(age > i128::try_from(MAX_AGE.as_nanos()).unwrap());
    }
    folder.open(&other).unwrap().finish().unwrap();
    assert_eq!(folder.list().unwrap().len(), 0);
}

#[test]
fn identity_is_versioned_json_of_the_range() {
    let range = RowRange { since: 5, until: 9, ..RowRange::default() };
    let of = |name: Option<&str>, range| identity(range, name, Some(3));
    let json: serde_json::Value = serde_json::from_str(&of(None, range)).unwrap();
    let expected = json!({ "version": 1, "start_name": null, "since": 5, "until": 9, "limit": 3 });
    assert_eq!(json, expected);
    assert_eq!(of(Some("7d"), range), of(Some("7d"), RowRange { since: 6, ..range }));
    assert_ne!(of(Some("7d"), range), of(Some("8d"), range));
}
