//! `formsvc submissions export`

mod failure;
mod format_options;
mod from;
mod output;
mod plan;
mod stdout;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use formsvc_client::{Client, PAGE_SIZE_MAX};
use formsvc_export::{
    Export as Engine, ExportEvent, Exported, FileFormat, Format, LeftOut, Output, PullOptions,
    SpoolFolder,
};
use secrecy::SecretString;
use tokio::time::Instant;

pub(in crate::cmd) use failure::{explain_stopped, incomplete, incomplete_list, larger_pages};
pub(in crate::cmd) use output::counted;

use self::failure::{Saved, check_exported, left_out};
use self::format_options::{FormatOptions, check_options};
use self::output::{file_names, manifest_path, report_rendered, summary};
use super::range::{Bounds, Range};
use super::{hint_name, sync};
use crate::context::{Context, remaining};
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};
use crate::output::progress::Expected;
use crate::settings::Service;
use crate::settings::args::{duration, whole};
use crate::settings::repeat_command::Line;

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
    /// Export a database of `submissions sync` without a request: `sqlite:PATH` or `postgres://…`. Writes
    /// nothing and ends with exit 9 if submissions are missing in it
    #[arg(long, value_name = "URL", value_parser = sync::address, conflicts_with_all = ["fresh", "max_time", "manifest", "dry_run", "page_size"])]
    from: Option<SecretString>,
    /// The schema of a PostgreSQL database [default: public]
    #[arg(long, value_name = "NAME", requires = "from", hide_short_help = true)]
    schema: Option<String>,
    /// With `--from`: submissions that are marked as deleted, too
    #[arg(long, requires = "from", hide_short_help = true)]
    include_deleted: bool,
    /// Discard the submissions that an unfinished export saved, and start over
    #[arg(long)]
    fresh: bool,
    /// Stop after this time with exit 8; the same command continues
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    /// Write NAME.manifest.json beside the file: form, range, rows, requests, SHA-256, completeness
    #[arg(long)]
    manifest: bool,
    /// Estimate the requests and the time, and export nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the output although submissions are missing, and end with exit 9: where more of them share a
    /// second or a millisecond than a page can show, where one violates the API, or where the database of
    /// `--from` has gaps
    #[arg(long)]
    allow_incomplete: bool,
    /// Submissions per request, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = whole::<u32>(1..=100))]
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

impl Job {
    /// Returns true if pages are written as they arrive, without saved submissions.
    fn is_streamed(&self) -> bool {
        self.path.is_none() && !self.format.format.is_table()
    }
}

