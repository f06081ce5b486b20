//! `formsvc submissions …`

mod export;
mod list;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;

/// List and export the submissions of a form
#[derive(Debug, Subcommand)]
pub(crate) enum Submissions {
    List(list::List),
    Export(export::Export),
}

impl Submissions {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(cx).await,
            Self::Export(export) => export.run(cx).await,
        }
    }
}
