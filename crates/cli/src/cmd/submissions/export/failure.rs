//! What an export reports when it stops.

use std::path::Path;

use formsvc_client::event::SkippedItem;
use formsvc_client::list::SubmissionPages;
use formsvc_client::{Completeness, ErrorKind, PAGE_SIZE_MAX, Timestamp};
use formsvc_export::{ExportError, ExportEvent, Exported, FileFormat, LeftOut, Operation};

use super::counted;
use crate::context::{Context, TIME_LIMIT_REACHED};
use crate::error::{CliError, MISSING_UNKNOWN};
use crate::exit::Exit;
use crate::output::progress::Expected;

/// The hint when submissions cannot be kept in the temporary folder.
pub(super) const NOTHING_WRITTEN: &str =
    "nothing was written yet: let TMPDIR or FORMSVC_STATE_DIR name a folder with room";

const PARTIAL_STREAM: &str = "the data on standard output is not complete";

/// Follows an export, so that a signal reports the saved submissions.
pub(super) struct Saved<'a> {
    cx: &'a Context,
    path: Option<&'a Path>,
    command: Option<&'a str>,
    expected: Expected,
}

impl<'a> Saved<'a> {
    pub(super) fn new(
        cx: &'a Context,
        path: Option<&'a Path>,
        command: Option<&'a str>,
        expected: Expected,
    ) -> Self {
        Self { cx, path, command, expected }
    }

    pub(super) fn on_event(&self, event: &ExportEvent<'_>) {
        let progress = &self.cx.progress;
        match event {
            ExportEvent::Discarded(warning) => progress.warn(warning),
            ExportEvent::Opened { rows, saved_to, spool, .. } => {
                let saved_to = saved_to.as_ref().map(Timestamp::unix_micros);
                progress.expect(Expected { saved: *rows, saved_to, ..self.expected });
                if *rows > 0 && self.command.is_some() {
                    let rows = counted(*rows, "submission");
                    progress
                        .remark(&format!("continuing with {rows} saved in {}", spool.display()));
                }
                self.can_continue(*rows);
            }
            ExportEvent::Page(page) => {
                progress.submissions(page.rows, page.reached.as_str());
                self.can_continue(page.rows);
            }
            ExportEvent::Rendering => progress.doing("writing the output"),
            _ => {}
        }
    }

    fn can_continue(&self, rows: u64) {
        if let Some(command) = self.command {
            self.cx.shutdown.set_continuation(Some(command.to_owned()));
            self.cx.shutdown.set_saved(saved(rows, unchanged(self.path).as_deref()));
        }
    }
}

/// The number of saved submissions, and the state of the output.
fn saved(rows: u64, output: Option<&str>) -> String {
    let verb = if rows == 1 { "is" } else { "are" };
    let output = output.map_or(String::new(), |output| format!(", and {output}"));
    format!("{} {verb} saved{output}", counted(rows, "submission"))
}

/// States that the output is unchanged; `None` for a pipe or device, which takes each byte at once.
fn unchanged(path: Option<&Path>) -> Option<String> {
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

/// The state of the output if the failed operation came after a replacement.
fn changed(error: &ExportError) -> Option<&'static str> {
    let ExportError::Output { operation, .. } = error else { return None };
    match operation {
        Operation::Overwrite => Some("the file was overwritten in part"),
        Operation::PublishNext => Some("the files of some other months are replaced"),
        Operation::Manifest | Operation::RemoveSpool => Some("the output is complete"),
        _ => None,
    }
}

/// The error of an export, with the saved submissions and the command that continues.
pub(super) fn explain(
    error: ExportError,
    path: Option<&Path>,
    format: FileFormat,
    command: Option<String>,
    is_lost: bool,
) -> CliError {
    if let ExportError::Unfinished { rows_saved, cause, .. } = error {
        let output = changed(&cause).map(str::to_owned).or_else(|| unchanged(path));
        let (instead, is_permanent) = (hint_instead_of_command(&cause), cause.is_permanent());
        let error = of_cause(*cause).hint_too(&saved(rows_saved, output.as_deref()));
        return match (instead, command) {
            (Some(hint), _) => error.hint_too(hint),
            // With another key the command continues.
            (None, Some(command)) if !is_permanent || error.exit == Exit::Auth => {
                error.continued_by(command)
            }
            (None, None) if !is_permanent => error.hint_too("the same command continues"),
            (None, _) => error,
        };
    }
    let is_output = matches!(error, ExportError::Output { .. });
    let streams = path.is_none() && !format.format.is_table();
    let left = match &error {
        ExportError::Output { operation: Operation::Spool, .. } => Some(NOTHING_WRITTEN.to_owned()),
        ExportError::Output { operation: Operation::Publish, .. } => None,
        error if changed(error).is_some() => changed(error).map(str::to_owned),
        _ if streams => Some(PARTIAL_STREAM.to_owned()),
        _ if path.is_none() && is_output => Some(PARTIAL_STREAM.to_owned()),
        _ => unchanged(path),
    };
    let hint = hint_instead_of_command(&error);
    let mut error = of_cause(error);
    if let Some(hint) = hint {
        error = error.hint_too(hint);
    }
    if let Some(left) = left {
        error = if is_output { error.hint_if_none(&left) } else { error.hint_too(&left) };
    }
    if is_lost && !streams && error.exit != Exit::Usage {
        error = error
            .hint_too("nothing is saved without a state folder, which FORMSVC_STATE_DIR names");
    }
    error
}

