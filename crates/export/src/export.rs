//! Exports: a pull into a spool, then a rendering.

mod estimate;
mod render_job;
mod stream;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use formsvc_client::{Client, Completeness, FormId, Timestamp};

use crate::blocking::{Blocking, run_blocking};
use crate::coverage::timestamp;
use crate::destination::{Destination, Existing};
use crate::error::{ExportError, Operation};
use crate::file_format::{FileFormat, Format};
use crate::format::{RenderOptions, SourceInfo};
use crate::partition::Output;
use crate::pull::{PullOptions, PullProgress, PullSummary, pull, until};
use crate::render::Rendered;
use crate::spool::{Spool, SpoolFolder, SpoolRequest, identity, temporary_error};
use crate::store::{FormStore, RowRange, SqliteForm};
use render_job::RenderJob;

pub use estimate::{Estimate, EstimatedNumbers};

/// An export of the submissions of a form, which continues where an earlier one stopped.
///
/// The submissions are first pulled into a spool, a private database in a [folder](Self::spools) of the
/// caller, and then rendered. After an error, a dropped future or the end of the process, an export with the
/// same client, form and folder continues with the stored submissions, and its output is that of an
/// export without interruption.
///
/// Pages are stored and rendered on blocking threads of the tokio runtime. If the future is dropped, the
/// page that is being stored is completed, and a rendering ends at the next row.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use formsvc_export::{Destination, Existing, Export, Format, SpoolFolder};
/// let destination = Destination::file("rows.csv".as_ref(), Existing::Replace)?;
/// let exported = Export::new(client, "frm_1".parse()?)
///     .spools(SpoolFolder::new("/var/lib/exports"))
///     .run(Format::Csv, destination)
///     .await?;
/// println!("{} rows", exported.rendered.rows);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "an export does nothing until it is run"]
pub struct Export {
    client: Client,
    form: FormId,
    spools: Option<SpoolFolder>,
    title: Option<String>,
    pull: PullOptions,
    start_name: Option<String>,
    command: Option<String>,
    manifest: Option<PathBuf>,
    fresh: bool,
    keep_spool: bool,
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
        /// The time to which they reach back; `None` if there are none, or all are saved.
        saved_to: Option<Timestamp>,
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
    /// Removes the spool that was [kept](Export::keep_spool). If the spool was begun by an export of a larger
    /// range that is not complete, it stays for that export.
    pub fn remove_spool(self) -> Result<(), ExportError> {
        Ok(self.spool.map_or(Ok(()), Spool::finish)?)
    }
}

impl Export {
    /// Prepares an export of all submissions of a form.
    pub fn new(client: Client, form: FormId) -> Self {
        Self {
            client,
            form,
            spools: None,
            title: None,
            pull: PullOptions::default(),
            start_name: None,
            command: None,
            manifest: None,
            fresh: false,
            keep_spool: false,
        }
    }

    /// Sets the folder of the saved submissions. Without it, an interrupted export starts over.
    pub fn spools(self, folder: SpoolFolder) -> Self {
        Self { spools: Some(folder), ..self }
    }

    /// Sets the title of the form, for lists of spools, manifests and formats that record it.
    pub fn title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// Sets the range of the submissions and how to request them. The limit is that of [`RenderOptions`].
    /// After the time limit, the next export continues.
    pub fn pull(self, options: PullOptions) -> Self {
        Self { pull: options, ..self }
    }

    /// Sets a name for the start of the range, such as `7d` for a start 7 days ago. An interrupted export is
    /// continued by the next one with the same name, although this start has moved with the clock.
    pub fn start_name(self, name: impl Into<Option<String>>) -> Self {
        Self { start_name: name.into(), ..self }
    }

    /// Sets the command that continues the export, for lists of spools.
    pub fn command(self, command: impl Into<Option<String>>) -> Self {
        Self { command: command.into(), ..self }
    }

    /// Writes a manifest to this file after the output is complete. An existing file is treated like one
    /// at the output's path.
    pub fn manifest(self, path: impl Into<PathBuf>) -> Self {
        Self { manifest: Some(path.into()), ..self }
    }

    /// Discards the submissions of an earlier export.
    pub fn fresh(self, fresh: bool) -> Self {
        Self { fresh, ..self }
    }

    /// Keeps the spool of a complete export until [`Exported::remove_spool`] is called. A program with several
    /// exports can remove all spools after the last one: if it is interrupted and runs again, it does not read
    /// the submissions of its complete exports again.
    pub fn keep_spool(self, keep: bool) -> Self {
        Self { keep_spool: keep, ..self }
    }

