//! Rows that are printed one by one, below one heading.

use std::cell::Cell;

use unicode_width::UnicodeWidthStr;

use super::fit::{self, ColumnWidth, GAP, READABLE};
use super::live::Live;
use super::{Field, Output, Stream, TextStyle};
use crate::base::sanitize::one_line;
use crate::base::text::{truncate, truncate_id};
use crate::error::CliError;

/// Space before a cell that is printed below its row.
const INDENT: &str = "    ";
/// Width of text if the output has no width.
const UNBOUNDED: usize = 100;
/// Width of the service's ids, and the largest width of longer ids.
const ID: (usize, usize) = (36, 40);

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    width: ColumnWidth,
    cut: Cut,
    /// True if the cells are printed below their rows when the column has no room.
    is_below: bool,
}

/// The way to shorten a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    End,
    Never,
    /// The middle is cut, because ids of the same time have the same beginning.
    Middle,
    /// A number, aligned right.
    Number,
}

impl Column {
    /// A column of text between two widths.
    pub(crate) fn text(heading: &'static str, min: usize, max: usize) -> Self {
        Self::new(heading, (min, max), Cut::End)
    }

    /// A column of text that gets the remaining room.
    pub(crate) fn rest(heading: &'static str) -> Self {
        Self::new(heading, (READABLE, usize::MAX), Cut::End)
    }

    /// A column of ids.
    pub(crate) fn ids(heading: &'static str) -> Self {
        Self::new(heading, ID, Cut::Middle)
    }

    /// A column of URLs of at most this width.
    pub(crate) fn addresses(heading: &'static str, longest: usize) -> Self {
        Self::new(heading, (longest, longest), Cut::Never)
    }

    /// A column of numbers up to this one.
    pub(crate) fn numbers(heading: &'static str, largest: u64) -> Self {
        let digits = largest.to_string().len();
        Self::new(heading, (digits, digits), Cut::Number)
    }

    fn new(heading: &'static str, (min, max): (usize, usize), cut: Cut) -> Self {
        let min = min.max(heading.width());
        Self { heading, width: ColumnWidth { min, max: max.max(min) }, cut, is_below: false }
    }

    /// Prints the cells below their rows if there is no room beside the other columns.
    pub(crate) fn or_below(self) -> Self {
        Self { is_below: true, ..self }
    }

    fn shorten(&self, text: &str, width: usize) -> String {
        match self.cut {
            Cut::Middle => truncate_id(text, width),
            Cut::Never => text.to_owned(),
            Cut::End | Cut::Number => truncate(text, width),
        }
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
        self.line(cells)?;
        for (column, (style, text)) in below(&self.all, &self.widths, cells) {
            let room = self.live.width().map_or(UNBOUNDED, |width| width - INDENT.len());
            let text = one_line(text);
            let is_text = column.cut == Cut::End;
            let text = if is_text { truncate(&text, room) } else { text.into_owned() };
            self.live.line(&[(TextStyle::Plain, INDENT), (*style, &text)])?;
        }
        Ok(())
    }

    fn line(&self, cells: &[(TextStyle, &str)]) -> Result<(), CliError> {
        let parts = row(&self.all, &self.widths, cells);
        let parts: Vec<_> = parts.iter().map(|(style, text)| (*style, &**text)).collect();
        self.live.line(&parts)
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

/// Returns the cells that are printed below a row.
fn below<'c, 'l>(
    columns: &'c [Column],
    widths: &'c [Option<usize>],
    cells: &'c [(TextStyle, &'l str)],
) -> impl Iterator<Item = (&'c Column, &'c (TextStyle, &'l str))> {
    let each = columns.iter().zip(widths).zip(cells);
    each.filter(|((column, width), (_, text))| {
        width.is_none() && column.is_below && !text.is_empty()
    })
    .map(|((column, _), cell)| (column, cell))
}

/// Returns the parts of a row, without space at its end.
fn row(
    columns: &[Column],
    widths: &[Option<usize>],
    cells: &[(TextStyle, &str)],
) -> Vec<(TextStyle, String)> {
    let (mut parts, mut space) = (Vec::new(), 0);
    for ((column, width), (style, text)) in columns.iter().zip(widths).zip(cells) {
        let Some(width) = *width else { continue };
        let text = column.shorten(&one_line(text), width);
        let rest = width.saturating_sub(text.width());
        let (before, after) = if column.cut == Cut::Number { (rest, 0) } else { (0, rest) };
        if text.is_empty() {
            space += rest + GAP;
            continue;
        }
        parts.push((TextStyle::Plain, " ".repeat(space + before)));
        parts.push((*style, text));
        space = after + GAP;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "sub_0123456789abcdef0123456789abcdef";
    const TO: &str = "http://localhost:4242/hook";
    const CELLS: [&str; 5] = ["17", ID, "no response", TO, "body of a response of a receiver"];

    fn columns() -> Vec<Column> {
        vec![
            Column::numbers("#", 1200),
            Column::ids("SUBMISSION"),
            Column::text("STATUS", 6, 11),
            Column::addresses("TO", TO.len()),
            Column::rest("RESPONSE").or_below(),
        ]
    }

    /// Returns the row, and the cell below it.
    fn print(width: usize, cells: [&str; 5]) -> (String, Option<String>) {
        let columns = columns();
        let widths = widths(&columns, Some(width));
        let cells = cells.map(|cell| (TextStyle::Plain, cell));
        let row = row(&columns, &widths, &cells).into_iter().map(|(_, text)| text).collect();
        (row, below(&columns, &widths, &cells).next().map(|(_, (_, text))| (*text).to_owned()))
    }

    #[test]
    fn narrow_rows_drop_columns_from_the_right() {
        let rest = Some(CELLS[4].to_owned());
        let row = format!("  17  {ID}      no response  {TO}  {}", CELLS[4]);
        assert_eq!(print(200, CELLS), (row, None));
        let row = format!("  17  {ID}      no response  {TO}");
        assert_eq!(print(100, CELLS), (row, rest.clone()));
        assert_eq!(print(80, CELLS), (format!("  17  {ID}  no resp…  {TO}"), rest.clone()));
        assert_eq!(print(70, CELLS), (format!("  17  {ID}      no response"), rest.clone()));
        assert_eq!(print(41, CELLS), ("  17".to_owned(), rest));
        for width in 5..200 {
            assert!(print(width, CELLS).0.width() <= width, "{width}");
            let wide = ["1", &"漢字".repeat(30), "é\u{301}", "", &"漢字".repeat(30)];
            assert!(print(width, wide).0.width() <= width, "{width}");
        }
    }

    #[test]
    fn columns_without_a_terminal_have_their_largest_width() {
        let widths: Vec<_> = widths(&columns(), None).into_iter().flatten().collect();
        assert_eq!(widths, [4, 40, 11, 26, 100]);
        assert_eq!(print(80, ["1", "", "", "x", ""]).0.split_whitespace().count(), 2);
    }
}
