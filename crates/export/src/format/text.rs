//! Text formats: CSV, TSV, NDJSON and JSON.

use std::io::{self, Write};

use formsvc_table::{Cell, Column, CsvWriter, JsonWriter, StoredRow, Value};

use crate::format::RowFormat;
use crate::remark::Remark;

impl<W: Write> RowFormat for CsvWriter<W> {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        let headings = columns.iter().map(|column| &*column.heading);
        self.write_row(headings.map(|text| Cell { text: text.into(), free: true }))
    }

    fn row(&mut self, _row: &StoredRow<'_>, cells: Vec<Value<'_>>) -> io::Result<()> {
        self.write_row(cells.into_iter().map(Value::into_cell))
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<Remark>> {
        let guarded = Remark::counted(Remark::GuardedCells, self.guarded_cells());
        let long = Remark::counted(Remark::LongCells, self.long_cells());
        self.into_inner()?;
        Ok(guarded.into_iter().chain(long).collect())
    }
}

impl<W: Write> RowFormat for JsonWriter<W> {
    fn begin(&mut self, _columns: &[Column]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, row: &StoredRow<'_>, _cells: Vec<Value<'_>>) -> io::Result<()> {
        self.write_row(row)
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<Remark>> {
        let damaged = Remark::counted(Remark::DamagedRows, self.damaged_rows());
        self.into_inner()?;
        Ok(damaged.into_iter().collect())
    }
}
