//! What the reader of standard output sees. Only data goes there.
//!
//! A command names its [`Field`]s, fills a [`Listing`] with items as JSON, and shows it as a list or
//! as one item; everything else follows from that: columns, `--json`, `--jq`, `--template`, times,
//! colours, the pager, and that nothing in the data acts on a terminal.

mod answer_columns;
mod columns;
mod detail;
mod document;
pub(crate) mod editor;
mod field;
mod findings;
mod fit;
mod following;
mod formats;
mod grid;
mod help;
mod jq;
mod listing;
mod live;
mod options;
mod pager;
mod paint;
pub(crate) mod pretty;
pub(crate) mod progress;
pub(crate) mod prompt;
mod select;
mod stream;
mod table;
mod template;
mod time;
mod writing;

use std::io::{self, IsTerminal, Write};

pub(crate) use columns::{Column, Columns, ItemPrinter};
pub(crate) use detail::Detail;
pub(crate) use field::Field;
pub(crate) use findings::Finding;
pub(crate) use help::help;
pub(crate) use jq::Jq;
pub(crate) use listing::{Listing, to_json};
pub(crate) use live::Live;
pub(crate) use options::OutputOptions;
pub(crate) use options::{Color, Json, OutputFormat, TimeStyle};
pub(crate) use paint::{ColorRequest, TextStyle, is_dumb};
pub(crate) use select::labels;
pub(crate) use stream::Stream;

use jiff::tz::TimeZone;

use self::answer_columns::{IN_FILES, IN_TABLES};
use self::paint::Paint;
use self::table::View;
use self::template::{Shape, Surroundings, Template};
use self::time::Times;
use self::writing::Screen;
use crate::abort::Abort;
use crate::base::env::{self, Lookup};
use crate::base::when;
use crate::error::CliError;
use crate::error::ErrorFormat;
use crate::error::message::Message;
use crate::exit::Exit;
use crate::output::pretty::pretty;

/// Standard output, in the format that was asked for.
#[derive(Clone)]
pub(crate) struct Output {
    json: Json,
    format: OutputFormat,
    /// Whether nobody asked for the format.
    is_usual: bool,
    screen: Screen,
    quiet: bool,
    /// How a person is told times.
    times: TimeStyle,
    /// Where the person is; none where nobody looks at a terminal.
    zone: Option<TimeZone>,
    /// Colours on standard error.
    told: Paint,
    /// Format of messages on standard error.
    error_format: ErrorFormat,
    abort: Abort,
}

/// What is made of the JSON instead of a format.
enum Program {
    Jq(Jq),
    Template(Template),
}

impl Output {
    pub(crate) fn new(options: &OutputOptions, env: Lookup<'_>, abort: Abort) -> Self {
        let request = ColorRequest::new(options.color, env);
        let json = options.json.clone();
        let default = match (&json.fields, options.format) {
            (Some(_), _) => OutputFormat::Json,
            (None, Some(format)) => format,
            (None, None) if options.stdout_is_terminal => OutputFormat::Table,
            (None, None) => OutputFormat::Tsv,
        };
        Self {
            format: json.format.unwrap_or(default),
            is_usual: options.format.is_none() && json.fields.is_none(),
            json,
            screen: Screen::new(options, request, env),
            quiet: options.quiet,
            times: options.time_style,
            zone: options.stdout_is_terminal.then(when::zone),
            told: Paint(request.on(options.stderr_is_terminal)),
            error_format: options.error_format,
            abort,
        }
    }

    /// The output of a command whose data is in this format wherever nobody looks at it, unless
    /// another was asked for.
    pub(crate) fn piped_as(&self, format: OutputFormat) -> Self {
        let mut output = self.clone();
        if output.is_usual && output.format != OutputFormat::Table {
            output.format = format;
        }
        output
    }

    /// Whether the items are shown to a person, as they are.
    pub(crate) fn is_for_reading(&self) -> bool {
        let Json { fields, jq, template, .. } = &self.json;
        self.format == OutputFormat::Table && fields.is_none() && jq.is_none() && template.is_none()
    }

    /// True if the items are shown as a table, CSV or TSV, with a column for each field.
    pub(crate) fn has_columns(&self) -> bool {
        let Json { fields, jq, template, .. } = &self.json;
        let is_in_columns = match self.format {
            OutputFormat::Table | OutputFormat::Csv | OutputFormat::Tsv => true,
            OutputFormat::Json | OutputFormat::Ndjson => false,
        };
        is_in_columns && fields.is_none() && jq.is_none() && template.is_none()
    }

    /// Something to fill with items that have these fields. Call it before anything is asked of the
    /// service: a wrong field, expression or template costs no request then, and `--json` without a
    /// value ends here, with the names of the fields.
    pub(crate) fn listing(&self, fields: &'static [Field]) -> Result<Listing, CliError> {
        self.check_flags()?;
        let picks = match self.json.fields.as_deref() {
            None => None,
            Some("") => {
                let names = || fields.iter().map(|field| field.name);
                self.screen.data(true, |out| {
                    written(names().try_for_each(|name| writeln!(out, "{name}")))
                })?;
                return Err(CliError::silent(Exit::Done));
            }
            Some(asked) => Some(select::picks(asked, fields)?),
        };
        let listing = Listing::new(fields, picks);
        let mut names = vec!["items", "item"];
        names.extend(listing.names());
        self.program(Some(&names))?;
        Ok(listing)
    }

