//! Standard output: a terminal with a width and a pager, or a pipe or file.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use anstream::{AutoStream, ColorChoice};

use super::pager::{self, Pager};
use super::paint::{Paint, has_colors, is_dumb};
use super::{OutputOptions, written};
use crate::base::env::{self, Lookup};
use crate::base::sanitize::SanitizingWriter;
use crate::error::CliError;

/// Least width of output on a terminal. Narrower tables would be useless.
const WIDTH_MIN: usize = 20;

/// The destination of standard output.
#[derive(Clone, Debug)]
pub(super) struct Screen {
    pub(super) terminal: bool,
    pub(super) paint: Paint,
    /// Cells in a line; `None` if the output has no width.
    pub(super) width: Option<usize>,
    /// The height of the screen, and the pager for longer output.
    pager: Option<(usize, Pager)>,
}

impl Screen {
    pub(super) fn new(options: &OutputOptions, env: Lookup<'_>) -> Self {
        let terminal = options.stdout_is_terminal;
        let size = terminal.then(|| terminal_size::terminal_size_of(io::stdout())).flatten();
        let (width, height) = size.map_or((None, None), |(width, height)| {
            (Some(usize::from(width.0)), Some(usize::from(height.0)))
        });
        let set = |name| env(name).and_then(|value| value.to_str()?.parse::<usize>().ok());
        let width = width.or_else(|| set(env::COLUMNS.name)).filter(|width| *width > 0);
        let chosen = options.pager_command.as_deref();
        let pager = (terminal && options.pager && !is_dumb(env))
            .then(|| Some((height.filter(|height| *height > 0)?, Pager::of(chosen, env)?)))
            .flatten();
        Self {
            terminal,
            paint: Paint(has_colors(options.color, env, terminal)),
            width: width.map(|width| width.max(WIDTH_MIN)),
            pager,
        }
    }

    /// Returns true if output can go through a pager. Callers must then pass the complete output in one call.
    pub(super) fn pages(&self) -> bool {
        self.pager.is_some()
    }

    /// Writes data unchanged to a pipe or file, and sanitized to a terminal. On a terminal, `at_once` flushes the
    /// output after each line.
    pub(super) fn data(
        &self,
        at_once: bool,
        write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let stdout = io::stdout().lock();
        if self.terminal {
            let mut out = SanitizingWriter::new(Lines { out: BufWriter::new(stdout), at_once });
            return write(&mut out).and_then(|()| written(out.flush()));
        }
        let mut out = BufWriter::new(stdout);
        write(&mut out).and_then(|()| written(out.flush()))
    }

    /// Writes text with escape sequences for styles, through the pager if the text is long. The caller must have
    /// sanitized the data in the text.
    pub(super) fn painted(&self, text: &[u8]) -> Result<(), CliError> {
        let text = self.in_colors(text);
        if self.paged(&text)? { Ok(()) } else { written(write_all(&text)) }
    }

    /// Like [`painted`](Self::painted), but never through a pager, for a command that prints more later.
    pub(super) fn unpaged(&self, text: &[u8]) -> Result<(), CliError> {
        written(write_all(&self.in_colors(text)))
    }

    /// Removes the escape sequences of styles if the output is a terminal without colours.
    fn in_colors<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.terminal && !self.paint.0 {
            return anstream::adapter::strip_bytes(text).into_vec().into();
        }
        text.into()
    }

    /// Sanitizes data and writes it, through the pager if it is long.
    pub(super) fn sanitized(&self, text: &[u8]) -> Result<(), CliError> {
        let mut shown = Vec::new();
        written(SanitizingWriter::new(&mut shown).write_all(text))?;
        if self.paged(&shown)? { Ok(()) } else { written(write_all(&shown)) }
    }

    /// Shows the text in the pager if the text is longer than the screen. Returns false if the text was not shown.
    fn paged(&self, text: &[u8]) -> Result<bool, CliError> {
        let Some((height, pager)) = &self.pager else { return Ok(false) };
        let rows = pager::rows(&String::from_utf8_lossy(text), self.width.unwrap_or(usize::MAX));
        // The last row of the screen is for the prompt of the shell.
        if rows < *height { Ok(false) } else { written(pager.show(text)) }
    }
}

/// Writes to standard output. Converts the escape sequences for old consoles on Windows.
fn write_all(text: &[u8]) -> io::Result<()> {
    let mut out = AutoStream::new(io::stdout().lock(), ColorChoice::Always);
    out.write_all(text).and_then(|()| out.flush())
}

/// A buffered writer that can flush after each line.
struct Lines<W: Write> {
    out: BufWriter<W>,
    at_once: bool,
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        if self.at_once && bytes.contains(&b'\n') {
            self.out.flush()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
