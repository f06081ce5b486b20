//! `formsvc submissions export`

mod dry_run;
mod failure;
mod format_options;
mod output;
mod stored;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use formsvc_client::event::SkippedItem;
use formsvc_client::{Client, Completeness, PAGE_SIZE_MAX};
use formsvc_export::{
    Export as Engine, ExportEvent, Exported, FileFormat, LeftOut, Output, PullOptions, SpoolFolder,
};
use tokio::time::Instant;

pub(super) use failure::explain_stopped;
pub(super) use format_options::{stored_json, time_zone};

use self::format_options::{FormatOptions, check_options};
use self::output::{manifest_path, report_rendered, stdout, summary};
use super::database::DatabaseSource;
use super::range::{Bounds, Range};
use super::{counted, first_causes, incomplete, larger_pages};
use crate::context::{Context, remaining};
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};
use crate::settings::Service;
use crate::settings::args::{duration, whole};
use crate::settings::repeat_command::CommandLine;

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
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
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
    #[arg(
        long,
        value_name = "UNIT",
        conflicts_with = "all",
        requires = "out",
        hide_short_help = true,
        help = format_options::help("--partition", "Write one file per month of UTC into the folder `--out`")
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
    /// Write the output without the submissions that the service cannot list, that violate the API, or that
    /// the database of `--from` lacks, and end with exit 9
    #[arg(long)]
    allow_incomplete: bool,
    /// Submissions per request, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(1..=100), conflicts_with = "from")]
    page_size: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Partition {
    /// Files such as `2026-01.parquet`
    Month,
}

/// One output of the command.
struct Job {
    form: FormMatch,
    format: FileFormat,
    /// `None` for standard output.
    path: Option<PathBuf>,
}

/// The parts of the command that all of its jobs share.
struct Run<'a> {
    cx: &'a Context,
    args: &'a Export,
    client: &'a Client,
    bounds: &'a Bounds,
    deadline: Option<Instant>,
}

impl Job {
    /// Returns true if pages are written as they arrive, without saved submissions.
    fn is_streamed(&self) -> bool {
        self.path.is_none() && !self.format.format.is_table()
    }
}

impl Export {
    pub(crate) async fn run(mut self, cx: &Context) -> Result<(), CliError> {
        let deadline = cx.deadline(self.max_time);
        self.options.read_column_map()?;
        cx.until(deadline, Box::pin(self.run_until(cx, deadline))).await
    }

    async fn run_until(&self, cx: &Context, deadline: Option<Instant>) -> Result<(), CliError> {
        let bounds = self.range.bounds(cx)?;
        let (format, path) = (self.format()?, self.file().map(Path::to_owned));
        self.check(format, path.as_deref())?;
        if let Some(database) = self.source.open(cx).await? {
            return self.export_stored(cx, &database, format, &bounds).await;
        }
        // Opened first, so that an output that cannot be written costs no request.
        let is_single = !self.is_to_folder() && !self.dry_run;
        let output = is_single.then(|| self.output(cx, path.as_deref())).transpose()?;
        let client = cx.client().await?;
        let (mut forms, unusable) = self.find_forms(cx).await?;
        let run = Run { cx, args: self, client, bounds: &bounds, deadline };
        if self.dry_run {
            for form in &forms {
                self.report_estimate(&run, form).await?;
            }
            return Ok(());
        }
        let Some(output) = output else {
            return run.export_to_folder(forms, &unusable, format).await;
        };
        let job = Job { form: forms.swap_remove(0), format, path };
        let spools = if job.is_streamed() { spools(cx)? } else { spools_to_continue(cx)? };
        self.check_complete(&left_out(&run.export(&job, &spools, output).await?))
    }

