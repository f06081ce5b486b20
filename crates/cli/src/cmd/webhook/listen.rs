//! `formsvc webhook listen`

use clap::Args;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Receive deliveries here: verify them, show them, pass them on
#[derive(Debug, Args)]
pub(crate) struct Listen {}

impl Listen {
    #[expect(clippy::unused_async, reason = "the frame of a command")]
    pub(crate) async fn run(self, _: &Context) -> Result<(), CliError> {
        Err(CliError::new(Exit::Failed, "not built yet"))
    }
}
