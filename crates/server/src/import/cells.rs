//! Cells of a CSV file become answers.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};

use formsvc_protocol::Answers;
use formsvc_protocol::limits::ANSWERS_MAX;

use super::csv::{Record, Records};

use super::source::Source;
use super::{CellTypes, Flaw, ImportError, too_long};
use crate::json_number::{exceeded_bound, is_json_number};
use crate::json_text::json_text;

/// Longest label, in bytes.
const LABEL_MAX: usize = 1 << 10;

/// The columns of a file.
struct Columns {
    labels: Vec<String>,
    /// Each label as the beginning of a JSON member: `"label":`.
    members: Vec<String>,
    /// Which hold numbers.
    numbers: Vec<bool>,
}

/// How a file's cells are read.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) separator: u8,
    pub(super) types: CellTypes,
    /// The text that stands for null.
    pub(super) null: Option<&'a str>,
}

/// Reads a file and keeps each record as answers in the order of the header.
pub(super) fn read(
    source: Source,
    reading: Reading<'_>,
    keep: &mut dyn FnMut(Answers) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    match reading.types {
        CellTypes::Text => convert(source.once(), reading, |_| false, keep),
        CellTypes::Infer => {
            let (numbers, again) =
                source.twice(|input| number_columns(BufReader::new(input), reading))?;
            convert(again, reading, |column| numbers[column], keep)
        }
    }
}

fn convert(
    input: impl BufRead,
    reading: Reading<'_>,
    is_number: impl Fn(usize) -> bool,
    keep: &mut dyn FnMut(Answers) -> Result<(), ImportError>,
) -> Result<(), ImportError> {
    let mut records = Records::new(input, reading.separator);
    let mut record = Record::default();
    let mut columns = header(&mut records, &mut record)?;
    for (column, number) in columns.numbers.iter_mut().enumerate() {
        *number = is_number(column);
    }
    while records.read(&mut record)? {
        keep(columns.answers(&record, reading.null)?)?;
    }
    Ok(())
}

/// Which columns have numbers, or null, in every record, and a number in at least one.
fn number_columns(input: impl BufRead, reading: Reading<'_>) -> Result<Vec<bool>, ImportError> {
    let mut records = Records::new(input, reading.separator);
    let mut record = Record::default();
    let columns = header(&mut records, &mut record)?;
    let (mut any, mut all) = (columns.numbers.clone(), vec![true; columns.numbers.len()]);
    while records.read(&mut record)? {
        for (column, cell) in columns.cells(&record)?.enumerate() {
            let cell = cell?;
            if reading.null != Some(cell) {
                all[column] = all[column] && is_number(cell);
                any[column] = true;
            }
        }
    }
    Ok(any.into_iter().zip(all).map(|(any, all)| any && all).collect())
}

/// Returns true for a number that a form accepts.
fn is_number(cell: &str) -> bool {
    is_json_number(cell) && exceeded_bound(cell).is_none()
}

fn header(
    records: &mut Records<impl BufRead>,
    record: &mut Record,
) -> Result<Columns, ImportError> {
    if !records.read(record)? {
        return Err(Flaw::at_line(1, b"", "is no header: the file is empty").into());
    }
    let mut first_with = HashMap::new();
    let mut labels = Vec::new();
    for (index, label) in record.fields().enumerate() {
        let place = format!("line {}, column {}", record.line, index + 1);
        let flaw = |rule: String| Err(Flaw::new(place, label, rule).into());
        let Ok(text) = std::str::from_utf8(label) else {
            return flaw("is not UTF-8".into());
        };
        if text.is_empty() {
            return flaw("is no label: a column needs one".into());
        }
        if text.len() > LABEL_MAX {
            return flaw("is a label of more than 1 KiB".into());
        }
        if let Some(first) = first_with.insert(text, index + 1) {
            return flaw(format!("is the label of column {first} already"));
        }
        labels.push(text.to_owned());
    }
    let members = labels.iter().map(|label| format!("{}:", json_text(label))).collect();
    let numbers = vec![false; labels.len()];
    Ok(Columns { labels, members, numbers })
}

impl Columns {
    fn answers(&self, record: &Record, null: Option<&str>) -> Result<Answers, ImportError> {
        let mut object = String::from("{");
        for (column, cell) in self.cells(record)?.enumerate() {
            let cell = cell?;
            if column > 0 {
                object.push(',');
            }
            object.push_str(&self.members[column]);
            if null == Some(cell) {
                object.push_str("null");
            } else if !self.numbers[column] {
                object.push_str(&json_text(cell));
            } else if is_number(cell) {
                object.push_str(cell);
            } else {
                let rule = "was a number when the file was first read";
                return Err(self.flaw(record, column, cell.as_bytes(), rule).into());
            }
        }
        object.push('}');
        if object.len() > ANSWERS_MAX {
            let first = record.fields().next().unwrap_or_default();
            let rule = format!("begins a record {}", too_long(object.len()));
            return Err(Flaw::at_line(record.line, first, rule).into());
        }
        Ok(Answers::parse(object).expect("labels and values are JSON"))
    }

    /// The cells of a record, as many as there are columns, as text.
    fn cells<'a>(
        &'a self,
        record: &'a Record,
    ) -> Result<impl Iterator<Item = Result<&'a str, Flaw>>, ImportError> {
        let (found, wanted) = (record.len(), self.labels.len());
        if found != wanted {
            let first = record.fields().next().unwrap_or_default();
            let rule = format!("begins a record of {found} values, and the header has {wanted}");
            return Err(Flaw::at_line(record.line, first, rule).into());
        }
        Ok(record.fields().enumerate().map(|(column, cell)| {
            let text = std::str::from_utf8(cell);
            text.map_err(|_| self.flaw(record, column, cell, "is not UTF-8"))
        }))
    }

    fn flaw(&self, record: &Record, column: usize, value: &[u8], rule: &str) -> Flaw {
        let place = format!("line {}, column `{}`", record.line, self.labels[column]);
        Flaw::new(place, value, rule)
    }
}
