//! `formsvc webhook trigger`

use clap::Args;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Send a signed delivery, made here, to a receiver
#[derive(Debug, Args)]
pub(crate) struct Trigger {}

impl Trigger {
    #[expect(clippy::unused_async, reason = "the frame of a command")]
    pub(crate) async fn run(self, _: &Context) -> Result<(), CliError> {
        Err(CliError::new(Exit::Failed, "not built yet"))
    }
}
