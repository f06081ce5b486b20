//! Tables for people: aligned, within the terminal's width, one line an item.

use std::io::{self, Write};

use anstyle::Style;
use comfy_table::{ColumnConstraint, Row, Table, Width, presets};
use formsvc_export::Cell;
use unicode_width::UnicodeWidthStr;

use super::listing::{Column, Grid};
use crate::sanitize::one_line;

/// Width when there is no terminal to ask.
const WIDTH_DEFAULT: u16 = 80;
/// Widest a column gets; an identifier of the service fits.
const COLUMN_MAX: usize = 40;
/// Space between columns.
const GAP: u16 = 2;

pub(super) fn terminal_width() -> u16 {
    terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| width.0.max(20))
}

/// The list; columns that do not fit are left out from the right, and counted.
/// Nothing where there is no item: a heading over nothing tells nobody anything.
pub(super) fn list(out: &mut dyn Write, grid: &Grid<'_>, width: u16) -> io::Result<()> {
    if grid.rows.is_empty() {
        return Ok(());
    }
    let mut headings: Vec<String> =
        grid.columns.iter().map(|column| one_line(&column.name).to_uppercase()).collect();
    let mut rows: Vec<Vec<String>> = grid.rows.iter().map(|row| sanitized(row)).collect();
    for cells in rows.iter_mut().chain([&mut headings]) {
        let last = grid.columns.iter().filter(|column| column.last_in_tables).count();
        let last = last.min(cells.len());
        cells.rotate_left(last);
    }
    let widths = fitting(&headings, &rows, usize::from(width));
    let shown = widths.len();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    // Widths are settled here; the library aligns, and shortens what is too long.
    table.set_width(width.saturating_add(GAP));
    table.set_truncation_indicator("…");
    let one_high = |cells: &[String]| {
        let mut row = Row::from(&cells[..shown]);
        row.max_height(1);
        row
    };
    table.set_header(one_high(&headings));
    for row in &rows {
        table.add_row(one_high(row));
    }
    for (column, width) in table.column_iter_mut().zip(widths) {
        column.set_padding((0, GAP));
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + GAP)));
    }
    let bold = Style::new().bold();
    for (at, line) in table.lines().enumerate() {
        let line = line.trim_end();
        if at == 0 {
            writeln!(out, "{bold}{line}{bold:#}")?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    let hidden = grid.columns.len() - shown;
    if hidden > 0 {
        let (dim, s) = (Style::new().dimmed(), if hidden == 1 { "" } else { "s" });
        writeln!(out, "{dim}({hidden} more column{s}: use --output json or csv){dim:#}")?;
    }
    Ok(())
}

fn sanitized(row: &[Cell<'_>]) -> Vec<String> {
    row.iter().map(|cell| one_line(&cell.text).into_owned()).collect()
}

/// The widths of the columns that fit beside each other, from the left; always at least one.
fn fitting(headings: &[String], rows: &[Vec<String>], width: usize) -> Vec<u16> {
    let (mut fitting, mut used) = (Vec::new(), 0);
    for (at, heading) in headings.iter().enumerate() {
        let widest = rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.width()).max();
        let natural = widest.unwrap_or(0).max(heading.width()).clamp(1, COLUMN_MAX);
        if used + natural > width && at > 0 {
            break;
        }
        let column = natural.min(width);
        used += column + usize::from(GAP);
        fitting.push(u16::try_from(column).expect("a column is at most 40 wide"));
    }
    fitting
}

/// One item, a line for each of its fields.
pub(super) fn item(out: &mut dyn Write, grid: &Grid<'_>) -> io::Result<()> {
    let bold = Style::new().bold();
    let widest = grid.columns.iter().map(|column| column.name.width()).max().unwrap_or(0) + 1;
    for row in &grid.rows {
        for (Column { name, .. }, value) in grid.columns.iter().zip(row) {
            let name = format!("{name}:");
            writeln!(out, "{bold}{name:widest$}{bold:#} {}", one_line(&value.text))?;
        }
    }
    Ok(())
}

/// Items on a line each, as they come: no widths to align them to are known.
pub(super) fn line(out: &mut dyn Write, grid: &Grid<'_>, _width: u16) -> io::Result<()> {
    for row in &grid.rows {
        writeln!(out, "{}", sanitized(row).join("  "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::field::Kind;

    fn text(text: impl Into<String>) -> Cell<'static> {
        Cell { text: text.into().into(), free: true }
    }

    fn shown(width: u16) -> Vec<String> {
        let column =
            |name: &str| Column { name: name.to_owned(), kind: Kind::Any, last_in_tables: false };
        let grid = Grid {
            columns: ["id", "title", "status"].map(column).to_vec(),
            rows: vec![
                vec![text("frm_1"), text("漢字 and\nmore"), text("draft")],
                vec![text("frm_22"), text("x".repeat(60)), text("\u{1b}[31mred")],
            ],
        };
        let mut out = Vec::new();
        list(&mut out, &grid, width).unwrap();
        let text = anstream::adapter::strip_bytes(&out).into_vec();
        String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn columns_are_aligned_and_long_text_is_shortened() {
        let long = format!("frm_22  {}…  [31mred", "x".repeat(39));
        assert_eq!(
            shown(80),
            [
                format!("ID      {:40}  STATUS", "TITLE"),
                format!("frm_1   漢字 and more{}  draft", " ".repeat(27)),
                long
            ]
        );
    }

    #[test]
    fn columns_that_do_not_fit_are_counted_not_squeezed() {
        assert_eq!(
            shown(30),
            ["ID", "frm_1", "frm_22", "(2 more columns: use --output json or csv)"]
        );
        assert!(shown(50).iter().all(|line| line.width() <= 50), "{:?}", shown(50));
    }
}
