//! Events of a running command: lines for people, or NDJSON for programs.

use std::cmp::Ordering::{Equal, Greater, Less};

use super::paint::TextStyle;
use super::progress::Progress;
use super::template::Shape;
use super::{Field, Output, OutputFormat, Program, Stream, written};
use crate::base::sanitize::one_line;
use crate::base::text::truncate;
use crate::error::CliError;

/// Largest width of the warning about an item. The error of a template can contain a complete value.
const WARNING_MAX: usize = 400;
/// Maximum number of warnings about items. Any sender can cause one, and a write to a full pipe would block the command.
const WARNINGS_MAX: u32 = 20;

/// Prints each event when it occurs.
pub(crate) struct Live<'a> {
    output: &'a Output,
    program: Option<Program>,
    /// True if events are printed as JSON objects, false for lines.
    records: bool,
}

/// Prints items one by one: lines for people, JSON for programs.
pub(crate) enum ItemPrinter<'a> {
    Lines(Live<'a>),
    Json(Stream<'a>),
}

impl Output {
    /// Returns the printer of events. Call it before the first event: it checks the flags and the expression.
    pub(crate) fn live(&self) -> Result<Live<'_>, CliError> {
        self.check_flags()?;
        if let Some(OutputFormat::Csv | OutputFormat::Tsv) = self.json.format {
            return Err(CliError::usage("this command prints lines or JSON, not columns")
                .hint("`--output ndjson` prints one JSON object per line"));
        }
        let program = self.program(None)?;
        // CSV or TSV from a setting applies only to lists, and is ignored here.
        let json = matches!(self.format, OutputFormat::Json | OutputFormat::Ndjson);
        Ok(Live { output: self, records: json || program.is_some(), program })
    }

    /// Returns the printer of items with these fields.
    pub(crate) fn items(&self, fields: &'static [Field]) -> Result<ItemPrinter<'_>, CliError> {
        if self.is_for_reading() {
            return Ok(ItemPrinter::Lines(self.live()?));
        }
        Ok(ItemPrinter::Json(self.stream(fields)?))
    }
}

impl Live<'_> {
    /// Returns true if events are printed with [`record`](Self::record), and false if with [`lines`](Self::lines).
    pub(crate) fn is_for_programs(&self) -> bool {
        self.records
    }

    /// Returns the width of the terminal in cells; `None` without a terminal or if the width is unknown.
    pub(crate) fn width(&self) -> Option<usize> {
        self.output.screen.width.filter(|_| self.output.screen.terminal)
    }

    /// Sanitizes styled parts and prints several lines at once. Prints nothing with `--quiet`, or if events are printed
    /// as JSON.
    pub(crate) fn lines<'l, T: AsRef<str> + 'l>(
        &self,
        lines: impl IntoIterator<Item = &'l [(TextStyle, T)]>,
    ) -> Result<(), CliError> {
        if self.output.quiet || self.records {
            return Ok(());
        }
        let paint = self.output.screen.paint;
        let mut text = String::new();
        for line in lines {
            for (style, part) in line {
                let part = one_line(part.as_ref());
                paint.write(&mut text, *style, &part);
            }
            text.push('\n');
        }
        if text.is_empty() { Ok(()) } else { self.output.screen.unpaged(text.as_bytes()) }
    }

    /// Prints a JSON object on one line.
    pub(crate) fn record(&self, json: &str) -> Result<(), CliError> {
        match &self.program {
            Some(program) => self.output.run(program, json, Shape::Item),
            None => self.output.screen.data(true, |out| written(writeln!(out, "{json}"))),
        }
    }
}

impl Progress {
    /// Prints the error of `--jq` or `--template` as a warning that names the item, so that no item can end a command
    /// that waits for more items. Prints the first [`WARNINGS_MAX`] of them. Returns other errors, such as that of a failed write.
    pub(crate) fn warn_of_item(&self, item: &str, error: CliError) -> Result<(), CliError> {
        if !error.is_of_expression {
            return Err(error);
        }
        match self.count_failed_item().cmp(&WARNINGS_MAX) {
            Less => self.warn(&truncate(&format!("{item}: {}", error.brief()), WARNING_MAX)),
            Equal => self.warn("the expression fails on further items, which are not reported"),
            Greater => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::OutputOptions;
    use crate::output::options::Json;

    #[test]
    fn only_the_error_of_an_expression_becomes_a_warning() {
        let quiet = OutputOptions { quiet: true, ..OutputOptions::default() };
        let progress = Progress::new(&quiet, &|_| None);
        for (jq, template) in [(Some(".id.x"), None), (None, Some("{{ item.id / item }}"))] {
            let [jq, template] = [jq, template].map(|text| text.map(str::to_owned));
            let json = Json { jq, template, ..Json::default() };
            let output =
                Output::new(&OutputOptions { json, ..OutputOptions::default() }, &|_| None);
            let live = output.live().unwrap();
            let error = live.record(r#"{"id":1}"#).unwrap_err();
            progress.warn_of_item("capture 1", error).unwrap();
        }
        let error = CliError::usage("a wrong flag");
        assert!(progress.warn_of_item("capture 1", error).is_err());
    }
}
