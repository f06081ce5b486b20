//! Workbooks (Office Open XML).
//!
//! Text is written as text and never interpreted: no formulas, links or dates. Rows go to a temporary
//! file beside the output, so that memory does not grow with them.

use std::fs::File;
use std::io::{self, BufWriter};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use formsvc_table::{Column, StoredRow, Value, exact_double, excel_prefix, is_long};
use rust_xlsxwriter::{
    DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError, utility,
};

use crate::format::RowFormat;
use crate::remark::Remark;

/// Rows of a sheet.
const SHEET_ROWS_MAX: u32 = 1_048_576;
/// Estimated bytes of the XML from which the file is written as ZIP64, which a sheet needs from 4 GiB on.
const ZIP64_BYTES: u64 = 3_500_000_000;
/// Cut cells that the sheet of notes lists at most; the remark counts all of them.
const NOTES_MAX: usize = 1_000_000;

#[derive(Default)]
pub(crate) struct XlsxFormat {
    path: PathBuf,
    workbook: Workbook,
    headings: Vec<String>,
    sheet: Worksheet,
    /// Complete sheets.
    sheets: usize,
    row: u32,
    /// Estimated size of the XML of all sheets.
    bytes: u64,
    rows_max: u32,
    cut: Vec<CutCell>,
    cut_cells: u64,
    changed_line_breaks: u64,
}

struct CutCell {
    sheet: usize,
    row: u32,
    column: u16,
    characters: usize,
}

impl XlsxFormat {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        let mut workbook = Workbook::new();
        let folder = path.parent().unwrap_or(Path::new("."));
        // The same rows give the same file.
        let created = ExcelDateTime::from_ymd(2000, 1, 1).map_err(io_error)?;
        workbook.set_properties(&DocProperties::new().set_creation_datetime(&created));
        workbook.set_tempdir(folder).map_err(io_error)?;
        let sheet = workbook.new_worksheet_with_constant_memory().map_err(io_error)?;
        let path = path.to_owned();
        Ok(Self { path, workbook, sheet, rows_max: SHEET_ROWS_MAX, ..Self::default() })
    }

    fn begin_sheet(&mut self) -> Result<(), XlsxError> {
        self.sheet.set_name(sheet_name(self.sheets))?;
        self.sheet.set_freeze_panes(1, 0)?;
        self.row = 0;
        for (column, heading) in (0..).zip(self.headings.clone()) {
            self.write_text(column, &heading)?;
        }
        self.row = 1;
        Ok(())
    }

    fn end_sheet(&mut self) -> Result<(), XlsxError> {
        let next = self.workbook.new_worksheet_with_constant_memory()?;
        self.workbook.push_worksheet(std::mem::replace(&mut self.sheet, next));
        self.sheets += 1;
        Ok(())
    }

    fn write_row(&mut self, cells: &[Value<'_>]) -> Result<(), XlsxError> {
        if self.row == self.rows_max {
            self.end_sheet()?;
            self.begin_sheet()?;
        }
        for (column, cell) in (0..).zip(cells) {
            match cell {
                Value::Empty => {}
                Value::Boolean(value) => {
                    self.sheet.write_boolean(self.row, column, *value)?;
                }
                Value::Number(text) => match exact_double(text) {
                    Some(number) => {
                        self.sheet.write_number(self.row, column, number)?;
                    }
                    None => self.write_text(column, text)?,
                },
                Value::Text(_) | Value::Json(_) | Value::Time(..) => {
                    self.write_text(column, cell.text())?;
                }
            }
        }
        self.bytes += 60 * cells.len() as u64;
        self.row += 1;
        Ok(())
    }

    fn write_text(&mut self, column: u16, text: &str) -> Result<(), XlsxError> {
        let mut text = std::borrow::Cow::Borrowed(text);
        if text.contains('\r') {
            self.changed_line_breaks += 1;
            text = text.replace("\r\n", "\n").replace('\r', "\n").into();
        }
        if is_long(&text) {
            let characters = text.encode_utf16().count();
            self.cut_cells += 1;
            if self.cut.len() < NOTES_MAX {
                let (sheet, row) = (self.sheets, self.row);
                self.cut.push(CutCell { sheet, row, column, characters });
            }
            text = excel_prefix(&text).to_owned().into();
        }
        self.bytes += xml_length(&text);
        self.sheet.write_string(self.row, column, text).map(|_| ())
    }

    fn write_notes(&mut self) -> Result<(), XlsxError> {
        self.sheet.set_name("Notes")?;
        let title = "Cells that were cut to 32,767 characters, the limit of a workbook";
        self.sheet.write_string_with_format(0, 0, title, &Format::new().set_bold())?;
        for (column, heading) in (0..).zip(["sheet", "cell", "column", "characters"]) {
            self.sheet.write_string(1, column, heading)?;
        }
        for (row, cut) in (2..).zip(&self.cut) {
            let heading = self.headings.get(usize::from(cut.column)).map_or("", String::as_str);
            let cell = utility::row_col_to_cell(cut.row, cut.column);
            self.sheet.write_string(row, 0, sheet_name(cut.sheet))?;
            self.sheet.write_string(row, 1, cell)?;
            self.sheet.write_string(row, 2, excel_prefix(&heading.replace('\r', "\n")))?;
            #[expect(
                clippy::cast_precision_loss,
                reason = "a text has fewer than 2^53 characters"
            )]
            self.sheet.write_number(row, 3, cut.characters as f64)?;
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), XlsxError> {
        self.end_sheet()?;
        if !self.cut.is_empty() {
            self.write_notes()?;
            self.end_sheet()?;
        }
        // Some readers refuse ZIP64, so only files that need it have it.
        self.workbook.use_zip_large_file(self.bytes > ZIP64_BYTES);
        let out = File::options().write(true).open(&self.path)?;
        self.workbook.save_to_writer(BufWriter::new(out))
    }
}

