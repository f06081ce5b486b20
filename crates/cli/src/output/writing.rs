//! Standard output as it is: a terminal with a size and perhaps a pager, or something that takes
//! bytes.

use std::io::{self, BufWriter, Write};

use anstream::AutoStream;

use super::pager::{self, Pager};
use super::paint::{ColorRequest, Paint};
use super::{OutputOptions, written};
use crate::abort::Abort;
use crate::base::env::{self, Lookup};
use crate::base::sanitize::SanitizingWriter;
use crate::error::CliError;

/// Narrowest terminal that is believed: what says less has no size.
const WIDTH_MIN: usize = 20;

/// What stands behind standard output.
#[derive(Clone)]
pub(super) struct Screen {
    pub(super) terminal: bool,
    pub(super) paint: Paint,
    /// Cells in a line; none where nothing bounds it.
    pub(super) width: Option<usize>,
    /// Lines on the screen, and what shows more than they hold.
    pager: Option<(usize, Pager)>,
}

impl Screen {
    pub(super) fn new(options: &OutputOptions, request: ColorRequest, env: Lookup<'_>) -> Self {
        let terminal = options.stdout_is_terminal;
        let size = terminal.then(|| terminal_size::terminal_size_of(io::stdout())).flatten();
        let (width, height) = size.map_or((None, None), |(width, height)| {
            (Some(usize::from(width.0)), Some(usize::from(height.0)))
        });
        let set = |name| env(name).and_then(|value| value.to_str()?.parse::<usize>().ok());
        let width = width.or_else(|| set(env::COLUMNS.name)).filter(|width| *width > 0);
        let chosen = options.pager_command.as_deref();
        let pager = (terminal && options.pager && !request.is_dumb())
            .then(|| Some((height.filter(|height| *height > 0)?, Pager::of(chosen, env)?)))
            .flatten();
        Self {
            terminal,
            paint: Paint(request.on(terminal)),
            width: width.map(|width| width.max(WIDTH_MIN)),
            pager,
        }
    }

    /// Whether output may go through a pager, for which all of it must be there.
    pub(super) fn pages(&self) -> bool {
        self.pager.is_some()
    }

    /// Writes data as it comes: exact, except on a terminal.
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

    /// Writes text that was made for a terminal: what stands in it has been made harmless, and what
    /// paints it is ours.
    pub(super) fn painted(&self, text: &[u8], abort: &Abort) -> Result<(), CliError> {
        let shown = self.as_painted(text);
        if self.paged(&shown, abort)? {
            return Ok(());
        }
        self.write_painted(&shown)
    }

    /// As [`painted`](Self::painted), written as it is made, unless a pager needs all of it.
    pub(super) fn paint<T>(
        &self,
        abort: &Abort,
        write: impl FnOnce(&mut dyn Write) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        if self.pages() {
            let mut text = Vec::new();
            let done = write(&mut text)?;
            self.painted(&text, abort)?;
            return Ok(done);
        }
        let mut out: Box<dyn Write> = if self.terminal || self.paint.0 {
            Box::new(BufWriter::new(AutoStream::new(io::stdout().lock(), self.choice())))
        } else {
            Box::new(BufWriter::new(io::stdout().lock()))
        };
        let done = write(&mut *out)?;
        written(out.flush()).map(|()| done)
    }

    fn choice(&self) -> anstream::ColorChoice {
        if self.paint.0 { anstream::ColorChoice::Always } else { anstream::ColorChoice::Never }
    }

    /// As [`painted`](Self::painted), for a command that goes on: never through a pager.
    pub(super) fn unpaged(&self, text: &[u8]) -> Result<(), CliError> {
        self.write_painted(&self.as_painted(text))
    }

    fn as_painted(&self, text: &[u8]) -> Vec<u8> {
        if self.paint.0 { text.to_vec() } else { unpainted(self.terminal, text) }
    }

    fn write_painted(&self, shown: &[u8]) -> Result<(), CliError> {
        if self.terminal || self.paint.0 {
            let mut out = BufWriter::new(AutoStream::new(io::stdout().lock(), self.choice()));
            return written(out.write_all(shown).and_then(|()| out.flush()));
        }
        let mut out = BufWriter::new(io::stdout().lock());
        written(out.write_all(shown).and_then(|()| out.flush()))
    }

    /// Writes data that is there as a whole, made harmless.
    pub(super) fn harmless(&self, text: &[u8], abort: &Abort) -> Result<(), CliError> {
        let mut shown = Vec::new();
        written(SanitizingWriter::new(&mut shown).write_all(text))?;
        if self.paged(&shown, abort)? {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        written(out.write_all(&shown).and_then(|()| out.flush()))
    }

    /// Shows the text in the pager, if there is one and the screen is too short for it.
    fn paged(&self, text: &[u8], abort: &Abort) -> Result<bool, CliError> {
        let Some((height, pager)) = &self.pager else { return Ok(false) };
        let rows = pager::rows(&String::from_utf8_lossy(text), self.width.unwrap_or(usize::MAX));
        // The last line is the shell's.
        if rows < *height {
            return Ok(false);
        }
        let _lent = abort.terminal_lent();
        written(pager.show(text))
    }
}

/// Without escapes on a terminal that is to have none; exact elsewhere.
fn unpainted(terminal: bool, text: &[u8]) -> Vec<u8> {
    if terminal { anstream::adapter::strip_bytes(text).into_vec() } else { text.to_vec() }
}

/// Writes each line at once, where what comes may take its time.
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
