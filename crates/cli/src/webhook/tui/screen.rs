//! What a terminal is told: what is different from what stands on it.

use std::fmt::Write as _;

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Color, Modifier};

/// Attributes, and what turns each on.
const ATTRIBUTES: [(Modifier, u8); 4] =
    [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::UNDERLINED, 4), (Modifier::REVERSED, 7)];
/// The colours that text has, and what turns each on. All of the sixteen, so that every theme has them.
const COLORS: [(Color, u8); 3] = [(Color::Red, 31), (Color::Green, 32), (Color::Yellow, 33)];

/// What stands on a terminal.
#[derive(Debug, Default)]
pub(super) struct Screen(Buffer);

impl Screen {
    /// Nothing of it is known any more: all of it is drawn anew.
    pub(super) fn forget(&mut self) {
        self.0 = Buffer::default();
    }

    /// What makes it look like this, with the cursor there.
    pub(super) fn change(&mut self, next: Buffer, cursor: Option<Position>) -> String {
        let mut out = String::from("\u{1b}[?25l");
        if self.0.area != next.area {
            // Cleared, so that whatever a terminal makes of another size is gone.
            out.push_str("\u{1b}[0m\u{1b}[2J");
            self.0 = Buffer::empty(next.area);
        }
        let (mut at, mut style) = (None, None);
        for (x, y, cell) in self.0.diff(&next) {
            if at != Some((x, y)) {
                move_to(&mut out, x, y);
            }
            let sgr = sgr(cell);
            if style.as_ref() != Some(&sgr) {
                out.push_str(&sgr);
                style = Some(sgr);
            }
            out.push_str(cell.symbol());
            // Of anything but ASCII terminals think differently how wide it is.
            at = cell.symbol().is_ascii().then(|| (x + 1, y));
        }
        if style.is_some() {
            out.push_str("\u{1b}[0m");
        }
        if let Some(Position { x, y }) = cursor {
            move_to(&mut out, x, y);
            out.push_str("\u{1b}[?25h");
        }
        self.0 = next;
        out
    }
}

/// A buffer of so many columns and rows.
pub(super) fn blank((width, height): (u16, u16)) -> Buffer {
    Buffer::empty(Rect::new(0, 0, width, height))
}

fn move_to(out: &mut String, x: u16, y: u16) {
    // Writing to a text does not fail.
    let _ = write!(out, "\u{1b}[{};{}H", y + 1, x + 1);
}

fn sgr(cell: &Cell) -> String {
    let mut sgr = String::from("\u{1b}[0");
    let attributes = ATTRIBUTES.iter().filter(|(attribute, _)| cell.modifier.contains(*attribute));
    let color = COLORS.iter().find(|(color, _)| *color == cell.fg);
    let codes = attributes.map(|(_, code)| code).chain(color.map(|(_, code)| code));
    for code in codes {
        // Writing to a text does not fail.
        let _ = write!(sgr, ";{code}");
    }
    sgr.push('m');
    sgr
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::Style;

    use super::*;

    fn shown(terminal: &vt100::Parser) -> Vec<String> {
        let columns = terminal.screen().size().1;
        let rows = terminal.screen().rows(0, columns.into());
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    #[test]
    fn a_terminal_shows_what_the_buffer_has_after_any_change() {
        let [rows, columns] = [3, 12].map(|size| std::num::NonZeroU16::new(size).unwrap());
        let mut terminal = vt100::Parser::new(rows, columns, 0);
        let mut screen = Screen::default();
        for lines in [
            ["one", "漢字 two", ""],
            ["one", "a漢 two", "x❤é"],
            ["", "", "            "],
            ["漢漢漢漢漢漢", "abcdefghijkl", "1"],
        ] {
            let mut next = blank((12, 3));
            for (y, line) in (0..).zip(lines) {
                next.set_stringn(0, y, line, 12, Style::new());
            }
            let bytes = screen.change(next, None);
            terminal.process(bytes.as_bytes());
            assert_eq!(shown(&terminal), lines.map(str::trim_end));
        }
        let same = screen.0.clone();
        assert_eq!(screen.change(same, None), "\u{1b}[?25l", "what stands there is not told again");
    }

    #[test]
    fn looks_are_attributes_and_colours_of_the_sixteen() {
        let mut cell = Cell::new("x");
        assert_eq!(sgr(&cell), "\u{1b}[0m");
        cell.set_style(
            Style::new().fg(Color::Red).add_modifier(Modifier::BOLD | Modifier::REVERSED),
        );
        assert_eq!(sgr(&cell), "\u{1b}[0;1;7;31m");
    }

    #[test]
    fn the_cursor_is_shown_where_somebody_types() {
        let mut screen = Screen::default();
        let bytes = screen.change(blank((12, 3)), Some(Position::new(4, 2)));
        assert!(bytes.ends_with("\u{1b}[3;5H\u{1b}[?25h"), "{bytes:?}");
    }
}
