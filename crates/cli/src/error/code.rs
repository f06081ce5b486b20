//! The codes of errors. JSON, help and docs use the same table.

use crate::exit::Exit;

/// A kind of failure for programs. Its name never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// A bug.
    Bug,
    /// A check failed.
    CheckFailed,
    /// A flag, an argument or a setting is wrong.
    Usage,
    /// The command is unknown.
    UnknownCommand,
    /// The flag is unknown.
    UnknownFlag,
    /// The value of a flag or argument is invalid.
    InvalidValue,
    /// A command, an argument or a value is missing.
    MissingArgument,
    /// A name matches several forms.
    AmbiguousForm,
    /// The object does not exist.
    NotFound,
    /// No form has this name.
    FormNotFound,
    /// The API key is missing or cannot be read.
    NoKey,
    /// The service refused the key.
    KeyRefused,
    /// The service failed.
    Service,
    /// The response of the service is invalid.
    BadAnswer,
    /// The service could not be reached.
    Network,
    /// The service did not respond in time.
    Timeout,
    /// A rate limit lasts longer than allowed.
    RateLimited,
    /// The work is not complete; some commands name one that continues it.
    Incomplete,
    /// More submissions share a second or millisecond than a page can show, or more than 1,000,000 share one time.
    TieOverflow,
    /// The result is incomplete or not proven complete, or `sync verify` found a difference.
    IncompleteResult,
    /// A file, a pipe or the disk failed.
    LocalIo,
    /// Another process uses the form or the database.
    Busy,
    /// A signature is invalid.
    VerificationFailed,
    /// An expectation was not met.
    Unmet,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// SIGHUP.
    HungUp,
}

/// A row of the table of codes.
#[derive(Clone, Copy, Debug)]
pub struct CodeRow {
    code: Code,
    /// The name in JSON.
    pub name: &'static str,
    /// The exit code of a command with this error.
    pub exit: Exit,
    /// The meaning.
    pub meaning: &'static str,
}

const fn row(code: Code, name: &'static str, exit: Exit, meaning: &'static str) -> CodeRow {
    CodeRow { code, name, exit, meaning }
}

/// All codes. The first row of each exit code is its general code.
pub const CODES: &[CodeRow] = &[
    row(Code::Bug, "bug", Exit::Failed, "a bug in this program; please report it"),
    row(Code::CheckFailed, "check_failed", Exit::Failed, "a check of the command failed"),
    row(Code::Usage, "usage", Exit::Usage, "a flag, argument or setting is wrong"),
    row(Code::UnknownCommand, "unknown_command", Exit::Usage, "unknown command or topic"),
    row(Code::UnknownFlag, "unknown_flag", Exit::Usage, "unknown flag or argument"),
    row(Code::InvalidValue, "invalid_value", Exit::Usage, "invalid value of a flag or argument"),
    row(Code::MissingArgument, "missing_argument", Exit::Usage, "missing command or value"),
    row(Code::AmbiguousForm, "ambiguous_form", Exit::Usage, "the name matches several forms"),
    row(Code::NotFound, "not_found", Exit::NotFound, "the object does not exist"),
    row(Code::FormNotFound, "form_not_found", Exit::NotFound, "no form has this name"),
    row(Code::NoKey, "no_key", Exit::Auth, "the API key is missing, or cannot be read or used"),
    row(Code::KeyRefused, "key_refused", Exit::Auth, "the service refused the API key"),
    row(Code::Service, "service", Exit::Service, "the service failed"),
    row(Code::BadAnswer, "bad_answer", Exit::Service, "invalid response of the service"),
    row(Code::TieOverflow, "tie_overflow", Exit::Service, "too many submissions share a time"),
    row(Code::Network, "network", Exit::Network, "the service could not be reached"),
    row(Code::Timeout, "timeout", Exit::Network, "the service did not respond in time"),
    row(Code::RateLimited, "rate_limited", Exit::RateLimited, "rate limit; see `retry_after`"),
    row(
        Code::Incomplete,
        "incomplete",
        Exit::Incomplete,
        "not complete; `resume`, if set, continues",
    ),
    row(Code::IncompleteResult, "incomplete_result", Exit::DataPolicy, "incomplete, or differs"),
    row(Code::LocalIo, "local_io", Exit::LocalIo, "a file, a pipe or the disk failed"),
    row(Code::Busy, "busy", Exit::LocalIo, "another process uses the form or the database"),
    row(Code::Unmet, "unmet", Exit::Unmet, "an expectation, such as `--expect`, was not met"),
    row(Code::VerificationFailed, "verification_failed", Exit::Unmet, "invalid signature"),
    row(Code::Interrupted, "interrupted", Exit::Interrupted, "SIGINT"),
    row(Code::Terminated, "terminated", Exit::Terminated, "SIGTERM"),
    row(Code::HungUp, "hung_up", Exit::HungUp, "SIGHUP: the terminal was closed"),
];

impl Code {
    /// Returns the general code of an exit code.
    pub(super) fn of(exit: Exit) -> Self {
        // `Exit::Done` has no code. An error with this exit code is silent, so its code is not printed.
        CODES.iter().find(|row| row.exit == exit).map_or(Self::Bug, |row| row.code)
    }

    /// Returns the row of this code.
    pub(super) fn row(self) -> CodeRow {
        *CODES.iter().find(|row| row.code == self).expect("a test checks that all codes have rows")
    }
}

/// A field of an error or a message as JSON.
#[derive(Clone, Copy, Debug)]
pub struct FieldRow {
    /// The name.
    pub name: &'static str,
    /// The type of its value.
    pub holds: &'static str,
    /// The meaning.
    pub meaning: &'static str,
}

pub(crate) const fn field(
    name: &'static str,
    holds: &'static str,
    meaning: &'static str,
) -> FieldRow {
    FieldRow { name, holds, meaning }
}

/// The fields of an error as JSON, below `error`. All are always present.
pub const FIELDS: &[FieldRow] = &[
    field("code", "string", "the kind of failure, a stable name: see the codes"),
    field("message", "string", "the failure, for people"),
    field("causes", "array of strings", "the causes, nearest first; may be empty"),
    field("hint", "string or null", "a remedy"),
    field("exit", "number", "the exit code"),
    field("http_status", "number or null", "the HTTP status of the response"),
    field("content_type", "string or null", "the content type of the response"),
    field("body_start", "string or null", "the start of a response that is not JSON, escaped"),
    field("json_path", "string or null", "the invalid value in the response, for `bad_answer`"),
    field("retry_after", "number or null", "the wait in seconds that the service requires"),
    field("request_id", "string or null", "the request id from the service"),
    field("resume", "string or null", "the command that continues the work"),
    field("resumable", "boolean", "true if `resume` continues without a restart"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::EXITS;

    #[test]
    fn failing_exit_has_a_general_code_and_names_are_unique() {
        for row in EXITS.iter().filter(|row| row.exit != Exit::Done) {
            assert_eq!(Code::of(row.exit).row().exit, row.exit);
        }
        let mut names: Vec<&str> = CODES.iter().map(|row| row.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        let last = Code::HungUp as usize;
        assert_eq!(all, last + 1, "a code without a row, or a row without a code");
    }
}
