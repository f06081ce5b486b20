//! Completion of what is being typed in a shell.
//!
//! The script of a shell (`formsvc completion SHELL`) runs this program at each press of Tab, with
//! [`ASKED`] in the environment and the words so far after `--`; the answer is a line a candidate.
//! Answering must never fail, ask a person anything, or take long: a shell waits for it. What it
//! cannot find out in time it leaves out.

pub(crate) mod cache;
mod choices;
mod fields;
mod shell;
mod values;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;

use clap::{Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use formsvc_client::FormStatus;

pub(crate) use shell::Shell;

use crate::base::env::{self, Lookup};
use values::Values;

/// The variable that says which shell asks.
const ASKED: &str = env::COMPLETE.name;
/// The variable that says which of the words is being typed; the last one where it is not set. Its
/// name is that of the library that writes some of the scripts.
const INDEX: &str = env::COMPLETE_INDEX.name;

/// Answers a shell, if it is one that asks.
pub(crate) fn answered(args: &[OsString], env: Lookup<'_>) -> bool {
    let Some(shell) = env(ASKED).filter(|shell| !shell.is_empty()) else { return false };
    let words = args.iter().position(|arg| arg == "--").map(|at| &args[at + 1..]);
    let shell = shell.to_str().and_then(Shell::named);
    // Nobody reads why there is no answer: none is the answer.
    if let (Some(shell), Some(words)) = (shell, words) {
        let index = env(INDEX).and_then(|index| index.to_str()?.parse().ok());
        let text = answer(shell, words.to_vec(), index, env);
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
    true
}

fn answer(shell: Shell, words: Vec<OsString>, index: Option<usize>, env: Lookup<'_>) -> String {
    let index = index.unwrap_or(words.len().saturating_sub(1));
    let (words, index, joined) = shell.words(words, index);
    let nothing_typed = words.last().is_some_and(|word| word.is_empty());
    let mut command = completing(shell, &Values::new(&words, env), &words);
    let current_dir = std::env::current_dir().ok();
    let found = clap_complete::engine::complete(&mut command, words, index, current_dir.as_deref());
    let mut found = found.unwrap_or_default();
    let is_flag =
        |found: &CompletionCandidate| found.get_value().as_encoded_bytes().starts_with(b"-");
    // Nobody who has typed nothing wants twenty flags beside the forms.
    if nothing_typed && !found.iter().all(is_flag) {
        found.retain(|candidate| !is_flag(candidate));
    }
    let mut text = String::new();
    for candidate in found {
        text.extend(shell.line(&candidate, &joined));
    }
    text
}

/// The command line with what can be completed beyond its own words, by the names of arguments.
fn completing(shell: Shell, values: &Values, words: &[OsString]) -> Command {
    let mut command = crate::cmd::command();
    let fields = fields::of_command(&command, words);
    let words: Arc<[OsString]> = words.into();
    attach(&mut command, &|arg| {
        let (values, words) = (values.clone(), Arc::clone(&words));
        match arg.get_id().as_str() {
            "form" => {
                arg.add(ArgValueCompleter::new(move |typed: &std::ffi::OsStr| values.forms(typed)))
            }
            "profile" | "profile_name" => arg
                .add(ArgValueCompleter::new(move |typed: &std::ffi::OsStr| values.profiles(typed))),
            "capture" | "other_capture" | "captures" => arg
                .add(ArgValueCompleter::new(move |typed: &std::ffi::OsStr| values.captures(typed))),
            "json" => arg.add(ArgValueCompleter::new(move |typed: &std::ffi::OsStr| {
                fields::completing(fields, typed)
            })),
            "key" => arg
                .add(ArgValueCompleter::new(move |typed: &std::ffi::OsStr| values.settings(typed))),
            "value" => arg.add(ArgValueCompleter::new(move |typed: &std::ffi::OsStr| {
                let choices = choices::of_setting(&words);
                beginning(typed, choices.iter().map(String::as_str))
            })),
            "words" => arg.add(ArgValueCompleter::new(move |typed: &std::ffi::OsStr| {
                choices::explained(typed, &words)
            })),
            "status" => arg.add(ArgValueCompleter::new(|typed: &std::ffi::OsStr| {
                use FormStatus::{Closed, Draft, Published};
                let known = [Draft, Published, Closed];
                beginning(typed, known.iter().map(FormStatus::as_str))
            })),
            // This shell completes files better than candidates from here: it quotes their names.
            _ if shell == Shell::Bash && arg.get_action().takes_values() => {
                arg.value_hint(ValueHint::Other)
            }
            _ => arg,
        }
    });
    command
}

fn attach(command: &mut Command, change: &impl Fn(clap::Arg) -> clap::Arg) {
    *command = std::mem::take(command).mut_args(change);
    for command in command.get_subcommands_mut() {
        attach(command, change);
    }
}

/// Candidates that begin with what was typed.
fn beginning<'a>(
    typed: &std::ffi::OsStr,
    all: impl IntoIterator<Item = &'a str>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_str();
    let begins = |word: &&str| typed.is_some_and(|typed| word.starts_with(typed));
    all.into_iter().filter(begins).map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered_in(shell: Shell, line: &[&str], index: Option<usize>) -> Vec<String> {
        let words = line.iter().map(OsString::from).collect();
        let text = answer(shell, words, index, &|_| None);
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn commands_flags_and_formats_are_completed() {
        let fish = |line: &[&str]| answered_in(Shell::Fish, line, None);
        assert!(
            fish(&["formsvc", "fo"])[0].starts_with("forms\t"),
            "{:?}",
            fish(&["formsvc", "fo"])
        );
        assert!(fish(&["formsvc", "forms", "list", "--outp"])[0].starts_with("--output\t"));
        let formats: Vec<String> = fish(&["formsvc", "me", "--output", ""]);
        assert!(formats.iter().any(|line| line.starts_with("ndjson\t")), "{formats:?}");
        assert!(fish(&["formsvc", "me", "--output=nd"])[0].starts_with("--output=ndjson"));
    }

    #[cfg(feature = "sandbox")]
    #[test]
    fn forms_of_the_demo_are_known_without_a_service() {
        let line = ["formsvc", "--demo", "forms", "view", "pen"];
        assert_eq!(answered_in(Shell::Bash, &line, Some(4)), ["penguins"]);
    }

    #[test]
    fn bash_gets_the_part_behind_an_equals_sign_that_it_took_apart() {
        let line = ["formsvc", "me", "--output", "=", "nd"];
        assert_eq!(answered_in(Shell::Bash, &line, Some(4)), ["ndjson"]);
        let line = ["formsvc", "me", "--output", "="];
        assert!(answered_in(Shell::Bash, &line, Some(3)).contains(&"csv".to_owned()));
    }

    #[test]
    fn closed_sets_that_the_parser_does_not_know_are_completed() {
        let bash = |line: &[&str]| answered_in(Shell::Bash, line, Some(line.len() - 1));
        let set = bash(&["formsvc", "config", "set", "output", ""]);
        assert_eq!(set, ["table", "json", "ndjson", "csv", "tsv"]);
        let of_profile = bash(&["formsvc", "config", "set", "profiles.work.color", "al"]);
        assert_eq!(of_profile, ["always"]);
        let statuses = bash(&["formsvc", "forms", "list", "--status", ""]);
        assert_eq!(statuses, ["draft", "published", "closed"]);
        let help = bash(&["formsvc", "help", ""]);
        assert!(["exit-codes", "forms"].iter().all(|word| help.contains(&(*word).to_owned())));
        assert_eq!(bash(&["formsvc", "help", "exit"]), ["exit-codes"]);
        assert_eq!(bash(&["formsvc", "help", "forms", "li"]), ["list"]);
        let of_nothing = bash(&["formsvc", "help", "zzz", ""]);
        assert!(of_nothing.iter().all(|word| word.starts_with('-')), "{of_nothing:?}");
    }

    #[test]
    fn nonsense_has_no_answer() {
        assert!(answered_in(Shell::Zsh, &[], Some(7)).is_empty());
        assert!(answered_in(Shell::Zsh, &["formsvc", "zzz"], Some(70)).is_empty());
        assert!(answered_in(Shell::Fish, &["formsvc", "zzz", "yyy"], None).is_empty());
    }
}