    /// Finds the forms. Also returns the forms of `--all` that have no usable id.
    async fn find_forms(
        &self,
        cx: &Context,
    ) -> Result<(Vec<FormMatch>, Vec<SkippedItem>), CliError> {
        let (mut forms, mut unusable) = (Vec::new(), Vec::new());
        if self.all {
            let listed = cx.forms().await?;
            for item in listed.skipped() {
                match FormMatch::invalid(item) {
                    Some(form) => forms.push(form),
                    None => unusable.push(item.clone()),
                }
            }
            forms.extend(listed.into_iter().map(FormMatch::from));
        }
        for name in &self.forms {
            forms.push(form_ref::resolve(cx, name).await?);
        }
        let mut seen = HashSet::new();
        forms.retain(|form| seen.insert(form.id.clone()));
        Ok((forms, unusable))
    }

    /// Returns the error of an output that lacks submissions.
    fn check_complete(&self, left_out: &LeftOut) -> Result<(), CliError> {
        let advice = self.larger_pages().filter(|_| !left_out.units.is_empty());
        incomplete(left_out).map_err(|error| error.hint_larger_pages(advice))
    }

    fn larger_pages(&self) -> Option<String> {
        larger_pages(self.page_size, &format!("--page-size {PAGE_SIZE_MAX}"))
    }

    fn is_to_folder(&self) -> bool {
        self.all || self.forms.len() > 1
    }

    /// Checks flags that do not go together.
    fn check(&self, format: FileFormat, path: Option<&Path>) -> Result<(), CliError> {
        self.options.check(format.format)?;
        check_options(format.format, self.partition.map(|_| "--partition"))?;
        let usage = |what: &str, hint: &str| Err(CliError::usage(what).hint(hint));
        let name = format.format.name();
        let streams = path.is_none() && !format.format.is_table();
        for (flag, needs_file) in [
            ("--manifest".to_owned(), self.manifest && path.is_none()),
            ("--max-time".to_owned(), self.max_time.is_some() && streams),
            ("--fresh".to_owned(), self.fresh && streams),
            (format!("--format {name}"), path.is_none() && !format.format.is_text()),
        ] {
            if needs_file {
                return usage(&format!("`{flag}` needs a file"), "write to a file with `-o PATH`");
            }
        }
        if self.partition.is_some() && (self.is_to_folder() || path.is_none()) {
            let what = "`--partition` needs one form and a folder";
            return usage(what, "name the folder with `-o FOLDER`");
        }
        if self.is_to_folder() && path.is_none() {
            return usage("several forms need a folder", "name a folder with `-o FOLDER`");
        }
        if self.is_to_folder() && FileFormat::from_path(&self.out).is_some() && !self.out.is_dir() {
            let out = self.out.display();
            let folder = self.out.with_extension("");
            return usage(
                &format!("several forms need a folder, and `{out}` is the name of a file"),
                &format!("use `-o {} --format {name}`", folder.display()),
            );
        }
        self.options.render(format, self.limit)?.check().map_err(CliError::from)
    }
}