    /// Shows a list.
    pub(crate) fn list(&self, listing: Listing) -> Result<(), CliError> {
        self.tell_of_labels(&listing);
        match self.program(None)? {
            Some(Program::Jq(jq)) => return self.filtered(&jq, listing),
            Some(program) => {
                let items: Vec<_> = listing.json().collect();
                return self.made(&program, &format!("[{}]", items.join(",")), Shape::List);
            }
            None => {}
        }
        match self.format {
            OutputFormat::Table => {
                let grid = listing.grid(IN_TABLES);
                let hidden = self
                    .screen
                    .paint(&self.abort, |out| written(table::list(out, &grid, self.view())))?;
                self.tell_of_hidden(hidden, grid.labels_left_out);
                Ok(())
            }
            OutputFormat::Json => self.json(|out| formats::json(out, &listing)),
            OutputFormat::Ndjson => self.text(|out| formats::ndjson(out, &listing)),
            OutputFormat::Csv => self.text(|out| formats::csv(out, &listing.grid(IN_FILES), true)),
            OutputFormat::Tsv => self.text(|out| formats::tsv(out, &listing.grid(IN_FILES))),
        }
    }

    /// Shows a list if a flag or a setting chose the format of the output.
    pub(crate) fn list_if_requested(&self, listing: Listing) -> Result<(), CliError> {
        if self.is_requested() { self.list(listing) } else { Ok(()) }
    }

    /// Returns true if an option names the format or the fields of the output.
    pub(crate) fn is_requested(&self) -> bool {
        let Json { fields, jq, template, .. } = &self.json;
        !self.is_usual || fields.is_some() || jq.is_some() || template.is_some()
    }

    /// Shows the one item of a listing.
    pub(crate) fn item(&self, listing: &Listing) -> Result<(), CliError> {
        self.tell_of_labels(listing);
        let item = listing.json().next().unwrap_or_default();
        if let Some(program) = self.program(None)? {
            return self.made(&program, &item, Shape::Item);
        }
        match self.format {
            OutputFormat::Table => {
                let mut lines = Vec::new();
                written(table::item(&mut lines, &listing.grid(IN_FILES), self.view()))?;
                self.screen.painted(&lines, &self.abort)
            }
            OutputFormat::Json => self.json(|out| formats::ndjson(out, listing)),
            OutputFormat::Ndjson => self.text(|out| formats::ndjson(out, listing)),
            OutputFormat::Csv => self.text(|out| formats::csv(out, &listing.grid(IN_FILES), true)),
            OutputFormat::Tsv => self.text(|out| formats::tsv(out, &listing.grid(IN_FILES))),
        }
    }

    /// Shows a JSON document as it came, or what an expression or a template makes of it. It has no
    /// fields that are known, so that `--json` has nothing to choose from.
    pub(crate) fn document(&self, json: &str) -> Result<(), CliError> {
        match self.program(None)? {
            Some(program) if json.trim_start().starts_with('{') => {
                self.made(&program, json, Shape::Item)
            }
            Some(program) => self.made(&program, json, Shape::List),
            None => self.text(|out| writeln!(out, "{}", json.trim_end())),
        }
    }

    /// Writes bytes at once: exactly in a pipe, harmless on a terminal.
    pub(crate) fn exactly(&self, bytes: &[u8]) -> Result<(), CliError> {
        self.screen.data(false, |out| written(out.write_all(bytes)))
    }

    /// Shows one submission to a person, long answers whole.
    pub(crate) fn detail(&self, detail: &Detail<'_>) -> Result<(), CliError> {
        let mut lines = Vec::new();
        written(detail.write(&mut lines, self.view()))?;
        self.screen.painted(&lines, &self.abort)
    }

