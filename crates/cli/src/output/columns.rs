//! Rows that are printed one by one, below one heading.

use std::cell::Cell;

use unicode_width::UnicodeWidthStr;

use super::fit::{self, ColumnWidth, FittedCell, READABLE};
use super::live::Live;
use super::paint::Paint;
use super::{Field, Output, Stream, TextStyle};
use crate::base::sanitize::one_line;
use crate::base::text::truncate;
use crate::error::CliError;

/// Width of text if the output has no width.
const UNBOUNDED: usize = 100;
/// Width of the service's ids.
const ID: usize = 36;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    width: ColumnWidth,
    /// Numbers are aligned right.
    is_number: bool,
}

impl Column {
    /// A column of text between two widths.
    pub(crate) fn text(heading: &'static str, min: usize, max: usize) -> Self {
        let min = min.max(heading.width());
        let width = ColumnWidth { min, max: max.max(min) };
        Self { heading, width, is_number: false }
    }

    /// A column of text that gets the remaining room.
    pub(crate) fn rest(heading: &'static str) -> Self {
        Self::text(heading, READABLE, usize::MAX)
    }

    /// A column of ids.
    pub(crate) fn ids(heading: &'static str) -> Self {
        Self::text(heading, ID, ID)
    }

    /// A column of numbers up to this one.
    pub(crate) fn numbers(heading: &'static str, largest: u64) -> Self {
        let digits = largest.to_string().len();
        Self { is_number: true, ..Self::text(heading, digits, digits) }
    }
}

/// Prints rows below a heading.
pub(crate) struct Columns<'a> {
    pub(crate) live: Live<'a>,
    all: Vec<Column>,
    /// `None` for a dropped column.
    widths: Vec<Option<usize>>,
    has_heading: Cell<bool>,
}

impl<'a> Columns<'a> {
    /// Fits the columns into the width of the output. Columns without room are dropped from the right.
    pub(crate) fn new(live: Live<'a>, columns: Vec<Column>) -> Self {
        let widths = widths(&columns, live.width());
        Self { live, all: columns, widths, has_heading: Cell::new(false) }
    }

    /// Prints a row: one cell for each column.
    pub(crate) fn row(&self, cells: &[(TextStyle, &str)]) -> Result<(), CliError> {
        if !self.has_heading.replace(true) {
            let names = self.all.iter().map(|column| (TextStyle::Heading, column.heading));
            self.line(&names.collect::<Vec<_>>())?;
        }
        self.line(cells)
    }

    fn line(&self, cells: &[(TextStyle, &str)]) -> Result<(), CliError> {
        self.live.sanitized_line(&row(&self.all, &self.widths, cells, self.live.paint()))
    }
}

/// Prints items one by one: rows for people, JSON for programs.
pub(crate) enum ItemPrinter<'a> {
    Rows(Columns<'a>),
    Json(Stream<'a>),
}

impl Output {
    /// Returns the printer of items with these fields.
    pub(crate) fn items(
        &self,
        columns: Vec<Column>,
        fields: &'static [Field],
    ) -> Result<ItemPrinter<'_>, CliError> {
        Ok(if self.is_for_reading() {
            ItemPrinter::Rows(Columns::new(self.live()?, columns))
        } else {
            ItemPrinter::Json(self.stream(fields)?)
        })
    }
}

fn widths(columns: &[Column], room: Option<usize>) -> Vec<Option<usize>> {
    let Some(room) = room else {
        let max = |max: usize| if max == usize::MAX { UNBOUNDED } else { max };
        return columns.iter().map(|column| Some(max(column.width.max))).collect();
    };
    fit::fit(&columns.iter().map(|column| column.width).collect::<Vec<_>>(), room)
}

fn row(
    columns: &[Column],
    widths: &[Option<usize>],
    cells: &[(TextStyle, &str)],
    paint: Paint,
) -> String {
    let columns = columns.iter().zip(widths).zip(cells);
    let shown = columns.filter_map(|((column, width), (style, text))| {
        let text = truncate(&one_line(text), (*width)?);
        Some(FittedCell { width: (*width)?, is_right: column.is_number, style: *style, text })
    });
    fit::row(shown, paint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "sub_0123456789abcdef0123456789abcdef";

    fn columns() -> Vec<Column> {
        vec![
            Column::numbers("#", 1200),
            Column::text("STATUS", 6, 11),
            Column::rest("RESPONSE"),
            Column::ids("SUBMISSION"),
        ]
    }

    fn print(width: Option<usize>, cells: [&str; 4]) -> String {
        let columns = columns();
        let cells = cells.map(|cell| (TextStyle::Plain, cell));
        row(&columns, &widths(&columns, width), &cells, Paint(false))
    }

    #[test]
    fn narrow_rows_drop_columns_from_the_right() {
        let cells = ["17", "no response", "body of a response", ID];
        for (width, line) in [
            (100, format!("  17  no response  body of a response                           {ID}")),
            (60, "  17  no response  body of a response".to_owned()),
            (40, "  17  no resp…  body of a response".to_owned()),
            (30, "  17  no response".to_owned()),
            (5, "  17".to_owned()),
        ] {
            assert_eq!(print(Some(width), cells), line, "{width}");
        }
        for width in 5..200 {
            let wide = ["1", "漢字漢字漢字漢字漢字", "", "é\u{301}"];
            assert!(print(Some(width), wide).width() <= width, "{width}");
        }
    }

    #[test]
    fn columns_without_a_terminal_have_their_largest_width() {
        let widths: Vec<_> = widths(&columns(), None).into_iter().flatten().collect();
        assert_eq!(widths, [4, 11, 100, 36]);
        assert_eq!(print(None, ["1", "", "x", ""]).split_whitespace().count(), 2);
    }
}
