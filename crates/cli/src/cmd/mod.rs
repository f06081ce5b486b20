//! The commands: `cmd/<group>/<verb>.rs` contains the arguments and the code of a command.

mod api;
mod auth;
pub(crate) mod completion;
mod config;
mod contract;
mod doctor;
mod forms;
mod help;
pub(crate) mod help_flags;
mod man;
mod me;
pub(crate) mod page;
mod ready_file;
#[cfg(feature = "sandbox")]
mod sandbox;
mod submissions;
mod webhook;

use clap::Parser;
use clap::Subcommand;

pub use completion::completion_scripts;
pub use man::man_pages;
pub(crate) use submissions::range::Range;

use crate::checks;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Field;
use crate::settings::OnBadSetting;
use crate::settings::args::Globals;
use crate::settings::early::ParsedEarly;

/// Read and export form submissions, and receive and test webhook deliveries.
#[derive(Debug, Parser)]
#[command(
    name = "formsvc",
    version,
    propagate_version = true,
    disable_help_subcommand = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Topics: formsvc help environment | output | exit-codes | errors\n\nTry it without an account:\n  formsvc --demo forms list\n  formsvc --demo submissions export penguins --format csv"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Returns all commands and flags, for the documents that are generated from them.
pub fn command() -> clap::Command {
    help_flags::arrange(<Cli as clap::CommandFactory>::command())
}

/// The commands. A doc comment on a variant would replace the help text of the command's own type.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Me(me::Me),
    /// Store API keys and show which one is used
    #[command(subcommand)]
    Auth(auth::Auth),
    /// List and show forms
    #[command(subcommand)]
    Forms(forms::Forms),
    /// List, show, follow, export and synchronize the submissions of a form
    #[command(subcommand)]
    Submissions(submissions::Submissions),
    /// Receive, verify, send and replay webhook deliveries, and check receivers
    #[command(subcommand)]
    Webhook(Box<webhook::Webhook>),
    /// Check that a service follows its specification
    #[command(subcommand)]
    Contract(contract::Contract),
    Api(api::Api),
    /// Show and change the saved settings
    #[command(subcommand)]
    Config(config::Config),
    Doctor(doctor::Doctor),
    #[cfg(feature = "sandbox")]
    Sandbox(sandbox::Sandbox),
    Completion(completion::Completion),
    Man(man::Man),
    Help(help::Help),
}

impl Command {
    /// Returns how the command treats an invalid configuration.
    pub(crate) fn care(&self) -> OnBadSetting {
        match self {
            Self::Auth(auth) => auth.care(),
            Self::Config(config) => config.care(),
            Self::Doctor(_) => OnBadSetting::Ignore,
            _ => OnBadSetting::Fail,
        }
    }

    /// Runs a command that needs neither settings nor a service.
    pub(crate) fn alone(&self, early: ParsedEarly) -> Option<Result<(), CliError>> {
        match self {
            Self::Completion(completion) => Some(completion.run()),
            Self::Man(man) => Some(man.run()),
            Self::Help(help) => Some(help.run(early)),
            _ => None,
        }
    }

    /// Runs the command.
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::Me(me) => me.run(cx).await,
            Self::Auth(auth) => auth.run(cx).await,
            Self::Forms(forms) => forms.run(cx).await,
            Self::Submissions(submissions) => submissions.run(cx).await,
            Self::Webhook(webhook) => Box::pin(webhook.run(cx)).await,
            Self::Contract(contract) => Box::pin(contract.run(cx)).await,
            Self::Api(api) => api.run(cx).await,
            Self::Config(config) => config.run(cx),
            Self::Doctor(doctor) => doctor.run(cx).await,
            #[cfg(feature = "sandbox")]
            Self::Sandbox(sandbox) => sandbox.run(cx).await,
            Self::Completion(_) | Self::Man(_) | Self::Help(_) => {
                Err(CliError::new(Exit::Failed, "this is a bug in formsvc"))
            }
        }
    }
}

/// Returns the fields of `--json` for a command, given by its words.
pub(crate) fn fields(command: &[&str]) -> &'static [Field] {
    match command {
        ["me"] => me::FIELDS,
        ["auth", "list"] => auth::LIST_FIELDS,
        ["auth", "status"] => auth::STATUS_FIELDS,
        ["auth", "doctor"] | ["doctor"] => checks::FIELDS,
        ["forms", "list" | "view"] => forms::FIELDS,
        ["forms", "schema"] => forms::SCHEMA_FIELDS,
        ["submissions", "list" | "view" | "tail"] => &submissions::FIELDS,
        ["submissions", "count"] => &submissions::COUNT_FIELDS,
        ["submissions", "exports", "list"] => &submissions::EXPORTS_FIELDS,
        ["submissions", "sync"] => &submissions::SYNC_FIELDS,
        ["submissions", "sync", "status"] => &submissions::SYNC_STATUS_FIELDS,
        ["submissions", "sync", "verify"] => &submissions::SYNC_VERIFY_FIELDS,
        ["webhook", "events", "list"] => webhook::fields::FIELDS,
        ["webhook", "events", "show" | "tail"] => webhook::fields::ALL_FIELDS,
        ["webhook", "events", "diff"] => webhook::events::DIFF_FIELDS,
        ["webhook", "events", "prune"] => webhook::events::PRUNE_FIELDS,
        ["webhook", "replay"] => webhook::replay::FIELDS,
        ["webhook", "check"] => webhook::check::FIELDS,
        ["webhook", "trigger"] => webhook::TRIGGER_FIELDS,
        ["webhook", "secret", "list"] => webhook::secret::FIELDS,
        ["contract", "check"] => contract::CHECK_FIELDS,
        ["contract", "list"] => contract::LIST_FIELDS,
        ["config", "list"] => config::LIST_FIELDS,
        ["webhook", "sign"] => webhook::sign::FIELDS,
        ["webhook", "verify"] => webhook::verify::FIELDS,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definition_of_commands_is_valid() {
        command().debug_assert();
    }
}
