//! Errors of exports that stopped.

use std::path::Path;

use formsvc_client::ErrorKind;
use formsvc_export::{ExportError, FileFormat, Operation};

use super::{Job, counted};
use crate::cmd::submissions::incomplete;
use crate::context::TIME_LIMIT_REACHED;
use crate::error::CliError;
use crate::exit::Exit;

/// The hint when submissions cannot be saved in the temporary folder.
pub(super) const NOTHING_WRITTEN: &str =
    "nothing was written: let TMPDIR or FORMSVC_STATE_DIR name a folder with room";

const PARTIAL_STREAM: &str = "the data on standard output is not complete";

/// Describes the number of saved submissions, and the state of the output.
pub(super) fn saved(rows: u64, output: Option<&str>) -> String {
    let verb = if rows == 1 { "is" } else { "are" };
    let output = output.map_or(String::new(), |output| format!(", and {output}"));
    format!("{} {verb} saved{output}", counted(rows, "submission"))
}

/// States that the output is unchanged; `None` for a pipe or device, which is written as it is.
pub(super) fn unchanged(path: Option<&Path>) -> Option<String> {
    let Some(path) = path else {
        return Some("nothing was written to standard output".to_owned());
    };
    let shown = path.display();
    match path.metadata() {
        Ok(file) if file.is_dir() => Some(format!("the files in `{shown}` are unchanged")),
        Ok(file) if file.is_file() => Some(format!("the previous file `{shown}` is unchanged")),
        Ok(_) => None,
        Err(_) => Some(format!("`{shown}` was not created")),
    }
}

/// Returns the state of the output if the failed operation came after a replacement.
fn changed(error: &ExportError) -> Option<&'static str> {
    let ExportError::Output { operation, .. } = error else { return None };
    match operation {
        Operation::Overwrite => Some("the file was overwritten in part"),
        Operation::PublishNext => Some("the files of some other months are replaced"),
        Operation::Manifest | Operation::RemoveSpool => Some("the output is complete"),
        _ => None,
    }
}

/// Returns the error of an export, with the saved submissions and the command that continues. If `is_lost`,
/// submissions were not saved for lack of a state folder.
pub(super) fn explain(
    error: ExportError,
    job: &Job,
    command: Option<String>,
    is_lost: bool,
) -> CliError {
    let path = job.path.as_deref();
    let ExportError::Unfinished { rows_saved, cause, .. } = error else {
        let error = explain_rendering(error, path, job.format);
        return if is_lost && !job.is_streamed() && error.exit != Exit::Usage {
            error.hint_too("nothing is saved without a state folder: set FORMSVC_STATE_DIR")
        } else {
            error
        };
    };
    let output = changed(&cause).map(str::to_owned).or_else(|| unchanged(path));
    let (hint, is_permanent) = (hint_for_repeated(&cause), cause.is_permanent());
    let error = convert(*cause).hint_too(&saved(rows_saved, output.as_deref()));
    match (hint, command) {
        (Some(hint), _) => error.hint_too(hint),
        // With another key the command continues.
        (None, Some(command)) if !is_permanent || error.exit == Exit::Auth => {
            error.continued_by(command)
        }
        (None, None) if !is_permanent => error.hint_too("the same command continues"),
        (None, _) => error,
    }
}

/// Returns the error of an output that was not completed, with the state of the output.
pub(super) fn explain_rendering(
    error: ExportError,
    path: Option<&Path>,
    format: FileFormat,
) -> CliError {
    let is_output = matches!(error, ExportError::Output { .. });
    let is_partial = path.is_none() && (is_output || !format.format.is_table());
    let state = match &error {
        ExportError::Output { operation: Operation::Spool, .. } => Some(NOTHING_WRITTEN.to_owned()),
        ExportError::Output { operation: Operation::Publish, .. } => None,
        error => changed(error)
            .or(is_partial.then_some(PARTIAL_STREAM))
            .map_or_else(|| unchanged(path), |state| Some(state.to_owned())),
    };
    let hint = hint_for_repeated(&error);
    let mut error = convert(error);
    if let Some(hint) = hint {
        error = error.hint_too(hint);
    }
    match state {
        Some(state) if is_output => error.hint_if_none(&state),
        Some(state) => error.hint_too(&state),
        None => error,
    }
}

/// Returns the hint for an error with which the same command would fail again.
fn hint_for_repeated(error: &ExportError) -> Option<&'static str> {
    match error {
        ExportError::Filter { .. } => Some("correct the expression of `--where`"),
        // A resume token of another form or service, in a spool that was edited.
        ExportError::Service(error) if error.kind() == ErrorKind::Config => {
            Some("start over with `--fresh`, which discards the saved submissions")
        }
        _ => None,
    }
}

