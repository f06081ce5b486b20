//! The bodies that `trigger` sends: from a file, from the service, or generated.

use bytes::Bytes;
use formsvc_contract::payload;
use formsvc_workbench::simulate::{
    Bodies, BodySource as Source, FindError, SILENT_REQUESTS, SearchProgress, find_submission,
};

use super::super::args::BodySource;
use super::Trigger;
use crate::base::when::now;
use crate::cmd::submissions::range::place;
use crate::cmd::submissions::report_search;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref;

/// Creates the bodies of the flags.
pub(super) async fn open(cx: &Context, args: &Trigger) -> Result<Bodies, CliError> {
    let mut fixed = Vec::new();
    if let Some(path) = &args.file {
        fixed.push(
            BodySource::new(Some(path), args.secrets.uses_stdin(), "`--file`")?.read().await?,
        );
    }
    for name in &args.from_submission {
        fixed.push(submission_body(cx, args, name).await?);
    }
    let source = if fixed.is_empty() { Source::Sample } else { Source::Fixed(fixed) };
    Ok(Bodies::new(source, args.changes.changes(), args.event.clone()))
}

/// Returns the body of a submission: `FORM/ID`, or `FORM` for its newest.
async fn submission_body(cx: &Context, args: &Trigger, name: &str) -> Result<Bytes, CliError> {
    let parts = name.rsplit_once('/');
    let (form, id) = parts.map_or((name, None), |(form, id)| (form, Some(id)));
    let form = form_ref::resolve(cx, form).await.map_err(|error| {
        let is_submission = name.starts_with("sub_");
        if is_submission { error.hint(format!("name the form: `FORM/{name}`")) } else { error }
    })?;
    let around = place(cx, "--around", args.around.as_ref(), &now())?;
    if id.is_none() && around.is_some() {
        let what = "`--around` needs the id of a submission";
        return Err(CliError::usage(what).hint("pass it: `--from-submission FORM/ID`"));
    }
    cx.progress.begin();
    let on_progress = |SearchProgress { requests, submissions, oldest }| {
        report_search(cx, submissions, oldest.as_str(), requests == SILENT_REQUESTS);
    };
    let handle = cx.client().await?.form(form.id.clone());
    let found = find_submission(&handle, id, around.as_ref(), on_progress).await;
    cx.progress.end();
    let submission = found.map_err(|error| match error {
        FindError::Client(error) => error.into(),
        error => CliError::new(Exit::NotFound, format!("form `{}`: {error}", form.title))
            .hint("`formsvc submissions list` shows the complete ids"),
    })?;
    Ok(payload::body(&payload::event_of(submission, form.id, &form.title)))
}
