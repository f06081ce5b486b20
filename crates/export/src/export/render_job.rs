//! The rendering of an export on a blocking thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::manifest::write_manifest;
use super::{Export, Exported};
use crate::destination::Destination;
use crate::error::ExportError;
use crate::format::RenderOptions;
use crate::partition::Output;
use crate::pull::PullSummary;
use crate::row::{RowCallback, RowSource};
use crate::store::{RowForm, RowRange};

/// The rendering of the stored submissions.
pub(super) struct RenderJob {
    pub(super) options: RenderOptions,
    pub(super) output: Output<'static>,
    pub(super) manifest: Option<Destination<'static>>,
}

impl RenderJob {
    pub(super) fn render(
        self,
        form: &RowForm,
        export: &Export,
        pull: PullSummary,
        is_canceled: &AtomicBool,
    ) -> Result<Exported, ExportError> {
        let rows = SpooledRows { form, range: export.pull.range(), is_canceled };
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
pub(super) struct CancelOnDrop(pub(super) Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The rows of a spool, which no other process writes. They end with an error after the rendering was canceled.
struct SpooledRows<'a> {
    form: &'a RowForm,
    range: RowRange,
    is_canceled: &'a AtomicBool,
}

impl RowSource for SpooledRows<'_> {
    fn for_each(&self, take: RowCallback<'_>) -> Result<(), ExportError> {
        let RowForm { store, source, .. } = self.form;
        store.read_rows(*source, self.range, &mut |row| {
            if self.is_canceled.load(Ordering::Relaxed) {
                // No caller waits for the error.
                return Err(ExportError::TimeLimit);
            }
            take(row)
        })
    }
}
