//! Tables for people: aligned, within the terminal's width, one line an item.

use std::io::{self, Write};

use formsvc_table::Cell;
use unicode_width::UnicodeWidthStr;

use super::field::Kind;
use super::fit::{self, GAP, Wanted};
use super::grid::{Column, Grid};
use super::paint::{Paint, TextStyle};
use super::time::Times;
use crate::base::sanitize::one_line;
use crate::base::text::wrap_whole_words;
use crate::base::text::{truncate, truncate_id};

/// Widest a column gets where there is no terminal, whose width would bound it.
const COLUMN_MAX: usize = 100;

/// How a table is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// Cells beside each other; none where nothing bounds them.
    pub(super) width: Option<usize>,
    pub(super) paint: Paint,
    /// How instants are told, where not as they are.
    pub(super) times: Option<Times<'a>>,
}

/// A cell as it is shown.
struct Shown {
    text: String,
    look: TextStyle,
    cut: Cut,
}

/// Where a text gives way.
#[derive(Clone, Copy, Debug)]
enum Cut {
    End,
    Middle,
}

/// Writes the list, and nothing where there is no item. Returns the number of columns that had no room.
///
/// Reads the rows twice, once to measure the columns and once to write, so that they are never all in
/// memory with all their columns.
pub(super) fn list(out: &mut dyn Write, grid: &Grid<'_>, view: View<'_>) -> io::Result<usize> {
    if grid.is_empty() {
        return Ok(0);
    }
    let order = order(&grid.columns);
    let columns: Vec<&Column> = order.iter().map(|at| &grid.columns[*at]).collect();
    let headings: Vec<String> =
        columns.iter().map(|column| one_line(&column.name).to_uppercase()).collect();
    let shown = |row: &[Cell<'_>]| -> Vec<Shown> {
        columns.iter().zip(&order).map(|(column, at)| view.shown(column, &row[*at])).collect()
    };
    let mut measured = vec![Measured::default(); columns.len()];
    for row in grid.rows() {
        for ((measured, at), shown) in measured.iter_mut().zip(&order).zip(shown(&row)) {
            measured.add(&row[*at], shown.text.width());
        }
    }
    let to_the_right: Vec<bool> = measured.iter().map(|column| column.is_numbers()).collect();
    let wanted: Vec<Wanted> = columns
        .iter()
        .zip(&headings)
        .zip(&measured)
        .map(|((column, heading), measured)| Wanted {
            cells: match column.kind {
                Kind::Mark if view.width.is_some() => measured.widest().min(fit::ID_MAX),
                _ => measured.widest(),
            },
            heading: heading.width(),
            whole: column.kind.is_whole() || measured.is_numbers(),
        })
        .collect();
    let widths: Vec<Option<usize>> = match view.width {
        Some(width) => fit::widths(&wanted, width, fit::READABLE),
        None => columns
            .iter()
            .zip(&wanted)
            .map(|(column, wanted)| Some(unbounded(column.kind, *wanted)))
            .collect(),
    };
    let heading: Vec<Shown> = headings
        .into_iter()
        .zip(&widths)
        .map(|(text, width)| Shown {
            text: shorter(text, *width),
            look: TextStyle::Heading,
            cut: Cut::End,
        })
        .collect();
    writeln!(out, "{}", line(&heading, &widths, &to_the_right, view.paint))?;
    for row in grid.rows() {
        writeln!(out, "{}", line(&shown(&row), &widths, &to_the_right, view.paint))?;
    }
    Ok(widths.iter().filter(|width| width.is_none()).count())
}

/// Measurements of a column's cells.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    width: usize,
    has_numbers: bool,
    has_others: bool,
}

impl Measured {
    fn add(&mut self, cell: &Cell<'_>, width: usize) {
        self.width = self.width.max(width);
        if !cell.text.is_empty() {
            let is_number =
                !cell.free && cell.text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
            self.has_numbers |= is_number;
            self.has_others |= !is_number;
        }
    }

    fn widest(self) -> usize {
        self.width.max(1)
    }

    /// True if the column has numbers and nothing else.
    fn is_numbers(self) -> bool {
        self.has_numbers && !self.has_others
    }
}

/// How wide a column is where there is no terminal.
fn unbounded(kind: Kind, column: Wanted) -> usize {
    let is_whole = column.whole || kind.is_copied();
    if is_whole { column.all() } else { column.all().min(COLUMN_MAX) }
}

/// A heading that says the same in less, where it would be cut: `CREATED` for `CREATED_AT`, `PUBLIC` for
/// `PUBLIC_ID`.
fn shorter(heading: String, width: Option<usize>) -> String {
    match heading.strip_suffix("_AT").or_else(|| heading.strip_suffix("_ID")) {
        Some(short) if width.is_some_and(|width| heading.width() > width) => short.to_owned(),
        _ => heading,
    }
}

