//! Tables for terminals: one line per item, no wider than the terminal.

use std::io::{self, Write};

use formsvc_table::Cell;
use unicode_width::UnicodeWidthStr;

use super::field::Kind;
use super::fit::{self, ColumnWidth};
use super::grid::{Column, Grid};
use super::paint::{Paint, TextStyle};
use super::time::Times;
use crate::base::sanitize::one_line;
use crate::base::text::{truncate, wrap_whole_words};

/// Largest width of a text column if the output has no width.
const COLUMN_MAX: usize = 100;

/// The presentation of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// Cells in a line; `None` if the output has no width.
    pub(super) width: Option<usize>,
    pub(super) paint: Paint,
    /// The format of instants; `None` for RFC 3339.
    pub(super) times: Option<Times<'a>>,
}

/// A column of a table, with the measurements of its cells.
struct TableColumn<'g> {
    column: &'g Column,
    /// The index of the cells in a row of the grid.
    at: usize,
    heading: String,
    /// Width of the widest cell.
    cells: usize,
    /// True if all cells are numbers, which are aligned right. `None` if all cells are empty.
    numeric: Option<bool>,
}

impl<'g> TableColumn<'g> {
    fn new((at, column): (usize, &'g Column)) -> Self {
        let heading = one_line(&column.name).to_uppercase();
        Self { column, at, heading, cells: 1, numeric: None }
    }

    fn measure(&mut self, row: &[Cell<'_>], view: View<'_>) {
        let cell = &row[self.at];
        self.cells = self.cells.max(view.text(self.column.kind, cell).width());
        if !cell.text.is_empty() {
            let starts_number = cell.text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            self.numeric = Some(!cell.free && starts_number && self.numeric.unwrap_or(true));
        }
    }

    fn width(&self, view: View<'_>) -> ColumnWidth {
        let heading = self.heading.width();
        let max = self.cells.max(heading);
        let is_whole = self.column.kind.is_whole() || self.numeric == Some(true);
        if is_whole {
            return ColumnWidth { min: self.cells.max(heading.min(fit::READABLE)), max };
        }
        let max = if view.width.is_none() { max.min(COLUMN_MAX) } else { max };
        ColumnWidth { min: max.min(fit::READABLE), max }
    }

    /// Truncates and pads the text of a cell to `width`, and applies the style to the text without the padding.
    fn cell(&self, text: &str, style: TextStyle, width: usize, paint: Paint) -> String {
        let text = truncate(text, width);
        let space = " ".repeat(width.saturating_sub(text.width()));
        let text = paint.put(style, &text);
        if self.numeric == Some(true) { space + &text } else { text + &space }
    }
}

/// Writes the cells of a row, without trailing space.
fn write_row(out: &mut dyn Write, cells: impl Iterator<Item = String>) -> io::Result<()> {
    let cells: Vec<_> = cells.collect();
    writeln!(out, "{}", cells.join(&" ".repeat(fit::GAP)).trim_end())
}

/// Writes a list as a table, or nothing if the list is empty. Returns the `--json` names of the dropped columns.
///
/// Reads the rows twice, to measure the columns and to write the table, so that the cells of all rows are never in
/// memory together.
pub(super) fn list(
    out: &mut dyn Write,
    grid: &Grid<'_>,
    view: View<'_>,
) -> io::Result<Vec<String>> {
    if grid.is_empty() {
        return Ok(Vec::new());
    }
    let mut columns: Vec<_> = grid.columns.iter().enumerate().map(TableColumn::new).collect();
    columns.sort_by_key(|column| column.column.last_in_tables);
    for row in grid.rows() {
        for column in &mut columns {
            column.measure(&row, view);
        }
    }
    let wanted: Vec<_> = columns.iter().map(|column| column.width(view)).collect();
    let widths = fit::fit(&wanted, view.width.unwrap_or(usize::MAX >> 1));
    let shown: Vec<_> = columns.iter().zip(widths).collect();
    let headings = shown.iter().map(|(column, width)| {
        column.cell(&column.heading, TextStyle::Heading, *width, view.paint)
    });
    write_row(out, headings)?;
    for row in grid.rows() {
        let cells = shown.iter().map(|(column, width)| {
            let text = view.text(column.column.kind, &row[column.at]);
            column.cell(&text, style(column.column.kind, &text), *width, view.paint)
        });
        write_row(out, cells)?;
    }
    Ok(columns[shown.len()..].iter().map(|column| column.column.field.clone()).collect())
}

impl View<'_> {
    /// Wraps a text beside a label of this width. A word that does not fit is not broken, so that users can copy it.
    pub(super) fn wrap_beside(self, text: &str, label: usize) -> Vec<String> {
        let room = self.width.map(|width| width.saturating_sub(label));
        match room.filter(|room| *room >= fit::READABLE) {
            Some(room) => wrap_whole_words(text, room),
            None => vec![text.to_owned()],
        }
    }

    /// Returns the text of a cell on one line.
    pub(super) fn text(self, kind: Kind, cell: &Cell<'_>) -> String {
        let text = one_line(&cell.text);
        let time = self.times.filter(|_| kind == Kind::Time).and_then(|times| times.format(&text));
        time.unwrap_or_else(|| text.into_owned())
    }
}

fn style(kind: Kind, text: &str) -> TextStyle {
    if kind == Kind::Status { TextStyle::for_word(text) } else { TextStyle::Plain }
}

/// Writes one item: a line for each field that is not empty. After an instant, writes its age or local time.
pub(super) fn item(out: &mut dyn Write, grid: &Grid<'_>, view: View<'_>) -> io::Result<()> {
    let names: Vec<String> =
        grid.columns.iter().map(|column| format!("{}:", one_line(&column.name))).collect();
    for row in grid.rows() {
        let filled = names.iter().zip(&row).filter(|(_, cell)| !cell.text.is_empty());
        let indent = filled.map(|(name, _)| name.width() + 1).max().unwrap_or(0);
        for ((column, name), cell) in grid.columns.iter().zip(&names).zip(&row) {
            if cell.text.is_empty() {
                continue;
            }
            let text = one_line(&cell.text);
            let times = view.times.filter(|_| column.kind == Kind::Time);
            let time = times.and_then(|times| times.format(&text));
            let lines = match time {
                Some(time) => vec![format!("{text} ({time})")],
                None if column.kind.is_whole() => vec![text.into_owned()],
                None => view.wrap_beside(&text, indent),
            };
            let label = view.paint.put(TextStyle::Heading, name);
            let mut before = format!("{label}{}", " ".repeat(indent - name.width()));
            for line in lines {
                let line = view.paint.put(style(column.kind, &cell.text), &line);
                writeln!(out, "{}", format!("{before}{line}").trim_end())?;
                before = " ".repeat(indent);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::Timestamp;

    use proptest::prelude::*;

    use super::*;

    const PLAIN: View<'_> = View { width: None, paint: Paint(false), times: None };

    fn text(text: &str) -> Cell<'_> {
        Cell { text: text.into(), free: true }
    }

    fn number(text: &str) -> Cell<'_> {
        Cell { text: text.into(), free: false }
    }

    fn column(name: &str, kind: Kind) -> Column {
        Column { name: name.to_owned(), field: name.to_owned(), kind, last_in_tables: false }
    }

    fn lines(grid: &Grid<'_>, view: View<'_>) -> (Vec<String>, Vec<String>) {
        let mut out = Vec::new();
        let hidden = list(&mut out, grid, view).unwrap();
        let text = String::from_utf8(out).unwrap();
        (text.lines().map(str::to_owned).collect(), hidden)
    }

    fn relative_to(now: &str) -> Option<Times<'static>> {
        let now: Timestamp = now.parse().ok()?;
        Some(Times::Relative(now.unix_micros()))
    }

    fn forms() -> Grid<'static> {
        Grid::of(
            vec![
                column("id", Kind::Id),
                column("title", Kind::Any),
                column("status", Kind::Status),
                column("answers", Kind::Any),
            ],
            vec![
                vec![text("frm_1"), text("漢字 and\nmore"), text("draft"), number("7")],
                vec![text("frm_22"), text("a title that is long"), text("closed"), number("-1200")],
                vec![text("frm_3"), text("\u{1b}[31mred"), text("published"), number("")],
            ],
        )
    }

