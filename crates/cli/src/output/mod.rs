//! Data on standard output, in all formats.
//!
//! A command defines its [`Field`]s, fills a [`Listing`] with items and prints it as a list or as one item.
//! This module does the rest: columns, `--json`, `--jq`, `--template`, times, colours, the pager, and the
//! sanitizing of data for a terminal.

mod answer_columns;
mod detail;
mod document;
mod field;
mod fit;
mod formats;
mod grid;
mod jq;
mod listing;
mod live;
mod options;
pub(crate) mod pager;
mod paint;
pub(crate) mod progress;
pub(crate) mod prompt;
mod select;
mod stream;
mod table;
mod template;
mod time;
mod writing;

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, OnceLock};

pub(crate) use detail::{Detail, Finding};
pub(crate) use document::pretty;
pub(crate) use field::Field;
pub(crate) use jq::Jq;
pub(crate) use listing::{Listing, check_list_size, to_json};
pub(crate) use live::{ItemPrinter, Live};
pub(crate) use options::OutputOptions;
pub(crate) use options::{Color, Json, OutputFormat, TimeStyle};
pub(crate) use paint::{TextStyle, is_dumb};
pub(crate) use select::labels;
pub(crate) use stream::Stream;

use jiff::tz::TimeZone;

use self::paint::has_colors;
use self::table::View;
use self::template::{Shape, Template, TemplateOutput};
use self::time::Times;
use self::writing::Screen;
use crate::base::env::{self, Lookup};
use crate::base::shell::quoted;
use crate::base::text::count;
use crate::base::when;
use crate::error::CliError;
use crate::error::ErrorFormat;
use crate::error::message::Message;
use crate::exit::Exit;

/// Largest number of dropped columns that the report of a table names.
const NAMED_COLUMNS_MAX: usize = 5;

/// Standard output in the requested format.
#[derive(Clone)]
pub(crate) struct Output {
    json: Json,
    format: OutputFormat,
    /// True if no flag or setting chose the format.
    is_default: bool,
    screen: Screen,
    quiet: bool,
    times: TimeStyle,
    /// The local time zone; `None` without a terminal.
    zone: Option<TimeZone>,
    error_format: ErrorFormat,
    /// The expression of `--jq`. Its compilation takes longer than its run on a submission.
    compiled: OnceLock<Arc<Jq>>,
}

/// The program of `--jq` or `--template`, which prints the JSON in place of an output format.
enum Program {
    Jq(Arc<Jq>),
    Template(Template),
}

impl Output {
    pub(crate) fn new(options: &OutputOptions, env: Lookup<'_>) -> Self {
        let json = options.json.clone();
        let default = match (&json.fields, options.format) {
            (Some(_), _) => OutputFormat::Json,
            (None, Some(format)) => format,
            (None, None) if options.stdout_is_terminal => OutputFormat::Table,
            (None, None) => OutputFormat::Tsv,
        };
        Self {
            format: json.format.unwrap_or(default),
            is_default: options.format.is_none() && json.fields.is_none(),
            json,
            screen: Screen::new(options, env),
            quiet: options.quiet,
            times: options.time_style,
            zone: options.stdout_is_terminal.then(when::zone),
            error_format: options.error_format,
            compiled: OnceLock::new(),
        }
    }

    /// Returns this output with another default format for standard output that is not a terminal. A format
    /// from a flag or a setting takes precedence.
    pub(crate) fn piped_as(&self, format: OutputFormat) -> Self {
        let mut output = self.clone();
        if output.is_default && output.format != OutputFormat::Table {
            output.format = format;
        }
        output
    }

    /// Returns true if the output is a table or text for people.
    pub(crate) fn is_for_reading(&self) -> bool {
        self.format == OutputFormat::Table && !self.selects()
    }

    /// Returns true if items are printed as a table, CSV or TSV, with a column for each field.
    pub(crate) fn has_columns(&self) -> bool {
        !matches!(self.format, OutputFormat::Json | OutputFormat::Ndjson) && !self.selects()
    }

    /// Returns true if `--json`, `--jq` or `--template` select from the data.
    fn selects(&self) -> bool {
        let Json { fields, jq, template, .. } = &self.json;
        fields.is_some() || jq.is_some() || template.is_some()
    }

    /// Returns true if an option names the format or the fields of the output.
    pub(crate) fn is_requested(&self) -> bool {
        !self.is_default || self.selects()
    }