/// The places of the columns as a table has them.
fn order(columns: &[Column]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|at| columns[*at].last_in_tables);
    order
}

fn line(row: &[Shown], widths: &[Option<usize>], to_the_right: &[bool], paint: Paint) -> String {
    let (mut line, mut space) = (String::new(), 0);
    for ((cell, width), right) in row.iter().zip(widths).zip(to_the_right) {
        let Some(width) = width else { continue };
        let text = match cell.cut {
            Cut::End => truncate(&cell.text, *width),
            Cut::Middle => truncate_id(&cell.text, *width),
        };
        let left_over = width.saturating_sub(text.width());
        let (before, after) = if *right { (left_over, 0) } else { (0, left_over) };
        space += before;
        // Space is not painted, and none stands at the end of a line.
        if !text.is_empty() {
            line.push_str(&" ".repeat(space));
            line.push_str(&paint.put(cell.look, &text));
            space = 0;
        }
        space += if text.is_empty() { left_over - before } else { after } + GAP;
    }
    line
}

impl View<'_> {
    /// A text in lines that fit beside a label, broken between words. A longer word is whole, to be copied.
    pub(super) fn broken(self, text: &str, label: usize) -> Vec<String> {
        let room = self.width.map(|width| width.saturating_sub(label));
        match room.filter(|room| *room >= fit::READABLE) {
            Some(room) => wrap_whole_words(text, room),
            None => vec![text.to_owned()],
        }
    }

    fn shown(self, column: &Column, cell: &Cell<'_>) -> Shown {
        let mut text = one_line(&cell.text).into_owned();
        let mut look = TextStyle::Plain;
        match column.kind {
            Kind::Status => look = TextStyle::for_word(&text),
            Kind::Time => {
                if let Some(told) = self.times.and_then(|times| times.told(&text)) {
                    text = told;
                }
            }
            Kind::Recent => {
                if let Some(told) = self.times.and_then(|times| times.told_short(&text)) {
                    text = told;
                }
            }
            Kind::Any | Kind::Id | Kind::Mark | Kind::Address | Kind::Object => {}
        }
        let cut = if column.kind == Kind::Mark { Cut::Middle } else { Cut::End };
        Shown { text, look, cut }
    }
}

