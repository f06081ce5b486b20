//! Rows that people are told one by one, as things happen, below one heading and no wider than the terminal.

use std::cell::Cell;

use unicode_width::UnicodeWidthStr;

use crate::error::CliError;
use crate::output::{Live, Look, shortened, shortened_id};

/// Room between columns.
const GAP: usize = 2;
/// Before what stands below a row.
const INDENT: &str = "    ";
/// Cells of a text where nothing bounds it.
const UNBOUNDED: usize = 100;
/// The least of a text that tells a reader something.
const READABLE: usize = 24;
/// Cells of the service's ids, and of longer ones those that are shown.
const ID: (usize, usize) = (36, 40);

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    /// Cells without which it says nothing, and those that it would like.
    least: usize,
    most: usize,
    cut: Cut,
    /// Whether it stands below the row where there is no room for it beside the others.
    below: bool,
}

/// How what stands in a column is made to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Its end goes.
    End,
    /// It is whole, or not there: half an address is none.
    Whole,
    /// The same of the service's ids. Of longer ones the middle goes: those of one time begin alike.
    Id,
    /// It is a number, and stands at the right.
    Number,
}

impl Column {
    /// Text, of a least width and of one that it would like.
    pub(crate) fn text(heading: &'static str, least: usize, most: usize) -> Self {
        Self::new(heading, (least, most), Cut::End)
    }

    /// Text that takes whatever room is left.
    pub(crate) fn rest(heading: &'static str) -> Self {
        Self::new(heading, (READABLE, usize::MAX), Cut::End)
    }

    /// Ids: whole, or not there where there is no room.
    pub(crate) fn ids(heading: &'static str) -> Self {
        Self::new(heading, ID, Cut::Id)
    }

    /// Addresses, none longer than so many cells: whole, or not there.
    pub(crate) fn addresses(heading: &'static str, longest: usize) -> Self {
        Self::new(heading, (longest, longest), Cut::Whole)
    }

    /// Numbers, none longer than this one.
    pub(crate) fn numbers(heading: &'static str, longest: u64) -> Self {
        let digits = longest.to_string().len();
        Self::new(heading, (digits, digits), Cut::Number)
    }

    fn new(heading: &'static str, (least, most): (usize, usize), cut: Cut) -> Self {
        let least = least.max(heading.width());
        Self { heading, least, most: most.max(least), cut, below: false }
    }

    /// The same, below the row where there is no room beside the others.
    pub(crate) fn or_below(self) -> Self {
        Self { below: true, ..self }
    }

    /// Whether it is passed over where there is no room, for those further right.
    fn is_passed_over(&self) -> bool {
        self.below || matches!(self.cut, Cut::Id | Cut::Whole)
    }

    /// When it gets what room is left over: what would take all of it comes last.
    fn rank(&self) -> u8 {
        match self.cut {
            _ if self.most == usize::MAX => 2,
            Cut::Id => 1,
            _ => 0,
        }
    }

    fn fitted(&self, text: &str, width: usize) -> String {
        match self.cut {
            _ if text.width() <= width => text.to_owned(),
            Cut::Id => shortened_id(text, width),
            Cut::Whole => text.to_owned(),
            Cut::End | Cut::Number => shortened(text, width),
        }
    }
}

/// Rows below a heading.
pub(crate) struct Columns<'a> {
    pub(crate) live: Live<'a>,
    all: Vec<Column>,
    /// None of those that there is no room for.
    widths: Vec<Option<usize>>,
    headed: Cell<bool>,
}

impl<'a> Columns<'a> {
    /// In as much room as there is. Where there is too little for all, those at the right are left out, and
    /// what must be whole.
    pub(crate) fn new(live: Live<'a>, columns: Vec<Column>) -> Self {
        let widths = widths(&columns, live.width());
        Self { live, all: columns, widths, headed: Cell::new(false) }
    }

    /// Tells a row: what stands in each column, as it looks.
    pub(crate) fn tell(&self, cells: &[(Look, &str)]) -> Result<(), CliError> {
        if !self.headed.replace(true) {
            let names = self.all.iter().map(|column| (Look::Heading, column.heading));
            self.line(&names.collect::<Vec<_>>())?;
        }
        self.line(cells)?;
        for (column, (look, text)) in below(&self.all, &self.widths, cells) {
            let text = crate::sanitize::one_line(text);
            let room = self.live.width().map_or(UNBOUNDED, |width| width - INDENT.len());
            let text =
                if column.cut == Cut::End { shortened(&text, room) } else { text.into_owned() };
            self.live.line(&[(Look::Plain, INDENT), (*look, &text)])?;
        }
        Ok(())
    }

    fn line(&self, cells: &[(Look, &str)]) -> Result<(), CliError> {
        let parts = row(&self.all, &self.widths, cells);
        let parts: Vec<_> = parts.iter().map(|(look, text)| (*look, &**text)).collect();
        self.live.line(&parts)
    }
}

