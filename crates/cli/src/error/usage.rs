//! Explains errors of the argument parser, with a hint.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use formsvc_protocol::signature::SECRET_PREFIX;

use super::{CliError, Code};
use crate::base::masked::secret_prefix;
use crate::base::shell::quoted;
use crate::base::suggest;

pub(crate) use crate::base::masked::KEY_PREFIX;

/// Hint for an API key in the wrong place. The key itself is not printed.
pub(crate) const KEY_TYPED: &str =
    "other users can read arguments: revoke this key, and use `--api-key-file`";
/// Hint for a signing secret in the wrong place. The signing secret itself is not printed.
const SECRET_TYPED: &str = "other users can read arguments: replace this signing secret, and pass \
    the new one in a file: `--secret-file FILE`, or `formsvc webhook secret add < FILE`";

/// Hints for words from other programs. A row has the end of the command's name; the typed command, flag or
/// `--flag value`; and the hint. `.` is every jq expression that begins with it.
const HINTS: &[(&str, &str, &str)] = &[
    ("submissions export", "--format", "name a format, such as `--format xlsx`"),
    ("", "--format", "the output format is `--output`, such as `--output json`"),
    ("", "--debug", "did you mean `-vv`?"),
    ("", "--web", "`formsvc forms view FORM --json web_address` prints the address of a form"),
    ("formsvc", "alias", "there are no aliases: define one in your shell"),
    ("formsvc", "get", "did you mean `formsvc forms view` or `formsvc submissions view`?"),
    ("formsvc", "init", "`formsvc auth login` saves the service and your API key"),
    ("formsvc", "pipeline", "did you mean `formsvc submissions sync status`?"),
    ("formsvc", "ls", "did you mean `formsvc forms list`?"),
    ("formsvc", "logs", "did you mean `formsvc webhook events tail`?"),
    ("formsvc", "version", "`formsvc --version` prints the version"),
    ("formsvc", "whoami", "did you mean `formsvc me`?"),
    ("api", ".", "`--jq EXPR` filters the JSON; `-q` is `--quiet`"),
    ("auth", "switch", "did you mean `formsvc auth use`?"),
    ("auth login", "--with-token", "did you mean `--api-key-stdin`?"),
    ("config", "edit", "`formsvc config path` prints the path of the file"),
    ("submissions export", "--format excel", "did you mean `xlsx`?"),
    ("submissions list", "--where", "`--where` is a flag of `formsvc submissions export`"),
    ("submissions list", "--page", "on a terminal, the list ends with the command for more"),
    ("submissions view", "<ID>", "give the id of the form, then that of the submission"),
    ("", "resend", "`formsvc webhook replay N` sends a recorded delivery again"),
    ("webhook listen", "--events", "select events with a route: `--route 'event=NAME=URL'`"),
    ("webhook listen", "--print-json", "did you mean `--output ndjson`?"),
    ("webhook listen", "--print-secret", "`--sandbox` prints its signing secret"),
    ("webhook listen", "--skip-verify", "TLS: `--insecure`; signatures: `--on-invalid accept`"),
    ("webhook listen", "-f", "did you mean `--forward-to`?"),
    ("webhook listen", "-j", "did you mean `--output ndjson`?"),
    ("webhook replay", "--dry-run", "`--export http` prints the requests and sends none"),
    ("webhook secret add", "--secret-stdin", "without the flag, it reads standard input"),
    ("webhook trigger", "--add", "did you mean `--set`?"),
    ("webhook trigger", "--override", "did you mean `--set`?"),
    ("webhook trigger", "--raw", "did you mean `--file`?"),
    ("webhook trigger", "--remove", "did you mean `--unset`?"),
    ("webhook trigger", "[URL] submission.created", "did you mean `--event submission.created`?"),
    ("webhook trigger", "submission.created", "did you mean `--event submission.created`?"),
];

fn known_mistake(command: &str, typed: &str) -> Option<String> {
    let typed = if typed.starts_with('.') { "." } else { typed };
    let is_typed = |(end, word, _): &&(&str, &str, &str)| *word == typed && command.ends_with(end);
    if command.ends_with("webhook listen") && typed.parse::<u16>().is_ok() {
        return Some(format!("did you mean `--forward-to {typed}` or `--port {typed}`?"));
    }
    HINTS.iter().find(is_typed).map(|(.., hint)| (*hint).to_owned())
}

