//! `formsvc webhook events …`: recorded deliveries.

mod diff;
mod export;
mod list;
mod open;
mod prune;
mod show;
mod tail;

pub(in crate::cmd) use diff::FIELDS as DIFF_FIELDS;
pub(in crate::cmd) use prune::FIELDS as PRUNE_FIELDS;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;

/// Show, compare, export and delete recorded deliveries (captures)
#[derive(Debug, Subcommand)]
pub(crate) enum Events {
    #[command(alias = "ls")]
    List(list::List),
    #[command(alias = "get")]
    Show(show::Show),
    Tail(tail::Tail),
    Open(open::Open),
    Diff(diff::Diff),
    Export(export::Export),
    Prune(prune::Prune),
}

impl Events {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(cx).await,
            Self::Show(show) => show.run(cx).await,
            Self::Tail(tail) => tail.run(cx).await,
            Self::Open(open) => open.run(cx).await,
            Self::Diff(diff) => diff.run(cx).await,
            Self::Export(export) => export.run(cx).await,
            Self::Prune(prune) => prune.run(cx).await,
        }
    }
}