/// How wide the columns are that there is room for. What is left over goes to those that would like more.
fn widths(columns: &[Column], room: Option<usize>) -> Vec<Option<usize>> {
    let Some(room) = room else {
        let most =
            |column: &Column| if column.most == usize::MAX { UNBOUNDED } else { column.most };
        return columns.iter().map(|column| Some(most(column))).collect();
    };
    let (mut widths, mut left) = (vec![None; columns.len()], room + GAP);
    for (column, width) in columns.iter().zip(&mut widths) {
        if let Some(more) = left.checked_sub(column.least + GAP) {
            (*width, left) = (Some(column.least), more);
        } else if !column.is_passed_over() {
            break;
        }
    }
    if let (true, Some(first)) = (widths.iter().all(Option::is_none), widths.first_mut()) {
        // One is always there.
        *first = Some(room);
        return widths;
    }
    for rank in 0..3 {
        for (column, width) in columns.iter().zip(&mut widths) {
            if let Some(width) = width.as_mut().filter(|_| column.rank() == rank) {
                let more = (column.most - column.least).min(left);
                *width += more;
                left -= more;
            }
        }
    }
    widths
}

/// What stands below a row of these cells.
fn below<'c, 'l>(
    columns: &'c [Column],
    widths: &'c [Option<usize>],
    cells: &'c [(Look, &'l str)],
) -> impl Iterator<Item = (&'c Column, &'c (Look, &'l str))> {
    let each = columns.iter().zip(widths).zip(cells);
    each.filter(|((column, width), (_, text))| width.is_none() && column.below && !text.is_empty())
        .map(|((column, _), cell)| (column, cell))
}

/// A row, without room at its end.
fn row(
    columns: &[Column],
    widths: &[Option<usize>],
    cells: &[(Look, &str)],
) -> Vec<(Look, String)> {
    let (mut parts, mut space) = (Vec::new(), 0);
    for ((column, width), (look, text)) in columns.iter().zip(widths).zip(cells) {
        let Some(width) = *width else { continue };
        let text = column.fitted(&crate::sanitize::one_line(text), width);
        let beside = width.saturating_sub(text.width());
        let (before, after) = if column.cut == Cut::Number { (beside, 0) } else { (0, beside) };
        if text.is_empty() {
            space += beside + GAP;
            continue;
        }
        parts.push((Look::Plain, " ".repeat(space + before)));
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
    const CELLS: [&str; 5] = ["17", ID, "no answer", TO, "what a receiver said of it"];

    fn columns() -> Vec<Column> {
        vec![
            Column::numbers("#", 1200),
            Column::ids("SUBMISSION"),
            Column::text("STATUS", 6, 9),
            Column::addresses("TO", TO.len()),
            Column::rest("SAID").or_below(),
        ]
    }

    /// The row, and what stands below it.
    fn shown(width: usize, cells: [&str; 5]) -> (String, Option<String>) {
        let columns = columns();
        let widths = widths(&columns, Some(width));
        let cells = cells.map(|cell| (Look::Plain, cell));
        let row = row(&columns, &widths, &cells).into_iter().map(|(_, text)| text).collect();
        (row, below(&columns, &widths, &cells).next().map(|(_, (_, text))| (*text).to_owned()))
    }

    #[test]
    fn ids_and_addresses_are_whole_or_not_there_and_the_rest_stands_below() {
        let said = Some(CELLS[4].to_owned());
        let row = format!("  17  {ID}      no answer  {TO}  {}", CELLS[4]);
        assert_eq!(shown(200, CELLS), (row, None));
        let row = format!("  17  {ID}      no answer  {TO}");
        assert_eq!(shown(100, CELLS), (row, said.clone()));
        assert_eq!(shown(80, CELLS), (format!("  17  {ID}  no answ…  {TO}"), said.clone()));
        assert_eq!(shown(70, CELLS), (format!("  17  {ID}      no answer"), said.clone()));
        assert_eq!(shown(41, CELLS), (format!("  17  no ans…  {TO}"), said.clone()));
        assert_eq!(shown(15, CELLS), ("  17  no answer".to_owned(), said));
        for width in 1..200 {
            assert!(shown(width, CELLS).0.width() <= width, "{width}");
            let wide = ["1", &"漢字".repeat(30), "é\u{301}", "", &"漢字".repeat(30)];
            assert!(shown(width, wide).0.width() <= width, "{width}");
        }
    }

    #[test]
    fn where_nothing_bounds_a_row_every_column_has_what_it_would_like() {
        let widths: Vec<_> = widths(&columns(), None).into_iter().flatten().collect();
        assert_eq!(widths, [4, 40, 9, 26, 100]);
        assert_eq!(shown(80, ["1", "", "", "x", ""]).0.split_whitespace().count(), 2);
    }
}
