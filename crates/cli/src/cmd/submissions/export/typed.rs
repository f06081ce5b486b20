//! The arguments of the current command as they were typed.

use std::env;

use clap::parser::ValueSource;

use crate::cmd::command;

/// Returns the arguments of the subcommand with their values, without global flags. A positional argument has
/// an empty name, and a switch has no value.
pub(super) fn typed_args() -> Vec<(String, Option<String>)> {
    let root = command();
    let Ok(matches) = root.clone().try_get_matches_from(env::args_os()) else { return Vec::new() };
    let (mut command, mut matches) = (&root, &matches);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { return Vec::new() };
        (command, matches) = (found, inner);
    }
    let mut typed = Vec::new();
    for arg in command.get_arguments().filter(|arg| !arg.is_global_set()) {
        let id = arg.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let name = arg.get_long().map_or(String::new(), |name| format!("--{name}"));
        if arg.get_action().takes_values() {
            for value in matches.get_raw(id).into_iter().flatten() {
                typed.push((name.clone(), Some(value.to_string_lossy().into_owned())));
            }
        } else {
            typed.push((name, None));
        }
    }
    typed
}
