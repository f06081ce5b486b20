//! What the parser makes of wrong arguments, in our words.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use formsvc_protocol::EventKind;
use formsvc_protocol::signature::SECRET_PREFIX;
use formsvc_workbench::target;

use super::{CliError, Code, mistakes};

/// How keys begin; a file name that does is a key in the wrong place, and must not be shown.
pub(crate) const KEY_PREFIX: &str = "fsk_";
/// What to do about a key that was typed where it does not belong, and is not repeated.
pub(crate) const KEY_TYPED: &str =
    "other users can read arguments: revoke this key, and use `--api-key-file`";
use crate::base::shell::quoted;
use crate::base::suggest;

/// Longest argument that is repeated whole.
const SHOWN_MAX: usize = 80;
/// How keys and signing secrets begin, and what to do about one that was typed where it does not belong,
/// which is not repeated.
const SECRETS: [(&str, &str); 2] = [
    (KEY_PREFIX, KEY_TYPED),
    (
        SECRET_PREFIX,
        "other users can read arguments: replace this signing secret, and use `--secret-file`",
    ),
];

/// The error for a person who typed something that cannot be meant.
pub(crate) fn told(error: &clap::Error, path: &[&Command], args: &[OsString]) -> CliError {
    let get = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(all)) => Some(all.join("` `")),
        _ => None,
    };
    let flag = get(ContextKind::InvalidArg).unwrap_or_default();
    let value = get(ContextKind::InvalidValue).unwrap_or_default();
    let help = format!("see `{} --help`", full_name(path));
    let told = match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(&flag, path),
        ErrorKind::InvalidSubcommand => {
            unknown_command(&get(ContextKind::InvalidSubcommand).unwrap_or_default(), path)
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            let told = CliError::coded(Code::MissingArgument, format!("`{flag}` needs a value"));
            match possible(error) {
                Some(one_of) => told.cause(one_of),
                None => told,
            }
        }
        ErrorKind::InvalidValue => {
            let told = CliError::coded(Code::InvalidValue, invalid(&value, &flag));
            let told = match possible(error) {
                Some(one_of) => told.cause(one_of),
                None => told,
            };
            match suggest::did_you_mean(&value, valid_values(error)) {
                Some(near) => told.hint(near),
                None => told,
            }
        }
        ErrorKind::ValueValidation => {
            let told = CliError::coded(Code::InvalidValue, invalid(&value, &flag));
            match std::error::Error::source(error) {
                Some(why) => told.because(why),
                None => told,
            }
        }
        ErrorKind::MissingRequiredArgument => {
            CliError::coded(Code::MissingArgument, format!("missing `{flag}`"))
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            missing_command(path)
        }
        ErrorKind::ArgumentConflict => CliError::usage(conflict(&flag, get(ContextKind::PriorArg))),
        ErrorKind::TooManyValues => {
            CliError::usage(format!("`{flag}` takes no further value `{}`", shown(&value)))
        }
        ErrorKind::InvalidUtf8 => CliError::usage(not_text(args)),
        // Rare kinds, in the parser's words: its first line, without `error: `.
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            CliError::usage(line.strip_prefix("error: ").unwrap_or(line))
        }
    };
    let typed = |prefix: &str| args.iter().any(|arg| arg.to_string_lossy().contains(prefix));
    let unknown = get(ContextKind::InvalidSubcommand);
    if let Some(taken) = unknown.and_then(|word| taken_by_json(path, args, &word)) {
        return told.hint(format!(
            "`--json` took `{taken}` for its fields: give it after the command, or as `--json=FIELDS`"
        ));
    }
    if let Some((_, hint)) = SECRETS.iter().find(|(prefix, _)| typed(prefix)) {
        return told.hint(*hint);
    }
    if let Some(hint) = mistakes::hint(&full_name(path), error.kind(), &flag, &value) {
        return told.hint(hint);
    }
    if matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::ValueValidation)
        && let Some(refusal) = event_argument(path, args)
    {
        return refusal;
    }
    told.hint_if_none(&help)
}

