//! Closed sets that the parser does not know: values of settings, and what `help` explains.

use std::ffi::{OsStr, OsString};

use clap_complete::engine::CompletionCandidate;

use super::beginning;
use crate::cmd::topics;
use crate::settings::config::keys::setting;

/// The values of the setting that `config set` was given before the word that is being typed.
pub(super) fn of_setting(words: &[OsString]) -> Vec<String> {
    let named = after(words, "set").find_map(|word| setting(word.rsplit('.').next()?));
    named.map(|setting| setting.kind.choices()).unwrap_or_default()
}

/// Topics and commands, or the commands of the group that was named.
pub(super) fn explained(typed: &OsStr, words: &[OsString]) -> Vec<CompletionCandidate> {
    let root = crate::cmd::command();
    let (mut at, mut found) = (&root, Vec::new());
    for word in after(words, "help") {
        let Some(command) = at.find_subcommand(word) else { return Vec::new() };
        at = command;
    }
    if at.get_name() == root.get_name() {
        found.extend(beginning(typed, topics()));
    }
    for command in at.get_subcommands().filter(|command| !command.is_hide_set()) {
        let about = command.get_about().cloned();
        let name = beginning(typed, [command.get_name()]);
        found.extend(name.into_iter().map(|candidate| candidate.help(about.clone())));
    }
    found
}

/// The words between a command and what is being typed, without flags.
fn after<'w>(words: &'w [OsString], command: &str) -> impl Iterator<Item = &'w str> {
    let done = words.split_last().map_or(&[][..], |(_, done)| done);
    let at = done.iter().position(|word| word == command).map_or(done.len(), |at| at + 1);
    done[at..].iter().filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-'))
}
