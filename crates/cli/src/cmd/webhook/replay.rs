//! `formsvc webhook replay`

use clap::Args;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Send received deliveries once more
#[derive(Debug, Args)]
pub(crate) struct Replay {}

impl Replay {
    #[expect(clippy::unused_async, reason = "the frame of a command")]
    pub(crate) async fn run(self, _: &Context) -> Result<(), CliError> {
        Err(CliError::new(Exit::Failed, "not built yet"))
    }
}