/// The error for `webhook trigger EVENT URL`, which similar programs take. The hint has the same arguments
/// with the event as a flag.
fn event_argument(path: &[&Command], args: &[OsString]) -> Option<CliError> {
    if full_name(path) != "formsvc webhook trigger" {
        return None;
    }
    let args: Option<Vec<&str>> = args.get(1..)?.iter().map(|arg| arg.to_str()).collect();
    let args = args?;
    let is_event = |arg: &str| EventKind::KNOWN.iter().any(|kind| kind.as_str() == arg);
    let at =
        (0..args.len()).find(|&at| is_event(args[at]) && (at == 0 || args[at - 1] != "--event"))?;
    let event = args[at];
    let (before, after) = (&args[..at], &args[at + 1..]);
    let mut others: Vec<_> = before.iter().chain(after).map(|arg| quoted(arg)).collect();
    let is_url = |before: &str, arg: &str| {
        // The word after a flag may be its value.
        ![before, arg].iter().any(|word| word.starts_with('-'))
            && !is_event(arg)
            && target::parse(arg).is_ok()
    };
    let mut words = args.windows(2).skip_while(|pair| pair[0] != "trigger");
    if !words.any(|pair| is_url(pair[0], pair[1])) {
        others.push("URL".into());
    }
    let what = format!("`{event}` is an event, and `webhook trigger` takes only a URL as argument");
    Some(
        CliError::coded(Code::InvalidValue, what)
            .hint(format!("`formsvc {} --event {event}`", others.join(" "))),
    )
}

/// The command that was taken for the fields of `--json`, when the word after it was taken for a command.
fn taken_by_json<'a>(path: &[&Command], args: &'a [OsString], word: &str) -> Option<&'a str> {
    let [.., flag, taken, _] = args.get(..=args.iter().position(|arg| arg == word)?)? else {
        return None;
    };
    let taken = taken.to_str().filter(|_| flag == "--json")?;
    path.last()?.find_subcommand(taken).map(|_| taken)
}

/// The command that the arguments name, from the program down.
pub(crate) fn path<'c>(root: &'c Command, args: &[OsString]) -> Vec<&'c Command> {
    let (mut path, mut at) = (vec![root], root);
    let mut words = args.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next().filter(|word| *word != "--") {
        if let Some(flag) = word.strip_prefix("--") {
            // The value of a flag may be called like a command.
            let takes_value =
                |arg: &&clap::Arg| arg.get_long() == Some(flag) && arg.get_action().takes_values();
            if root.get_arguments().any(|arg| takes_value(&arg)) {
                words.next();
            }
        } else if let Some(command) = at.find_subcommand(word) {
            path.push(command);
            at = command;
        }
    }
    path
}

/// `formsvc forms list`
pub(crate) fn full_name(path: &[&Command]) -> String {
    let names: Vec<&str> = path.iter().map(|command| command.get_name()).collect();
    names.join(" ")
}

/// A command is missing after a group of them.
fn missing_command(path: &[&Command]) -> CliError {
    let name = full_name(path);
    let words: Vec<&str> = path.last().map(|group| names(group)).unwrap_or_default();
    CliError::coded(Code::MissingArgument, format!("`{name}` needs a command"))
        .cause(format!("expected one of {}", words.join(", ")))
        .hint(format!("see `{name} --help`"))
}

/// First words of other programs, with the command to use instead.
const OTHER_COMMANDS: &[(&str, &str)] = &[
    ("get", "did you mean `formsvc forms view` or `formsvc submissions view`?"),
    ("init", "`formsvc auth login` saves the service and your API key"),
    ("ls", "did you mean `formsvc forms list`?"),
    ("setup", "`formsvc auth login` saves the service and your API key"),
    ("version", "`formsvc --version` prints the version"),
];

