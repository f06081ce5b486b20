//! What the reader of standard output sees. Only data goes there.

mod detail;
mod field;
mod formats;
mod harmless;
mod listing;
mod select;
mod stream;
mod table;

use std::io::{self, BufWriter, Write};

use anstream::AutoStream;

pub(crate) use detail::Detail;
pub(crate) use field::Field;
pub(crate) use harmless::Harmless;
pub(crate) use listing::Listing;
pub(crate) use stream::Stream;

use crate::args::{Color, OutputFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::Settings;

/// Standard output, in the format that was asked for.
pub(crate) struct Output {
    /// The fields that were asked for with `--json`.
    fields: Option<String>,
    format: OutputFormat,
    color: Color,
    width: u16,
    terminal: bool,
}

impl Output {
    pub(crate) fn new(settings: &Settings) -> Self {
        let format = match (&settings.json.fields, settings.json.format) {
            (Some(_), format) => format.unwrap_or(OutputFormat::Json),
            (None, _) => settings.output,
        };
        Self {
            fields: settings.json.fields.clone(),
            format,
            color: settings.color,
            width: table::terminal_width(),
            terminal: settings.terminal.stdout,
        }
    }

    /// The output of a command whose data is in this format wherever nobody looks at it, unless
    /// another was asked for.
    pub(crate) fn piped_as(format: OutputFormat, settings: &Settings) -> Self {
        let mut output = Self::new(settings);
        if output.format == OutputFormat::Tsv && settings.json.format.is_none() {
            output.format = format;
        }
        output
    }

    /// Whether the items are shown to a person, as they are.
    pub(crate) fn is_for_reading(&self) -> bool {
        self.format == OutputFormat::Table && self.fields.is_none()
    }

    /// Something to fill with items that have these fields. Call it before anything is asked of the
    /// service: a wrong field costs no request then, and `--json` without a value ends here, with
    /// the names of the fields.
    pub(crate) fn listing(&self, fields: &'static [Field]) -> Result<Listing, CliError> {
        let picks = match self.fields.as_deref() {
            None => None,
            Some("") => {
                self.write(|out| {
                    fields.iter().try_for_each(|field| writeln!(out, "{}", field.name))
                })?;
                return Err(CliError::silent(Exit::Done));
            }
            Some(asked) => Some(select::picks(asked, fields)?),
        };
        Ok(Listing::new(fields, picks))
    }

    /// Shows a list.
    pub(crate) fn list(&self, listing: &Listing) -> Result<(), CliError> {
        self.write(|out| match self.format {
            OutputFormat::Table => table::list(out, &listing.grid(), self.width),
            OutputFormat::Json => formats::json(out, listing),
            OutputFormat::Ndjson => formats::ndjson(out, listing),
            OutputFormat::Csv => formats::csv(out, &listing.grid(), true),
            OutputFormat::Tsv => formats::tsv(out, &listing.grid()),
        })
    }

    /// Shows the one item of a listing.
    pub(crate) fn item(&self, listing: &Listing) -> Result<(), CliError> {
        self.write(|out| match self.format {
            OutputFormat::Table => table::item(out, &listing.grid()),
            OutputFormat::Json | OutputFormat::Ndjson => formats::ndjson(out, listing),
            OutputFormat::Csv => formats::csv(out, &listing.grid(), true),
            OutputFormat::Tsv => formats::tsv(out, &listing.grid()),
        })
    }

    /// Shows a JSON document as it came.
    pub(crate) fn document(&self, json: &str) -> Result<(), CliError> {
        self.write(|out| writeln!(out, "{}", json.trim_end()))
    }

    /// Writes bytes at once: exactly in a pipe, harmless on a terminal.
    pub(crate) fn exactly(&self, bytes: &[u8]) -> Result<(), CliError> {
        let mut out = io::stdout().lock();
        let written = if self.terminal {
            Harmless::new(BufWriter::new(&mut out)).write_all(bytes)
        } else {
            out.write_all(bytes)
        };
        written.and_then(|()| out.flush()).map_err(|error| CliError::stdout(&error))
    }

    /// Shows one submission to a person, long answers whole.
    pub(crate) fn detail(&self, detail: &Detail<'_>) -> Result<(), CliError> {
        self.write(|out| detail.write(out, self.width))
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
