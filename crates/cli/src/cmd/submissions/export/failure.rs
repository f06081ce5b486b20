//! Errors of exports that stopped.

use std::path::Path;

use formsvc_export::{ExportError, FileFormat, Operation};

use super::counted;
use crate::cmd::submissions::incomplete;
use crate::context::TIME_LIMIT_REACHED;
use crate::error::CliError;
use crate::exit::Exit;

/// The hint when submissions cannot be saved in the temporary folder.
pub(super) const NOTHING_WRITTEN: &str =
    "nothing was written: set TMPDIR or FORMSVC_STATE_DIR to a folder with free space";

/// The state of a stream that failed.
pub(super) const PARTIAL_STREAM: &str = "the data on standard output is not complete";

/// Describes the saved submissions and the state of the output.
pub(super) fn saved(rows: u64, output: Option<String>) -> String {
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
        Ok(file) if file.is_dir() || file.is_file() => Some(format!("`{shown}` is unchanged")),
        Ok(_) => None,
        Err(_) => Some(format!("`{shown}` was not created")),
    }
}

/// Returns the error of an export, with the state of the output. If submissions are saved, `command`
/// continues the export.
pub(super) fn explain(
    error: ExportError,
    path: Option<&Path>,
    format: FileFormat,
    command: Option<String>,
) -> CliError {
    if let ExportError::Unfinished { rows_saved, cause, .. } = error {
        let state = saved(rows_saved, state_of_output(&cause, path, format));
        let is_permanent = cause.is_permanent();
        let error = convert(*cause).hint_too(&state);
        // The command can continue with another API key.
        let can_continue = !is_permanent || error.exit == Exit::Auth;
        return error.continued_by(command.filter(|_| can_continue));
    }
    let is_output = matches!(error, ExportError::Output { .. });
    let state = state_of_output(&error, path, format);
    let error = convert(error);
    match state {
        Some(state) if is_output => error.hint_if_none(&state),
        Some(state) => error.hint_too(&state),
        None => error,
    }
}

/// Returns the state of the output after a failure, which can come after a replacement.
fn state_of_output(error: &ExportError, path: Option<&Path>, format: FileFormat) -> Option<String> {
    let operation = match error {
        ExportError::Output { operation, .. } => Some(*operation),
        _ => None,
    };
    let state = match operation {
        Some(Operation::Spool) => NOTHING_WRITTEN,
        Some(Operation::Publish) => return None,
        Some(Operation::Overwrite) => "the file was overwritten in part",
        Some(Operation::PublishNext) => "the files of some other months are replaced",
        Some(Operation::Manifest | Operation::RemoveSpool) => "the output is complete",
        _ if path.is_none() && (operation.is_some() || !format.format.is_table()) => PARTIAL_STREAM,
        _ => return unchanged(path),
    };
    Some(state.to_owned())
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

    fn explained(cause: ExportError, path: &Path) -> String {
        let folder = path.parent().unwrap().to_owned();
        let error = ExportError::Unfinished { rows_saved: 3, folder, cause: Box::new(cause) };
        let command = Some("formsvc submissions export x".to_owned());
        format!("{:?}", explain(error, Some(path), Format::Csv.into(), command))
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
        let overwritten = explained(output_error(Operation::Overwrite), &path);
        assert!(overwritten.contains("overwritten in part"), "{overwritten}");
        assert!(!overwritten.contains("unchanged"), "{overwritten}");
        for operation in [Operation::Manifest, Operation::PublishNext] {
            let shown = explained(output_error(operation), &path);
            assert!(!shown.contains("unchanged"), "{shown}");
        }
        assert!(explained(output_error(Operation::Write), &path).contains("is unchanged"));
    }

    #[cfg(unix)]
    #[test]
    fn device_is_not_reported_as_unchanged() {
        let shown = explained(output_error(Operation::Write), Path::new("/dev/null"));
        assert!(shown.contains("3 submissions are saved"), "{shown}");
        assert!(!shown.contains("unchanged") && !shown.contains("created"), "{shown}");
    }

    #[test]
    fn error_that_repeats_has_no_command_to_continue() {
        let path = Path::new("/nonexistent/rows.csv");
        let filter = ExportError::Filter { id: "sub_1".to_owned(), message: "no".to_owned() };
        assert!(!explained(filter, path).contains("continue with"));
        assert!(explained(ExportError::TimeLimit, path).contains("continue with"));
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