    /// Shows findings to a person who looks at a terminal, and how many there are of each outcome.
    /// False where nobody does: nothing was shown then.
    pub(crate) fn findings(
        &self,
        findings: &[Finding<'_>],
        outcomes: &[&str],
    ) -> Result<bool, CliError> {
        if !(self.screen.terminal && self.is_for_reading()) {
            return Ok(false);
        }
        let mut text = Vec::new();
        written(findings::write(&mut text, findings, outcomes, self.view()))?;
        self.screen.painted(&text, &self.abort)?;
        Ok(true)
    }

    /// Whether the flags that say what to make of the JSON go together. For commands that show no
    /// listing, before the first request.
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

    /// Refuses the flags that say what to make of data, for a command that shows none or in a form of
    /// its own: a flag that silently does nothing would be taken for one that did.
    pub(crate) fn refuse_flags(&self, hint: &str) -> Result<(), CliError> {
        let Json { fields, jq, template, format } = &self.json;
        let given = [
            (format.is_some(), "--output"),
            (fields.is_some(), "--json"),
            (jq.is_some(), "--jq"),
            (template.is_some(), "--template"),
        ];
        match given.iter().find(|(given, _)| *given) {
            Some((_, flag)) => {
                Err(CliError::usage(format!("this command does not take `{flag}`")).hint(hint))
            }
            None => Ok(()),
        }
    }

    /// Whether the expression or template can be read; `names` are what a template may use, where
    /// that is known. For commands that show documents, before the first request.
    pub(crate) fn check_program(&self, names: Option<&[&str]>) -> Result<(), CliError> {
        if self.json.jq.is_some() && self.json.template.is_some() {
            self.check_flags()?;
        }
        self.program(names).map(drop)
    }

    /// The expression or template, if there is one; `names` are what a template may use.
    fn program(&self, names: Option<&[&str]>) -> Result<Option<Program>, CliError> {
        Ok(match (&self.json.jq, &self.json.template) {
            (Some(code), _) => Some(Program::Jq(Jq::new(code)?)),
            (None, Some(text)) => {
                let surroundings = Surroundings {
                    terminal: self.screen.terminal,
                    paint: self.screen.paint,
                    width: self.screen.width,
                    now: time::now(),
                };
                Some(Program::Template(Template::new(text, names, surroundings)?))
            }
            (None, None) => None,
        })
    }

    /// Shows the results of a jq expression for the items of a listing.
    fn filtered(&self, jq: &Jq, listing: Listing) -> Result<(), CliError> {
        let _computing = self.abort.computing();
        let laid_out = self.screen.terminal;
        self.screen.data(true, |out| jq.run_array(listing.into_json(), laid_out, out))
    }

    /// Shows what an expression or a template makes of a document.
    fn made(&self, program: &Program, json: &str, shape: Shape) -> Result<(), CliError> {
        // It may calculate for ever, and then a signal ends the process.
        let _computing = self.abort.computing();
        match program {
            Program::Jq(jq) => {
                let laid_out = self.screen.terminal;
                self.screen.data(true, |out| jq.run(json, laid_out, out))
            }
            // Its data has been made harmless; what is left to act on a terminal is its own.
            Program::Template(template) => {
                self.screen.painted(template.render(json, shape)?.as_bytes(), &self.abort)
            }
        }
    }

    fn text(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
        if self.screen.pages() {
            let mut text = Vec::new();
            written(write(&mut text))?;
            return self.screen.harmless(&text, &self.abort);
        }
        self.screen.data(false, |out| written(write(out)))
    }

    /// A JSON document: exact, and on a terminal laid out for reading, each literal as it was spelled.
    fn json(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), CliError> {
        if !self.screen.terminal {
            return self.text(write);
        }
        let mut json = Vec::new();
        written(write(&mut json))?;
        let laid_out = pretty(&json);
        self.text(|out| out.write_all(laid_out.as_deref().map_or(&json[..], str::as_bytes)))
    }

    fn view(&self) -> View<'_> {
        View {
            width: self.screen.width,
            paint: self.screen.paint,
            // In a pipe and in files the instant itself: nobody knows when and where they are read.
            times: self.zone.as_ref().map(|zone| match self.times {
                TimeStyle::Relative => Times::Relative(time::now()),
                TimeStyle::Absolute => Times::Absolute(zone),
            }),
        }
    }

    /// Warns about requested labels that no item has: their values, all null, look like answers that
    /// were left empty.
    fn tell_of_labels(&self, listing: &Listing) {
        if self.quiet {
            return;
        }
        for (name, near) in listing.asked_in_vain() {
            let near = near.map_or_else(String::new, |near| format!(": {near}"));
            let text = format!("nothing that is shown has `{name}`{near}");
            Message::warning(text).print(self.error_format);
        }
    }

    /// Reports on standard error how many columns did not fit, and how many labels got none.
    fn tell_of_hidden(&self, hidden: usize, labels_left_out: usize) {
        let count = hidden + labels_left_out;
        if count > 0 && !self.quiet {
            let s = if count == 1 { "" } else { "s" };
            let chooses = match labels_left_out {
                0 => "--json FIELDS --output table",
                _ => "--columns LABELS",
            };
            let text = format!("{count} more column{s}: {chooses} chooses, --output csv has all");
            if self.error_format == ErrorFormat::Json {
                let message = Message::info(text).with("hidden_columns", count);
                return message.print(self.error_format);
            }
            let text = self.told.put(TextStyle::Dim, &format!("({text})")) + "\n";
            // A failed write to standard error cannot be reported anywhere.
            let _ = io::stderr().lock().write_all(text.as_bytes());
        }
    }
}

/// What became of writing to standard output.
fn written<T>(done: io::Result<T>) -> Result<T, CliError> {
    done.map_err(|error| CliError::stdout(&error))
}

/// Writes to standard error in one piece: what another program prints at the same time stands before or
/// after it.
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

/// Whether a stream gets colours, in the words of the library that writes them.
pub(crate) fn choice(color: Color, stream: &impl IsTerminal) -> anstream::ColorChoice {
    ColorRequest::new(color, &env::of_process).choice(stream.is_terminal())
}
