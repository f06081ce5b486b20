//! `--from`: an export of a synchronized database, without a request.

use std::time::Instant;

use formsvc_client::{Completeness, Timestamp};
use formsvc_export::{RowRange, SourceInfo, SyncStatus};
use secrecy::ExposeSecret;

use super::output::{report_rendered, summary};
use super::{Export, failure, spools};
use crate::cmd::submissions::range::Bounds;
use crate::cmd::submissions::sync;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

impl Export {
    /// Renders the stored submissions of a form.
    pub(super) async fn export_from(
        &self,
        cx: &Context,
        address: &secrecy::SecretString,
        bounds: &Bounds,
    ) -> Result<(), CliError> {
        let began = Instant::now();
        let (format, path) = (self.format_of_output()?, self.file().map(ToOwned::to_owned));
        self.check(format, path.as_deref())?;
        let mut options = self.options.render(format, self.limit)?;
        let target = sync::read_target(address.expose_secret(), self.schema.as_deref())?;
        let output = self.output(cx, path.as_deref())?;
        let store = sync::open(cx, &target).await?;
        let form = find(&store.status().await?, &self.forms[0])?.clone();
        let micros = |time: Option<Timestamp>| time.as_ref().map(Timestamp::unix_micros);
        let range = RowRange {
            since: micros(bounds.since()).unwrap_or(i64::MIN),
            until: micros(bounds.until()).unwrap_or(i64::MAX),
            include_deleted: self.include_deleted,
        };
        let rows = store.rows(&form, range, &spools(cx)?).await?;
        let what = format!("the database does not have all submissions of `{}`", form.form_id);
        let complete = "complete it with `formsvc submissions sync`, or with `sync verify` if submissions were \
                        left out";
        let incomplete = CliError::new(Exit::DataPolicy, what).hint(complete);
        let is_incomplete = rows.completeness == Completeness::Incomplete;
        if is_incomplete && !self.allow_incomplete {
            let hint = "or export the stored submissions with `--allow-incomplete`";
            return Err(incomplete.hint_too(hint));
        }
        options.source = SourceInfo {
            origin: form.origin,
            title: form.title.unwrap_or_else(|| form.form_id.clone()),
            form_id: form.form_id,
        };
        let rendered = output.render(&rows, &options);
        let rendered = rendered
            .map_err(|error| failure::explain(error, path.as_deref(), format, None, false))?;
        report_rendered(cx, &rendered);
        let message = summary(&rendered, rows.completeness, path.as_deref(), began.elapsed());
        cx.progress.report(message);
        if is_incomplete { Err(incomplete) } else { Ok(()) }
    }
}

/// Finds a form by its id, its title or the beginning of its id.
fn find<'a>(forms: &'a [SyncStatus], name: &str) -> Result<&'a SyncStatus, CliError> {
    let rules: [fn(&SyncStatus, &str) -> bool; 3] = [
        |form, name| form.form_id == name,
        |form, name| form.title.as_deref() == Some(name),
        |form, name| !name.is_empty() && form.form_id.starts_with(name),
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
