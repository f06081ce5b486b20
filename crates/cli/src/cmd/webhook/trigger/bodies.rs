//! The bodies that `trigger` sends: from a file, from the service, or generated.

use bytes::Bytes;
use formsvc_contract::payload;
use formsvc_workbench::simulate::{
    Bodies, BodySource as Source, FindError, SearchProgress, find_submission,
};

use super::super::args::BodySource;
use super::Trigger;
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
        fixed.push(submission_body(cx, name).await?);
    }
    let source = if fixed.is_empty() { Source::Sample } else { Source::Fixed(fixed) };
    Ok(Bodies::new(source, args.changes.changes(), args.event.clone()))
}

/// Returns the body of a submission: `FORM/ID`, or `FORM` for its newest.
async fn submission_body(cx: &Context, name: &str) -> Result<Bytes, CliError> {
    let (form, id) = match name.rsplit_once('/') {
        Some((form, id)) => (form, Some(id)),
        None => (name, None),
    };
    let form = form_ref::resolve(cx, form).await.map_err(|error| {
        let is_submission = name.starts_with("sub_");
        if is_submission { error.hint(format!("name the form: `FORM/{name}`")) } else { error }
    })?;
    cx.progress.begin();
    let on_progress = |progress: SearchProgress| {
        cx.progress.submissions(progress.submissions, progress.oldest.as_str());
    };
    let handle = cx.client().await?.form(form.id.clone());
    let found = find_submission(&handle, id, on_progress).await;
    cx.progress.end();
    let submission = found.map_err(|error| match error {
        FindError::Client(error) => error.into(),
        error => CliError::new(Exit::NotFound, format!("form `{}`: {error}", form.title))
            .hint("`formsvc submissions list` shows the complete ids"),
    })?;
    Ok(payload::body(&payload::event_of(submission, form.id, &form.title)))
}
