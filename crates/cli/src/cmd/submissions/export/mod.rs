//! `formsvc submissions export`

mod dry_run;
mod failure;
mod format_options;
mod output;
mod run;
mod stored;
mod typed;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use formsvc_client::event::SkippedItem;
use formsvc_export::{FileFormat, Output};
use tokio::time::Instant;

pub(super) use failure::explain_stopped;
pub(super) use format_options::{stored_json, time_zone};
pub(super) use output::with_waits;
pub(super) use run::spools;

use self::format_options::{FormatOptions, check_options};
use self::run::Run;
use super::database::DatabaseSource;
use super::range::Range;
use super::{counted, first_causes};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};
use crate::settings::args::{duration, whole};

/// Export the submissions of a form to a file or to standard output
///
/// Newest first. Submissions are saved while they are received, so that the same command continues an
/// export that was interrupted. A file appears under its name only when it is complete; until then
/// the previous file is unchanged. `ndjson` and `json` to standard output are written as they arrive and
/// cannot be continued.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions export penguins -o penguins.csv\n  formsvc --demo submissions export anes96 --format ndjson\n  formsvc --demo submissions export penguins --since 30d -o recent.csv.gz\n  formsvc --demo submissions export --all --limit 1000 -o exports"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag without a value")]
pub(crate) struct Export {
    /// The forms: id, public id, exact title, or the beginning of either id
    #[arg(value_name = "FORM", required_unless_present = "all")]
    forms: Vec<String>,
    /// Export every form that the key can read into the folder `--out`
    #[arg(long, conflicts_with = "forms", requires = "out")]
    all: bool,
    /// The output; a folder for several forms; `-` is standard output
    #[arg(short, long, value_name = "PATH|-", default_value = "-")]
    out: PathBuf,
    /// Refuse to replace an existing file
    #[arg(long)]
    no_clobber: bool,
    #[command(flatten)]
    range: Range,
    /// Export this many of the newest submissions at most
    #[arg(short = 'L', long, value_name = "N", value_parser = whole::<u64>(1..=u64::MAX))]
    limit: Option<u64>,
    #[command(flatten)]
    options: FormatOptions,
    /// Write one file per month of UTC into the folder `--out` [formats: parquet]
    #[arg(
        long,
        value_name = "UNIT",
        conflicts_with = "all",
        requires = "out",
        hide_short_help = true
    )]
    partition: Option<Partition>,
    #[command(flatten)]
    source: DatabaseSource,
    /// With `--from`: include submissions that are marked as deleted
    #[arg(long, requires = "from", hide_short_help = true)]
    include_deleted: bool,
    /// Discard the submissions that an unfinished export saved, and start over
    #[arg(long, conflicts_with = "from")]
    fresh: bool,
    /// Stop after this time with exit 8; the same command continues
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "from")]
    max_time: Option<Duration>,
    /// Write NAME.manifest.json beside the file: form, range, rows, requests, SHA-256, completeness
    #[arg(long, conflicts_with = "from")]
    manifest: bool,
    /// Estimate the requests and the time, and export nothing
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,
    /// Leave out invalid submissions, those beyond 100 with the same time, and those that the database of `--from`
    /// lacks, and end with exit 9
    #[arg(long)]
    allow_incomplete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Partition {
    /// Files such as `2026-01.parquet`
    Month,
}

impl Export {
    pub(crate) async fn run(mut self, cx: &Context) -> Result<(), CliError> {
        let deadline = cx.deadline(self.max_time);
        self.options.read_column_map()?;
        cx.until(deadline, Box::pin(self.run_until(cx, deadline))).await
    }

