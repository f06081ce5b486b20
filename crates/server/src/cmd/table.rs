//! Tables for people: aligned, as wide as the terminal, one line a row.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::printable::Escaped;

/// Narrowest a column is made that can be cut.
const LEAST: usize = 8;
/// A cut column this wide is comfortable; before it gets narrower, the gaps do.
const COMFORT: usize = 20;

/// What becomes of a column whose text does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// It is shown whole: an id that was cut names nothing.
    Never,
    /// Its end is left out.
    End,
    /// A URL: its scheme is left out, then its middle.
    Url,
}

/// Rows of text under headings.
#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    columns: [(&'static str, Cut); N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(columns: [(&'static str, Cut); N]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    /// Adds a row, made safe to show.
    pub(super) fn row(&mut self, cells: [&str; N]) {
        self.rows.push(cells.map(|cell| Escaped(cell).to_string()));
    }

    /// The lines, none of them wider than asked for unless columns that are never cut are.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let natural = self.natural();
        let roomy = self.fit(width, 2, natural);
        let is_comfortable = (0..N).all(|at| roomy[at] >= natural[at].min(COMFORT));
        let (gap, widths) =
            if is_comfortable { (2, roomy) } else { (1, self.fit(width, 1, natural)) };
        let headings = self.columns.map(|(heading, _)| heading.to_owned());
        let rows = std::iter::once(&headings).chain(&self.rows);
        rows.map(|cells| self.line(cells, widths, gap)).collect()
    }

    fn line(&self, cells: &[String; N], widths: [usize; N], gap: usize) -> String {
        let mut line = String::new();
        for ((cell, width), (_, cut)) in cells.iter().zip(widths).zip(self.columns) {
            let cell = shortened(cell, width, cut);
            let pad = width.saturating_sub(cell.width()) + gap;
            // A string takes what is written to it.
            let _ = write!(line, "{cell}{:pad$}", "");
        }
        line.truncate(line.trim_end().len());
        line
    }

    /// What each column needs to show everything.
    fn natural(&self) -> [usize; N] {
        std::array::from_fn(|at| {
            let cells = self.rows.iter().map(|row| row[at].width());
            cells.chain([self.columns[at].0.width()]).max().unwrap_or(0)
        })
    }

    /// The widths in a line of a width: the widest that can be cut gives way first.
    fn fit(&self, width: usize, gap: usize, natural: [usize; N]) -> [usize; N] {
        let mut widths = natural;
        let room = width.saturating_sub(gap * N.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let can_give = |at: &usize| self.columns[*at].1 != Cut::Never && widths[*at] > LEAST;
            let Some(widest) = (0..N).filter(can_give).max_by_key(|at| widths[*at]) else { break };
            widths[widest] -= 1;
        }
        widths
    }
}

/// Text in a width; `…` stands for what is left out.
fn shortened(text: &str, width: usize, cut: Cut) -> String {
    if text.width() <= width || cut == Cut::Never {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    if cut == Cut::End {
        return format!("{}…", beginning(text, kept));
    }
    let text = text.split_once("://").map_or(text, |(_, rest)| rest);
    if text.width() <= width {
        return text.to_owned();
    }
    let end = kept / 2;
    format!("{}…{}", beginning(text, kept - end), ending(text, end))
}

/// As many characters from the beginning as a width has room for.
fn beginning(text: &str, width: usize) -> &str {
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.map(|end| &text[..end]).take_while(|part| part.width() <= width).last().unwrap_or("")
}

/// As many characters from the end.
fn ending(text: &str, width: usize) -> &str {
    let starts = text.char_indices().rev().map(|(at, _)| at);
    starts.map(|start| &text[start..]).take_while(|part| part.width() <= width).last().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "dlv_000003000000004d000000000000000c";

    fn table(url: &str, title: &str) -> Table<4> {
        let mut table = Table::new([
            ("STATE", Cut::Never),
            ("URL", Cut::Url),
            ("TITLE", Cut::End),
            ("ID", Cut::Never),
        ]);
        table.row(["retrying", url, title, ID]);
        table.row(["failed", "http://a/", "t", ID]);
        table
    }

    #[test]
    fn what_fits_is_aligned_and_whole() {
        let lines = table("https://example.org/hook", "Contact").lines(100);
        assert_eq!(
            lines,
            [
                "STATE     URL                       TITLE    ID".to_owned(),
                format!("retrying  https://example.org/hook  Contact  {ID}"),
                format!("failed    http://a/                 t        {ID}"),
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let hostile = "https://exämple.org/漢字漢字漢字?".to_owned() + &"x".repeat(2_000);
        for title in ["t", "漢字の長い題名はここで切られます", &"wide ".repeat(40)]
        {
            for width in [66, 80, 81, 120, 300] {
                let lines = table(&hostile, title).lines(width);
                assert!(lines.iter().all(|line| line.width() <= width), "{width} {lines:#?}");
                assert!(lines[1].ends_with(ID), "ids are never cut: {lines:#?}");
            }
        }
        let lines = table("https://example.org/hooks/forms/contact", "Contact").lines(80);
        assert_eq!(lines[1], format!("retrying  example.org…rms/contact  Contact  {ID}"));
    }

    #[test]
    fn a_cell_moves_no_cursor_and_adds_no_line() {
        let lines = table("https://a/\u{1b}[2J\u{202e}", "a\nb\tc").lines(200);
        assert_eq!(lines.len(), 3);
        assert!(lines[1].contains(r"a\nb\tc") && lines[1].contains(r"\u{1b}[2J\u{202e}"));
    }
}
