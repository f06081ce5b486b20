//! What the reader of standard output sees. Only data goes there.

mod harmless;
mod listing;
mod table;

use std::io::{self, BufWriter, Write};

use anstream::AutoStream;

pub(crate) use harmless::Harmless;
pub(crate) use listing::{Listing, text};

use crate::args::{Color, OutputFormat};
use crate::error::CliError;
use crate::settings::Settings;

/// Standard output, in the format that was asked for.
pub(crate) struct Output {
    format: OutputFormat,
    color: Color,
    width: u16,
    terminal: bool,
}

impl Output {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            format: settings.output,
            color: settings.color,
            width: table::terminal_width(),
            terminal: settings.terminal.stdout,
        }
    }

    /// Shows a list.
    pub(crate) fn list(&self, listing: &Listing) -> Result<(), CliError> {
        self.write(|out| match self.format {
            OutputFormat::Table => table::list(out, listing, self.width),
            OutputFormat::Json => listing.write_json(out),
            OutputFormat::Ndjson => listing.write_ndjson(out),
            OutputFormat::Csv => listing.write_csv(out),
            OutputFormat::Tsv => listing.write_tsv(out),
        })
    }

    /// Shows the one item of a listing.
    pub(crate) fn item(&self, listing: &Listing) -> Result<(), CliError> {
        self.write(|out| match self.format {
            OutputFormat::Table => table::item(out, listing),
            OutputFormat::Json | OutputFormat::Ndjson => listing.write_ndjson(out),
            OutputFormat::Csv => listing.write_csv(out),
            OutputFormat::Tsv => listing.write_tsv(out),
        })
    }

    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
        // A stream that takes escapes out must not touch what is data: only tables have colours.
        let written = if self.format == OutputFormat::Table {
            let mut out = BufWriter::new(AutoStream::new(io::stdout().lock(), choice(self.color)));
            write(&mut out).and_then(|()| out.flush())
        } else if self.terminal {
            let mut out = Harmless::new(BufWriter::new(io::stdout().lock()));
            write(&mut out).and_then(|()| out.flush())
        } else {
            let mut out = BufWriter::new(io::stdout().lock());
            write(&mut out).and_then(|()| out.flush())
        };
        written.map_err(|error| CliError::stdout(&error))
    }
}

/// Our word for when to use colours, in the library's.
pub(crate) fn choice(color: Color) -> anstream::ColorChoice {
    match color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    }
}
