//! The codes of errors: one table, from which JSON, help and docs follow.

use crate::exit::Exit;

/// A kind of failure that a program can tell from others. Its name never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// A bug.
    Bug,
    /// A check failed.
    CheckFailed,
    /// A flag, an argument or a setting is wrong.
    Usage,
    /// There is no such command.
    UnknownCommand,
    /// There is no such flag.
    UnknownFlag,
    /// A flag or argument has a value it cannot have.
    InvalidValue,
    /// A command, an argument or a value is missing.
    MissingArgument,
    /// A name could mean several forms.
    AmbiguousForm,
    /// There is no such thing.
    NotFound,
    /// No form has this name.
    FormNotFound,
    /// No key, or one that cannot be read.
    NoKey,
    /// The service refused the key.
    KeyRefused,
    /// The service failed.
    Service,
    /// The answer of the service is invalid.
    BadAnswer,
    /// The service could not be reached.
    Network,
    /// The service did not answer in time.
    Timeout,
    /// A rate limit lasts longer than allowed.
    RateLimited,
    /// Not complete, and resumable.
    Incomplete,
    /// More submissions share a unit of the cursor than a page can show, or more than 1,000,000 share one time.
    TieOverflow,
    /// The result is incomplete, which was allowed.
    IncompleteResult,
    /// A file, a pipe or the disk failed.
    LocalIo,
    /// A signature is not right.
    VerificationFailed,
    /// What was expected did not come.
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
    /// Whether it is the code of a run that ends so for no reason that has a code of its own.
    is_general: bool,
    /// The name, as JSON has it.
    pub name: &'static str,
    /// How a run ends that fails so.
    pub exit: Exit,
    /// What it means.
    pub meaning: &'static str,
}

const fn row(code: Code, name: &'static str, exit: Exit, meaning: &'static str) -> CodeRow {
    CodeRow { code, is_general: false, name, exit, meaning }
}

/// A row whose code is the general one of its exit code.
const fn general(code: Code, name: &'static str, exit: Exit, meaning: &'static str) -> CodeRow {
    CodeRow { is_general: true, ..row(code, name, exit, meaning) }
}

/// Every code of an error.
pub const CODES: &[CodeRow] = &[
    general(Code::Bug, "bug", Exit::Failed, "a bug in this program; please report it"),
    row(Code::CheckFailed, "check_failed", Exit::Failed, "a check of the command failed"),
    general(Code::Usage, "usage", Exit::Usage, "a flag, argument or setting is wrong"),
    row(Code::UnknownCommand, "unknown_command", Exit::Usage, "unknown command or topic"),
    row(Code::UnknownFlag, "unknown_flag", Exit::Usage, "unknown flag or argument"),
    row(Code::InvalidValue, "invalid_value", Exit::Usage, "invalid value of a flag or argument"),
    row(
        Code::MissingArgument,
        "missing_argument",
        Exit::Usage,
        "a command, an argument or the value of a flag is missing",
    ),
    row(Code::AmbiguousForm, "ambiguous_form", Exit::Usage, "the name matches several forms"),
    general(Code::NotFound, "not_found", Exit::NotFound, "the object does not exist"),
    row(
        Code::FormNotFound,
        "form_not_found",
        Exit::NotFound,
        "no form of the account has this name",
    ),
    general(Code::NoKey, "no_key", Exit::Auth, "the API key is missing, or cannot be read or used"),
    row(Code::KeyRefused, "key_refused", Exit::Auth, "the service refused the API key"),
    general(Code::Service, "service", Exit::Service, "the service failed"),
    row(Code::BadAnswer, "bad_answer", Exit::Service, "the answer of the service is invalid"),
    general(Code::Network, "network", Exit::Network, "the service could not be reached"),
    row(Code::Timeout, "timeout", Exit::Network, "the service did not answer in time"),
    general(
        Code::RateLimited,
        "rate_limited",
        Exit::RateLimited,
        "rate-limited for longer than allowed; see `retry_after`",
    ),
    general(
        Code::Incomplete,
        "incomplete",
        Exit::Incomplete,
        "not complete; `resume` is the command that continues",
    ),
    row(
        Code::TieOverflow,
        "tie_overflow",
        Exit::Service,
        "more submissions share a second or a millisecond than a page can show",
    ),
    general(
        Code::IncompleteResult,
        "incomplete_result",
        Exit::DataPolicy,
        "the result is incomplete, which `--allow-incomplete` allowed",
    ),
    general(Code::LocalIo, "local_io", Exit::LocalIo, "a file, a pipe or the disk failed"),
    row(
        Code::VerificationFailed,
        "verification_failed",
        Exit::Unmet,
        "the signature of a delivery is missing, malformed, wrong, or outside the time limit",
    ),
    general(
        Code::Unmet,
        "unmet",
        Exit::Unmet,
        "an expectation, such as `--expect` or `--count`, was not met",
    ),
    general(Code::Interrupted, "interrupted", Exit::Interrupted, "SIGINT"),
    general(Code::Terminated, "terminated", Exit::Terminated, "SIGTERM"),
    general(Code::HungUp, "hung_up", Exit::HungUp, "SIGHUP: the terminal was closed"),
];

impl Code {
    /// The general code of an exit code.
    pub(super) fn of(exit: Exit) -> Self {
        // Only success has none, and says nothing.
        CODES
            .iter()
            .find(|row| row.is_general && row.exit == exit)
            .map_or(Self::Bug, |row| row.code)
    }

    /// The row of this code.
    pub(super) fn row(self) -> CodeRow {
        *CODES.iter().find(|row| row.code == self).expect("every code has its row: a test says so")
    }
}

/// A field of an error or a message as JSON.
#[derive(Clone, Copy, Debug)]
pub struct FieldRow {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

pub(crate) const fn field(
    name: &'static str,
    holds: &'static str,
    meaning: &'static str,
) -> FieldRow {
    FieldRow { name, holds, meaning }
}

/// Every field of an error as JSON, below `error`. All of them are always there.
pub const FIELDS: &[FieldRow] = &[
    field("code", "string", "the kind of failure, a stable name: see the codes"),
    field("message", "string", "the failure, for people"),
    field("causes", "array of strings", "the causes, nearest first; may be empty"),
    field("hint", "string or null", "a remedy"),
    field("exit", "number", "the exit code"),
    field("http_status", "number or null", "the HTTP status of the answer"),
    field("content_type", "string or null", "the content type of the answer"),
    field(
        "body_start",
        "string or null",
        "the first characters or bytes of an answer that is not JSON, escaped",
    ),
    field(
        "json_path",
        "string or null",
        "the path of the invalid value in the JSON of the answer, for `bad_answer`",
    ),
    field("retry_after", "number or null", "seconds the service asked to wait"),
    field("request_id", "string or null", "the request id from the service"),
    field("resume", "string or null", "the command that continues the work"),
    field("resumable", "boolean", "whether `resume` continues without starting over"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::EXITS;

    #[test]
    fn every_exit_but_success_has_its_general_code_and_names_are_told_once() {
        for row in EXITS.iter().filter(|row| row.exit != Exit::Done) {
            let general = CODES.iter().filter(|code| code.is_general && code.exit == row.exit);
            assert_eq!(general.count(), 1, "{row:?}");
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
