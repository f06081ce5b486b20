//! Exports of a synchronized database, without a request.

use std::path::Path;
use std::time::{Duration, Instant};

use formsvc_export::{FileFormat, SourceInfo, SyncStatus};

use super::output::{report_rendered, summary};
use super::{Export, add_failure, failure};
use crate::cmd::submissions::database::{Database, check_stored};
use crate::cmd::submissions::range::Bounds;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

impl Export {
    /// Renders the stored submissions of the forms.
    pub(super) async fn export_stored(
        &self,
        cx: &Context,
        database: &Database,
        format: FileFormat,
        bounds: &Bounds,
    ) -> Result<(), CliError> {
        if !self.is_to_folder() {
            let form = database.find(&self.forms[0])?;
            return self.render_stored(cx, database, form, format, self.file(), bounds).await;
        }
        let mut forms: Vec<&SyncStatus> = database.forms.iter().filter(|_| self.all).collect();
        for name in &self.forms {
            let form = database.find(name)?;
            if !forms.iter().any(|taken| std::ptr::eq(*taken, form)) {
                forms.push(form);
            }
        }
        let names: Vec<_> = forms.iter().map(|form| (file_stem(form), &*form.form_id)).collect();
        let mut failure = None;
        for (path, form) in self.paths_in_folder(&names, format)?.into_iter().zip(forms) {
            match self.render_stored(cx, database, form, format, Some(&path), bounds).await {
                // The other forms may be complete.
                Err(error) if error.exit == Exit::DataPolicy => {
                    add_failure(&mut failure, error, form.title.as_ref().unwrap_or(&form.form_id));
                }
                result => result?,
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Renders the stored submissions of a form.
    async fn render_stored(
        &self,
        cx: &Context,
        database: &Database,
        form: &SyncStatus,
        format: FileFormat,
        path: Option<&Path>,
        bounds: &Bounds,
    ) -> Result<(), CliError> {
        let began = Instant::now();
        let options = self.options.render(format, self.limit)?;
        let output = self.output(cx, path)?;
        let range = bounds.rows().include_deleted(self.include_deleted);
        let rows = database.rows(cx, form, range).await?;
        let complete = match check_stored(&rows, form) {
            Err(error) if !self.allow_incomplete => {
                let hint = "or export the stored submissions with `--allow-incomplete`";
                return Err(error.hint_too(hint));
            }
            complete => complete,
        };
        let options = options.source(SourceInfo {
            origin: form.origin.clone(),
            title: form.title.clone().unwrap_or_else(|| form.form_id.clone()),
            form_id: form.form_id.clone(),
        });
        let rendered = output
            .render(&rows, &options)
            .map_err(|error| failure::explain_rendering(error, path, format))?;
        report_rendered(cx, &rendered);
        cx.progress.report(&summary(
            &rendered,
            rows.completeness,
            path,
            began.elapsed(),
            Duration::ZERO,
        ));
        complete
    }
}

/// Returns the name of a form's file in a folder: its public id, or else its id.
fn file_stem(form: &SyncStatus) -> &str {
    form.public_id.as_deref().filter(|id| !id.starts_with('-')).unwrap_or(&form.form_id)
}