impl RowFormat for XlsxFormat {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.headings = columns.iter().map(|column| column.heading.clone()).collect();
        catch(|| self.begin_sheet())
    }

    fn row(&mut self, _row: &StoredRow<'_>, cells: Vec<Value<'_>>) -> io::Result<()> {
        catch(|| self.write_row(&cells))
    }

    fn finish(mut self: Box<Self>) -> io::Result<Vec<Remark>> {
        let sheets = self.sheets + 1;
        catch(|| self.save())?;
        let mut remarks = Vec::new();
        remarks.extend(Remark::counted(Remark::CutCells, self.cut_cells));
        remarks.extend(Remark::counted(Remark::ChangedLineBreaks, self.changed_line_breaks));
        remarks.extend((sheets > 1).then_some(Remark::FurtherSheets(sheets as u64)));
        Ok(remarks)
    }
}

fn sheet_name(number: usize) -> String {
    if number == 0 { "Submissions".into() } else { format!("Submissions {}", number + 1) }
}

/// Returns the bytes that a text has in XML at most.
fn xml_length(text: &str) -> u64 {
    let escaped = text.bytes().filter(|byte| b"&<>".contains(byte) || *byte < 0x20).count();
    (text.len() + 6 * escaped) as u64
}

/// Runs a call of the library, which panics when its temporary file cannot be written.
fn catch(call: impl FnOnce() -> Result<(), XlsxError>) -> io::Result<()> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(outcome) => outcome.map_err(io_error),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map_or("unknown reason", String::as_str);
            let is_full = text.contains("StorageFull");
            let kind = if is_full { io::ErrorKind::StorageFull } else { io::ErrorKind::Other };
            Err(io::Error::new(kind, format!("the workbook's temporary file failed: {text}")))
        }
    }
}

