//! Settings: what there is, where values come from, and commands that tell.
//!
//! | Question | File |
//! |---|---|
//! | which settings there are | `table` |
//! | how a configuration file is read | `file` |
//! | what counts when a setting is set twice | `layers` |
//! | what is wrong, and what counts now | `check` |
//! | what a file can look like | `example` |

mod check;
mod example;
mod file;
mod layers;
mod table;

use clap::{ArgMatches, Command, Subcommand};

use super::error::CommandError;

pub(super) use check::directory_of;
pub use example::example;
pub(super) use layers::Layers;
pub use table::{Kind, SETTINGS, Setting};

#[derive(Debug, Subcommand)]
pub(super) enum Group {
    /// Check all settings, and print their effective values and sources.
    Check(Box<check::Args>),
    /// Print a configuration file with all settings as comments.
    Example,
}

/// Lets `check` go on without a database, to tell that beside all else.
pub(super) fn without_database(config: Command) -> Command {
    config.mut_subcommand("check", |check| {
        check.mut_arg("database", |arg| {
            arg.required(false).default_value("").hide_default_value(true)
        })
    })
}

pub(super) fn run(
    group: &Group,
    layers: &Layers,
    in_file: Vec<CommandError>,
    matches: &ArgMatches,
) -> Result<(), CommandError> {
    match group {
        Group::Check(args) => check::run(args, layers, in_file, layers::deepest(matches)),
        Group::Example => example::run(),
    }
}
