//! Frequent mistakes in arguments, with the argument to use instead.

use clap::error::ErrorKind;

use crate::base::shell::quoted;

/// A frequent mistake.
struct Mistake {
    /// The command; empty for every command.
    command: &'static str,
    kind: ErrorKind,
    flag: &'static str,
    /// The value; empty for every value.
    value: &'static str,
    /// The hint, in which `{}` is the value as typed.
    hint: &'static str,
}

const MISTAKES: &[Mistake] = &[
    mistake(
        "submissions export",
        ErrorKind::InvalidValue,
        "--output",
        "",
        "name the file with `-o {}`",
    ),
    mistake(
        "submissions export",
        ErrorKind::InvalidValue,
        "--format",
        "excel",
        "did you mean `xlsx`?",
    ),
    mistake(
        "submissions export",
        ErrorKind::InvalidValue,
        "--format",
        "xls",
        "did you mean `xlsx`?",
    ),
    mistake(
        "submissions export",
        ErrorKind::InvalidValue,
        "--format",
        "txt",
        "did you mean `csv` or `tsv`?",
    ),
    mistake(
        "",
        ErrorKind::UnknownArgument,
        "--format",
        "",
        "the output format is `--output`, such as `--output json`",
    ),
];

const fn mistake(
    command: &'static str,
    kind: ErrorKind,
    flag: &'static str,
    value: &'static str,
    hint: &'static str,
) -> Mistake {
    Mistake { command, kind, flag, value, hint }
}

/// Returns the hint for a frequent mistake. `command` is the full name of the command.
pub(super) fn hint(command: &str, kind: ErrorKind, flag: &str, value: &str) -> Option<String> {
    let name = flag.split([' ', '=']).next().unwrap_or_default();
    let found = MISTAKES.iter().find(|mistake| {
        (mistake.command.is_empty() || command.ends_with(mistake.command))
            && mistake.kind == kind
            && mistake.flag == name
            && (mistake.value.is_empty() || value.eq_ignore_ascii_case(mistake.value))
    });
    found.map(|mistake| mistake.hint.replace("{}", &quoted(value)))
}
