//! Exports: a pull into a spool, then a rendering.

mod manifest;

use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use formsvc_client::list::SubmissionPages;
use formsvc_client::{Client, Completeness, FormId, SubmissionQuery};

use crate::blocking::{Blocking, run_blocking};
use crate::destination::{Destination, Existing};
use crate::error::{ExportError, Operation};
use crate::format::{Format, JsonFormat, RenderOptions, RowFilter, SourceInfo};
use crate::left_out::LeftOut;
use crate::partition::Output;
use crate::pull::{PullOptions, PullProgress, PullSummary, pull, until};
use crate::render::{BLOCK, Rendered, apply_filter, render};
use crate::row::{RowCallback, RowSource};
use crate::spool::{Spool, SpoolFolder, SpoolRequest, temporary_error};
use crate::store::{FormStore, PageToWrite, RowForm, RowRange, RowStore, extra_json, stored_row};
use manifest::write_manifest;

/// An export of a form to one file, which continues where an earlier one stopped.
///
/// The submissions are first pulled into a spool, a private database in a folder of the caller, and
/// then rendered. After an error, a dropped future or the end of the process, an export with the same
/// client, form and folder continues with the stored submissions, and its output is that of an
/// export without interruption.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use formsvc_export::{Destination, Existing, Export, Format, RenderOptions, SpoolFolder};
/// let destination = Destination::file("rows.csv".as_ref(), Existing::Replace)?;
/// let exported = Export::new(client, "frm_1".parse()?, SpoolFolder::new("/var/lib/exports"))
///     .run(RenderOptions::new(Format::Csv), destination, |_| {})
///     .await?;
/// println!("{} rows", exported.rendered.rows);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use = "an export does nothing until it is run"]
pub struct Export {
    /// The service.
    pub client: Client,
    /// The form.
    pub form: FormId,
    /// The folder of the saved submissions.
    pub spools: SpoolFolder,
    /// The title of the form, for lists of spools, manifests and formats that record it.
    pub title: Option<String>,
    /// The range of the submissions and how to request them. The limit is that of
    /// [`RenderOptions`]. After the deadline, the next export continues.
    pub pull: PullOptions,
    /// A text that is equal for equal ranges, such as `7d` for a start that moves with the clock. An
    /// export with the same text completes the spool of the earlier one.
    pub range_text: Option<String>,
    /// The command that continues the export, for lists of spools.
    pub command: Option<String>,
    /// Writes a manifest to this file after the output is complete. An existing file is treated like one
    /// at the output's path.
    pub manifest: Option<PathBuf>,
    /// Discards the submissions of an earlier export.
    pub fresh: bool,
    /// Keeps the spool of a complete export until [`Exported::remove_spool`]. A series of exports that
    /// removes all spools at its end can be repeated after an interruption, and reads nothing twice.
    pub keep_spool: bool,
}

/// A step of an export.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportEvent<'a> {
    /// An earlier spool was discarded, because it is damaged or of another release.
    Discarded(&'a str),
    /// The spool is open, and has this number of submissions of an earlier run.
    #[non_exhaustive]
    Opened {
        /// Number of submissions.
        rows: u64,
        /// The time to which they reach back, in microseconds since 1970.
        saved_to: Option<i64>,
        /// The database.
        spool: &'a Path,
    },
    /// A page was stored.
    Page(PullProgress<'a>),
    /// All submissions are stored, and the output is rendered.
    Rendering,
}

/// A complete export.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Exported {
    /// The output.
    pub rendered: Rendered,
    /// The requests, and whether submissions could be missing.
    pub pull: PullSummary,
    /// The spool, if it is kept.
    spool: Option<Spool>,
}

impl Exported {
    /// Removes a spool that was [kept](Export::keep_spool), unless it belongs to an unfinished export of
    /// a larger range.
    pub fn remove_spool(self) -> Result<(), ExportError> {
        Ok(self.spool.map_or(Ok(()), Spool::finish)?)
    }
}

impl Export {
    /// Prepares an export of all submissions of a form.
    pub fn new(client: Client, form: FormId, spools: SpoolFolder) -> Self {
        Self {
            client,
            form,
            spools,
            title: None,
            pull: PullOptions::default(),
            range_text: None,
            command: None,
            manifest: None,
            fresh: false,
            keep_spool: false,
        }
    }