impl Run<'_> {
    /// Exports several forms. Each keeps its saved submissions until all are complete, so that the same
    /// command continues at little cost after an interruption.
    async fn export_to_folder(
        &self,
        forms: Vec<FormMatch>,
        unusable: &[SkippedItem],
        format: FileFormat,
    ) -> Result<(), CliError> {
        let names: Vec<_> = forms.iter().map(|form| (form.name(), form.id.as_str())).collect();
        let paths = self.args.paths_in_folder(&names, format)?;
        let spools = spools_to_continue(self.cx)?;
        let (mut done, mut all_left_out, mut failure) = (Vec::new(), LeftOut::default(), None);
        for (path, form) in paths.into_iter().zip(forms) {
            let output = self.args.output(self.cx, Some(&path))?;
            let job = Job { form, format, path: Some(path) };
            let title = &job.form.title;
            match self.export(&job, &spools, output).await {
                Ok(exported) => {
                    all_left_out.add(title, &left_out(&exported));
                    done.push(exported);
                }
                // The other forms may be complete. The id `..` is a usage error.
                Err(error) if matches!(error.exit, Exit::DataPolicy | Exit::Usage) => {
                    add_failure(&mut failure, error, title);
                }
                Err(error) => return Err(error),
            }
        }
        for exported in done {
            exported.remove_spool()?;
        }
        failure.map_or_else(|| self.args.check_complete(&all_left_out), Err)?;
        if unusable.is_empty() {
            return Ok(());
        }
        let count = counted(unusable.len() as u64, "form");
        let what = format!(
            "the result is incomplete: {count} of the list cannot be exported without an id"
        );
        Err(first_causes(CliError::new(Exit::DataPolicy, what), unusable))
    }

    /// Exports one form and reports it. Submissions can be missing in it with `--allow-incomplete`.
    async fn export(
        &self,
        job: &Job,
        spools: &SpoolFolder,
        output: Output<'static>,
    ) -> Result<Exported, CliError> {
        let Self { cx, args, .. } = self;
        cx.progress.begin();
        let command = self.command(job).filter(|_| !spools.is_temporary());
        let path = job.path.as_deref();
        let options = args.options.render(job.format, args.limit)?;
        let exported = if job.is_streamed() {
            cx.shutdown.set_saved("the data on standard output is not complete".to_owned());
            let on_event = |event: ExportEvent<'_>| {
                if let ExportEvent::Page(page) = event {
                    cx.progress.submissions(page.rows, page.reached.as_str());
                }
            };
            self.engine(&job.form, None).stream(options, stdout(cx), on_event).await
        } else {
            let mut engine = self
                .engine(&job.form, self.deadline)
                .spools(spools.clone())
                .fresh(args.fresh)
                .keep_spool(args.is_to_folder());
            if let Some(command) = &command {
                engine = engine.command(command);
            }
            if let Some(start) = args.range.start_name() {
                engine = engine.start_name(start);
            }
            if let Some(path) = path.filter(|_| args.manifest) {
                engine = engine.manifest(manifest_path(path));
            }
            let on_event = |event: ExportEvent<'_>| self.on_event(job, command.as_deref(), &event);
            engine.run_with(options, output, on_event).await
        };
        cx.shutdown.set_continuation(None);
        let exported = exported.map_err(|error| {
            let is_demo = matches!(cx.settings.service, Service::Demo);
            let is_lost = spools.is_temporary() && !is_demo;
            failure::explain(error, job, command, is_lost).hint_larger_pages(args.larger_pages())
        })?;
        cx.progress.end();
        report_rendered(cx, &exported.rendered);
        if exported.rendered.rows == 0 && exported.pull.rows > 0 && args.options.has_filter() {
            cx.progress.remark(
                "no submission was selected by `--where`; `formsvc forms schema FORM` lists the labels",
            );
        }
        if exported.pull.replaced > 0 {
            let replaced = counted(exported.pull.replaced, "submission");
            cx.progress.warn(&format!(
                "{replaced} came again with other content; the export has the new content"
            ));
        }
        let completeness = exported.pull.completeness;
        let (elapsed, waited) = (cx.progress.elapsed(), cx.progress.waited());
        cx.progress.report(&summary(&exported.rendered, completeness, path, elapsed, waited));
        Ok(exported)
    }

    /// Shows the progress of an export, and sets the report of a signal that ends the command.
    fn on_event(&self, job: &Job, command: Option<&str>, event: &ExportEvent<'_>) {
        let Self { cx, .. } = self;
        let saved_rows = match event {
            ExportEvent::Discarded(warning) => return cx.progress.warn(warning),
            ExportEvent::Opened { rows, spool, .. } => {
                if *rows > 0 && command.is_some() {
                    let rows = counted(*rows, "submission");
                    let spool = spool.display();
                    cx.progress.remark(&format!("continuing with {rows} saved in {spool}"));
                }
                *rows
            }
            ExportEvent::Page(page) => {
                cx.progress.submissions(page.rows, page.reached.as_str());
                page.rows
            }
            ExportEvent::Rendering => return cx.progress.doing("writing the output"),
            _ => return,
        };
        let output = failure::unchanged(job.path.as_deref());
        cx.shutdown.set_continuation(command.map(str::to_owned));
        cx.shutdown.set_saved(match command {
            Some(_) => failure::saved(saved_rows, output.as_deref()),
            None => output.unwrap_or_default(),
        });
    }

    /// Returns the engine with the range of submissions and the options of requests.
    fn engine(&self, form: &FormMatch, deadline: Option<Instant>) -> Engine {
        let options = PullOptions::default()
            .since(self.bounds.since.clone())
            .until(self.bounds.until.clone())
            .page_size(self.args.page_size)
            .allow_incomplete(self.args.allow_incomplete)
            .time_limit(remaining(deadline));
        Engine::new(self.client.clone(), form.id.clone()).title(&form.title).pull(options)
    }

    /// Returns the command that continues the export; `None` if it cannot be shown.
    fn command(&self, job: &Job) -> Option<String> {
        if job.is_streamed() {
            return None;
        }
        let Self { cx, args, bounds, .. } = self;
        let forms: Vec<&str> = args.forms.iter().map(String::as_str).collect();
        let mut line =
            CommandLine::new(&cx.settings, &[&["submissions", "export"], &forms[..]].concat());
        line.flag("--out", &args.out.display().to_string());
        bounds.repeat(&mut line);
        let time = args.max_time.map(|time| format!("{}s", time.as_secs().max(1)));
        let size = (args.page_size != PAGE_SIZE_MAX).then(|| args.page_size.to_string());
        for (flag, value) in args.options.flags().into_iter().chain([
            ("--limit", args.limit.map(|limit| limit.to_string())),
            ("--partition", args.partition.map(|Partition::Month| "month".to_owned())),
            ("--max-time", time),
            ("--page-size", size),
        ]) {
            line.maybe(flag, value.as_deref());
        }
        for (switch, is_given) in [
            ("--all", args.all),
            ("--no-clobber", args.no_clobber),
            ("--manifest", args.manifest),
            ("--allow-incomplete", args.allow_incomplete),
        ] {
            if is_given {
                line.switch(switch);
            }
        }
        line.shown()
    }
}

