//! Exports of forms of the service.

use std::path::Path;

use formsvc_client::{Client, Completeness};
use formsvc_export::{
    Export as Engine, ExportError, ExportEvent, Exported, FileFormat, LeftOut, Output, PullOptions,
    RenderOptions, SpoolFolder,
};
use tokio::time::Instant;

use super::output::{leave_terminal, manifest_path, report_rendered, stdout, summary};
use super::typed::typed_args;
use super::{Export, counted, failure};
use crate::cmd::submissions::incomplete;
use crate::cmd::submissions::range::Bounds;
use crate::context::{Context, remaining};
use crate::error::CliError;
use crate::form_ref::FormMatch;
use crate::settings::Service;
use crate::settings::repeat_command::CommandLine;

/// The parts of the command that the exports of all forms share.
pub(super) struct Run<'a> {
    pub(super) cx: &'a Context,
    pub(super) args: &'a Export,
    pub(super) client: &'a Client,
    pub(super) bounds: &'a Bounds,
    pub(super) format: FileFormat,
    pub(super) deadline: Option<Instant>,
}

impl Run<'_> {
    /// Exports the forms. Each keeps its saved submissions until all are complete, so that the same
    /// command continues at little cost after an interruption.
    pub(super) async fn export_forms(
        &self,
        forms: Vec<FormMatch>,
        output: Option<Output<'static>>,
    ) -> Result<(), CliError> {
        let Self { cx, args, .. } = self;
        let names: Vec<_> = forms.iter().map(|form| (form.name(), form.id.as_str())).collect();
        let paths = args.paths(&names, self.format)?;
        let spools = (!args.is_streamed(self.format)).then(|| spools(cx)).transpose()?;
        let (mut done, mut left_out) = (Vec::new(), LeftOut::default());
        let export = async |form: FormMatch, path: Option<&Path>, output| {
            let exported = self.export(&form, path, output, spools.as_ref()).await?;
            if exported.pull.completeness == Completeness::Incomplete {
                left_out.add(&form.title, &exported.pull.left_out);
            }
            done.push(exported);
            Ok(())
        };
        let jobs = paths.into_iter().zip(forms);
        let failure = match args.export_each(cx, output, jobs, export).await {
            Err(error) if done.is_empty() || !args.is_to_folder() => return Err(error),
            result => result,
        };
        for exported in done {
            exported.remove_spool()?;
        }
        failure.and_then(|()| incomplete(&left_out))
    }

    /// Exports one form and reports it. Submissions can be missing in it with `--allow-incomplete`.
    async fn export(
        &self,
        form: &FormMatch,
        path: Option<&Path>,
        output: Output<'static>,
        spools: Option<&SpoolFolder>,
    ) -> Result<Exported, CliError> {
        let Self { cx, args, .. } = self;
        cx.progress.begin();
        let options = args.options.render(self.format, args.limit)?;
        let command = spools.filter(|spools| !spools.is_temporary()).and_then(|_| self.command());
        let exported = match spools {
            None => self.stream(form, options).await,
            Some(spools) => {
                let engine = self.saved_engine(form, path, spools, command.as_deref());
                let on_event =
                    |event: ExportEvent<'_>| self.on_event(path, command.as_deref(), &event);
                engine.run_with(options, output, on_event).await
            }
        };
        cx.shutdown.set_continuation(None);
        let exported =
            exported.map_err(|error| failure::explain(error, path, self.format, command))?;
        cx.progress.end();
        let Exported { rendered, pull, .. } = &exported;
        report_rendered(cx, rendered);
        if rendered.rows == 0 && pull.rows > 0 && args.options.has_filter() {
            cx.progress.remark(
                "no submission was selected by `--where`; `formsvc forms schema FORM` lists the labels",
            );
        }
        if pull.replaced > 0 {
            let replaced = counted(pull.replaced, "submission");
            cx.progress.warn(&format!(
                "{replaced} changed on the service; the export has the new content"
            ));
        }
        let times = (cx.progress.elapsed(), cx.progress.waited());
        cx.progress.report(&summary(rendered, pull.completeness, path, times));
        Ok(exported)
    }

    /// Writes pages to standard output as they arrive.
    async fn stream(
        &self,
        form: &FormMatch,
        options: RenderOptions,
    ) -> Result<Exported, ExportError> {
        let Self { cx, .. } = self;
        leave_terminal(cx);
        cx.shutdown.set_saved(failure::PARTIAL_STREAM.to_owned());
        let on_event = |event: ExportEvent<'_>| {
            if let ExportEvent::Page(page) = event {
                cx.progress.submissions(page.rows, self.limit(), page.reached.as_str());
            }
        };
        self.engine(form, None).stream(options, stdout(cx), on_event).await
    }

    /// Returns the engine of an export that saves submissions while they are received.
    fn saved_engine(
        &self,
        form: &FormMatch,
        path: Option<&Path>,
        spools: &SpoolFolder,
        command: Option<&str>,
    ) -> Engine {
        let args = self.args;
        let engine = self
            .engine(form, self.deadline)
            .spools(spools.clone())
            .fresh(args.fresh)
            .keep_spool(args.is_to_folder())
            .command(command.map(str::to_owned))
            .start_name(args.range.since.as_ref().map(ToString::to_string));
        match path.filter(|_| args.manifest) {
            Some(path) => engine.manifest(manifest_path(path)),
            None => engine,
        }
    }

    /// Shows the progress of an export, and sets the report of a signal that ends the command.
    fn on_event(&self, path: Option<&Path>, command: Option<&str>, event: &ExportEvent<'_>) {
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
                cx.progress.submissions(page.rows, self.limit(), page.reached.as_str());
                page.rows
            }
            ExportEvent::Rendering if path.is_none() => return leave_terminal(cx),
            ExportEvent::Rendering => return cx.progress.doing("writing the output"),
            _ => return,
        };
        let output = failure::unchanged(path);
        cx.shutdown.set_continuation(command.map(str::to_owned));
        cx.shutdown.set_saved(match command {
            Some(_) => failure::saved(saved_rows, output),
            None => output.unwrap_or_default(),
        });
    }

    /// Returns the number of submissions that are read at most. A filter selects some of them.
    fn limit(&self) -> Option<u64> {
        self.args.limit.filter(|_| !self.args.options.has_filter())
    }

    /// Returns the engine with the range of submissions and the options of requests.
    pub(super) fn engine(&self, form: &FormMatch, deadline: Option<Instant>) -> Engine {
        let options = PullOptions::default()
            .since(self.bounds.since.clone())
            .until(self.bounds.until.clone())
            .allow_incomplete(self.args.allow_incomplete)
            .time_limit(remaining(deadline));
        Engine::new(self.client.clone(), form.id.clone()).title(&form.title).pull(options)
    }

    /// Returns the command that continues the export; `None` if it cannot be shown.
    fn command(&self) -> Option<String> {
        let mut line = CommandLine::new(&self.cx.settings, &["submissions", "export"]);
        for (flag, value) in typed_args() {
            match value {
                // With `--fresh`, the command would start over.
                None if flag == "--fresh" => &mut line,
                Some(value) if !flag.is_empty() => line.flag(&flag, &value),
                Some(word) => line.switch(&word),
                None => line.switch(&flag),
            };
        }
        line.shown()
    }
}

/// Returns the folder of saved submissions. It is temporary for the demo, and if the state folder cannot be
/// used.
pub(in crate::cmd::submissions) fn spools(cx: &Context) -> Result<SpoolFolder, CliError> {
    let is_demo = matches!(cx.settings.service, Service::Demo);
    if let Some(state) = cx.settings.paths.state.as_ref().filter(|_| !is_demo) {
        let folder = SpoolFolder::new(state);
        let Err(error) = folder.create() else { return Ok(folder) };
        cx.progress.warn(&format!(
            "submissions cannot be saved in `{}`, so that an interrupted export starts over: {}",
            folder.path().display(),
            error.problem()
        ));
    }
    SpoolFolder::temporary()
        .map_err(|error| CliError::from(error).hint_if_none(failure::NOTHING_WRITTEN))
}
