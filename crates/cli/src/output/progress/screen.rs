//! Standard error as the moving line sees it: a terminal that is a little narrower than it is.

use std::io::{self, Write};
use std::time::Instant;

use indicatif::TermLike;

/// Cells at the end of a line that stay free. A moving line fills what it takes for the width; what the
/// terminal echoes of Ctrl-C (`^C`) then stands on the same line and goes away with it, instead of
/// beginning the next one.
const FREE: u16 = 3;
/// Width and height where nobody says them.
const SIZE: (u16, u16) = (80, 24);

/// Standard error, a terminal on which nothing appears before an instant.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) from: Instant,
}

impl Screen {
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        if Instant::now() < self.from {
            return Ok(());
        }
        io::stderr().lock().write_all(bytes)
    }

    /// Moves the cursor; no number of cells would be one.
    fn moved(&self, cells: usize, direction: char) -> io::Result<()> {
        if cells == 0 {
            return Ok(());
        }
        self.write(format!("\u{1b}[{cells}{direction}").as_bytes())
    }
}

fn size() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or(SIZE, |(width, height)| (width.0, height.0))
}

/// Cells of a moving line.
pub(super) fn width() -> u16 {
    size().0.saturating_sub(FREE).max(1)
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        width()
    }

    fn height(&self) -> u16 {
        size().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'D')
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.write(format!("{s}\n").as_bytes())
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.write(s.as_bytes())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write(b"\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}
