//! Reports about synchronized forms.

use std::path::Path;
use std::time::Duration;

use formsvc_export::{SyncSummary, SyncTarget, ViewChanges};
use serde_json::{Value, json};

use crate::base::text::first_names;
use crate::cmd::submissions::counted;
use crate::cmd::submissions::export::with_waits;
use crate::cmd::submissions::outcome::completeness_name;
use crate::context::Context;
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
    Field::id("view").last(),
    Field::id("form_id").last(),
];

/// Returns a synchronized form with the members of [`FIELDS`].
pub(super) fn item(form: &FormMatch, summary: &SyncSummary) -> Value {
    let pull = &summary.pull;
    json!({
        "form": form.title,
        "new": pull.new,
        "replaced": pull.replaced,
        "submissions": pull.rows,
        "requests": pull.requests,
        "complete": completeness_name(pull.completeness),
        "new_columns": summary.changes.new_columns,
        "view": summary.view,
        "form_id": form.id.as_str(),
    })
}

/// Returns the summary of a form. `times` are the wall time and the time of waits in it.
pub(super) fn describe(
    form: &FormMatch,
    summary: &SyncSummary,
    target: &SyncTarget,
    times: (Duration, Duration),
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
    let doubt = match completeness_name(pull.completeness) {
        "yes" => String::new(),
        doubt => format!("; complete: {doubt}"),
    };
    let (rows, requests) = (counted(pull.rows, "submission"), counted(pull.requests, "request"));
    let (title, view, time) = (&form.title, &summary.view, with_waits(times));
    format!(
        "{title}: {new}{replaced}; {rows} → {target}, view `{view}`, in {time} and {requests}{doubt}"
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
        let names = first_names(&changes.new_columns, 10);
        cx.progress.remark(&format!("{title}: {columns}: {names}"));
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
