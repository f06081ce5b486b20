//! `formsvc forms …`

mod list;
mod schema;
mod view;

use clap::Subcommand;

use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

/// List and show forms
#[derive(Debug, Subcommand)]
pub(crate) enum Forms {
    List(list::List),
    View(view::View),
    Schema(schema::SchemaOf),
}

impl Forms {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(cx).await,
            Self::View(view) => view.run(cx).await,
            Self::Schema(schema) => schema.run(cx).await,
        }
    }
}

/// The fields of a form, the most telling first.
const FIELDS: &[Field] = &[
    Field::new("public_id"),
    Field::new("title"),
    Field::status("status"),
    Field::new("id"),
    Field::time("created_at"),
    Field::time("updated_at"),
    Field::new("url"),
];
