//! The bodies that `trigger` sends: from a file, from the service, or generated.

use bytes::Bytes;
use formsvc_client::Submission;
use formsvc_contract::payload;
use formsvc_workbench::simulate::{
    Bodies, BodySource as Source, FindError, SearchProgress, Wanted, find_questions,
    find_submission,
};

use super::super::args::{BodySource, ChangeArgs};
use super::PayloadArgs;
use crate::base::when::now;
use crate::cmd::place;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref::{self, FormMatch};

/// Creates the bodies of the flags.
pub(super) async fn open(
    cx: &Context,
    args: &PayloadArgs,
    changes: &ChangeArgs,
) -> Result<Bodies, CliError> {
    let source = source(cx, args).await?;
    Ok(Bodies::new(source, changes.changes(), args.event.clone(), args.seed))
}

async fn source(cx: &Context, args: &PayloadArgs) -> Result<Source, CliError> {
    if let Some(path) = &args.file {
        let body = BodySource::new(Some(path), false, "`--file`")?.read().await?;
        return Ok(Source::Fixed(vec![body]));
    }
    if let Some(form) = &args.form {
        let FormMatch { id, title, .. } = form_ref::resolve(cx, form).await?;
        let questions = find_questions(&cx.client().await?.form(id.clone())).await?;
        if questions.is_empty() {
            let what =
                format!("the form `{title}` has no submissions, so its questions are unknown");
            return Err(CliError::new(Exit::NotFound, what)
                .hint("name the questions: `--set data.LABEL=VALUE` without `--form`"));
        }
        return Ok(Source::Form { id, title, questions });
    }
    if args.from_submission.is_empty() {
        return Ok(Source::Sample);
    }
    let mut bodies = Vec::new();
    for name in &args.from_submission {
        bodies.push(submission_body(cx, args, name).await?);
    }
    Ok(Source::Fixed(bodies))
}

/// Returns the body of a submission: `FORM/ID`, or `FORM` for its newest.
async fn submission_body(cx: &Context, args: &PayloadArgs, name: &str) -> Result<Bytes, CliError> {
    let (form, id) = name.rsplit_once('/').unwrap_or((name, ""));
    let form = form_ref::resolve(cx, form).await?;
    let submission = find(cx, args, &form, id).await?;
    Ok(payload::body(&payload::event_of(submission, form.id, &form.title)))
}

/// Finds a submission; the newest if the id is empty.
async fn find(
    cx: &Context,
    args: &PayloadArgs,
    form: &FormMatch,
    id: &str,
) -> Result<Submission, CliError> {
    let around = place(cx, "--around", args.around.as_ref(), &now())?;
    let wanted = match id {
        "" if around.is_some() => {
            let what = "`--around` needs the id of a submission";
            return Err(CliError::usage(what).hint("pass it: `--from-submission FORM/ID`"));
        }
        "" => Wanted::Newest,
        id => Wanted::Id { id, around: around.as_ref() },
    };
    cx.progress.begin();
    let on_progress = |progress: SearchProgress| {
        cx.progress.submissions(progress.submissions, progress.oldest.as_str());
    };
    let form_handle = cx.client().await?.form(form.id.clone());
    let found = find_submission(&form_handle, wanted, on_progress).await;
    cx.progress.end();
    found.map_err(|error| match error {
        FindError::Client(error) => error.into(),
        FindError::NoSubmissions => {
            CliError::new(Exit::NotFound, format!("the form `{}` has no submissions", form.title))
        }
        FindError::UnknownId { is_incomplete, .. } => {
            let error = CliError::new(Exit::NotFound, format!("form `{}`: {error}", form.title));
            error.hint(if is_incomplete {
                "the list leaves out submissions; it may be one of them"
            } else {
                "pass the complete id, as `formsvc submissions list` shows it"
            })
        }
    })
}
