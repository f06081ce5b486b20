//! Rows that people are told one by one, as things happen, below one heading and no wider than the terminal.

use std::cell::Cell;

use unicode_width::UnicodeWidthStr;

use super::listen::text::shortened_id;
use crate::error::CliError;
use crate::output::{Live, Look, shortened};

/// Room between columns.
const GAP: usize = 2;

/// A column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    heading: &'static str,
    /// Cells without which it says nothing, and those that it would like.
    least: usize,
    most: usize,
    cut: Cut,
}

/// How what stands in a column is made to fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// Its end goes.
    End,
    /// Its middle goes: ids of one time begin alike.
    Middle,
    /// It is a number, and stands at the right.
    Number,
}

impl Column {
    /// Text, of a least width and of one that it would like.
    pub(crate) fn text(heading: &'static str, least: usize, most: usize) -> Self {
        Self::new(heading, (least, most), Cut::End)
    }

    /// Ids.
    pub(crate) fn ids(heading: &'static str) -> Self {
        Self::new(heading, (12, 40), Cut::Middle)
    }

    /// Numbers, none longer than this one.
    pub(crate) fn numbers(heading: &'static str, longest: u64) -> Self {
        let digits = longest.to_string().len();
        Self::new(heading, (digits, digits), Cut::Number)
    }

    fn new(heading: &'static str, (least, most): (usize, usize), cut: Cut) -> Self {
        let least = least.max(heading.width());
        Self { heading, least, most: most.max(least), cut }
    }

    fn fitted(&self, text: &str, width: usize) -> String {
        match self.cut {
            _ if text.width() <= width => text.to_owned(),
            Cut::Middle => shortened_id(text, width),
            Cut::End | Cut::Number => shortened(text, width),
        }
    }
}

/// Rows below a heading.
pub(crate) struct Columns<'a> {
    pub(crate) live: Live<'a>,
    all: Vec<Column>,
    widths: Vec<usize>,
    headed: Cell<bool>,
}

impl<'a> Columns<'a> {
    /// In as much room as there is. Where there is too little for all, those at the right are left out.
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
        self.line(cells)
    }

    fn line(&self, cells: &[(Look, &str)]) -> Result<(), CliError> {
        let parts = row(&self.all, &self.widths, cells);
        let parts: Vec<_> = parts.iter().map(|(look, text)| (*look, &**text)).collect();
        self.live.line(&parts)
    }
}

/// How wide the columns are that there is room for. What is left over goes to those that would like more, to
/// ids last: the end of one tells it from others.
fn widths(columns: &[Column], room: Option<usize>) -> Vec<usize> {
    let Some(room) = room else { return columns.iter().map(|column| column.most).collect() };
    let (mut widths, mut left) = (Vec::new(), room + GAP);
    for column in columns {
        match left.checked_sub(column.least + GAP) {
            Some(more) => left = more,
            // One is always there.
            None if widths.is_empty() => return vec![room],
            None => break,
        }
        widths.push(column.least);
    }
    for ids in [false, true] {
        for (column, width) in columns.iter().zip(&mut widths) {
            if (column.cut == Cut::Middle) == ids {
                let more = (column.most - column.least).min(left);
                *width += more;
                left -= more;
            }
        }
    }
    widths
}

/// A row, without room at its end.
fn row(columns: &[Column], widths: &[usize], cells: &[(Look, &str)]) -> Vec<(Look, String)> {
    let (mut parts, mut space) = (Vec::new(), 0);
    for ((column, width), (look, text)) in columns.iter().zip(widths).zip(cells) {
        let text = column.fitted(&crate::sanitize::one_line(text), *width);
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

    fn columns() -> Vec<Column> {
        vec![
            Column::numbers("#", 1200),
            Column::ids("SUBMISSION"),
            Column::text("STATUS", 6, 9),
            Column::text("TO", 10, 26),
        ]
    }

    fn shown(width: usize, cells: [&str; 4]) -> String {
        let columns = columns();
        let widths = widths(&columns, Some(width));
        let cells = cells.map(|cell| (Look::Plain, cell));
        row(&columns, &widths, &cells).into_iter().map(|(_, text)| text).collect()
    }

    const CELLS: [&str; 4] =
        ["17", "sub_0123456789abcdef0123456789abcdef", "no answer", "http://localhost:4242/hook"];

    #[test]
    fn a_row_is_as_wide_as_there_is_room_and_no_wider() {
        assert_eq!(shown(80, CELLS).trim_end(), shown(80, CELLS));
        let hundred =
            "  17  sub_0123456789abcdef0123456789abcdef      no answer  http://localhost:4242/hook";
        assert_eq!(shown(100, CELLS), hundred);
        let narrow = "  17  sub_…9abcdef  no answer  http://loc…";
        assert_eq!(shown(42, CELLS), narrow);
        assert_eq!(shown(30, CELLS), "  17  sub_…89abcdef  no answer");
        for width in 1..200 {
            assert!(shown(width, CELLS).width() <= width, "{width}");
            assert!(shown(width, ["1", "漢字漢字漢字漢字漢字", "é\u{301}", ""]).width() <= width);
        }
    }

    #[test]
    fn where_nothing_bounds_a_row_every_column_has_what_it_would_like() {
        assert_eq!(widths(&columns(), None), [4, 40, 9, 26]);
        assert_eq!(shown(80, ["1", "", "", "x"]).split_whitespace().count(), 2);
    }
}