/// Returns the error of a sync that stopped after `new` submissions. `next` is the effect of the same
/// command.
pub(in crate::cmd::submissions) fn explain_stopped(
    error: ExportError,
    new: u64,
    next: &str,
) -> CliError {
    let is_permanent = error.is_permanent();
    let error = convert(error);
    if matches!(error.exit, Exit::Usage | Exit::DataPolicy | Exit::NotFound) {
        return error;
    }
    let stored = match new {
        0 if is_permanent => return error,
        0 => "nothing new was stored".to_owned(),
        new => format!("{} stored", counted(new, "new submission")),
    };
    let next = if is_permanent { String::new() } else { format!("; the same command {next}") };
    error.hint_too(&(stored + &next))
}

fn convert(error: ExportError) -> CliError {
    match error {
        ExportError::TimeLimit => CliError::new(Exit::Incomplete, TIME_LIMIT_REACHED),
        ExportError::Incomplete(left_out) => match incomplete(&left_out) {
            Err(error) => {
                error.hint("`--allow-incomplete` completes the output without these submissions")
            }
            Ok(()) => CliError::new(Exit::DataPolicy, "the result is incomplete"),
        },
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use formsvc_export::Format;
    #[cfg(feature = "postgres")]
    use formsvc_export::PostgresError;
    use formsvc_export::SyncError;

    use super::*;
    use crate::form_ref::FormMatch;

    fn shown(cause: ExportError, path: &Path) -> String {
        let folder = path.parent().unwrap().to_owned();
        let error = ExportError::Unfinished { rows_saved: 3, folder, cause: Box::new(cause) };
        let command = Some("formsvc submissions export x".to_owned());
        let form = FormMatch::unlisted("frm_1".parse().unwrap());
        let job = Job { form, format: Format::Csv.into(), path: Some(path.to_owned()) };
        format!("{:?}", explain(error, &job, command, false))
    }

    fn output_error(operation: Operation) -> ExportError {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        ExportError::Output { operation, path: None, source }
    }

    #[test]
    fn changed_file_is_not_reported_as_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "part").unwrap();
        let overwritten = shown(output_error(Operation::Overwrite), &path);
        assert!(overwritten.contains("overwritten in part"), "{overwritten}");
        assert!(!overwritten.contains("unchanged"), "{overwritten}");
        for operation in [Operation::Manifest, Operation::PublishNext] {
            let shown = shown(output_error(operation), &path);
            assert!(!shown.contains("unchanged"), "{shown}");
        }
        assert!(shown(output_error(Operation::Write), &path).contains("is unchanged"));
    }

    #[cfg(unix)]
    #[test]
    fn device_is_not_reported_as_unchanged() {
        let shown = shown(output_error(Operation::Write), Path::new("/dev/null"));
        assert!(shown.contains("3 submissions are saved"), "{shown}");
        assert!(!shown.contains("unchanged") && !shown.contains("created"), "{shown}");
    }

    #[test]
    fn error_that_repeats_has_no_command_to_continue() {
        let path = Path::new("/nonexistent/rows.csv");
        let filter = ExportError::Filter { id: "sub_1".to_owned(), message: "no".to_owned() };
        let filter = shown(filter, path);
        assert!(filter.contains("correct the expression of `--where`"), "{filter}");
        assert!(!filter.contains("continue with"), "{filter}");
        let token = formsvc_client::Client::builder().base_url("not a URL").build().unwrap_err();
        assert_eq!(token.kind(), ErrorKind::Config);
        let token = shown(ExportError::Service(token), path);
        assert!(token.contains("start over with `--fresh`"), "{token}");
        assert!(!token.contains("continue with"), "{token}");
        assert!(shown(ExportError::TimeLimit, path).contains("continue with"));
    }

    #[test]
    fn permanent_error_does_not_promise_to_continue() {
        let errors = |target: &str| target.parse::<formsvc_export::SyncTarget>().unwrap_err();
        let stopped = |error: SyncError| explain_stopped(error.into(), 3, "continues").to_text();
        let locked = stopped(SyncError::Locked("frm_1".to_owned()));
        assert!(
            locked.contains("3 new submissions stored; the same command continues"),
            "{locked}"
        );
        let target = stopped(errors("postgres:x"));
        assert!(!target.contains("the same command"), "{target}");
        #[cfg(feature = "postgres")]
        for (error, is_permanent) in [
            (PostgresError::Denied("no".to_owned()), true),
            (PostgresError::NoPassword, true),
            (PostgresError::NoSchema("forms".to_owned()), true),
            (PostgresError::Refused("no".to_owned()), true),
            (PostgresError::Connect("no".to_owned()), false),
            (PostgresError::Lost("no".to_owned()), false),
            (PostgresError::Conflict("no".to_owned()), false),
        ] {
            let text = explain_stopped(ExportError::from(error), 3, "continues").to_text();
            assert!(text.contains("3 new submissions stored"), "{text}");
            assert_eq!(!text.contains("the same command continues"), is_permanent, "{text}");
        }
    }
}