    /// Returns an empty listing of items with these fields. Call it before the first request: it checks the
    /// fields, the expression and the template. `--json` without a value prints the fields and ends the command.
    pub(crate) fn listing(&self, fields: &'static [Field]) -> Result<Listing, CliError> {
        self.check_flags()?;
        let picks = match self.json.fields.as_deref() {
            None => None,
            Some("") => {
                let mut names = fields.iter().map(|field| field.name);
                self.screen.data(true, |out| {
                    written(names.try_for_each(|name| writeln!(out, "{name}")))
                })?;
                return Err(CliError::silent(Exit::Done));
            }
            Some(list) => Some(select::picks(list, fields)?),
        };
        let mut listing = Listing::new(fields, picks);
        let is_plain = self.json.jq.is_none() && self.json.template.is_none();
        if self.format == OutputFormat::Ndjson && is_plain && !self.screen.pages() {
            listing.stream_to(self.screen.clone());
        }
        let mut names = vec!["items", "item"];
        names.extend(listing.names());
        self.program(Some(&names))?;
        Ok(listing)
    }

    pub(crate) fn list(&self, listing: &Listing) -> Result<(), CliError> {
        self.warn_of_missing_labels(listing);
        if let Some(program) = self.program(None)? {
            let items: Vec<_> = listing.json().collect();
            return self.run(&program, &format!("[{}]", items.join(",")), Shape::List);
        }
        match self.format {
            OutputFormat::Table => {
                let mut text = Vec::new();
                let grid = listing.grid();
                let dropped = written(table::list(&mut text, &grid, self.view()))?;
                self.screen.painted(&text)?;
                self.report_dropped(&grid.columns[0].field, &dropped);
                Ok(())
            }
            OutputFormat::Json => self.json(|out| formats::json(out, listing)),
            _ => self.rows(listing),
        }
    }

    /// Prints a list if a flag or a setting chose the format of the output.
    pub(crate) fn list_if_requested(&self, listing: &Listing) -> Result<(), CliError> {
        if self.is_requested() { self.list(listing) } else { Ok(()) }
    }

    /// Prints the only item of a listing.
    pub(crate) fn item(&self, listing: &Listing) -> Result<(), CliError> {
        self.warn_of_missing_labels(listing);
        let item = listing.json().next().unwrap_or_default();
        if let Some(program) = self.program(None)? {
            return self.run(&program, &item, Shape::Item);
        }
        match self.format {
            OutputFormat::Table => {
                let mut lines = Vec::new();
                written(table::item(&mut lines, &listing.grid(), self.view()))?;
                self.screen.painted(&lines)
            }
            OutputFormat::Json => self.json(|out| formats::ndjson(out, listing)),
            _ => self.rows(listing),
        }
    }

    /// Prints items as NDJSON, CSV or TSV.
    fn rows(&self, listing: &Listing) -> Result<(), CliError> {
        self.text(|out| match self.format {
            OutputFormat::Csv => formats::csv(out, &listing.grid(), true),
            OutputFormat::Tsv => formats::tsv(out, &listing.grid()),
            _ => formats::ndjson(out, listing),
        })
    }

    /// Prints a JSON document unchanged, or the result of the expression or template. The document has no
    /// known fields, so `--json` cannot select any.
    pub(crate) fn document(&self, json: &str) -> Result<(), CliError> {
        let shape = if json.trim_start().starts_with('{') { Shape::Item } else { Shape::List };
        match self.program(None)? {
            Some(program) => self.run(&program, json, shape),
            None => self.text(|out| writeln!(out, "{}", json.trim_end())),
        }
    }

    /// Writes bytes unchanged to a pipe or file, and sanitized to a terminal.
    pub(crate) fn exactly(&self, bytes: &[u8]) -> Result<(), CliError> {
        self.screen.data(false, |out| written(out.write_all(bytes)))
    }

    /// Prints one submission for people, with complete answers.
    pub(crate) fn detail(&self, detail: &Detail<'_>) -> Result<(), CliError> {
        self.screen.painted(detail.text(self.view()).as_bytes())
    }

