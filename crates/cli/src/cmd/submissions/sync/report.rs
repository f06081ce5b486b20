//! Reports about synchronized forms.

use std::path::Path;
use std::time::Duration;

use formsvc_client::Completeness;
use formsvc_export::{LeftOut, SyncSummary, SyncTarget, ViewChanges};
use serde::Serialize;

use crate::base::text::duration;
use crate::cmd::submissions::export::{counted, incomplete};
use crate::context::Context;
use crate::error::CliError;
use crate::form_ref::FormMatch;
use crate::output::Field;

/// The fields of a synchronized form.
pub(in crate::cmd) const FIELDS: [Field; 9] = [
    Field::new("form"),
    Field::new("new"),
    Field::new("replaced"),
    Field::new("submissions"),
    Field::new("requests"),
    Field::new("complete"),
    Field::new("new_columns").json_only(),
    Field::new("view").last(),
    Field::id("form_id").last(),
];

/// A synchronized form.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    form: String,
    new: u64,
    replaced: u64,
    submissions: u64,
    requests: u64,
    complete: &'static str,
    new_columns: Vec<String>,
    view: String,
    form_id: String,
    #[serde(skip)]
    left_out: LeftOut,
}

impl Report {
    pub(super) fn new(form: &FormMatch, summary: SyncSummary) -> Self {
        let pull = summary.pull;
        Self {
            form: form.title.clone(),
            new: pull.new,
            replaced: pull.replaced,
            submissions: pull.rows,
            requests: pull.requests,
            complete: complete(pull.completeness),
            new_columns: summary.changes.new_columns,
            view: summary.view,
            form_id: form.id.to_string(),
            left_out: pull.left_out,
        }
    }
}

/// Ends a run: with exit 9 if submissions could be missing.
pub(super) fn end(reports: &[Report]) -> Result<(), CliError> {
    let mut left_out = LeftOut::default();
    for report in reports {
        left_out.add(&report.form, &report.left_out);
    }
    incomplete(&left_out)
}

pub(super) fn complete(completeness: Completeness) -> &'static str {
    match completeness {
        Completeness::Proven => "yes",
        Completeness::Incomplete => "no",
        _ => "unproven",
    }
}

/// The summary of a form.
pub(super) fn describe(
    form: &FormMatch,
    summary: &SyncSummary,
    target: &SyncTarget,
    elapsed: Duration,
) -> String {
    let pull = &summary.pull;
    let new = match pull.new {
        0 => "nothing new".to_owned(),
        new => counted(new, "new submission"),
    };
    let replaced = match pull.replaced {
        0 => String::new(),
        replaced => {
            format!(", {} with other content replaced", counted(replaced, "known submission"))
        }
    };
    let doubt = match complete(pull.completeness) {
        "yes" => String::new(),
        doubt => format!("; complete: {doubt}"),
    };
    let (rows, requests) = (counted(pull.rows, "submission"), counted(pull.requests, "request"));
    format!(
        "{}: {new}{replaced}; {rows} → {target} in {} and {requests}{doubt}",
        form.title,
        duration(elapsed)
    )
}

/// Reports that a copy of an SQLite database needs its log, too.
pub(super) fn remark_log(cx: &Context, log: Option<&Path>) {
    if let Some(log) = log {
        cx.progress.remark(&format!(
            "another program reads the database: to copy it, copy `{}` too, which has the newest \
             submissions",
            log.display()
        ));
    }
}

/// Reports the changes of a view.
pub(super) fn remark_changes(cx: &Context, form: &FormMatch, changes: &ViewChanges) {
    let title = &form.title;
    if !changes.new_columns.is_empty() {
        let columns = counted(changes.new_columns.len() as u64, "new column");
        cx.progress.remark(&format!("{title}: {columns}: {}", listed(&changes.new_columns)));
    }
    if changes.cleaned_rows > 0 {
        let rows = counted(changes.cleaned_rows, "submission");
        cx.progress.remark(&format!(
            "{title}: {rows} with characters that the database refuses, which are U+FFFD in the view \
             and exact in `data`"
        ));
    }
    for reason in &changes.outdated {
        cx.progress.warn(&format!("{title}: {reason}"));
    }
    if changes.unfit_rows > 0 {
        let rows = counted(changes.unfit_rows, "submission");
        cx.progress.warn(&format!(
            "{title}: {rows} with an answer that does not fit its column of the typed view, and is null \
             there"
        ));
    }
}

/// The first names of a list.
fn listed(names: &[String]) -> String {
    const SHOWN_MAX: usize = 10;
    let shown: Vec<String> = names.iter().take(SHOWN_MAX).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(SHOWN_MAX);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    shown.join(", ") + &more
}