/// Keeps the first failure of several forms. A later one becomes a cause of it.
fn add_failure(first: &mut Option<CliError>, error: CliError, form: &str) {
    *first = Some(match first.take() {
        None => error,
        Some(first) => first.cause(format!("{form}: {}", error.brief())),
    });
}

/// Returns the submissions that an output lacks.
fn left_out(exported: &Exported) -> LeftOut {
    let is_incomplete = exported.pull.completeness == Completeness::Incomplete;
    if is_incomplete { exported.pull.left_out.clone() } else { LeftOut::default() }
}

/// Returns the folder of saved submissions. It is temporary for the demo, and if the folder in the state
/// folder cannot be used.
pub(super) fn spools(cx: &Context) -> Result<SpoolFolder, CliError> {
    saved_spools(cx)
        .and_then(Result::ok)
        .map_or_else(SpoolFolder::temporary, Ok)
        .map_err(|error| CliError::from(error).hint_if_none(failure::NOTHING_WRITTEN))
}

/// Like [`spools`]; warns if the folder cannot be used, because an interrupted export cannot be continued.
fn spools_to_continue(cx: &Context) -> Result<SpoolFolder, CliError> {
    if let Some(Err(reason)) = saved_spools(cx) {
        cx.progress.warn(&reason);
    }
    spools(cx)
}

/// Creates the folder of saved submissions in the state folder. Returns `None` without a state folder, and
/// the reason if it cannot be used.
fn saved_spools(cx: &Context) -> Option<Result<SpoolFolder, String>> {
    let is_demo = matches!(cx.settings.service, Service::Demo);
    let state = cx.settings.paths.state.as_ref().filter(|_| !is_demo)?;
    let folder = SpoolFolder::new(state);
    let created = folder.create();
    Some(created.map(|()| folder.clone()).map_err(|error| {
        format!(
            "submissions cannot be saved in `{}`, so that an interrupted export starts over: {}",
            folder.path().display(),
            error.problem()
        )
    }))
}