/// The hint for an error with which the same command would fail again.
fn hint_instead_of_command(error: &ExportError) -> Option<&'static str> {
    match error {
        ExportError::Filter { .. } => Some("correct the expression of `--where`"),
        // A resume token of another form or service, in a spool that was edited.
        ExportError::Service(error) if error.kind() == ErrorKind::Config => {
            Some("start over with `--fresh`, which discards the saved submissions")
        }
        _ => None,
    }
}

/// The error of a sync that stopped after `new` submissions; `next` is the effect of the same command.
pub(in crate::cmd) fn explain_stopped(error: ExportError, new: u64, next: &str) -> CliError {
    let is_permanent = error.is_permanent();
    let error = of_cause(error);
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

fn of_cause(error: ExportError) -> CliError {
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

/// Advice to request pages of the largest size with `flag`; `None` if they have that size already.
pub(in crate::cmd) fn larger_pages(page_size: u32, flag: &str) -> Option<String> {
    (page_size < PAGE_SIZE_MAX).then(|| format!("request larger pages with `{flag}`"))
}

/// The end of a run that was allowed to leave submissions out: exit 9 if it did.
pub(in crate::cmd) fn incomplete(left_out: &LeftOut) -> Result<(), CliError> {
    /// Units that are listed one by one.
    const LISTED_MAX: usize = 20;
    if left_out.is_empty() {
        return Ok(());
    }
    let mut causes = left_out.described_items.clone();
    let more = |count: u64| (count > 0).then(|| format!("and {count} more"));
    causes.extend(more(left_out.items.saturating_sub(causes.len() as u64)));
    let units = left_out.units.iter().take(LISTED_MAX);
    causes.extend(units.map(|unit| format!("{unit}; {MISSING_UNKNOWN}")));
    causes.extend(more(left_out.units.len().saturating_sub(LISTED_MAX) as u64));
    let error = CliError::new(Exit::DataPolicy, format!("the result is incomplete: {left_out}"));
    Err(causes.into_iter().fold(error, CliError::cause))
}

/// The same for a list: what it leaves out.
pub(in crate::cmd) fn incomplete_list(pages: &SubmissionPages) -> Result<(), CliError> {
    incomplete(&LeftOut::of_pages(pages))
}

/// Returns the submissions that an output lacks.
pub(super) fn left_out(exported: &Exported) -> LeftOut {
    let is_incomplete = exported.pull.completeness == Completeness::Incomplete;
    if is_incomplete { exported.pull.left_out.clone() } else { LeftOut::default() }
}

/// Returns the error of `--all` if a form of the list has no usable id.
pub(super) fn check_exported(unusable: &[SkippedItem]) -> Result<(), CliError> {
    if unusable.is_empty() {
        return Ok(());
    }
    let count = counted(unusable.len() as u64, "form");
    let what =
        format!("the result is incomplete: {count} of the list cannot be exported without an id");
    let error = CliError::new(Exit::DataPolicy, what);
    Err(unusable.iter().take(20).fold(error, |error, item| error.cause(item.to_string())))
}

#[cfg(test)]
mod tests {
    use std::io;

    use formsvc_export::Format;
    #[cfg(feature = "postgres")]
    use formsvc_export::PostgresError;
    use formsvc_export::SyncError;

    use super::*;

    fn shown(cause: ExportError, path: &Path) -> String {
        let folder = path.parent().unwrap().to_owned();
        let error = ExportError::Unfinished { rows_saved: 3, folder, cause: Box::new(cause) };
        let command = Some("formsvc submissions export x".to_owned());
        format!("{:?}", explain(error, Some(path), Format::Csv.into(), command, false))
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
        let stopped = |error: SyncError| explain_stopped(error.into(), 3, "continues").told();
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
            let text = explain_stopped(ExportError::from(error), 3, "continues").told();
            assert!(text.contains("3 new submissions stored"), "{text}");
            assert_eq!(!text.contains("the same command continues"), is_permanent, "{text}");
        }
    }
}
