//! The `formsvc-server` command line: one file per command, `cmd/<group>/<verb>.rs`.
//!
//! Standard output carries data only; what is for people goes to standard error.

mod address;
mod backup;
mod config;
mod copy;
mod dashboard;
mod database;
mod database_url_error;
mod deliveries;
mod delivery;
mod egress;
mod error;
mod exit;
mod form;
mod front;
mod healthcheck;
mod key;
mod migrate;
mod output;
mod place;
mod prune;
mod public;
mod secret_key;
mod seed;
mod serve;
mod service_manager;
mod settings;
mod table;
mod usage;
mod user;
mod webhook;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use tracing::level_filters::LevelFilter;

use crate::store::system_clock;
use crate::telemetry::{self, LogFormat};
use config::Layers;
use error::CommandError;

pub use config::{Kind, SETTINGS, Setting, example};
pub use exit::{EXITS, Exit, ExitRow};

/// Run and administer the form submissions service.
#[derive(Debug, Parser)]
#[command(name = "formsvc-server", version, arg_required_else_help = true)]
#[command(disable_help_subcommand = true, max_term_width = 100)]
struct Cli {
    /// TOML file with settings. Flags and variables take precedence. There is no default file.
    #[arg(long, global = true, value_name = "PATH", env = "FORMSVC_SERVER_CONFIG")]
    config: Option<PathBuf>,
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Args)]
struct LogArgs {
    /// Minimum severity of log lines: error, warn, info, debug, trace or off [default: info for
    /// `serve`, warn for other commands].
    #[arg(long, global = true, value_name = "LEVEL", env = "FORMSVC_SERVER_LOG_LEVEL")]
    log_level: Option<String>,
    /// Format of log lines on standard error: text or json.
    #[arg(long, global = true, value_name = "FORMAT", env = "FORMSVC_SERVER_LOG_FORMAT")]
    #[arg(default_value = "text")]
    log_format: String,
}

impl LogArgs {
    /// The level, if one was asked for, and the shape; or the first that breaks a rule.
    fn judge(&self) -> Result<(Option<LevelFilter>, LogFormat), CommandError> {
        let level = self.log_level.as_deref().map(settings::log_level).transpose()?;
        Ok((level, settings::log_format(&self.log_format)?))
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server until SIGINT or SIGTERM.
    Serve(Box<serve::Args>),
    /// Create the database or update its schema.
    Migrate(migrate::Args),
    /// Copy all data from one database to another.
    Copy(copy::Args),
    /// Manage users.
    #[command(subcommand)]
    User(user::Group),
    /// Manage API keys.
    #[command(subcommand)]
    Key(key::Group),
    /// Manage forms.
    #[command(subcommand)]
    Form(form::Group),
    /// Manage the webhook endpoints of a form.
    #[command(subcommand)]
    Webhook(webhook::Group),
    /// List, show and resend webhook deliveries.
    #[command(subcommand)]
    Deliveries(deliveries::Group),
    /// Back up the database file of a running server, and print the contents of the copy.
    Backup(backup::Args),
    /// Delete old attempts, deliveries, submissions and spam.
    Prune(prune::Args),
    /// Create a form with generated submissions.
    Seed(seed::Args),
    /// Check the settings, or print an example configuration file.
    #[command(subcommand)]
    Config(config::Group),
    /// Check that a server is ready: exit 0 if it is, else 1.
    Healthcheck(healthcheck::Args),
}

/// The definition of the command line, for completions and manual pages.
pub fn command() -> clap::Command {
    Cli::command().mut_subcommand("config", config::without_database)
}

/// Runs the command line and gives the status to exit with.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<_> = args.into_iter().collect();
    if args.iter().any(|argument| address::gives_away(argument)) {
        let told = "a password on the command line is seen by everyone on this machine";
        let error = CommandError::new(Exit::Usage, told)
            .hint("give the address in FORMSVC_SERVER_DATABASE instead");
        return ended(&[error]);
    }
    let mut layers = match Layers::read(&command(), &args) {
        Ok(layers) => layers,
        Err(unread) => return ended(&[unread]),
    };
    let in_file = layers.take_problems();
    let matches = layers.applied(command()).try_get_matches_from(args);
    let read = matches.and_then(|matches| Ok((Cli::from_arg_matches(&matches)?, matches)));
    let is_checked = |cli: &Cli| matches!(cli.command, Command::Config(config::Group::Check(_)));
    if !in_file.is_empty() && !read.as_ref().is_ok_and(|(cli, _)| is_checked(cli)) {
        return ended(&in_file);
    }
    let (cli, matches) = match read {
        Ok(read) => read,
        Err(refusal) => return refused(&refusal),
    };
    match run(cli, &layers, in_file, &matches) {
        Ok(()) => Exit::Done.into(),
        Err(error) => ended(&[layers.explain(error, &matches)]),
    }
}

/// Tells what is wrong; the status is that of the last.
fn ended(problems: &[CommandError]) -> ExitCode {
    problems.iter().for_each(CommandError::report);
    problems.last().map_or(Exit::Failed, CommandError::exit).into()
}

/// A command line that is none, or asks for help.
fn refused(refusal: &clap::Error) -> ExitCode {
    if let Some(error) = database::unnamed(refusal).or_else(|| usage::told(refusal)) {
        return ended(&[error]);
    }
    // A closed pipe leaves nobody to tell.
    let _ = refusal.print();
    if refusal.use_stderr() { Exit::Usage } else { Exit::Done }.into()
}

fn run(
    Cli { log, command, .. }: Cli,
    layers: &Layers,
    in_file: Vec<CommandError>,
    matches: &ArgMatches,
) -> Result<(), CommandError> {
    let is_serve = matches!(command, Command::Serve(_));
    let usual = if is_serve { serve::LOG_LEVEL } else { LevelFilter::WARN };
    let (level, format) = match log.judge() {
        // Told together with all else.
        Err(_) if matches!(command, Command::Config(_)) => (None, LogFormat::Text),
        judged => judged?,
    };
    // Written out once the command is done, whatever its outcome.
    let _log = telemetry::init(level.unwrap_or(usual), format, system_clock());
    match command {
        Command::Serve(args) => serve::run(&args),
        Command::Migrate(args) => database::block_on(migrate::run(&args)),
        Command::Copy(args) => database::block_on(copy::run(&args)),
        Command::User(user::Group::Add(args)) => database::block_on(user::add::run(&args)),
        Command::User(user::Group::Link(args)) => database::block_on(user::link::run(&args)),
        Command::User(user::Group::List(args)) => database::block_on(user::list::run(&args)),
        Command::Key(key::Group::Create(args)) => database::block_on(key::create::run(&args)),
        Command::Key(key::Group::Revoke(args)) => database::block_on(key::revoke::run(&args)),
        Command::Key(key::Group::List(args)) => database::block_on(key::list::run(&args)),
        Command::Form(group) => database::block_on(form::run(&group)),
        Command::Webhook(group) => database::block_on(webhook::run(&group)),
        Command::Deliveries(group) => database::block_on(deliveries::run(&group)),
        Command::Backup(args) => backup::run(&args),
        Command::Prune(args) => database::block_on(prune::run(&args)),
        Command::Seed(args) => database::block_on(seed::run(&args)),
        Command::Config(group) => config::run(&group, layers, in_file, matches),
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
}
