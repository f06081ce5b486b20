//! Exports of NDJSON and JSON that are written as the pages arrive.

use std::io::BufWriter;

use formsvc_client::SubmissionPage;
use formsvc_table::JsonWriter;

use super::{Export, ExportEvent, Exported};
use crate::blocking::{Blocking, run_blocking};
use crate::destination::{Destination, ErrorSource};
use crate::error::{ExportError, Operation, Unsupported};
use crate::file_format::Format;
use crate::format::RenderOptions;
use crate::left_out::LeftOut;
use crate::pull::PullProgress;
use crate::render::{BLOCK, Rendered, apply_filter};
use crate::store::{extra_json, stored_row};

impl Export {
    /// Writes NDJSON or JSON page by page, without a spool. Cannot be continued: after an error a file does
    /// not appear, and a JSON array in a stream stays open.
    pub async fn stream(
        self,
        options: impl Into<RenderOptions>,
        destination: Destination<'static>,
        mut on_event: impl FnMut(ExportEvent<'_>),
    ) -> Result<Exported, ExportError> {
        let options = options.into();
        options.check()?;
        let format = options.format.format;
        if format.is_table() {
            return Err(Unsupported::Stream(format).into());
        }
        let limit = options.limit.unwrap_or(u64::MAX);
        let mut pages = self.pull.bounded_query(&self.client, &self.form).pages();
        let out = Blocking::new(Stream::new(options, destination));
        let mut exported = Exported::default();
        let Exported { pull, rendered, .. } = &mut exported;
        while rendered.rows < limit
            && let Some(page) = pages.try_next().await?
        {
            pull.rows += page.len() as u64;
            pull.new = pull.rows;
            pull.requests += u64::from(page.meta().attempts());
            let last = page.submissions().last().map(|row| row.created_at.clone());
            rendered.rows = out.run(move |out| out.write(&page)).await?;
            if let Some(reached) = &last {
                on_event(ExportEvent::Page(PullProgress {
                    rows: pull.rows,
                    new: pull.rows,
                    reached,
                }));
            }
        }
        pull.completeness = pages.completeness_so_far();
        pull.left_out = LeftOut::of_pages(&pages);
        let end = move || out.into_inner().map_or(Ok(()), Stream::end);
        run_blocking(end).await?;
        Ok(exported)
    }
}

/// The output of a stream.
struct Stream {
    options: RenderOptions,
    out: JsonWriter<BufWriter<Destination<'static>>>,
    errors: ErrorSource,
    rendered: Rendered,
}

impl Stream {
    fn new(options: RenderOptions, destination: Destination<'static>) -> Self {
        let errors = destination.error_source();
        let out = BufWriter::with_capacity(BLOCK, destination);
        let out = JsonWriter::new(out, options.format.format == Format::Json);
        Self { options, out, errors, rendered: Rendered::default() }
    }

    /// Writes the selected submissions of a page. Returns the number of all so far.
    fn write(&mut self, page: &SubmissionPage) -> Result<u64, ExportError> {
        let failed = |error| self.errors.error(Operation::Write, error);
        let limit = self.options.limit.unwrap_or(u64::MAX);
        for row in page {
            let extra = extra_json(row);
            let row = stored_row(row, &extra);
            let filter = self.options.filter.as_ref();
            let is_wanted = filter.map_or(Ok(true), |filter| apply_filter(filter, &row))?;
            if is_wanted && self.rendered.rows < limit {
                self.out.write_row(&row).map_err(failed)?;
                self.rendered.rows += 1;
            }
        }
        // The reader of a pipe gets each page as it arrives.
        self.out.flush().map_err(failed)?;
        Ok(self.rendered.rows)
    }

    fn end(self) -> Result<(), ExportError> {
        let failed = |error| self.errors.error(Operation::Write, error);
        let out = self.out.into_inner().map_err(failed)?;
        out.into_inner().map_err(|error| failed(error.into_error()))?.publish()
    }
}