    #[test]
    fn columns_are_aligned_and_numbers_right() {
        assert_eq!(
            lines(&forms(), PLAIN).0,
            [
                "ID      TITLE                 STATUS     ANSWERS",
                "frm_1   漢字 and more         draft            7",
                "frm_22  a title that is long  closed       -1200",
                "frm_3   [31mred               published",
            ]
        );
    }

    #[test]
    fn narrow_table_keeps_id_and_names_dropped_columns() {
        let at = |width| lines(&forms(), View { width: Some(width), ..PLAIN });
        let (narrow, dropped) = at(45);
        assert_eq!(narrow[2], "frm_22  a title that is long  closed");
        assert_eq!(dropped, ["answers"]);
        let (narrow, dropped) = at(20);
        assert_eq!(narrow[..3], ["ID", "frm_1", "frm_22"]);
        assert_eq!(dropped, ["title", "status", "answers"]);
        assert_eq!(at(4).0[2], "frm…");
    }

    #[test]
    fn field_on_the_right_of_tables_is_dropped_first() {
        let mut first = column("first", Kind::Any);
        first.last_in_tables = true;
        let grid = Grid::of(
            vec![first, column("second", Kind::Any)],
            vec![vec![text("one"), text("two")]],
        );
        assert_eq!(lines(&grid, PLAIN).0, ["SECOND  FIRST", "two     one"]);
        assert_eq!(lines(&grid, View { width: Some(10), ..PLAIN }).1, ["first"]);
    }