/// One item, a line for each of its fields that has something in it. Instants are told both ways: there
/// is room.
pub(super) fn item(out: &mut dyn Write, grid: &Grid<'_>, view: View<'_>) -> io::Result<()> {
    let names: Vec<String> =
        grid.columns.iter().map(|column| format!("{}:", one_line(&column.name))).collect();
    for row in grid.rows() {
        let filled = names.iter().zip(&row).filter(|(_, cell)| !cell.text.is_empty());
        let widest = filled.map(|(name, _)| name.width()).max().unwrap_or(0);
        for ((column, name), cell) in grid.columns.iter().zip(&names).zip(&row) {
            if cell.text.is_empty() {
                continue;
            }
            let Shown { text, look, .. } = view.shown(column, cell);
            let label = view.paint.put(TextStyle::Heading, name);
            let space = " ".repeat(widest - name.width() + 1);
            let exact = one_line(&cell.text);
            let times = view.times.filter(|_| matches!(column.kind, Kind::Time | Kind::Recent));
            let lines = match times.and_then(|times| times.told_whole(&exact)) {
                Some(told) => vec![format!("{exact} ({told})")],
                // Whoever copies it has it whole: a terminal breaks it by itself.
                None if column.kind.is_copied() => vec![text],
                None => view.broken(&text, widest + 1),
            };
            for (at, line) in lines.iter().enumerate() {
                let before =
                    if at == 0 { format!("{label}{space}") } else { " ".repeat(widest + 1) };
                let line = view.paint.put(look, line);
                writeln!(out, "{}", format!("{before}{line}").trim_end())?;
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
        Column { name: name.to_owned(), kind, last_in_tables: false }
    }

    fn lines(grid: &Grid<'_>, view: View<'_>) -> (Vec<String>, usize) {
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
        let mut id = column("id", Kind::Id);
        id.last_in_tables = true;
        Grid::of(
            vec![
                id,
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
    fn columns_are_aligned_and_numbers_to_the_right() {
        assert_eq!(
            lines(&forms(), PLAIN).0,
            [
                "TITLE                 STATUS     ANSWERS  ID",
                "漢字 and more         draft            7  frm_1",
                "a title that is long  closed       -1200  frm_22",
                "[31mred               published           frm_3",
            ]
        );
    }

    #[test]
    fn a_text_can_be_read_before_there_is_a_column_further_right() {
        let at = |width| lines(&forms(), View { width: Some(width), ..PLAIN });
        let (narrow, hidden) = at(45);
        assert_eq!(narrow[2], "a title that is long  closed       -1200");
        assert_eq!(hidden, 1);
        let (narrow, hidden) = at(20);
        assert_eq!(narrow[..3], ["TITLE", "漢字 and more", "a title that is long"]);
        assert_eq!(hidden, 3);
        assert_eq!(at(12).0[2], "a title tha…", "alone it is cut after all");
    }

    #[test]
    fn a_stranger_s_long_id_hides_no_other_and_ids_are_there_before_what_is_further_right() {
        fn row<'a>(id: &'a str, count: &'a str) -> Vec<Cell<'a>> {
            vec![text("signature_mismatch"), text(id), number(count)]
        }
        let id = |end: char| format!("sub_{}{end}", "0".repeat(31));
        let (one, two) = (id('1'), id('2'));
        let long = format!("sub_{}9", "x".repeat(195));
        let columns = || {
            vec![column("verdict", Kind::Status), column("id", Kind::Mark), column("n", Kind::Any)]
        };
        let grid = |last| Grid::of(columns(), vec![row(&one, "1"), row(last, "2")]);
        let at = |grid: &Grid<'_>, width| lines(grid, View { width, ..PLAIN }).0;
        let wide = at(&grid(&long), Some(200));
        assert!(wide[1].contains(&one), "{wide:?}");
        assert!(wide[2].contains(&format!("sub_…{}9", "x".repeat(34))), "{wide:?}");
        assert!(at(&grid(&long), None)[2].contains(&long), "whole where nobody looks");
        let narrow = at(&grid(&two), Some(50));
        assert!(narrow[1].contains("sub_…") && narrow[1].contains("0001  1"), "{narrow:?}");
        assert!(narrow[2].contains("0002  2"), "{narrow:?}");
        assert_eq!(lines(&grid(&two), View { width: Some(44), ..PLAIN }).1, 1, "not the id");
    }

    #[test]
    fn a_heading_is_cut_before_what_stands_under_it_and_says_what_it_can() {
        let grid = Grid::of(
            vec![column("created_at", Kind::Time), column("bill_length_mm", Kind::Any)],
            vec![vec![text("2026-06-15T11:59:59Z"), number("50.2")]],
        );
        let times = relative_to("2026-06-15T12:00:00Z");
        let at = |width| lines(&grid, View { width: Some(width), times, ..PLAIN }).0;
        assert_eq!(at(26)[0], "CREATED_AT  BILL_LENGTH_MM");
        assert_eq!(at(18), ["CREATED   BILL_LE…", "just now      50.2"]);
    }

    #[test]
    fn a_status_is_painted_and_the_space_around_it_is_not() {
        let painted = lines(&forms(), View { paint: Paint(true), ..PLAIN }).0;
        assert!(painted[0].starts_with("\u{1b}[1mTITLE\u{1b}[0m  "), "{painted:?}");
        assert!(painted[2].contains("  \u{1b}[2mclosed\u{1b}[0m  "), "{painted:?}");
    }

    #[test]
    fn instants_are_told_from_now_in_lists_and_both_ways_in_items() {
        let grid = Grid::of(
            vec![column("made", Kind::Time)],
            vec![vec![text("2026-06-15T10:00:00.000Z")]],
        );
        let times = relative_to("2026-06-15T12:00:00Z");
        assert_eq!(lines(&grid, View { times, ..PLAIN }).0, ["MADE", "2 hours ago"]);
        let recent = Grid::of(vec![column("made", Kind::Recent)], grid.rows().collect());
        assert_eq!(lines(&recent, View { times, ..PLAIN }).0, ["MADE", "2h ago"]);
        assert_eq!(lines(&grid, PLAIN).0[1], "2026-06-15T10:00:00.000Z");
        let mut out = Vec::new();
        item(&mut out, &grid, View { times, ..PLAIN }).unwrap();
        assert_eq!(out, b"made: 2026-06-15T10:00:00.000Z (2 hours ago)\n");
        let berlin = jiff::tz::TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let times = Some(Times::Absolute(&berlin));
        assert_eq!(lines(&grid, View { times, ..PLAIN }).0, ["MADE", "2026-06-15 12:00:00"]);
        let mut out = Vec::new();
        item(&mut out, &grid, View { times, ..PLAIN }).unwrap();
        assert_eq!(out, b"made: 2026-06-15T10:00:00.000Z (2026-06-15 12:00:00 +02:00)\n");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal_whatever_stands_in_it(
            width in 1_usize..220,
            cells in prop::collection::vec(prop::collection::vec(".{0,60}", 4), 1..6),
            heading in ".{0,20}",
        ) {
            let grid = Grid::of(
                vec![
                    column(&heading, Kind::Any),
                    column("b", Kind::Id),
                    column("c", Kind::Status),
                    column("d", Kind::Mark),
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
