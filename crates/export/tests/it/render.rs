//! Text formats rendered from stored rows.

use std::cell::Cell;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use formsvc_export::{
    Compression, Destination, Existing, ExportError, FileFormat, Format, MissingColumn, Remark,
    RenderOptions, RowFilter, RowSource, StoredRow, TableOptions, Unsupported, render,
};
use sha2::{Digest as _, Sha256};

use crate::support::{TIME, read_csv, rendered, stored};

fn text(options: &RenderOptions, rows: &[StoredRow<'_>]) -> String {
    String::from_utf8(rendered(options, rows).0).unwrap()
}

#[test]
fn csv_has_a_column_per_label() {
    let rows =
        [stored("s3", r#"{"a":"1\n2"}"#), stored("s2", "{}"), stored("s1", r#"{"b":[1, 2]}"#)];
    let (out, done) = rendered(&RenderOptions::new(Format::Csv), &rows);
    let table = read_csv(&String::from_utf8(out).unwrap());
    assert_eq!(table[0], ["id", "created_at", "a", "b"]);
    assert_eq!(table[1], ["s3", TIME, "1\n2", ""]);
    assert_eq!(table[2], ["s2", TIME, "", ""]);
    assert_eq!(table[3], ["s1", TIME, "", "[1, 2]"]);
    assert_eq!((done.rows, done.columns, done.remarks), (3, 4, Vec::new()));
}

#[test]
fn excel_profile_and_delimiter_apply() {
    let options = RenderOptions::new(Format::Csv).excel(true).delimiter(b';');
    let rows = [stored("s1", r#"{"a":"x;y"}"#)];
    let expected = format!("\u{feff}id;created_at;a\r\ns1;{TIME};\"x;y\"\r\n");
    assert_eq!(text(&options, &rows), expected);
    let expected = format!("id\tcreated_at\ta\ns1\t{TIME}\tx;y\n");
    assert_eq!(text(&RenderOptions::new(Format::Tsv), &rows), expected);
    let options = options.delimiter(b'"');
    let refused = render(&Vec::new(), &options, Destination::stream(Box::new(std::io::sink())));
    let expected = Unsupported::Delimiter(b'"');
    assert!(matches!(refused, Err(ExportError::Unsupported(e)) if e == expected), "{refused:?}");
}

#[test]
fn json_keeps_answers_byte_for_byte() {
    let data = "{\"a\" : 1.50,\n\"a\":\"\\ud800\"}";
    let rows = [StoredRow { extra: r#"{"score":1.0}"#, ..stored("s2", data) }, stored("s1", "{}")];
    let first = format!(
        r#"{{"id":"s2","data":{},"created_at":"{TIME}","score":1.0}}"#,
        data.replace('\n', " ")
    );
    let second = format!(r#"{{"id":"s1","data":{{}},"created_at":"{TIME}"}}"#);
    let ndjson = text(&RenderOptions::new(Format::Ndjson), &rows);
    assert_eq!(ndjson, format!("{first}\n{second}\n"));
    let json = text(&RenderOptions::new(Format::Json), &rows);
    assert_eq!(json, format!("[\n{first},\n{second}\n]\n"));
    assert_eq!(text(&RenderOptions::new(Format::Json), &[]), "[]\n");
}

#[test]
fn damaged_row_breaks_no_format() {
    let rows = [stored("s1", "{\"a\":\n1"), stored("s2", r#"{"a":1}"#)];
    let (out, done) = rendered(&RenderOptions::new(Format::Json), &rows);
    let items: Vec<serde_json::Value> = serde_json::from_slice(&out).unwrap();
    assert_eq!(items[0]["data"], "{\"a\":\n1");
    assert_eq!(done.remarks, [Remark::DamagedRows(1)]);
    let (out, done) = rendered(&RenderOptions::new(Format::Csv), &rows);
    let table = read_csv(&String::from_utf8(out).unwrap());
    assert_eq!(table[1].last().unwrap(), "{\"a\":\n1");
    assert_eq!(done.remarks, [Remark::DamagedRows(1)]);
}

#[test]
fn compressed_output_is_read_by_its_decoder() {
    let rows = [stored("s1", r#"{"a":1}"#)];
    let plain = rendered(&RenderOptions::new(Format::Csv), &rows).0;
    let gzip = rendered(&RenderOptions::new(FileFormat::from_name("csv.gz").unwrap()), &rows).0;
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&*gzip).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain);
    let zstd = rendered(&RenderOptions::new(FileFormat::from_name("csv.zst").unwrap()), &rows).0;
    assert_eq!(zstd::decode_all(&*zstd).unwrap(), plain);
}

#[test]
fn file_name_decides_on_format_and_compression() {
    let of = |name: &str| FileFormat::from_path(Path::new(name));
    let file = |format, compression| Some(FileFormat { format, compression });
    assert_eq!(of("a/rows.CSV"), file(Format::Csv, Compression::None));
    assert_eq!(of("rows.csv.gz"), file(Format::Csv, Compression::Gzip));
    assert_eq!(of("rows.jsonl.zst"), file(Format::Ndjson, Compression::Zstd));
    for name in ["rows", "rows.gz", "rows.txt", "csv"] {
        assert_eq!(of(name), None, "{name}");
    }
}

#[test]
fn remarks_name_surprising_cells_and_headings() {
    let long = format!(r#"{{"a":"{}","A":"=1","b\nc":2}}"#, "é".repeat(32_768));
    let fits = format!(r#"{{"a":"{}"}}"#, "é".repeat(32_767));
    let table = TableOptions { max_columns: 3, ..TableOptions::default() };
    let options = RenderOptions::new(Format::Csv).table(table.clone());
    let rows = [stored("s3", r#"{"z":1}"#), stored("s2", &fits), stored("s1", &long)];
    let (_, done) = rendered(&options, &rows);
    let expected = [
        Remark::LabelsWithoutColumn(1),
        Remark::HeadingsDifferInCase(1),
        Remark::HeadingsWithLineBreak(1),
        Remark::GuardedCells(1),
        Remark::LongCells(1),
    ];
    assert_eq!(done.remarks, expected);
    let shown = done.remarks[0].to_string();
    assert!(shown.ends_with("the answers are in `other_answers`"), "{shown}");
    let options =
        options.table(TableOptions { columns: vec!["id".into(), "none".into()], ..table });
    let (out, done) = rendered(&options, &rows[..1]);
    assert_eq!(out, b"id,none\ns3,\n");
    let missing = MissingColumn { heading: "none".into(), similar: None };
    assert_eq!(done.remarks, [Remark::MissingColumns(vec![missing])]);
}

#[test]
fn filter_runs_once_per_row_and_limits_columns() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let filter: RowFilter = Box::new(move |row| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(row.id != "s2")
    });
    let options = RenderOptions::new(Format::Csv).filter(filter).limit(2);
    let rows = [
        stored("s3", r#"{"a":1}"#),
        stored("s2", r#"{"b":1}"#),
        stored("s1", r#"{"c":1}"#),
        stored("s0", r#"{"d":1}"#),
    ];
    let (out, done) = rendered(&options, &rows);
    assert_eq!(read_csv(&String::from_utf8(out).unwrap())[0], ["id", "created_at", "a", "c"]);
    assert_eq!((done.rows, calls.load(Ordering::Relaxed)), (2, 3));
    let filter: RowFilter = Box::new(|_| Err("no such field".into()));
    let options = options.filter(filter);
    let failed = render(&rows.to_vec(), &options, Destination::stream(Box::new(std::io::sink())));
    assert!(failed.unwrap_err().to_string().contains("`s3`: no such field"));
}

#[test]
fn checksum_and_size_are_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ndjson.gz", "xlsx"] {
        let options = RenderOptions::new(FileFormat::from_name(name).unwrap()).checksum(true);
        let path = folder.path().join(name);
        let destination = Destination::file(&path, Existing::Replace).unwrap();
        let done = render(&vec![stored("s1", "{}")], &options, destination).unwrap();
        let out = std::fs::read(&path).unwrap();
        assert_eq!(done.sha256, Some(hex::encode(Sha256::digest(&out))));
        assert_eq!(done.bytes, out.len() as u64);
    }
}

#[test]
fn missing_column_suggests_a_label_of_other_case() {
    let columns = ["id", "name", "none"].map(str::to_owned).to_vec();
    let table = TableOptions { columns, ..TableOptions::default() };
    let options = RenderOptions::new(Format::Csv).table(table);
    let (_, done) = rendered(&options, &[stored("s1", r#"{"Name":1}"#)]);
    let shown = done.remarks[0].to_string();
    assert!(shown.contains("no submission has `name`, `none`"), "{shown}");
    assert!(shown.ends_with("Did you mean `Name`?"), "{shown}");
}

#[test]
fn format_with_random_access_needs_a_file() {
    for format in [Format::Xlsx, Format::Sqlite] {
        let destination = Destination::stream(Box::new(std::io::sink()));
        let refused = render(&Vec::new(), &RenderOptions::new(format), destination).unwrap_err();
        assert!(refused.to_string().contains("needs a file"), "{refused}");
    }
}

/// Rows that change between two passes.
struct Growing(Cell<usize>);

impl RowSource for Growing {
    fn for_each(
        &self,
        row: &mut dyn FnMut(StoredRow<'_>) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        self.0.set(self.0.get() + 1);
        (0..self.0.get()).try_for_each(|_| row(stored("s1", "{}")))
    }
}

#[test]
fn rows_that_change_between_passes_are_an_error() {
    let rows = Growing(Cell::new(0));
    let destination = Destination::stream(Box::new(std::io::sink()));
    let failed = render(&rows, &RenderOptions::new(Format::Csv), destination);
    assert!(matches!(failed, Err(ExportError::RowsChanged)), "{failed:?}");
}

#[test]
fn remark_count_has_thousands_separators() {
    for (count, shown) in
        [(999, "999 cells: "), (1_000, "1,000 cells: "), (1_234_567, "1,234,567 ")]
    {
        let text = Remark::GuardedCells(count).to_string();
        assert!(text.starts_with(shown), "{text}");
    }
}