    async fn run_until(&self, cx: &Context, deadline: Option<Instant>) -> Result<(), CliError> {
        let bounds = self.range.bounds(cx)?;
        let format = self.format()?;
        self.check(format)?;
        // Opened first, so that an output that cannot be written costs no request.
        let is_single = !self.is_to_folder() && !self.dry_run;
        let output = is_single.then(|| self.output(cx, self.file())).transpose()?;
        if let Some(database) = self.source.open(cx).await? {
            return self.export_stored(cx, &database, output, format, &bounds).await;
        }
        let client = cx.client().await?;
        let (forms, unusable) = self.find_forms(cx).await?;
        let run = Run { cx, args: self, client, bounds: &bounds, format, deadline };
        if self.dry_run {
            for form in &forms {
                run.report_estimate(form).await?;
            }
            return Ok(());
        }
        run.export_forms(forms, output).await?;
        if unusable.is_empty() {
            return Ok(());
        }
        let count = counted(unusable.len() as u64, "form");
        let what = format!(
            "the result is incomplete: {count} of the list cannot be exported without an id"
        );
        Err(first_causes(CliError::new(Exit::DataPolicy, what), &unusable))
    }

    /// Finds the forms. Also returns the forms of `--all` that have no usable id.
    async fn find_forms(
        &self,
        cx: &Context,
    ) -> Result<(Vec<FormMatch>, Vec<SkippedItem>), CliError> {
        if self.all {
            return Ok(form_ref::all(&cx.forms().await?));
        }
        let mut forms: Vec<FormMatch> = Vec::new();
        for name in &self.forms {
            let form = form_ref::resolve(cx, name).await?;
            if forms.iter().all(|known| known.id != form.id) {
                forms.push(form);
            }
        }
        Ok((forms, Vec::new()))
    }

    /// Exports each form to its path. `output` is the open output of a single form. In a folder, a form that
    /// fails because of its data does not stop the others.
    async fn export_each<F>(
        &self,
        cx: &Context,
        mut output: Option<Output<'static>>,
        forms: impl IntoIterator<Item = (Option<PathBuf>, F)>,
        mut export: impl AsyncFnMut(F, Option<&Path>, Output<'static>) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let mut failure: Option<CliError> = None;
        for (path, form) in forms {
            let path = path.as_deref();
            let output = output.take().map_or_else(|| self.output(cx, path), Ok)?;
            match (export(form, path, output).await, path) {
                // A form id `..` gives `Usage`.
                (Err(error), Some(path))
                    if self.is_to_folder()
                        && matches!(error.exit, Exit::DataPolicy | Exit::Usage) =>
                {
                    failure = Some(match failure {
                        None => error,
                        Some(first) => {
                            first.cause(format!("{}: {}", path.display(), error.brief()))
                        }
                    });
                }
                (result, _) => result?,
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn is_to_folder(&self) -> bool {
        self.all || self.forms.len() > 1
    }

    /// Returns true if pages are written as they arrive, without saved submissions.
    fn is_streamed(&self, format: FileFormat) -> bool {
        self.file().is_none() && !format.format.is_table()
    }

    /// Checks flags that do not go together.
    fn check(&self, format: FileFormat) -> Result<(), CliError> {
        check_options(format.format)?;
        let is_stdout = self.file().is_none();
        let streams = self.is_streamed(format);
        let name = format.format.name();
        for (flag, needs_file) in [
            ("--manifest".to_owned(), self.manifest && is_stdout),
            ("--max-time".to_owned(), self.max_time.is_some() && streams),
            ("--fresh".to_owned(), self.fresh && streams),
            (format!("--format {name}"), is_stdout && !format.format.is_text()),
        ] {
            if needs_file {
                return Err(CliError::usage(format!("`{flag}` needs a file"))
                    .hint("write to a file with `-o PATH`"));
            }
        }
        if self.partition.is_some() && (self.is_to_folder() || is_stdout) {
            return Err(CliError::usage("`--partition` needs one form and a folder")
                .hint("name the folder with `-o FOLDER`"));
        }
        if self.is_to_folder() && FileFormat::from_path(&self.out).is_some() && !self.out.is_dir() {
            let folder = self.out.with_extension("");
            let what = format!(
                "several forms need a folder, and `{}` is the name of a file",
                self.out.display()
            );
            return Err(CliError::usage(what)
                .hint(format!("use `-o {} --format {name}`", folder.display())));
        }
        if self.is_to_folder() && is_stdout {
            return Err(CliError::usage("several forms need a folder")
                .hint("name a folder with `-o FOLDER`"));
        }
        self.options.render(format, self.limit)?.check().map_err(CliError::from)
    }
}
