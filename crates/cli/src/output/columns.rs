//! Rows of a table that are printed one by one, below one heading and no wider than the terminal.

use std::cell::Cell;

use unicode_width::UnicodeWidthStr;

use super::live::Live;
use super::{Field, Output, Stream, TextStyle};
use crate::base::sanitize::one_line;
use crate::base::text::{truncate, truncate_id};
use crate::error::CliError;

/// Space between columns.
const GAP: usize = 2;
/// Space before a cell that is printed below its row.
const INDENT: &str = "    ";
/// Width of text if the output has no width.
const UNBOUNDED: usize = 100;
/// Least useful width of text.
const READABLE: usize = 24;
/// Width of the service's ids, and the most that is shown of longer ids.
const ID: (usize, usize) = (36, 40);

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    /// The column is omitted if it has less room.
    min: usize,
    max: usize,
    cut: Cut,
    /// True if its cells are printed below the row if the column is omitted.
    is_below: bool,
}

/// The way to shorten a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    End,
    /// It is never shortened.
    Whole,
    /// The middle is cut: ids of the same time begin alike. Ids of the service are never shortened.
    Id,
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
        Self::new(heading, ID, Cut::Id)
    }

    /// A column of addresses that are at most so wide.
    pub(crate) fn addresses(heading: &'static str, longest: usize) -> Self {
        Self::new(heading, (longest, longest), Cut::Whole)
    }

    /// A column of numbers up to this one.
    pub(crate) fn numbers(heading: &'static str, largest: u64) -> Self {
        let digits = largest.to_string().len();
        Self::new(heading, (digits, digits), Cut::Number)
    }

    fn new(heading: &'static str, (min, max): (usize, usize), cut: Cut) -> Self {
        let min = min.max(heading.width());
        Self { heading, min, max: max.max(min), cut, is_below: false }
    }

    /// Prints the cells below their rows if there is no room beside the other columns.
    pub(crate) fn or_below(self) -> Self {
        Self { is_below: true, ..self }
    }

    /// Returns true if columns to the right may be shown although this one is omitted.
    fn may_be_omitted(&self) -> bool {
        self.is_below || matches!(self.cut, Cut::Id | Cut::Whole)
    }

    /// Returns the order in which columns get remaining room.
    fn rank(&self) -> u8 {
        match self.cut {
            _ if self.max == usize::MAX => 2,
            Cut::Id => 1,
            _ => 0,
        }
    }

    fn fit(&self, text: &str, width: usize) -> String {
        match self.cut {
            _ if text.width() <= width => text.to_owned(),
            Cut::Id => truncate_id(text, width),
            Cut::Whole => text.to_owned(),
            Cut::End | Cut::Number => truncate(text, width),
        }
    }
}

/// Prints rows below a heading.
pub(crate) struct Columns<'a> {
    pub(crate) live: Live<'a>,
    all: Vec<Column>,
    /// `None` for an omitted column.
    widths: Vec<Option<usize>>,
    has_heading: Cell<bool>,
}

impl<'a> Columns<'a> {
    /// Fits the columns into the width of the output. If there is too little room, it omits columns from the
    /// right, and columns that cannot be shortened.
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
        for (column, (look, text)) in below(&self.all, &self.widths, cells) {
            let text = one_line(text);
            let room = self.live.width().map_or(UNBOUNDED, |width| width - INDENT.len());
            let text =
                if column.cut == Cut::End { truncate(&text, room) } else { text.into_owned() };
            self.live.line(&[(TextStyle::Plain, INDENT), (*look, &text)])?;
        }
        Ok(())
    }

    fn line(&self, cells: &[(TextStyle, &str)]) -> Result<(), CliError> {
        let parts = row(&self.all, &self.widths, cells);
        let parts: Vec<_> = parts.iter().map(|(look, text)| (*look, &**text)).collect();
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

/// Returns the width of each column; `None` if there is no room for it.
fn widths(columns: &[Column], room: Option<usize>) -> Vec<Option<usize>> {
    let Some(room) = room else {
        let max = |column: &Column| if column.max == usize::MAX { UNBOUNDED } else { column.max };
        return columns.iter().map(|column| Some(max(column))).collect();
    };
    let (mut widths, mut left) = (vec![None; columns.len()], room + GAP);
    for (column, width) in columns.iter().zip(&mut widths) {
        if let Some(more) = left.checked_sub(column.min + GAP) {
            (*width, left) = (Some(column.min), more);
        } else if !column.may_be_omitted() {
            break;
        }
    }
    if let (true, Some(first)) = (widths.iter().all(Option::is_none), widths.first_mut()) {
        // One column is always shown.
        *first = Some(room);
        return widths;
    }
    for rank in 0..3 {
        for (column, width) in columns.iter().zip(&mut widths) {
            if let Some(width) = width.as_mut().filter(|_| column.rank() == rank) {
                let more = (column.max - column.min).min(left);
                *width += more;
                left -= more;
            }
        }
    }
    widths
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
    for ((column, width), (look, text)) in columns.iter().zip(widths).zip(cells) {
        let Some(width) = *width else { continue };
        let text = column.fit(&one_line(text), width);
        let beside = width.saturating_sub(text.width());
        let (before, after) = if column.cut == Cut::Number { (beside, 0) } else { (0, beside) };
        if text.is_empty() {
            space += beside + GAP;
            continue;
        }
        parts.push((TextStyle::Plain, " ".repeat(space + before)));
        parts.push((*look, text));
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
    fn ids_and_addresses_are_complete_or_omitted() {
        let rest = Some(CELLS[4].to_owned());
        let row = format!("  17  {ID}      no response  {TO}  {}", CELLS[4]);
        assert_eq!(print(200, CELLS), (row, None));
        let row = format!("  17  {ID}      no response  {TO}");
        assert_eq!(print(100, CELLS), (row, rest.clone()));
        assert_eq!(print(80, CELLS), (format!("  17  {ID}  no resp…  {TO}"), rest.clone()));
        assert_eq!(print(70, CELLS), (format!("  17  {ID}      no response"), rest.clone()));
        assert_eq!(print(41, CELLS), (format!("  17  no res…  {TO}"), rest.clone()));
        assert_eq!(print(17, CELLS), ("  17  no response".to_owned(), rest));
        for width in 1..200 {
            assert!(print(width, CELLS).0.width() <= width, "{width}");
            let wide = ["1", &"漢字".repeat(30), "é\u{301}", "", &"漢字".repeat(30)];
            assert!(print(width, wide).0.width() <= width, "{width}");
        }
    }

    #[test]
    fn columns_have_their_largest_width_without_a_terminal() {
        let widths: Vec<_> = widths(&columns(), None).into_iter().flatten().collect();
        assert_eq!(widths, [4, 40, 11, 26, 100]);
        assert_eq!(print(80, ["1", "", "", "x", ""]).0.split_whitespace().count(), 2);
    }
}