fn io_error(error: XlsxError) -> io::Error {
    match error {
        XlsxError::IoError(error) => error,
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use formsvc_table::EXCEL_CELL_MAX;

    use super::*;
    use crate::{Destination, Existing, RenderOptions, Rendered, render};

    #[test]
    fn panic_of_the_library_is_an_error() {
        let reason = io::Error::from(io::ErrorKind::StorageFull);
        let failed = catch(|| panic!("cannot write: {reason:?}")).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull, "{failed}");
    }

    /// Returns the XML of a sheet.
    fn sheet(path: &Path, number: u32) -> String {
        let mut archive = zip::ZipArchive::new(File::open(path).unwrap()).unwrap();
        let mut sheet = archive.by_name(&format!("xl/worksheets/sheet{number}.xml")).unwrap();
        let mut xml = String::new();
        io::Read::read_to_string(&mut sheet, &mut xml).unwrap();
        xml
    }

    fn render_rows(path: &Path, rows: &[StoredRow<'_>], max_columns: usize) -> Rendered {
        let table = crate::TableOptions { max_columns, ..Default::default() };
        let options = RenderOptions::new(crate::Format::Xlsx).table(table);
        let destination = Destination::file(path, Existing::Replace).unwrap();
        render(&rows.to_vec(), &options, destination).unwrap()
    }

    #[test]
    fn rows_beyond_a_sheet_go_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xlsx");
        File::create(&path).unwrap();
        let mut format = Box::new(XlsxFormat::new(&path).unwrap());
        format.rows_max = 3;
        format.begin(&[]).unwrap();
        let row = StoredRow { id: "", created_at: "", instant: 0, data: "{}", extra: "" };
        for number in ["71", "72", "73"] {
            format.row(&row, vec![Value::Number(number)]).unwrap();
        }
        assert_eq!(format.finish().unwrap(), [Remark::FurtherSheets(2)]);
        let (first, second) = (sheet(&path, 1), sheet(&path, 2));
        assert!(first.contains(r#"<c r="A3"><v>72</v></c>"#), "{first}");
        assert!(!first.contains("73"), "{first}");
        assert!(second.contains(r#"<c r="A2"><v>73</v></c>"#), "{second}");
    }

    #[test]
    fn sheet_above_the_size_limit_is_written_as_zip64() {
        let folder = tempfile::tempdir().unwrap();
        let row = StoredRow { id: "", created_at: "", instant: 0, data: "{}", extra: "" };
        let version_of = |name: &str, bytes: u64| {
            let path = folder.path().join(name);
            File::create(&path).unwrap();
            let mut format = Box::new(XlsxFormat::new(&path).unwrap());
            format.begin(&[]).unwrap();
            format.bytes = bytes;
            format.row(&row, vec![Value::Text("&".repeat(1_000).into())]).unwrap();
            format.finish().unwrap();
            assert!(sheet(&path, 1).contains("&amp;"), "a reader opens it");
            // The version that a reader needs, in the header of the first file.
            std::fs::read(&path).unwrap()[4]
        };
        assert_eq!(version_of("small.xlsx", ZIP64_BYTES - 8_000), 20);
        assert_eq!(version_of("large.xlsx", ZIP64_BYTES - 6_000), 45);
    }

    #[test]
    fn labels_beyond_the_columns_of_a_sheet_share_a_cell() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xlsx");
        let members: Vec<String> = (0..16_400).map(|label| format!("\"l{label}\":1")).collect();
        let data = format!("{{{}}}", members.join(","));
        let row = StoredRow { id: "s1", created_at: "", instant: 0, data: &data, extra: "" };
        let done = render_rows(&path, &[row], 100_000);
        assert_eq!(done.columns, 2 + super::super::XLSX_ANSWERS_MAX + 1);
        assert_eq!(done.remarks[0], Remark::LabelsWithoutColumn(150));
        let xml = sheet(&path, 1);
        assert!(xml.contains("other_answers") && xml.contains("l16399"), "the last label");
    }

    #[test]
    fn cut_cells_and_far_dates_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xlsx");
        let times =
            ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "+10000-01-01T00:00:00Z"];
        let data = format!(r#"{{"a":"{}"}}"#, "x".repeat(EXCEL_CELL_MAX + 1));
        let row =
            |created_at| StoredRow { id: "s", created_at, instant: 0, data: &data, extra: "" };
        let done = render_rows(&path, &times.map(row), 9);
        assert_eq!(done.remarks, [Remark::CutCells(3)]);
        let shown = done.remarks[0].to_string();
        assert!(shown.starts_with("3 cells: cut at 32,767 characters"), "{shown}");
        let xml = sheet(&path, 1);
        for time in times {
            assert!(xml.contains(time), "{time}");
        }
        assert!(sheet(&path, 2).contains("C4"), "the sheet of notes");
    }
}
