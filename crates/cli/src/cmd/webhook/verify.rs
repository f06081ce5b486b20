//! `formsvc webhook verify`

use clap::Args;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Say whether a delivery is signed rightly, and if not, why
#[derive(Debug, Args)]
pub(crate) struct Verify {}

impl Verify {
    #[expect(clippy::unused_async, reason = "the frame of a command")]
    pub(crate) async fn run(self, _: &Context) -> Result<(), CliError> {
        Err(CliError::new(Exit::Failed, "not built yet"))
    }
}
