use formsvc_client::Completeness;
use formsvc_client::test_util::{MockService, form, submission};

use super::*;
use crate::error::StoreProblem;
use formsvc_table::StoredRow;

fn store() -> (tempfile::TempDir, RowStore, SourceKey) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = RowStore::open(&folder.path().join("rows.sqlite"), None).unwrap();
    let source = store.source("https://forms.example", "frm_1", Some("Survey")).unwrap();
    (folder, store, source)
}

fn parse(json: &str) -> Submission {
    serde_json::from_str(json).unwrap()
}

fn write(store: &mut RowStore, source: SourceKey, rows: &[Submission]) -> PageWritten {
    let page = PageToWrite { rows: rows.to_vec(), now: 1, ..PageToWrite::default() };
    store.write_page(source, &page).unwrap()
}

/// Id, time, answers and unknown members of each row.
fn read(store: &RowStore, source: SourceKey, range: RowRange) -> Vec<[String; 4]> {
    let mut read = Vec::new();
    let mut take = |row: StoredRow<'_>| {
        read.push([row.id, row.created_at, row.data, row.extra].map(str::to_owned));
        Ok(())
    };
    store.read_rows(source, range, &mut take).unwrap();
    read
}

/// A token of the mock service.
fn token() -> String {
    let service = MockService::new().form(form("frm_1", "Survey"));
    service.client().form("frm_1").submissions().pages().resume_token().to_string()
}

