//! A command line that is none, told like every other error.

use super::error::CommandError;

/// What is wrong with a command line; none when it asks for help, which is printed as it is.
pub(super) fn told(refusal: &clap::Error) -> Option<CommandError> {
    let text = refusal.to_string();
    let rest = text.strip_prefix("error: ")?;
    let mut paragraphs = rest.split("\n\n");
    let first: Vec<_> = paragraphs.next()?.lines().map(str::trim).collect();
    let (mut tip, mut usage) = (None, None);
    for paragraph in paragraphs.map(str::trim) {
        tip = tip.or(paragraph.strip_prefix("tip: "));
        usage = usage.or(paragraph.strip_prefix("Usage: "));
    }
    let error = CommandError::usage(first.join(" "));
    let help = || {
        // The command, without its arguments.
        let words = usage?.split_whitespace().take_while(|word| !word.starts_with(['-', '[', '<']));
        let command = words.collect::<Vec<_>>().join(" ");
        Some(format!("see `{command} --help`"))
    };
    Some(match tip.map(str::to_owned).or_else(help) {
        Some(hint) => error.hint(hint),
        None => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::command;

    fn told_of(line: &str) -> String {
        let refusal = command().try_get_matches_from(line.split(' ')).unwrap_err();
        format!("{:?}", told(&refusal))
    }

    #[test]
    fn a_wrong_command_line_is_one_error_and_one_hint() {
        let missing = told_of("formsvc-server user add --database a.db");
        assert!(missing.contains("--email <EMAIL> --name <NAME>"), "{missing}");
        assert!(missing.contains("see `formsvc-server user add --help`"), "{missing}");
        let unknown = told_of("formsvc-server migrate --databse x");
        assert!(unknown.contains("'--databse'") && unknown.contains("similar"), "{unknown}");
        assert!(!unknown.contains("Usage:"), "{unknown}");
        for help in ["formsvc-server --help", "formsvc-server", "formsvc-server --version"] {
            assert_eq!(told_of(help), "None", "{help}");
        }
    }
}
