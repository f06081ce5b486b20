//! `formsvc submissions …`

mod export;
mod exports;
mod list;
pub(super) mod range;
pub(in crate::cmd) mod tail;
mod view;

pub(in crate::cmd) use export::{incomplete, larger_pages};
pub(in crate::cmd) use exports::FIELDS as EXPORTS_FIELDS;
pub(super) use list::FIELDS;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;
use crate::form_ref::FormMatch;

/// List, show, follow and export the submissions of a form
#[derive(Debug, Subcommand)]
pub(crate) enum Submissions {
    List(list::List),
    View(view::View),
    Tail(tail::Tail),
    Export(export::Export),
    #[command(subcommand)]
    Exports(exports::Exports),
}

impl Submissions {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(cx).await,
            Self::View(view) => view.run(cx).await,
            Self::Tail(tail) => tail.run(cx).await,
            Self::Export(export) => Box::pin(export.run(cx)).await,
            Self::Exports(exports) => exports.run(cx),
        }
    }
}

/// What to call a form in a command: what people know it by, unless that looks like a flag.
fn hint_name(form: &FormMatch) -> &str {
    let public_id = form.listed.as_ref().map(|listed| listed.public_id.as_str());
    public_id.filter(|id| !id.starts_with('-')).unwrap_or(form.id.as_str())
}