    /// Pulls the submissions and renders them. The limit and the filter of the options apply to
    /// submissions of the range, newest first.
    ///
    /// Pages are stored and rendered on blocking threads of the runtime. If the future is dropped, the page
    /// that is being stored is completed, and a rendering ends at the next row.
    ///
    /// An error after the spool was opened is an [`Unfinished`](ExportError::Unfinished), unless the
    /// spool is temporary, its removal failed, or the reader closed the output.
    pub async fn run(
        self,
        options: RenderOptions,
        output: impl Into<Output<'static>>,
        on_event: impl FnMut(ExportEvent<'_>),
    ) -> Result<Exported, ExportError> {
        let is_temporary = self.spools.is_temporary();
        self.run_in_spool(options, output.into(), on_event).await.map_err(|error| match error {
            ExportError::Store(error) if is_temporary => temporary_error(io::Error::other(error)),
            error => error,
        })
    }

    async fn run_in_spool(
        self,
        options: RenderOptions,
        output: Output<'static>,
        mut on_event: impl FnMut(ExportEvent<'_>),
    ) -> Result<Exported, ExportError> {
        let is_filtered = options.filter.is_some();
        let export = self.clone();
        let opened = run_blocking(move || export.open(options, output)).await?;
        let Opened { spool, rows, saved_to, rendering } = opened;
        spool.warning.iter().for_each(|warning| on_event(ExportEvent::Discarded(warning)));
        on_event(ExportEvent::Opened { rows, saved_to, spool: &spool.path });
        // Rows that the filter leaves out do not count.
        let limit = rendering.options.limit.filter(|_| !is_filtered);
        let exported = self.fill_and_render(&spool.form, limit, rendering, on_event).await;
        let range = self.pull.range();
        match exported {
            Ok(exported) if self.keep_spool => Ok(Exported { spool: Some(spool), ..exported }),
            Ok(exported) => {
                let path = spool.path.clone();
                run_blocking(move || spool.finish()).await.map_err(|error| {
                    let source = io::Error::other(error);
                    ExportError::output(Operation::RemoveSpool, Some(&path), source)
                })?;
                Ok(exported)
            }
            Err(ExportError::ReaderClosed) => {
                run_blocking(move || spool.finish()).await?;
                Err(ExportError::ReaderClosed)
            }
            Err(cause) => {
                // Closes the database, so that the next export finds it.
                let count = move || {
                    let form = spool.form.lock();
                    let rows = form.store.count(form.source, range, u64::MAX);
                    drop(form);
                    drop(spool.form.into_inner());
                    rows.unwrap_or_default()
                };
                let rows_saved = run_blocking(count).await;
                if self.spools.is_temporary() {
                    return Err(cause);
                }
                let folder = self.spools.path().to_owned();
                Err(ExportError::Unfinished { rows_saved, folder, cause: Box::new(cause) })
            }
        }
    }

    /// Opens the spool. An output that cannot be written fails before.
    fn open(
        &self,
        mut options: RenderOptions,
        output: Output<'static>,
    ) -> Result<Opened, ExportError> {
        output.check(&options)?;
        let manifest = self.manifest.as_deref().map(|path| output.open_beside(path)).transpose()?;
        options.checksum |= self.manifest.is_some();
        options.source = SourceInfo {
            origin: self.client.base_url().to_owned(),
            form_id: self.form.to_string(),
            title: self.title.clone().unwrap_or_default(),
        };
        let spool = self.open_spool(&options.source, options.limit)?;
        let form = spool.form.lock();
        let rows = form.store.count(form.source, RowRange::default(), u64::MAX)?;
        let coverage = form.store.coverage(form.source)?;
        drop(form);
        let saved_to = coverage.intervals().last().map(|part| part.oldest);
        let rendering = RenderJob { options, output, manifest };
        Ok(Opened { spool, rows, saved_to, rendering })
    }

    fn open_spool(&self, source: &SourceInfo, limit: Option<u64>) -> Result<Spool, ExportError> {
        let PullOptions { since, until, .. } = self.pull;
        let range = self.range_text.clone().unwrap_or_else(|| format!("{since}..{until}"));
        let range = limit.map_or_else(|| range.clone(), |limit| format!("{range} limit {limit}"));
        Ok(self.spools.open(&SpoolRequest {
            origin: &source.origin,
            form_id: &source.form_id,
            title: self.title.as_deref(),
            range: &range,
            since,
            command: self.command.as_deref(),
            fresh: self.fresh,
        })?)
    }

    async fn fill_and_render(
        &self,
        form: &Blocking<RowForm>,
        limit: Option<u64>,
        rendering: RenderJob,
        mut on_event: impl FnMut(ExportEvent<'_>),
    ) -> Result<Exported, ExportError> {
        let options = PullOptions { limit, ..self.pull.clone() };
        let on_page = |page: PullProgress<'_>| on_event(ExportEvent::Page(page));
        let mut rows = FormStore::Rows(form);
        let pulled = pull(&self.client, &self.form, &mut rows, &options, on_page);
        let pulled = until(options.deadline, pulled).await?;
        if pulled.completeness == Completeness::Incomplete && !self.pull.allow_incomplete {
            return Err(ExportError::Incomplete(pulled.left_out));
        }
        on_event(ExportEvent::Rendering);
        let (export, cancel) = (self.clone(), CancelOnDrop::default());
        let is_canceled = Arc::clone(&cancel.0);
        form.run(move |form| rendering.render(form, &export, pulled, &is_canceled)).await
    }
}

/// An export with an open spool.
struct Opened {
    spool: Spool,
    rows: u64,
    saved_to: Option<i64>,
    rendering: RenderJob,
}

/// The rendering of the stored submissions.
struct RenderJob {
    options: RenderOptions,
    output: Output<'static>,
    manifest: Option<Destination<'static>>,
}

impl RenderJob {
    fn render(
        self,
        form: &RowForm,
        export: &Export,
        pull: PullSummary,
        is_canceled: &AtomicBool,
    ) -> Result<Exported, ExportError> {
        let rows = form.store.rows(form.source, export.pull.range())?;
        let rows = Cancelable { rows: &rows, is_canceled };
        let rendered = self.output.render(&rows, &self.options)?;
        let exported = Exported { rendered, pull, spool: None };
        if let Some(manifest) = self.manifest {
            write_manifest(manifest, export, &self.options, &exported)?;
        }
        Ok(exported)
    }
}

/// Cancels a rendering when the future that waits for it is dropped.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Rows that end with an error after the rendering was canceled.
struct Cancelable<'a> {
    rows: &'a dyn RowSource,
    is_canceled: &'a AtomicBool,
}

impl RowSource for Cancelable<'_> {
    fn for_each(&self, take: RowCallback<'_>) -> Result<(), ExportError> {
        self.rows.for_each(&mut |row| match self.is_canceled.load(Ordering::Relaxed) {
            // No caller waits for the error.
            true => Err(ExportError::TimeLimit),
            false => take(row),
        })
    }
}

/// Writes every submission of a query to a CSV file, with the formula guard. The file appears when it
/// is complete, and then replaces an existing one. An interrupted call cannot be continued;
/// [`Export`] can.
pub async fn export_csv(
    query: SubmissionQuery,
    path: impl AsRef<Path>,
) -> Result<Exported, ExportError> {
    let destination = Destination::file(path.as_ref(), Existing::Replace)?;
    let spools = SpoolFolder::temporary()?;
    let mut store = RowStore::open(spools.path().join("rows.sqlite"))?;
    let source = store.source("", "", None)?;
    let mut pages = query.pages();
    let mut pull = PullSummary::default();
    while let Some(page) = pages.try_next().await? {
        pull.add_page(&page);
        let rows = page.into_submissions();
        store.write_page(source, &PageToWrite { rows, ..PageToWrite::default() })?;
    }
    pull.add_walk(&pages);
    let rows = store.rows(source, RowRange::default())?;
    let rendered = render(&rows, &RenderOptions::new(Format::Csv), destination)?;
    Ok(Exported { rendered, pull, spool: None })
}

/// Writes the submissions of a list as NDJSON or JSON, page by page, without a spool. Writes `limit`
/// submissions at most. Cannot be continued: after an error a file does not appear, and a JSON array in a
/// stream stays open.
pub async fn export_stream(
    mut pages: SubmissionPages,
    format: Format,
    limit: Option<u64>,
    filter: Option<&RowFilter>,
    destination: Destination<'_>,
    mut on_progress: impl FnMut(PullProgress<'_>),
) -> Result<Exported, ExportError> {
    let errors = destination.error_source();
    let failed = |error| errors.error(Operation::Write, error);
    if format.is_table() {
        let reason = format!("{} needs all rows before its first one", format.name());
        return Err(ExportError::Unsupported(reason));
    }
    let out = BufWriter::with_capacity(BLOCK, destination);
    let mut out = JsonFormat::new(out, format == Format::Json);
    let (mut pull, mut rendered) = (PullSummary::default(), Rendered::default());
    let limit = limit.unwrap_or(u64::MAX);
    while rendered.rows < limit
        && let Some(page) = pages.try_next().await?
    {
        for row in page.submissions() {
            let extra = extra_json(row);
            let row = stored_row(row, &extra);
            let is_wanted = filter.map_or(Ok(true), |filter| apply_filter(filter, &row))?;
            if is_wanted && rendered.rows < limit {
                out.write(&row).map_err(failed)?;
                rendered.rows += 1;
            }
        }
        // The reader of a pipe gets each page as it arrives.
        out.get_mut().flush().map_err(failed)?;
        pull.add_page(&page);
        if let Some(last) = page.submissions().last() {
            let reached = last.created_at.as_str();
            on_progress(PullProgress { rows: pull.rows, new: pull.rows, reached });
        }
    }
    pull.add_walk(&pages);
    let (out, _) = out.end().map_err(failed)?;
    out.into_inner().map_err(|error| failed(error.into_error()))?.publish()?;
    Ok(Exported { rendered, pull, spool: None })
}

impl PullSummary {
    fn add_page(&mut self, page: &formsvc_client::SubmissionPage) {
        self.rows += page.len() as u64;
        self.new = self.rows;
        self.requests += u64::from(page.meta().attempts());
    }

    fn add_walk(&mut self, pages: &SubmissionPages) {
        self.completeness = pages.completeness_so_far();
        self.left_out = LeftOut::of_pages(pages);
    }
}