#[test]
fn stored_rows_are_exact() {
    let (_folder, mut store, source) = store();
    let long = "x".repeat(1 << 20);
    let answers = [
        r#"{"a":"\ud800","b":"\u0000","c" : 1.50e400}"#.to_owned(),
        r#"{"a":1,"a":2,"":null}"#.to_owned(),
        format!(r#"{{"long":"{long}"}}"#),
        "{}".to_owned(),
    ];
    let rows: Vec<_> = answers
        .iter()
        .enumerate()
        .map(|(at, data)| {
            parse(&format!(
                r#"{{"id":"sub_{at}","data":{data},"created_at":"2026-01-01T00:00:0{}.000Z","n\"":1.50,"o":{{"a" : 1e999}}}}"#,
                9 - at
            ))
        })
        .collect();
    assert_eq!(write(&mut store, source, &rows).new.len(), 4);
    let stored = read(&store, source, RowRange::default());
    assert_eq!(stored.iter().map(|row| row[2].clone()).collect::<Vec<_>>(), answers);
    assert_eq!(stored[0][3], r#"{"n\"":1.50,"o":{"a" : 1e999}}"#);
}

#[test]
fn rows_are_ordered_by_time_then_id_within_the_range() {
    let (_folder, mut store, source) = store();
    let other = store.source("https://forms.example", "frm_2", None).unwrap();
    let times = ["2026-01-01T00:00:02Z", "2026-01-01T00:00:03.5Z", "2026-01-01T00:00:02.000Z"];
    let ids = ["sub_b", "sub_c", "sub_a"];
    let rows: Vec<_> = ids.iter().zip(times).map(|(id, at)| submission(id, "{}", at)).collect();
    write(&mut store, source, &rows);
    write(&mut store, other, &rows[..1]);
    let ids = |range| -> Vec<String> {
        read(&store, source, range).into_iter().map(|[id, ..]| id).collect()
    };
    assert_eq!(ids(RowRange::default()), ["sub_c", "sub_a", "sub_b"]);
    let middle = rows[0].created_at.unix_micros();
    assert_eq!(ids(RowRange { since: middle + 1, ..RowRange::default() }), ["sub_c"]);
    let older = RowRange { until: middle + 1, ..RowRange::default() };
    assert_eq!(ids(older), ["sub_a", "sub_b"]);
    assert_eq!(store.count(source, older, u64::MAX).unwrap(), 2);
    assert_eq!(store.count(source, older, 1).unwrap(), 1);
}

#[test]
fn changed_row_is_replaced_and_loses_deleted_at() {
    let (_folder, mut store, source) = store();
    let row = |data| submission("sub_1", data, "2026-01-01T00:00:00Z");
    assert_eq!(write(&mut store, source, &[row("{}")]).new.len(), 1);
    let again = write(&mut store, source, &[row("{}")]);
    assert_eq!((again.new.len(), again.replaced), (0, 0));
    let delete = "UPDATE submissions SET deleted_at = 5";
    store.connection.execute(delete, []).unwrap();
    assert_eq!(read(&store, source, RowRange::default()).len(), 0);
    assert_eq!(store.count(source, RowRange::default(), 9).unwrap(), 0);
    assert_eq!(write(&mut store, source, &[row("{}")]).replaced, 0);
    assert_eq!(read(&store, source, RowRange::default()).len(), 1);
    store.connection.execute(delete, []).unwrap();
    assert_eq!(write(&mut store, source, &[row(r#"{"a":1}"#)]).replaced, 1);
    assert_eq!(read(&store, source, RowRange::default())[0][2], r#"{"a":1}"#);
}

#[test]
fn coverage_survives_reopening_and_merges_with_other_runs() {
    let (folder, mut store, source) = store();
    let (resume, completeness) = (token(), Completeness::Unproven);
    let interval =
        |newest, oldest| Interval { newest, oldest, resume: resume.clone(), completeness };
    let add = |store: &mut RowStore, newest, oldest| {
        let interval = Some(interval(newest, oldest));
        store.write_page(source, &PageToWrite { interval, now: 1, ..PageToWrite::default() })
    };
    add(&mut store, 9, 5).unwrap();
    let mut second = RowStore::open(&folder.path().join("rows.sqlite"), None).unwrap();
    let merged = add(&mut second, i64::MAX, 20).unwrap().coverage;
    assert_eq!(merged.intervals(), [interval(i64::MAX, 20), interval(9, 5)]);
    add(&mut store, 21, i64::MIN).unwrap();
    assert_eq!(second.coverage(source).unwrap().intervals(), [interval(i64::MAX, i64::MIN)]);
    second.connection.execute("UPDATE coverage SET resume = 'fsr2_x'", []).unwrap();
    let error = store.coverage(source).unwrap_err();
    assert!(matches!(error.problem(), StoreProblem::Damaged(_)), "{error}");
}

#[test]
fn rows_read_twice_are_the_same_while_another_writes() {
    let (folder, mut store, source) = store();
    let row = |id: &str| submission(id, "{}", "2026-01-01T00:00:00Z");
    write(&mut store, source, &[row("sub_1")]);
    let mut second = RowStore::open(&folder.path().join("rows.sqlite"), None).unwrap();
    store.begin_read().unwrap();
    let count = || read(&store, source, RowRange::default()).len();
    assert_eq!(count(), 1);
    write(&mut second, source, &[row("sub_2")]);
    assert_eq!(count(), 1);
}

#[test]
fn foreign_damaged_and_newer_files_are_refused_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let refused = || RowStore::open(&path, None).unwrap_err();

    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE users (id)").unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(refused().problem(), StoreProblem::Foreign));
    assert_eq!(std::fs::read(&path).unwrap(), before);

    std::fs::write(&path, "precious notes, not a database, and longer than a header".repeat(99))
        .unwrap();
    assert!(matches!(refused().problem(), StoreProblem::Damaged(_)), "{}", refused());

    std::fs::remove_file(&path).unwrap();
    drop(RowStore::open(&path, None).unwrap());
    Connection::open(&path).unwrap().execute("UPDATE meta SET version = 9", []).unwrap();
    assert!(matches!(refused().problem(), StoreProblem::Version { found: 9, .. }));
    let shown = refused().to_string();
    assert!(shown.contains(path.to_str().unwrap()), "{shown}");
}

#[test]
fn value_over_128_mib_is_refused() {
    let (_folder, store, _) = store();
    let read = |bytes: i64| {
        let select = "SELECT length(zeroblob(?1))";
        store.connection.query_row(select, [bytes], |row| row.get::<_, i64>(0))
    };
    assert_eq!(read(128 << 20), Ok(128 << 20));
    assert!(read((128 << 20) + 1).is_err());
}

#[cfg(unix)]
#[test]
fn database_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, mut store, source) = store();
    write(&mut store, source, &[submission("sub_1", "{}", "2026-01-01T00:00:00Z")]);
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(files.len(), 3, "the database, its log and its index");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

#[test]
fn database_without_tables_is_created_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.db");
    // As a run leaves it that stops before the tables are stored.
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (c); DROP TABLE t;").unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 0);
    assert!(RowStore::open_existing(&path, None).unwrap().is_none());
    drop(RowStore::open(&path, None).unwrap());
    RowStore::open_read_only(&path, None).unwrap();
}

#[cfg(unix)]
#[test]
fn temporary_store_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, path) = RowStore::temporary(folder.path()).unwrap();
    assert!(path.is_none());
    let source = store.source("https://forms.example", "frm_1", None).unwrap();
    // More than SQLite keeps in memory.
    let data = "x".repeat(8 << 20);
    let row = StoredRow { id: "sub_1", created_at: "", instant: 0, data: &data, extra: "" };
    assert!(insert_row(&store.connection, source, &row, None, 0).unwrap());
    assert_eq!(store.total(source).unwrap(), 1);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(unix)]
#[test]
fn existing_file_of_others_is_refused() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.sqlite");
    let open = |mode: u32| {
        set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        RowStore::open(&path, None).map(drop).map_err(|error| error.to_string())
    };
    std::fs::write(&path, "").unwrap();
    assert!(open(0o644).unwrap_err().contains("`chmod 600`"));
    open(0o600).unwrap();
    // The user may let others read a database.
    open(0o644).unwrap();
    assert!(open(0o664).unwrap_err().contains("others can use the file"));
    // Only root can give a file away.
    let other = rustix::fs::Uid::from_raw(65_534);
    if rustix::fs::chown(&path, Some(other), None).is_ok() {
        assert!(open(0o600).unwrap_err().ends_with("the file belongs to another user"));
    }
}
