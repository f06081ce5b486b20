//! The `formsvc-server` command line: one file per command, `cmd/<group>/<verb>.rs`.
//!
//! Standard output carries data only; what is for people goes to standard error.

mod database;
mod deliveries;
mod delivery;
mod egress;
mod env;
mod error;
mod exit;
mod form;
mod healthcheck;
mod key;
mod migrate;
mod output;
mod place;
mod public;
mod secret_key;
mod seed;
mod serve;
mod settings;
mod table;
mod user;
mod webhook;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::store::system_clock;
use crate::telemetry;
use error::CommandError;

pub use env::{ENV, EnvRow};
pub use exit::{EXITS, Exit, ExitRow};

/// The reference form submissions service.
#[derive(Debug, Parser)]
#[command(name = "formsvc-server", version, arg_required_else_help = true)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Args)]
struct LogArgs {
    /// Least severe log lines to print: error, warn, info, debug, trace or off.
    /// `serve` prints info unless told otherwise, the other commands warn.
    #[arg(long, global = true, value_name = "LEVEL", env = "FORMSVC_SERVER_LOG_LEVEL")]
    log_level: Option<String>,
    /// Shape of log lines on standard error: text or json.
    #[arg(long, global = true, value_name = "FORMAT", env = "FORMSVC_SERVER_LOG_FORMAT")]
    #[arg(default_value = "text")]
    log_format: String,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API until SIGINT or SIGTERM.
    Serve(Box<serve::Args>),
    /// Make the database, or bring its schema up to date.
    Migrate(migrate::Args),
    /// Manage users.
    #[command(subcommand)]
    User(user::Group),
    /// Manage API keys.
    #[command(subcommand)]
    Key(key::Group),
    /// Manage forms.
    #[command(subcommand)]
    Form(form::Group),
    /// Manage a form's webhook endpoints.
    #[command(subcommand)]
    Webhook(webhook::Group),
    /// Look at deliveries, or have one made again.
    #[command(subcommand)]
    Deliveries(deliveries::Group),
    /// Make a form with generated submissions.
    Seed(seed::Args),
    /// Ask a server whether it is ready: exit 0 when it is, else 1.
    Healthcheck(healthcheck::Args),
}

/// The definition of the command line, for completions and manual pages.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command line and gives the status to exit with.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<_> = args.into_iter().collect();
    if args.iter().any(|argument| place::has_password(argument)) {
        let told = "a password on the command line is seen by everyone on this machine";
        let error = CommandError::new(Exit::Usage, told)
            .hint("give the address in FORMSVC_SERVER_DATABASE instead");
        error.report();
        return error.exit().into();
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(refusal) => {
            // A closed pipe leaves nobody to tell.
            let _ = refusal.print();
            return if refusal.use_stderr() { Exit::Usage } else { Exit::Done }.into();
        }
    };
    match run(cli) {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            error.report();
            error.exit().into()
        }
    }
}

fn run(Cli { log, command }: Cli) -> Result<(), CommandError> {
    let usual = if matches!(command, Command::Serve(_)) { "info" } else { "warn" };
    let level = settings::log_level(log.log_level.as_deref().unwrap_or(usual))?;
    // Written out once the command is done, whatever its outcome.
    let _log = telemetry::init(level, settings::log_format(&log.log_format)?, system_clock());
    match command {
        Command::Serve(args) => serve::run(&args),
        Command::Migrate(args) => database::block_on(migrate::run(&args)),
        Command::User(user::Group::Add(args)) => database::block_on(user::add::run(&args)),
        Command::User(user::Group::List(args)) => database::block_on(user::list::run(&args)),
        Command::Key(key::Group::Create(args)) => database::block_on(key::create::run(&args)),
        Command::Key(key::Group::Revoke(args)) => database::block_on(key::revoke::run(&args)),
        Command::Key(key::Group::List(args)) => database::block_on(key::list::run(&args)),
        Command::Form(group) => database::block_on(form::run(&group)),
        Command::Webhook(group) => database::block_on(webhook::run(&group)),
        Command::Deliveries(group) => database::block_on(deliveries::run(&group)),
        Command::Seed(args) => database::block_on(seed::run(&args)),
        Command::Healthcheck(args) => healthcheck::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_environment_variable_is_in_the_table_and_the_other_way_round() {
        let mut found: Vec<_> = Vec::new();
        let mut commands = vec![command()];
        while let Some(command) = commands.pop() {
            found.extend(command.get_arguments().filter_map(|arg| {
                let name = arg.get_env()?.to_str()?.to_owned();
                Some((name, format!("--{}", arg.get_long()?)))
            }));
            commands.extend(command.get_subcommands().cloned());
        }
        found.sort();
        found.dedup();
        let table = ENV.iter().map(|row| (row.name.to_owned(), row.flag.to_owned()));
        let mut table: Vec<_> = table.collect();
        table.sort();
        assert_eq!(found, table);
    }
}
