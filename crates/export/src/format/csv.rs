//! Comma-separated and tab-separated values.

use std::io::{self, Write};

use formsvc_table::{Cell, Column, CsvOptions, CsvWriter, StoredRow, Value};

use crate::format::RowFormat;
use crate::remark::Remark;

/// Characters of a cell in Excel, counted in UTF-16 units.
pub(crate) const EXCEL_CELL_MAX: usize = 32_767;

pub(crate) struct CsvFormat<W: Write> {
    writer: CsvWriter<W>,
    long_cells: u64,
}

impl<W: Write> CsvFormat<W> {
    pub(crate) fn new(out: W, options: CsvOptions) -> io::Result<Self> {
        Ok(Self { writer: CsvWriter::new(out, options)?, long_cells: 0 })
    }
}

impl<W: Write> RowFormat for CsvFormat<W> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        let headings = columns.iter().map(|column| &*column.heading);
        self.writer.write_row(headings.map(|text| Cell { text: text.into(), free: true }))
    }

    fn row(&mut self, _row: &StoredRow<'_>, cells: Vec<Value<'_>>) -> io::Result<()> {
        let long = cells.iter().filter(|cell| is_long(cell.text())).count();
        self.long_cells += long as u64;
        self.writer.write_row(cells.into_iter().map(Value::into_cell))
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<Remark>> {
        let guarded = Remark::counted(Remark::GuardedCells, self.writer.guarded_cells());
        let long = Remark::counted(Remark::LongCells, self.long_cells);
        self.writer.into_inner()?;
        Ok(guarded.into_iter().chain(long).collect())
    }
}

/// Returns true if a text has more characters than a cell of Excel.
pub(crate) fn is_long(text: &str) -> bool {
    text.len() > EXCEL_CELL_MAX && text.encode_utf16().count() > EXCEL_CELL_MAX
}
