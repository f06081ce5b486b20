//! Completion of the line that is being typed in a shell.
//!
//! The script of a shell (`formsvc completion SHELL`) runs this program at each press of Tab, with
//! [`env::COMPLETE`] in the environment and the words of the line after `--`. The response has a line
//! per candidate. It is made from files of this machine, without requests, prompts and errors.

mod values;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::sync::Arc;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::base::env::{self, Lookup};
use crate::cmd::completion::Shell;
use values::Values;

/// Responds to a shell. Returns false if no shell requests completion.
pub(crate) fn respond(args: &[OsString], env: Lookup<'_>) -> bool {
    let Some(shell) = env(env::COMPLETE.name).filter(|shell| !shell.is_empty()) else {
        return false;
    };
    let words = args.iter().position(|arg| arg == "--").map(|at| &args[at + 1..]);
    let shell = shell.to_str().and_then(Shell::named);
    if let (Some(shell), Some(words)) = (shell, words) {
        let index = env(env::COMPLETE_INDEX.name).and_then(|index| index.to_str()?.parse().ok());
        let text = response(shell, words.to_vec(), index, env);
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
    true
}

fn response(shell: Shell, words: Vec<OsString>, index: Option<usize>, env: Lookup<'_>) -> String {
    let index = index.unwrap_or(words.len().saturating_sub(1));
    let (words, index, joined) = shell.words(words, index);
    let nothing_typed = words.last().is_some_and(|word| word.is_empty());
    let mut command = with_completers(shell, &Arc::new(Values::new(&words, env)));
    let current_dir = std::env::current_dir().ok();
    let found = clap_complete::engine::complete(&mut command, words, index, current_dir.as_deref());
    let mut found = found.unwrap_or_default();
    let is_flag =
        |found: &CompletionCandidate| found.get_value().as_encoded_bytes().starts_with(b"-");
    // The flags are omitted, because a list of forms is easier to read without them.
    if nothing_typed && !found.iter().all(is_flag) {
        found.retain(|candidate| !is_flag(candidate));
    }
    found.iter().filter_map(|candidate| shell.line(candidate, &joined)).collect()
}

/// A function that returns the candidates for the beginning of a value.
type Completer = fn(&Values, &OsStr) -> Vec<CompletionCandidate>;

/// Returns true if the value name of the argument is `FORM`, or begins with it as in `FORM[/ID]`.
fn takes_form(arg: &Arg) -> bool {
    let names = arg.get_value_names().unwrap_or_default();
    // The value name of a positional argument without one is its id.
    names.iter().any(|name| name == "FORM" || name.starts_with("FORM[")) || arg.get_id() == "form"
}

/// Returns the completer of an argument: of forms by the value name, of other values by the id.
fn completer(arg: &Arg) -> Option<Completer> {
    Some(match arg.get_id().as_str() {
        "sandbox" => |_, typed| values::demo_forms(typed),
        "webhook" => |_, typed| values::sandbox_webhooks(typed),
        _ if takes_form(arg) => Values::forms,
        "profile" | "profile_name" => Values::profiles,
        "json" => Values::fields,
        "key" => |_, typed| values::settings(typed),
        "status" => |_, typed| values::statuses(typed),
        _ => return None,
    })
}

fn with_completers(shell: Shell, values: &Arc<Values>) -> Command {
    fn attach(command: Command, change: &impl Fn(Arg) -> Arg) -> Command {
        command.mut_args(change).mut_subcommands(|command| attach(command, change))
    }
    attach(crate::cmd::command(), &|arg| match completer(&arg) {
        Some(completer) => {
            let values = Arc::clone(values);
            arg.add(ArgValueCompleter::new(move |typed: &OsStr| completer(&values, typed)))
        }
        // These shells complete files themselves, and quote their names.
        None if matches!(shell, Shell::Bash | Shell::Pwsh) && arg.get_action().takes_values() => {
            arg.value_hint(ValueHint::Other)
        }
        None => arg,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(shell: Shell, line: &[&str], index: Option<usize>) -> Vec<String> {
        let words = line.iter().map(OsString::from).collect();
        let text = response(shell, words, index, &|_| None);
        text.lines().map(str::to_owned).collect()
    }

    fn bash(line: &[&str]) -> Vec<String> {
        candidates(Shell::Bash, line, Some(line.len() - 1))
    }

    #[test]
    fn commands_flags_and_formats_are_completed() {
        let fish = |line: &[&str]| candidates(Shell::Fish, line, None);
        assert!(fish(&["formsvc", "fo"])[0].starts_with("forms\t"));
        assert!(fish(&["formsvc", "forms", "list", "--outp"])[0].starts_with("--output\t"));
        let formats: Vec<String> = fish(&["formsvc", "me", "--output", ""]);
        assert!(formats.iter().any(|line| line.starts_with("ndjson\t")), "{formats:?}");
        assert!(fish(&["formsvc", "me", "--output=nd"])[0].starts_with("--output=ndjson"));
    }

    #[cfg(feature = "sandbox")]
    #[test]
    fn every_argument_with_a_form_completes_forms() {
        fn walk(command: &Command, words: &[&str], lines: &mut Vec<Vec<String>>) {
            for arg in command.get_arguments() {
                if takes_form(arg) || arg.get_id() == "sandbox" {
                    let mut line: Vec<_> = words.iter().map(ToString::to_string).collect();
                    line.extend(arg.get_long().map(|long| format!("--{long}")));
                    lines.push(line);
                }
            }
            for command in command.get_subcommands() {
                walk(command, &[words, &[command.get_name()]].concat(), lines);
            }
        }
        let mut lines = Vec::new();
        walk(&crate::cmd::command(), &["formsvc", "--demo"], &mut lines);
        let names: Vec<String> = lines.iter().map(|line| line[2..].join(" ")).collect();
        for name in [
            "forms view",
            "forms schema",
            "submissions list",
            "submissions view",
            "submissions tail",
            "submissions export",
            "submissions sync",
            "submissions sync verify",
            "webhook listen --poll",
            "webhook listen --sandbox",
            "webhook trigger --from-submission",
            "contract check --form",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        for line in &lines {
            let line: Vec<&str> = line.iter().map(String::as_str).chain(["pen"]).collect();
            assert_eq!(bash(&line), ["penguins"], "{line:?}");
        }
    }

    #[test]
    fn bash_gets_the_part_after_an_equals_sign() {
        assert_eq!(bash(&["formsvc", "me", "--output", "=", "nd"]), ["ndjson"]);
        assert!(bash(&["formsvc", "me", "--output", "="]).contains(&"csv".to_owned()));
    }

    #[test]
    fn settings_and_statuses_are_completed() {
        assert_eq!(bash(&["formsvc", "config", "get", "time"]), ["time_style", "timeout"]);
        let statuses = bash(&["formsvc", "forms", "list", "--status", ""]);
        assert_eq!(statuses, ["draft", "published", "closed"]);
    }

    #[cfg(feature = "sandbox")]
    #[test]
    fn form_of_a_sandbox_webhook_is_completed_with_equals_sign() {
        assert_eq!(bash(&["formsvc", "sandbox", "--webhook", "con"]), ["contact="]);
        assert!(bash(&["formsvc", "sandbox", "--webhook", ""]).contains(&"penguins=".to_owned()));
        let url = ["formsvc", "sandbox", "--webhook", "contact", "=", "http"];
        assert_eq!(bash(&url), [""; 0]);
    }

    #[test]
    fn invalid_line_has_no_candidates() {
        assert!(candidates(Shell::Zsh, &[], Some(7)).is_empty());
        assert!(candidates(Shell::Zsh, &["formsvc", "zzz"], Some(70)).is_empty());
        assert!(candidates(Shell::Fish, &["formsvc", "zzz", "yyy"], None).is_empty());
    }
}
