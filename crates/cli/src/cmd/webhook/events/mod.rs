//! `formsvc webhook events …`

mod list;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;

/// Show, compare, export and remove deliveries that were received
#[derive(Debug, Subcommand)]
pub(crate) enum Events {
    List(list::List),
}

impl Events {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(cx).await,
        }
    }
}