/// Returns the error for an unknown command, with the most similar commands.
pub(crate) fn unknown_command(word: &str, path: &[&Command]) -> CliError {
    let name = full_name(path);
    let told =
        CliError::coded(Code::UnknownCommand, format!("`{name}` has no command `{}`", shown(word)));
    let other = OTHER_COMMANDS.iter().find(|(other, _)| *other == word);
    if let (Some((_, hint)), [_root]) = (other, path) {
        return told.hint(*hint);
    }
    let known = path.last().map(|group| names(group)).unwrap_or_default();
    let elsewhere = path.first().map(|root| homes(root, word)).unwrap_or_default();
    let near = suggest::did_you_mean(word, known);
    let list = format!("see `{name} --help` for the commands");
    told.hint(match (near, &elsewhere[..]) {
        (Some(near), _) => format!("{near} {list}"),
        (None, []) => list,
        (None, homes) => format!("did you mean `{}`?", homes.join("` or `")),
    })
}

fn unknown_argument(arg: &str, path: &[&Command]) -> CliError {
    let name = full_name(path);
    let what = if arg.starts_with('-') {
        format!("`{name}` has no flag `{}`", shown(arg))
    } else {
        format!("`{name}` takes no argument `{}`", shown(arg))
    };
    let told = CliError::coded(Code::UnknownFlag, what);
    let flags = path.last().into_iter().flat_map(|command| command.get_arguments());
    let near = arg.strip_prefix("--").and_then(|typed| {
        suggest::nearest(typed, flags.filter_map(clap::Arg::get_long)).first().copied()
    });
    match near {
        Some(near) => {
            told.hint(format!("did you mean `--{near}`? see `{name} --help` for the flags"))
        }
        None => told,
    }
}

fn invalid(value: &str, flag: &str) -> String {
    format!("invalid value `{}` for `{flag}`", shown(value))
}

fn conflict(flag: &str, prior: Option<String>) -> String {
    match prior {
        Some(prior) if prior != flag => format!("`{flag}` and `{prior}` cannot be used together"),
        _ => format!("`{flag}` can be given only once"),
    }
}

/// An argument that is no text is shown as far as it is.
fn not_text(args: &[OsString]) -> String {
    let bad = args.iter().find(|arg| arg.to_str().is_none());
    let bad = bad.map(|arg| shown(&arg.to_string_lossy())).unwrap_or_default();
    format!("the argument `{bad}` is not UTF-8 text")
}

fn valid_values(error: &clap::Error) -> impl Iterator<Item = &str> {
    let values = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) => &values[..],
        _ => &[],
    };
    values.iter().map(String::as_str)
}

fn possible(error: &clap::Error) -> Option<String> {
    let values: Vec<&str> = valid_values(error).collect();
    (!values.is_empty()).then(|| format!("expected one of {}", values.join(", ")))
}

fn names(group: &Command) -> Vec<&str> {
    group
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(Command::get_name)
        .collect()
}

/// Where in the tree commands are called so.
fn homes(root: &Command, word: &str) -> Vec<String> {
    let groups = root.get_subcommands().filter(|group| group.find_subcommand(word).is_some());
    groups.map(|group| format!("{} {} {word}", root.get_name(), group.get_name())).collect()
}

/// What was typed, as far as it may be repeated.
fn shown(text: &str) -> String {
    let secrets = SECRETS.iter().filter_map(|(prefix, _)| Some((text.find(prefix)?, prefix)));
    if let Some((at, prefix)) = secrets.min() {
        return format!("{}{prefix}…", &text[..at]);
    }
    match text.char_indices().nth(SHOWN_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_command_is_found_past_flags_and_their_values() {
        let root = crate::cmd::command();
        for (line, name) in [
            ("formsvc", "formsvc"),
            ("formsvc forms lits", "formsvc forms"),
            ("formsvc --profile forms me --bad", "formsvc me"),
            ("formsvc --demo submissions export penguins", "formsvc submissions export"),
            ("formsvc forms -- list", "formsvc forms"),
        ] {
            assert_eq!(full_name(&path(&root, &words(line))), name, "{line}");
        }
    }

    #[test]
    fn keys_and_novels_are_not_repeated() {
        assert_eq!(shown("--api-key=fsk_abc"), "--api-key=fsk_…");
        assert_eq!(shown("--secret=whsec_abc"), "--secret=whsec_…");
        assert_eq!(shown("whsec_fsk_abc"), "whsec_…");
        assert_eq!(shown(&"é".repeat(200)).chars().count(), SHOWN_MAX + 1);
    }
}