impl Export {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let deadline = cx.deadline(self.max_time);
        cx.until(deadline, Box::pin(self.run_until(cx, deadline))).await
    }

    async fn run_until(mut self, cx: &Context, deadline: Option<Instant>) -> Result<(), CliError> {
        let bounds = self.range.bounds(cx)?;
        self.options.read_column_map()?;
        if let Some(address) = &self.from {
            return self.export_from(cx, address, &bounds).await;
        }
        if self.is_to_folder() {
            return self.export_to_folder(cx, &bounds, deadline).await;
        }
        let (format, path) = (self.format_of_output()?, self.file().map(Path::to_owned));
        self.check(format, path.as_deref())?;
        if self.dry_run {
            let form = form_ref::resolve(cx, &self.forms[0]).await?;
            return self.report_plan(cx, &form, &bounds).await;
        }
        // Opened first, so that an output that cannot be written costs no request.
        let output = self.output(cx, path.as_deref()).map_err(CliError::from)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.forms[0]).await?;
        let job = Job { form, format, path };
        let spools = if job.is_streamed() { spools(cx)? } else { spools_to_continue(cx)? };
        let exported = self.export(cx, client, &job, &bounds, &spools, deadline, output).await?;
        self.check_complete(&left_out(&exported))
    }

    /// Exports several forms. Each keeps its saved submissions until all are complete, so that the same
    /// command continues at little cost after an interruption.
    async fn export_to_folder(
        &self,
        cx: &Context,
        bounds: &Bounds,
        deadline: Option<Instant>,
    ) -> Result<(), CliError> {
        let format = self.options.format().unwrap_or(Format::Csv.into());
        self.check(format, Some(&self.out))?;
        let client = cx.client().await?;
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
        if self.dry_run {
            for form in &forms {
                self.report_plan(cx, form, bounds).await?;
            }
            return Ok(());
        }
        self.create_folder()?;
        let names: Vec<_> = forms.iter().map(|form| (hint_name(form), form.id.as_str())).collect();
        let names = file_names(&names, format);
        let spools = spools_to_continue(cx)?;
        let (mut done, mut all_left_out, mut failure) = (Vec::new(), LeftOut::default(), None);
        for (name, form) in names.into_iter().zip(forms) {
            let path = self.out.join(name);
            let output = self.output(cx, Some(&path)).map_err(CliError::from)?;
            let job = Job { form, format, path: Some(path) };
            let title = &job.form.title;
            match self.export(cx, client, &job, bounds, &spools, deadline, output).await {
                Ok(exported) => {
                    all_left_out.add(title, &left_out(&exported));
                    done.push(exported);
                }
                // The other forms may be complete. The id `..` is a usage error.
                Err(error) if matches!(error.exit, Exit::DataPolicy | Exit::Usage) => {
                    let cause = format!("{title}: {}", error.brief());
                    failure = Some(failure.map_or(error, |first: CliError| first.cause(cause)));
                }
                Err(error) => return Err(error),
            }
        }
        for exported in done {
            exported.remove_spool().map_err(CliError::from)?;
        }
        failure.map_or_else(|| self.check_complete(&all_left_out), Err)?;
        check_exported(&unusable)
    }

    fn create_folder(&self) -> Result<(), CliError> {
        std::fs::create_dir_all(&self.out).map_err(|error| {
            let what = format!("cannot create the folder `{}`", self.out.display());
            CliError::new(Exit::LocalIo, what).because(&error)
        })
    }

    /// Returns the error of an output that lacks submissions.
    fn check_complete(&self, left_out: &LeftOut) -> Result<(), CliError> {
        let advice = self.larger_pages().filter(|_| !left_out.units.is_empty());
        incomplete(left_out).map_err(|error| error.hint_larger_pages(advice))
    }

    /// Exports one form and reports it. Submissions can be missing in it with `--allow-incomplete`.
    #[expect(clippy::too_many_arguments, reason = "each is another part of the command")]
    async fn export(
        &self,
        cx: &Context,
        client: &Client,
        job: &Job,
        bounds: &Bounds,
        spools: &SpoolFolder,
        deadline: Option<Instant>,
        output: Output<'static>,
    ) -> Result<Exported, CliError> {
        cx.progress.begin();
        let command = self.command(cx, job, bounds).filter(|_| !spools.is_temporary());
        let path = job.path.as_deref();
        let exported = if job.is_streamed() {
            let options = self.options.render(job.format, self.limit)?;
            cx.progress.expect(self.expected(job, bounds));
            let events = |event: ExportEvent<'_>| {
                if let ExportEvent::Page(page) = event {
                    cx.progress.submissions(page.rows, page.reached.as_str());
                }
            };
            let engine = self.engine(client, &job.form, bounds, None);
            engine.stream(options, stdout::destination(cx), events).await
        } else {
            let mut engine = self
                .engine(client, &job.form, bounds, deadline)
                .spools(spools.clone())
                .fresh(self.fresh)
                .keep_spool(self.is_to_folder());
            if let Some(command) = &command {
                engine = engine.command(command);
            }
            if let Some(start) = self.range.start() {
                engine = engine.start_name(start);
            }
            if let Some(path) = path.filter(|_| self.manifest) {
                engine = engine.manifest(manifest_path(path));
            }
            let options = self.options.render(job.format, self.limit)?;
            let saved = Saved::new(cx, path, command.as_deref(), self.expected(job, bounds));
            let events = |event: ExportEvent<'_>| saved.on_event(&event);
            engine.run_with(options, output, events).await
        };
        cx.shutdown.set_continuation(None);
        let exported = exported.map_err(|error| {
            let is_demo = matches!(cx.settings.service, Service::Demo);
            let is_lost = spools.is_temporary() && !is_demo;
            failure::explain(error, path, job.format, command, is_lost)
                .hint_larger_pages(self.larger_pages())
        })?;
        cx.progress.end();
        report_rendered(cx, &exported.rendered);
        if exported.rendered.rows == 0 && exported.pull.rows > 0 && self.options.has_filter() {
            cx.progress.remark(
                "no submission was selected by `--where`; `formsvc forms schema FORM` lists the labels",
            );
        }
        if exported.pull.replaced > 0 {
            let replaced = counted(exported.pull.replaced, "submission");
            cx.progress.warn(&format!("{replaced} came again with other content, which was kept"));
        }
        let completeness = exported.pull.completeness;
        cx.progress.report(&summary(&exported.rendered, completeness, path, cx.progress.elapsed()));
        Ok(exported)
    }

    /// The engine with the range of submissions and how to request them.
    fn engine(
        &self,
        client: &Client,
        form: &FormMatch,
        bounds: &Bounds,
        deadline: Option<Instant>,
    ) -> Engine {
        let options = PullOptions::default()
            .since(bounds.since())
            .until(bounds.until())
            .page_size(self.page_size)
            .allow_incomplete(self.allow_incomplete)
            .time_limit(remaining(deadline));
        Engine::new(client.clone(), form.id.clone()).title(&form.title).pull(options)
    }

    /// The end of the walk, for an estimate of the remaining time.
    fn expected(&self, job: &Job, bounds: &Bounds) -> Expected {
        let created = job.form.listed.as_ref().map(|form| &form.created_at);
        let oldest =
            bounds.since().as_ref().or(created).map(formsvc_client::Timestamp::unix_micros);
        let limit = self.limit.filter(|_| !self.options.has_filter());
        Expected { oldest, limit, ..Expected::default() }
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
        let streams = path.is_none() && !format.format.is_table();
        let for_files = [("--manifest", self.manifest && path.is_none())];
        let for_spools = [
            ("--max-time", self.max_time.is_some() && streams),
            ("--fresh", self.fresh && streams),
        ];
        if let Some((flag, _)) = for_files.iter().chain(&for_spools).find(|(_, given)| *given) {
            let what = format!("`{flag}` needs a file");
            return Err(CliError::usage(what).hint("write to a file with `-o PATH`"));
        }
        if path.is_none() && !format.format.is_text() {
            let what = format!("`--format {}` needs a file", format.format.name());
            return Err(CliError::usage(what).hint("write to a file with `-o PATH`"));
        }
        if self.partition.is_some() && (self.is_to_folder() || path.is_none()) {
            let what = "`--partition` needs one form and a folder";
            return Err(CliError::usage(what).hint("name the folder with `-o FOLDER`"));
        }
        if self.is_to_folder() && self.out == Path::new("-") {
            let what = "several forms need a folder";
            return Err(CliError::usage(what).hint("name a folder with `-o FOLDER`"));
        }
        self.options.render(format, self.limit)?.check().map_err(CliError::from)
    }

    /// The command that continues the export; `None` if it cannot be shown.
    fn command(&self, cx: &Context, job: &Job, bounds: &Bounds) -> Option<String> {
        if job.path.is_none() && !job.format.format.is_table() {
            return None;
        }
        let forms: Vec<&str> = self.forms.iter().map(String::as_str).collect();
        let mut line = Line::of(&cx.settings, &[&["submissions", "export"], &forms[..]].concat());
        if self.all {
            line.switch("--all");
        }
        line.flag("--out", &self.out.display().to_string());
        bounds.say_again(&mut line);
        line.maybe("--limit", self.limit.map(|limit| limit.to_string()).as_deref());
        self.options.repeat(&mut line);
        line.maybe("--partition", self.partition.map(|Partition::Month| "month"));
        for (switch, given) in [
            ("--no-clobber", self.no_clobber),
            ("--manifest", self.manifest),
            ("--allow-incomplete", self.allow_incomplete),
        ] {
            if given {
                line.switch(switch);
            }
        }
        let time = self.max_time.map(|time| format!("{}s", time.as_secs().max(1)));
        line.maybe("--max-time", time.as_deref());
        let size = self.page_size.to_string();
        line.maybe("--page-size", (self.page_size != 100).then_some(&size));
        line.shown()
    }
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
