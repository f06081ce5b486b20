//! The commands: `cmd/<group>/<verb>.rs` holds the arguments of a verb and what it does.

mod forms;
mod me;
#[cfg(feature = "sandbox")]
mod sandbox;
mod submissions;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show whose API key this is
    Me(me::Me),
    /// List and show forms
    #[command(subcommand)]
    Forms(forms::Forms),
    /// List and export the submissions of a form
    #[command(subcommand)]
    Submissions(submissions::Submissions),
    /// Run a service on this machine to try things against, with real data
    #[cfg(feature = "sandbox")]
    Sandbox(sandbox::Sandbox),
}

impl Command {
    /// Carries the command out.
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::Me(me) => me.run(cx).await,
            Self::Forms(forms) => forms.run(cx).await,
            Self::Submissions(submissions) => submissions.run(cx).await,
            #[cfg(feature = "sandbox")]
            Self::Sandbox(sandbox) => sandbox.run(cx).await,
        }
    }
}