    #[test]
    fn column_is_dropped_before_its_heading_is_truncated() {
        let grid = Grid::of(
            vec![column("created_at", Kind::Time), column("bill_length_mm", Kind::Any)],
            vec![vec![text("2026-06-15T11:59:59Z"), number("50.2")]],
        );
        let times = relative_to("2026-06-15T12:00:00Z");
        let at = |width| lines(&grid, View { width: Some(width), times, ..PLAIN }).0;
        assert_eq!(at(28)[0], "CREATED_AT    BILL_LENGTH_MM");
        assert_eq!(at(27), ["CREATED_AT", "1 second ago"]);
    }

    #[test]
    fn status_is_painted_without_the_space_around_it() {
        let painted = lines(&forms(), View { paint: Paint(true), ..PLAIN }).0;
        assert!(painted[0].starts_with("\u{1b}[1mID\u{1b}[0m  "), "{painted:?}");
        assert!(painted[2].contains("  \u{1b}[2mclosed\u{1b}[0m  "), "{painted:?}");
    }

    #[test]
    fn painted_line_has_no_trailing_space() {
        let columns = vec![column("id", Kind::Id), column("", Kind::Status)];
        let grid = Grid::of(columns, vec![vec![text("x"), text("")]]);
        let painted = lines(&grid, View { paint: Paint(true), ..PLAIN }).0;
        assert_eq!(painted, ["\u{1b}[1mID\u{1b}[0m", "x"]);
    }

    #[test]
    fn instant_is_relative_in_lists_and_both_in_items() {
        let grid = Grid::of(
            vec![column("made", Kind::Time)],
            vec![vec![text("2026-06-15T10:00:00.000Z")]],
        );
        let times = relative_to("2026-06-15T12:00:00Z");
        assert_eq!(lines(&grid, View { times, ..PLAIN }).0, ["MADE", "2 hours ago"]);
        assert_eq!(lines(&grid, PLAIN).0[1], "2026-06-15T10:00:00.000Z");
        let mut out = Vec::new();
        item(&mut out, &grid, View { times, ..PLAIN }).unwrap();
        assert_eq!(out, b"made: 2026-06-15T10:00:00.000Z (2 hours ago)\n");
        let berlin = jiff::tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let times = Some(Times::Absolute(&berlin));
        assert_eq!(lines(&grid, View { times, ..PLAIN }).0, ["MADE", "2026-06-15 12:00:00"]);
        let mut out = Vec::new();
        item(&mut out, &grid, View { times, ..PLAIN }).unwrap();
        assert_eq!(out, b"made: 2026-06-15T10:00:00.000Z (2026-06-15 12:00:00)\n");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            width in 1_usize..220,
            cells in prop::collection::vec(prop::collection::vec(".{0,60}", 4), 1..6),
            heading in ".{0,20}",
        ) {
            let grid = Grid::of(
                vec![
                    column(&heading, Kind::Any),
                    column("b", Kind::Id),
                    column("c", Kind::Status),
                    column("d", Kind::Any),
                ],
                cells.iter().map(|row| row.iter().map(|cell| text(cell)).collect()).collect(),
            );
            let (shown, _) = lines(&grid, View { width: Some(width), ..PLAIN });
            prop_assert_eq!(shown.len(), cells.len() + 1, "a row is a line");
            for line in shown {
                prop_assert!(line.width() <= width, "{:?} in {}", line, width);
                prop_assert_eq!(&*one_line(&line), &*line);
            }
        }
    }
}
