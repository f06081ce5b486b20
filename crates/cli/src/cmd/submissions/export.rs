//! `formsvc submissions export`

use std::io::{self, Stdout, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use formsvc_client::{Completeness, PAGE_SIZE_MAX, TieOverflow};
use formsvc_export::{
    Destination, Existing, ExportError, FORMATS, Format, Operation, Options, Written, export,
    writer,
};
use indicatif::HumanCount;

use crate::args::whole;
use crate::context::Context;
use crate::error::{CliError, MISSING_UNKNOWN};
use crate::exit::Exit;
use crate::form_ref;
use crate::message::Message;
use crate::output::Harmless;
use crate::progress::took;

/// Write all submissions of a form to a file or to standard output
///
/// Newest first. A file appears under its name only when it is complete; an interrupted or failed
/// export leaves the old file, or none.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions export penguins -o penguins.csv\n  formsvc --demo submissions export anes96 --format ndjson\n  formsvc --demo submissions export naughty --format csv --formula-guard off"
)]
pub(crate) struct Export {
    /// The form: its id, public id, exact title, or the beginning of either id
    form: String,
    /// The format [default: by the ending of the output's name, else csv]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatArg>,
    /// The output; `-` is standard output
    #[arg(short, long = "out", value_name = "PATH|-", default_value = "-")]
    out: PathBuf,
    /// Refuse to replace an existing file
    #[arg(long)]
    no_clobber: bool,
    /// In CSV, put an apostrophe before text that a spreadsheet would run as a formula
    #[arg(long, value_name = "on|off", default_value = "on")]
    formula_guard: Switch,
    /// Where more submissions share a second or a millisecond than a page can show, keep the others, list
    /// these times and end with exit 9
    #[arg(long)]
    allow_incomplete: bool,
    /// Submissions a request, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(1..=100))]
    page_size: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// A row of the table of formats, as an argument.
#[derive(Clone, Copy, Debug)]
struct FormatArg(Format);

impl ValueEnum for FormatArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatArg; FORMATS.len()] = {
            let mut all = [FormatArg(Format::Csv); FORMATS.len()];
            let mut at = 0;
            while at < FORMATS.len() {
                all[at] = FormatArg(FORMATS[at].format);
                at += 1;
            }
            all
        };
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let row = FORMATS.iter().find(|row| row.format == self.0)?;
        Some(PossibleValue::new(row.name).help(row.about))
    }
}

impl Export {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let format = self.format()?;
        // Opened first: an output that cannot be written should not cost a single request.
        let destination = self.destination(cx)?;
        let guard = matches!(self.formula_guard, Switch::On);
        let options = Options { format, formula_guard: guard };
        let writer = writer(destination, options).map_err(|error| self.failed(error))?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        cx.progress.begin();
        let list = client.form(form.id).submissions().page_size(self.page_size);
        let pages = list.allow_incomplete(self.allow_incomplete).pages();
        let progress = |at: formsvc_export::Progress<'_>| {
            cx.progress.submissions(at.submissions, at.reached);
        };
        let advice = || larger_pages(self.page_size, &format!("--page-size {PAGE_SIZE_MAX}"));
        let written = export(pages, writer, progress)
            .await
            .map_err(|error| self.failed(error).hint_larger_pages(advice()))?;
        cx.progress.end();
        cx.progress.report(summary(&written, self.file(), cx.progress.elapsed()));
        incomplete(&written.tie_overflows).map_err(|error| error.hint_larger_pages(advice()))
    }

    /// As asked for, or as the output's name says; CSV if it says nothing. A name that says
    /// something else is a mistake that would be noticed only when the file is opened.
    fn format(&self) -> Result<Format, CliError> {
        let by_name = Format::from_path(&self.out);
        if let Some(format) = self.format.map(|FormatArg(format)| format).or(by_name) {
            return Ok(format);
        }
        let special = self.out.metadata().is_ok_and(|metadata| !metadata.is_file());
        if self.file().is_none() || self.out.extension().is_none() || special {
            return Ok(Format::Csv);
        }
        let known: Vec<&str> = FORMATS.iter().flat_map(|row| row.extensions).copied().collect();
        let what = format!("unknown format for `{}`", self.out.display());
        Err(CliError::usage(what)
            .hint(format!("use `--format`, or one of the endings .{}", known.join(", ."))))
    }

    /// The output's path; `None` for standard output, by whatever name.
    fn file(&self) -> Option<&Path> {
        let is_standard_output = STANDARD_OUTPUT.iter().any(|name| self.out == Path::new(name));
        (!is_standard_output).then_some(&self.out)
    }

    /// The error, and what it means for what is there now.
    fn failed(&self, error: ExportError) -> CliError {
        if self.file().is_none() && !matches!(error, ExportError::Output { .. }) {
            return CliError::from(error).hint_too(match self.format() {
                // It waits until all columns are known.
                Ok(Format::Csv) => "nothing was written to standard output",
                _ => "what was written to standard output is not complete",
            });
        }
        let left = if matches!(error, ExportError::Output { operation: Operation::Spool, .. }) {
            "CSV waits there until all its columns are known, and nothing was written yet: let TMPDIR name \
             a folder with room, or write to a file with -o"
        } else if self.file().is_some() {
            "no output was left behind; the export can be repeated"
        } else {
            "what was written to standard output is not complete"
        };
        CliError::from(error).hint_if_none(left)
    }

    fn destination(&self, cx: &Context) -> Result<Destination<'static>, CliError> {
        let Some(path) = self.file() else {
            let (out, progress) = (io::stdout(), cx.progress.clone());
            return Ok(if cx.settings.terminal.stdout {
                let begins = Some(move || progress.share_terminal());
                Destination::stream(Box::new(Harmless::new(StandardOutput { out, begins })))
            } else {
                let begins = Some(move || progress.step_aside());
                Destination::stream(Box::new(StandardOutput { out, begins }))
            });
        };
        let existing = if self.no_clobber { Existing::Keep } else { Existing::Replace };
        let destination = Destination::file(path, existing)?;
        cx.abort.removes(destination.working_files());
        Ok(destination)
    }
}