    /// Writes a file, in the format of its name's ending, or CSV. It appears when it is complete, and then
    /// replaces an existing one.
    pub async fn to_file(self, path: impl AsRef<Path>) -> Result<Exported, ExportError> {
        let path = path.as_ref();
        let format = FileFormat::from_path(path).unwrap_or(Format::Csv.into());
        self.run(format, Destination::file(path, Existing::Replace)?).await
    }

    /// Pulls the submissions and renders them. The limit and the filter of the options apply to
    /// submissions of the range, newest first.
    ///
    /// An error after the spool was opened is an [`Unfinished`](ExportError::Unfinished), unless the
    /// spool is temporary, its removal failed, or the reader closed the output.
    pub async fn run(
        self,
        options: impl Into<RenderOptions>,
        output: impl Into<Output<'static>>,
    ) -> Result<Exported, ExportError> {
        self.run_with(options, output, |_| {}).await
    }

    /// Runs the export as [`run`](Self::run) does, and reports its steps.
    pub async fn run_with(
        self,
        options: impl Into<RenderOptions>,
        output: impl Into<Output<'static>>,
        mut on_event: impl FnMut(ExportEvent<'_>),
    ) -> Result<Exported, ExportError> {
        let (options, output) = (options.into(), output.into());
        let kept = self.spools.clone().filter(|folder| !folder.is_temporary());
        let is_temporary = kept.is_none();
        let failed = |error| match error {
            ExportError::Store(error) if is_temporary => temporary_error(io::Error::other(error)),
            error => error,
        };
        let is_filtered = options.filter.is_some();
        let export = self.clone();
        let opened = run_blocking(move || export.open(options, output)).await.map_err(failed)?;
        let Opened { spool, rows, saved_to, rendering } = opened;
        spool.warning.iter().for_each(|warning| on_event(ExportEvent::Discarded(warning)));
        on_event(ExportEvent::Opened { rows, saved_to, spool: &spool.path });
        // Rows that the filter leaves out do not count.
        let limit = rendering.options.limit.filter(|_| !is_filtered);
        let exported = self.fill_and_render(&spool.form, limit, rendering, on_event).await;
        let range = self.pull.range;
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
                let removed = run_blocking(move || spool.finish()).await;
                removed.map_err(|error| failed(error.into()))?;
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
                let Some(folder) = kept else { return Err(failed(cause)) };
                let (folder, cause) = (folder.path().to_owned(), Box::new(cause));
                Err(ExportError::Unfinished { rows_saved, folder, cause })
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
        let saved_to = coverage.intervals().last().and_then(|part| timestamp(part.oldest));
        let rendering = RenderJob { options, output, manifest };
        Ok(Opened { spool, rows, saved_to, rendering })
    }

    fn open_spool(&self, source: &SourceInfo, limit: Option<u64>) -> Result<Spool, ExportError> {
        let folder = self.spools.clone().map_or_else(SpoolFolder::temporary, Ok)?;
        let range = self.pull.range;
        Ok(folder.open(&SpoolRequest {
            origin: &source.origin,
            form_id: &source.form_id,
            title: self.title.as_deref(),
            identity: identity(range, self.start_name.as_deref(), limit),
            since: range.since,
            command: self.command.as_deref(),
            fresh: self.fresh,
        })?)
    }

    async fn fill_and_render(
        &self,
        form: &Blocking<SqliteForm>,
        limit: Option<u64>,
        rendering: RenderJob,
        mut on_event: impl FnMut(ExportEvent<'_>),
    ) -> Result<Exported, ExportError> {
        let options = self.pull.clone().limit(limit);
        let on_page = |page: PullProgress<'_>| on_event(ExportEvent::Page(page));
        let mut rows = FormStore::Sqlite(form.share());
        let pulled = pull(&self.client, &self.form, &mut rows, &options, on_page);
        let pulled = until(options.deadline(), pulled).await?;
        if pulled.completeness == Completeness::Incomplete && !self.pull.allow_incomplete {
            return Err(ExportError::Incomplete(pulled.left_out));
        }
        on_event(ExportEvent::Rendering);
        // Dropped with this future, which cancels the rendering.
        let waiting = Arc::new(());
        let (export, waiter) = (self.clone(), Arc::downgrade(&waiting));
        form.run(move |form| rendering.render(form, &export, pulled, &waiter)).await
    }
}

/// An export with an open spool.
struct Opened {
    spool: Spool,
    rows: u64,
    saved_to: Option<Timestamp>,
    rendering: RenderJob,
}