/// Converts an error of the parser.
pub(crate) fn explain(error: &clap::Error, path: &[&Command], args: &[OsString]) -> CliError {
    let get = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(all)) => all.join("` `"),
        _ => String::new(),
    };
    let (argument, value) = (get(ContextKind::InvalidArg), get(ContextKind::InvalidValue));
    let name = full_name(path);
    let (code, message) = match error.kind() {
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            (Code::UnknownFlag, format!("`{name}` has no flag `{argument}`"))
        }
        ErrorKind::UnknownArgument => {
            (Code::UnknownFlag, format!("`{name}` takes no argument `{argument}`"))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            (Code::MissingArgument, format!("`{argument}` needs a value"))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            (Code::InvalidValue, format!("invalid value `{value}` for `{argument}`"))
        }
        ErrorKind::MissingRequiredArgument => {
            (Code::MissingArgument, format!("missing `{argument}`"))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            (Code::MissingArgument, format!("`{name}` needs a command"))
        }
        ErrorKind::ArgumentConflict => {
            let rule = match get(ContextKind::PriorArg) {
                prior if prior.is_empty() || prior == argument => "can be given only once".into(),
                prior => format!("and `{prior}` cannot be used together"),
            };
            (Code::Usage, format!("`{argument}` {rule}"))
        }
        // The message comes from `unknown_command`.
        ErrorKind::InvalidSubcommand => (Code::UnknownCommand, String::new()),
        // A rare error: use the first line of the parser's message.
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            (Code::Usage, line.trim_start_matches("error: ").to_owned())
        }
    };
    let mut explained = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            unknown_command(&get(ContextKind::InvalidSubcommand), path, &[])
        }
        _ => CliError::coded(code, message),
    };
    if let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue)
        && !values.is_empty()
    {
        explained = explained.cause(format!("expected one of {}", values.join(", ")));
    } else if let Some(cause) = std::error::Error::source(error) {
        explained = explained.because(cause);
    }
    let flag = argument.split([' ', '=']).next().unwrap_or_default();
    let typed = format!("{flag} {}", value.to_lowercase());
    let near = [ContextKind::SuggestedArg, ContextKind::SuggestedValue].map(get);
    let wrong = if value.is_empty() { flag } else { &value };
    let near = near.iter().find(|near| suggest::is_typing_error(wrong, near));
    let near = near.map(|near| format!("did you mean `{near}`?"));
    match typed_secret(args).or_else(|| known_mistake(&name, typed.trim_end())) {
        Some(hint) => explained.hint(hint),
        None if typed.starts_with("--output ") && name.ends_with("submissions export") => {
            explained.hint(format!("name the file with `-o {}`", quoted(&value)))
        }
        None => {
            let example = path.last().filter(|_| code == Code::MissingArgument && !flag.is_empty());
            let example = example.and_then(|command| example_with(command, flag));
            explained.hint_if_none(&near.or(example).unwrap_or(format!("see `{name} --help`")))
        }
    }
}

/// Returns the command's first example with this flag, or for a positional argument, its first example.
fn example_with(command: &Command, flag: &str) -> Option<String> {
    let help = command.get_after_help()?.to_string();
    let mut examples = help.lines().map(str::trim).filter(|line| line.starts_with("formsvc "));
    let has_flag = |line: &&str| flag.starts_with(['<', '[']) || line.contains(&format!("{flag} "));
    examples.find(has_flag).map(|line| format!("such as `{line}`"))
}

/// Returns a hint if the arguments contain an API key or a signing secret.
fn typed_secret(args: &[OsString]) -> Option<String> {
    let prefix = args.iter().find_map(|word| secret_prefix(&word.to_string_lossy()))?;
    Some(if prefix == SECRET_PREFIX { SECRET_TYPED } else { KEY_TYPED }.to_owned())
}

/// Returns the commands that the arguments name, starting with the program itself.
pub(crate) fn path<'c>(root: &'c Command, args: &[OsString]) -> Vec<&'c Command> {
    let mut path = vec![root];
    let mut words = args.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next().filter(|word| *word != "--") {
        if let Some(flag) = word.strip_prefix("--") {
            // The value of a flag can equal the name of a command.
            let takes_value =
                |arg: &&clap::Arg| arg.get_long() == Some(flag) && arg.get_action().takes_values();
            if root.get_arguments().any(|arg| takes_value(&arg)) {
                words.next();
            }
        } else if let Some(command) = path[path.len() - 1].find_subcommand(word) {
            path.push(command);
        }
    }
    path
}

/// Returns the full name of a command, such as `formsvc forms list`.
pub(crate) fn full_name(path: &[&Command]) -> String {
    let names: Vec<&str> = path.iter().map(|command| command.get_name()).collect();
    names.join(" ")
}

