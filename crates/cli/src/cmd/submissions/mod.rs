//! `formsvc submissions …`

mod count;
mod database;
mod export;
mod exports;
mod list;
mod outcome;
pub(super) mod range;
mod sync;
pub(in crate::cmd) mod tail;
mod view;

pub(in crate::cmd) use count::FIELDS as COUNT_FIELDS;
pub(in crate::cmd) use exports::FIELDS as EXPORTS_FIELDS;
pub(super) use list::FIELDS;
pub(in crate::cmd) use outcome::{
    counted, first_causes, incomplete, incomplete_list, not_kept, report_search,
};
pub(in crate::cmd) use sync::{
    FIELDS as SYNC_FIELDS, STATUS_FIELDS as SYNC_STATUS_FIELDS, VERIFY_FIELDS as SYNC_VERIFY_FIELDS,
};

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;

/// List, show, count, follow, export and synchronize the submissions of a form
#[derive(Debug, Subcommand)]
pub(crate) enum Submissions {
    #[command(alias = "ls")]
    List(list::List),
    #[command(aliases = ["get", "show"])]
    View(view::View),
    Count(count::Count),
    Tail(tail::Tail),
    Export(Box<export::Export>),
    Sync(Box<sync::Sync>),
    #[command(subcommand)]
    Exports(exports::Exports),
}

impl Submissions {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(cx).await,
            Self::View(view) => view.run(cx).await,
            Self::Count(count) => count.run(cx).await,
            Self::Tail(tail) => tail.run(cx).await,
            Self::Export(export) => Box::pin(export.run(cx)).await,
            Self::Sync(sync) => Box::pin(sync.run(cx)).await,
            Self::Exports(exports) => exports.run(cx),
        }
    }
}
