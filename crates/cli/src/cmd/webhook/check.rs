//! `formsvc webhook check`

use clap::Args;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Check that a receiver does what the service needs of it
#[derive(Debug, Args)]
pub(crate) struct Check {}

impl Check {
    #[expect(clippy::unused_async, reason = "the frame of a command")]
    pub(crate) async fn run(self, _: &Context) -> Result<(), CliError> {
        Err(CliError::new(Exit::Failed, "not built yet"))
    }
}
