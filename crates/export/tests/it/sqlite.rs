//! SQLite databases rendered from stored rows.

use std::path::Path;

use formsvc_export::{
    Destination, Existing, ExportError, Format, Remark, RenderOptions, Rendered, SourceInfo,
    StoredRow, render,
};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::support::{TIME, stored};

fn database(path: &Path, rows: &[StoredRow<'_>]) -> Result<Rendered, ExportError> {
    let source = SourceInfo { form_id: "frm_1".into(), ..SourceInfo::default() };
    let options = RenderOptions::new(Format::Sqlite).source(source);
    render(&rows.to_vec(), &options, Destination::file(path, Existing::Replace)?)
}

fn select(path: &Path, sql: &str) -> Vec<Vec<Value>> {
    let database = Connection::open(path).unwrap();
    let mut statement = database.prepare(sql).unwrap();
    let count = statement.column_count();
    let rows = statement.query_map([], |row| (0..count).map(|at| row.get(at)).collect()).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn view_has_typed_columns_and_tables_exact_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.db");
    let data = r#"{"n":1,"r":1.50,"b":true,"t":"007","\"q":12345678901234567890}"#;
    database(&path, &[stored("s1", data), stored("s2", r#"{"n":-2,"b":false}"#)]).unwrap();
    let view = select(&path, "SELECT * FROM frm_1");
    let expected = [
        text("s1"),
        text(TIME),
        Value::Integer(1),
        Value::Real(1.5),
        Value::Integer(1),
        text("007"),
        text("12345678901234567890"),
    ];
    assert_eq!(view[0], expected);
    assert_eq!(view[1][2..5], [Value::Integer(-2), Value::Null, Value::Integer(0)]);
    let stored = select(&path, "SELECT data FROM submissions ORDER BY id");
    assert_eq!(stored[0], [text(data)]);
    let quoted = select(&path, r#"SELECT """q" FROM frm_1"#);
    assert_eq!(quoted[0], [text("12345678901234567890")]);
}

#[test]
fn odd_labels_and_answers_break_no_view() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.db");
    let labels: Vec<String> = (0..3_000)
        .map(|number| format!("\"{}{number}\":{number}", "é'\\\"%?:[]".repeat(30)))
        .collect();
    let odd = r#"{"a":"x\u0000y","A":1,"\u0000":2,"xmin":3,"":4,"\ud800":"\ud800","select":[[]]}"#;
    let many = format!("{{{}}}", labels.join(","));
    let rows = [stored("s1", odd), stored("s2", odd), stored("s3", &many)];
    let done = database(&path, &rows).unwrap();
    assert!(done.remarks.contains(&Remark::ReplacedCharacters(2)), "{:?}", done.remarks);
    let view = select(&path, "SELECT * FROM frm_1");
    assert_eq!((view.len(), view[0].len()), (3, done.columns));
    assert!(view[0].contains(&text("x\u{fffd}y")));
    let lengths = "SELECT sum(length(label)), count(*) FROM labels";
    assert_eq!(select(&path, lengths)[0][1], Value::Integer(done.columns.try_into().unwrap()));
}

#[test]
fn database_in_use_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.db");
    database(&path, &[]).unwrap();
    let user = Connection::open(&path).unwrap();
    user.pragma_update(None, "journal_mode", "WAL").unwrap();
    user.execute_batch("INSERT INTO meta VALUES (2)").unwrap();
    let refused = database(&path, &[]).unwrap_err();
    let source = std::error::Error::source(&refused).unwrap().to_string();
    assert!(source.contains("rows.db-wal"), "{source}");
    user.close().unwrap();
    database(&path, &[]).unwrap();
}