/// Returns the error for an unknown command, or for a word that is not a topic either. The hint suggests similar names.
pub(crate) fn unknown_command(word: &str, path: &[&Command], topics: &[&str]) -> CliError {
    let name = full_name(path);
    let (kind, topic_list) = match topics {
        [] => ("command", String::new()),
        _ => ("command or topic", format!("; the topics are {}", topics.join(", "))),
    };
    let message = format!("`{name}` has no {kind} `{word}`");
    let error = CliError::coded(Code::UnknownCommand, message);
    if let Some(hint) = known_mistake(&name, word) {
        return error.hint(hint);
    }
    let known = path.iter().last().into_iter().flat_map(|group| group.get_subcommands());
    let known = known.filter(|command| !command.is_hide_set()).map(Command::get_name);
    let elsewhere = path.first().and_then(|root| command_elsewhere(root, word));
    let near = suggest::did_you_mean(word, known.chain(topics.iter().copied()));
    let list = format!("see `{name} --help` for the commands{topic_list}");
    error.hint(match near {
        Some(near) => format!("{near} {list}"),
        None => elsewhere.unwrap_or(list),
    })
}

/// Returns a hint that names the commands with this name in any group.
fn command_elsewhere(root: &Command, word: &str) -> Option<String> {
    let groups = root.get_subcommands().filter(|group| group.find_subcommand(word).is_some());
    let names = groups.map(|group| format!("{} {} {word}", root.get_name(), group.get_name()));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| format!("did you mean `{}`?", names.join("` or `")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_programs_have_a_hint() {
        let root = crate::cmd::command();
        for (line, hint) in [
            ("formsvc alias set x y", "define one in your shell"),
            ("formsvc logs tail", "`formsvc webhook events tail`"),
            ("formsvc webhook listen --skip-verify", "signatures: `--on-invalid accept`"),
            ("formsvc webhook listen --print-secret", "`--sandbox` prints"),
            ("formsvc webhook listen -j", "`--output ndjson`"),
            ("formsvc webhook listen 9001", "`--forward-to 9001` or `--port 9001`"),
            ("formsvc webhook replay 46 --dry-run", "`--export http` prints the requests"),
            ("formsvc resend 46", "`formsvc webhook replay N`"),
            ("formsvc webhook trigger", "such as `formsvc webhook trigger 4242/hook"),
            ("formsvc webhook events export", "export 2 --as curl`"),
            ("formsvc webhook events diff 46", "events diff 1 2`"),
            ("formsvc forms view contact --web", "--json web_address`"),
            ("formsvc whoami", "`formsvc me`"),
            ("formsvc submissions list x --page 2", "the list ends with the command for more"),
            ("formsvc submissions list x --where .", "flag of `formsvc submissions export`"),
            ("formsvc submissions list x --limt 2", "did you mean `--limit`?"),
            ("formsvc submissions list x --filter .", "see `formsvc submissions list --help`"),
            ("formsvc submissions export x --force", "see `formsvc submissions export --help`"),
            ("formsvc submissions export x --format", "such as `--format xlsx`"),
            ("formsvc submissions export x --format parket", "did you mean `parquet`?"),
            ("formsvc completion tcsh", "see `formsvc completion --help`"),
            ("formsvc submissions view sub_1", "the id of the form, then that of the submission"),
            ("formsvc api forms -q .[].id", "`--jq EXPR` filters the JSON; `-q` is `--quiet`"),
            ("formsvc pipeline list", "`formsvc submissions sync status`"),
            ("formsvc config edit", "`formsvc config path` prints the path"),
            ("formsvc me --debug", "did you mean `-vv`?"),
        ] {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            let error = root.clone().try_get_matches_from(&words).unwrap_err();
            let error = explain(&error, &path(&root, &words), &words);
            assert!(
                error.advice().is_some_and(|advice| advice.contains(hint)),
                "{line}: {:?}",
                error.advice()
            );
        }
    }

    #[test]
    fn command_is_found_after_flags_and_their_values() {
        let root = crate::cmd::command();
        for (line, name) in [
            ("formsvc", "formsvc"),
            ("formsvc forms lits", "formsvc forms"),
            ("formsvc --profile forms me --bad", "formsvc me"),
            ("formsvc --demo submissions export penguins", "formsvc submissions export"),
            ("formsvc forms -- list", "formsvc forms"),
        ] {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(full_name(&path(&root, &words)), name, "{line}");
        }
    }
}
