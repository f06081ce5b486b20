//! `--from`: an export of a synchronized database, without a request.

use std::path::Path;
use std::time::Instant;

use formsvc_client::Completeness;
use formsvc_export::{FileFormat, Format, RowRange, SourceInfo, SyncStatus, SyncStore};
use secrecy::ExposeSecret;

use super::output::{file_names, report_rendered, summary};
use super::{Export, failure, spools};
use crate::cmd::submissions::range::Bounds;
use crate::cmd::submissions::sync;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

impl Export {
    /// Renders the stored submissions of forms.
    pub(super) async fn export_from(
        &self,
        cx: &Context,
        address: &secrecy::SecretString,
        bounds: &Bounds,
    ) -> Result<(), CliError> {
        let is_to_folder = self.is_to_folder();
        let format = if is_to_folder {
            self.options.format().unwrap_or(Format::Csv.into())
        } else {
            self.format_of_output()?
        };
        let path = if is_to_folder { Some(&*self.out) } else { self.file() };
        self.check(format, path)?;
        let target = sync::read_target(address.expose_secret(), self.schema.as_deref())?;
        let store = sync::open(cx, &target).await?;
        let known = store.status().await?;
        if !is_to_folder {
            let form = find(&known, &self.forms[0])?;
            return self.export_stored(cx, &store, form, format, path, bounds).await;
        }
        let mut forms: Vec<&SyncStatus> =
            if self.all { known.iter().collect() } else { Vec::new() };
        for name in &self.forms {
            let form = find(&known, name)?;
            if !forms.iter().any(|taken| std::ptr::eq(*taken, form)) {
                forms.push(form);
            }
        }
        self.create_folder()?;
        let names: Vec<_> = forms.iter().map(|form| (file_stem(form), &*form.form_id)).collect();
        let mut failure = None;
        for (name, form) in file_names(&names, format).into_iter().zip(forms) {
            let path = self.out.join(name);
            match self.export_stored(cx, &store, form, format, Some(&path), bounds).await {
                // The other forms may be complete.
                Err(error) if error.exit == Exit::DataPolicy => {
                    let cause = error.brief();
                    failure = Some(failure.map_or(error, |first: CliError| first.cause(cause)));
                }
                result => result?,
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// Renders the stored submissions of a form.
    async fn export_stored(
        &self,
        cx: &Context,
        store: &SyncStore,
        form: &SyncStatus,
        format: FileFormat,
        path: Option<&Path>,
        bounds: &Bounds,
    ) -> Result<(), CliError> {
        let began = Instant::now();
        let options = self.options.render(format, self.limit)?;
        let output = self.output(cx, path)?;
        let range = RowRange::default().since(bounds.since()).until(bounds.until());
        let range = range.include_deleted(self.include_deleted);
        let rows = store.rows(form, range, &spools(cx)?).await?;
        let what = format!("the database does not have all submissions of `{}`", form.form_id);
        let complete = "complete it with `formsvc submissions sync`, or with `sync verify` if submissions were \
                        left out";
        let incomplete = CliError::new(Exit::DataPolicy, what).hint(complete);
        let is_incomplete = rows.completeness == Completeness::Incomplete;
        if is_incomplete && !self.allow_incomplete {
            let hint = "or export the stored submissions with `--allow-incomplete`";
            return Err(incomplete.hint_too(hint));
        }
        let options = options.source(SourceInfo {
            origin: form.origin.clone(),
            title: form.title.clone().unwrap_or_else(|| form.form_id.clone()),
            form_id: form.form_id.clone(),
        });
        let rendered = output.render(&rows, &options);
        let rendered =
            rendered.map_err(|error| failure::explain(error, path, format, None, false))?;
        report_rendered(cx, &rendered);
        cx.progress.report(&summary(&rendered, rows.completeness, path, began.elapsed()));
        if is_incomplete { Err(incomplete) } else { Ok(()) }
    }
}

/// The name of a form's file in a folder: its public id, or its id if that is not known.
fn file_stem(form: &SyncStatus) -> &str {
    form.public_id.as_deref().filter(|id| !id.starts_with('-')).unwrap_or(&form.form_id)
}

/// Finds a form by its id, its public id, its title or the beginning of either id.
fn find<'a>(forms: &'a [SyncStatus], name: &str) -> Result<&'a SyncStatus, CliError> {
    let rules: [fn(&SyncStatus, &str) -> bool; 4] = [
        |form, name| form.form_id == name,
        |form, name| form.public_id.as_deref() == Some(name),
        |form, name| form.title.as_deref() == Some(name),
        |form, name| {
            let mut ids = [Some(&form.form_id), form.public_id.as_ref()].into_iter().flatten();
            !name.is_empty() && ids.any(|id| id.starts_with(name))
        },
    ];
    let mut found: Vec<&SyncStatus> = Vec::new();
    for rule in rules {
        if found.is_empty() {
            found = forms.iter().filter(|form| rule(form, name)).collect();
        }
    }
    match found[..] {
        [form] => Ok(form),
        [] => {
            let what = format!("the database does not contain the form `{name}`");
            let hint = "`formsvc submissions sync status --to URL` lists its forms";
            Err(CliError::new(Exit::NotFound, what).hint(hint))
        }
        _ => {
            let ids: Vec<String> =
                found.iter().map(|form| format!("{} of {}", form.form_id, form.origin)).collect();
            let what = format!("`{name}` is more than one form: {}", ids.join(", "));
            Err(CliError::usage(what).hint("use the full id"))
        }
    }
}
