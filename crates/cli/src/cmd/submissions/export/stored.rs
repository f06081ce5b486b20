//! Exports of a synchronized database, without a request.

use std::path::Path;
use std::time::{Duration, Instant};

use formsvc_export::{FileFormat, Output, SourceInfo, SyncStatus};

use super::output::{report_rendered, summary};
use super::{Export, failure};
use crate::cmd::submissions::database::{Database, check_stored};
use crate::cmd::submissions::range::Bounds;
use crate::context::Context;
use crate::error::CliError;

impl Export {
    /// Renders the stored submissions of the forms.
    pub(super) async fn export_stored(
        &self,
        cx: &Context,
        database: &Database,
        output: Option<Output<'static>>,
        format: FileFormat,
        bounds: &Bounds,
    ) -> Result<(), CliError> {
        let mut forms: Vec<&SyncStatus> = database.forms.iter().filter(|_| self.all).collect();
        for name in &self.forms {
            let form = database.find(name)?;
            if !forms.iter().any(|taken| std::ptr::eq(*taken, form)) {
                forms.push(form);
            }
        }
        let names: Vec<_> = forms.iter().map(|form| (file_stem(form), &*form.form_id)).collect();
        let jobs = self.paths(&names, format)?.into_iter().zip(forms);
        let render = async |form: &SyncStatus, path: Option<&Path>, output: Output<'static>| {
            let began = Instant::now();
            let range = bounds.rows().include_deleted(self.include_deleted);
            let rows = database.rows(cx, form, range).await?;
            let complete = match check_stored(&rows, form) {
                Err(error) if !self.allow_incomplete => {
                    let hint = "or export the stored submissions with `--allow-incomplete`";
                    return Err(error.hint_too(hint));
                }
                complete => complete,
            };
            let options = self.options.render(format, self.limit)?.source(SourceInfo {
                origin: form.origin.clone(),
                title: form.title.clone().unwrap_or_else(|| form.form_id.clone()),
                form_id: form.form_id.clone(),
            });
            let rendered = output
                .render(&rows, &options)
                .map_err(|error| failure::explain(error, path, format, None))?;
            report_rendered(cx, &rendered);
            let times = (began.elapsed(), Duration::ZERO);
            cx.progress.report(&summary(&rendered, rows.completeness, path, times));
            complete
        };
        self.export_each(cx, output, jobs, render).await
    }
}

/// Returns the name of a form's file in a folder: its public id, or else its id.
fn file_stem(form: &SyncStatus) -> &str {
    form.public_id.as_deref().filter(|id| !id.starts_with('-')).unwrap_or(&form.form_id)
}
