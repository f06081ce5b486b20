//! The arguments of the current command as they were typed.

use std::env;

use crate::cmd::command;
use crate::settings::args::{Given, typed};

/// Returns the arguments of the subcommand with their values, without global flags. A positional argument has
/// an empty name, and a switch has no value.
pub(super) fn typed_args() -> Given {
    let root = command();
    let Ok(matches) = root.clone().try_get_matches_from(env::args_os()) else { return Vec::new() };
    let (mut command, mut matches) = (&root, &matches);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { return Vec::new() };
        (command, matches) = (found, inner);
    }
    typed(command.get_arguments().filter(|arg| !arg.is_global_set()), matches)
}