/// The names of standard output. The last three would be opened as files of their own, from their
/// beginning, which is not what `>>` asks for.
const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Standard output, and what happens before the first that is written to it. A moving line may be there
/// until then: CSV comes at once at the end, and that can be a while.
struct StandardOutput<F> {
    out: Stdout,
    begins: Option<F>,
}

impl<F: FnOnce()> Write for StandardOutput<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(begins) = self.begins.take() {
            begins();
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn summary(written: &Written, file: Option<&Path>, elapsed: Duration) -> Message {
    let columns = match written.columns {
        0 => String::new(),
        columns => format!(", {}", counted(columns as u64, "column")),
    };
    let place = file.map_or(String::new(), |file| format!(" → {}", file.display()));
    let guarded = match written.guarded_cells {
        0 => String::new(),
        cells => format!(
            "; {} guarded against formulas (--formula-guard off keeps them)",
            counted(cells, "cell")
        ),
    };
    let (submissions, time) = (counted(written.submissions, "submission"), took(elapsed));
    let complete = match written.completeness {
        Completeness::Proven => "yes",
        Completeness::Incomplete => "no",
        _ => "unproven",
    };
    let doubt = if complete == "yes" { String::new() } else { format!("; complete: {complete}") };
    let text = format!("{submissions}{columns}{place} in {time}{guarded}{doubt}");
    let message = Message::info(text)
        .with("submissions", written.submissions)
        .with("columns", written.columns)
        .with("guarded_cells", written.guarded_cells)
        .with("seconds", elapsed.as_secs_f64())
        .with("complete", complete);
    match file {
        Some(file) => message.with("file", file.display().to_string()),
        None => message,
    }
}

/// Advice to request pages of the largest size with `flag`; `None` if they have that size already.
pub(in crate::cmd) fn larger_pages(page_size: u32, flag: &str) -> Option<String> {
    (page_size < PAGE_SIZE_MAX).then(|| format!("request larger pages with `{flag}`"))
}

/// The end of a run that was allowed to leave submissions out: exit 9 if it did.
pub(in crate::cmd) fn incomplete(overflows: &[TieOverflow]) -> Result<(), CliError> {
    /// Units that are listed one by one.
    const LISTED_MAX: usize = 20;
    if overflows.is_empty() {
        return Ok(());
    }
    let what = "the result is incomplete: more submissions share a unit of the service's cursor than a \
                page can show";
    let error = CliError::new(Exit::DataPolicy, what);
    let error = overflows
        .iter()
        .take(LISTED_MAX)
        .fold(error, |error, overflow| error.cause(format!("{overflow}; {MISSING_UNKNOWN}")));
    Err(match overflows.len().checked_sub(LISTED_MAX) {
        Some(more @ 1..) => error.cause(format!("and {more} more")),
        _ => error,
    })
}

fn counted(number: u64, what: &str) -> String {
    format!("{} {what}{}", HumanCount(number), if number == 1 { "" } else { "s" })
}