    /// Prints check results and their count by outcome. Prints nothing and returns false without a terminal
    /// or if another format was requested.
    pub(crate) fn findings(
        &self,
        findings: &[Finding<'_>],
        outcomes: &[&str],
    ) -> Result<bool, CliError> {
        if !(self.screen.terminal && self.is_for_reading()) {
            return Ok(false);
        }
        let text = detail::findings(findings, outcomes, self.view());
        self.screen.painted(text.as_bytes()).map(|()| true)
    }

    /// Checks that `--jq`, `--template` and `--output` do not contradict each other.
    pub(crate) fn check_flags(&self) -> Result<(), CliError> {
        let Json { jq, template, format, .. } = &self.json;
        let (program, other) = match (jq, template, format) {
            (Some(_), Some(_), _) => ("--jq", "--template"),
            (Some(_), _, Some(format)) if *format != OutputFormat::Json => ("--jq", "--output"),
            (_, Some(_), Some(_)) => ("--template", "--output"),
            _ => return Ok(()),
        };
        Err(CliError::usage(format!("`{program}` and `{other}` cannot be used together")))
    }

    /// Checks the expression or template of a command that prints documents, before the first request.
    /// `names` are the names that a template may use, if they are known.
    pub(crate) fn check_program(&self, names: Option<&[&str]>) -> Result<(), CliError> {
        if self.json.jq.is_some() && self.json.template.is_some() {
            self.check_flags()?;
        }
        self.program(names).map(drop)
    }

    fn program(&self, names: Option<&[&str]>) -> Result<Option<Program>, CliError> {
        Ok(match (&self.json.jq, &self.json.template) {
            (Some(code), _) => {
                if self.compiled.get().is_none() {
                    // An empty cell takes the value.
                    let _ = self.compiled.set(Arc::new(Jq::new(code)?));
                }
                self.compiled.get().cloned().map(Program::Jq)
            }
            (None, Some(text)) => {
                let environment = TemplateOutput {
                    terminal: self.screen.terminal,
                    paint: self.screen.paint,
                    now: time::now(),
                };
                Some(Program::Template(Template::new(text, names, environment)?))
            }
            (None, None) => None,
        })
    }

    /// Prints the result of an expression or a template for a document.
    fn run(&self, program: &Program, json: &str, shape: Shape) -> Result<(), CliError> {
        match program {
            Program::Jq(jq) => {
                let pretty = self.screen.terminal;
                self.screen.data(true, |out| jq.run(json, pretty, out))
            }
            // The template has sanitized the data. Other escape sequences come from the template itself.
            Program::Template(template) => {
                let text = template.render(json, shape).map_err(CliError::of_expression)?;
                self.screen.painted(text.as_bytes())
            }
        }
    }

    fn text(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
        if self.screen.pages() {
            let mut text = Vec::new();
            written(write(&mut text))?;
            return self.screen.sanitized(&text);
        }
        self.screen.data(false, |out| written(write(out)))
    }

    /// Prints a JSON document: unchanged in a pipe, indented on a terminal.
    fn json(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
        if !self.screen.terminal {
            return self.text(write);
        }
        let mut json = Vec::new();
        written(write(&mut json))?;
        let indented = pretty(&json);
        self.text(|out| out.write_all(indented.as_deref().map_or(&json[..], str::as_bytes)))
    }

    fn view(&self) -> View<'_> {
        View {
            width: self.screen.width,
            paint: self.screen.paint,
            // Pipes and files get RFC 3339, because they may be read later or in another time zone.
            times: self.zone.as_ref().map(|zone| match self.times {
                TimeStyle::Relative => Times::Relative(time::now()),
                TimeStyle::Absolute => Times::Absolute(zone),
            }),
        }
    }

    /// Warns about requested labels that no item has. Without the warning, a misspelled label would look like
    /// an empty answer, because both are null.
    fn warn_of_missing_labels(&self, listing: &Listing) {
        if self.quiet {
            return;
        }
        for name in listing.missing_labels() {
            let text = format!("none of the items has `{name}`");
            Message::warning(text).print(self.error_format);
        }
    }

    /// Reports the dropped columns of a table on standard error, as a value of `--json` that begins with the `first`
    /// column.
    fn report_dropped(&self, first: &str, dropped: &[String]) {
        if dropped.is_empty() || self.quiet {
            return;
        }
        let advice = if dropped.len() > NAMED_COLUMNS_MAX {
            "--output csv prints all".to_owned()
        } else {
            format!("--json {}", quoted(&format!("{first},{}", dropped.join(","))))
        };
        let text = format!("+{}: {advice}", count(dropped.len() as u64, "column"));
        Message::info(text).with("hidden_columns", dropped.len()).print(self.error_format);
    }
}

fn written<T>(result: io::Result<T>) -> Result<T, CliError> {
    result.map_err(|error| CliError::stdout(&error))
}

/// Writes text to standard error in one write, so that output of other programs does not appear inside it.
pub(crate) fn to_stderr(
    color: Color,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    let choice = choice(color, &io::stderr());
    if choice == anstream::ColorChoice::Never {
        return io::stderr().lock().write_all(&anstream::adapter::strip_bytes(&text).into_vec());
    }
    anstream::AutoStream::new(io::stderr().lock(), choice).write_all(&text)
}

/// Decides whether a stream gets colours.
pub(crate) fn choice(color: Color, stream: &impl IsTerminal) -> anstream::ColorChoice {
    let has_colors = has_colors(color, &env::of_process, stream.is_terminal());
    if has_colors { anstream::ColorChoice::Always } else { anstream::ColorChoice::Never }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expression_is_compiled_once() {
        let json = Json { jq: Some(".id".to_owned()), ..Json::default() };
        let options = OutputOptions { json, ..OutputOptions::default() };
        let output = Output::new(&options, &|_| None);
        let [first, second] = [0, 1].map(|_| match output.program(None) {
            Ok(Some(Program::Jq(jq))) => jq,
            _ => panic!("the expression is valid"),
        });
        assert!(Arc::ptr_eq(&first, &second));
    }
}
