//! `formsvc forms …`

mod list;
mod view;

use clap::Subcommand;
use formsvc_client::Form;

use crate::context::{Context, to_json};
use crate::error::CliError;
use crate::output::{Listing, text};

/// List and show forms
#[derive(Debug, Subcommand)]
pub(crate) enum Forms {
    List(list::List),
    View(view::View),
}

impl Forms {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self {
            Self::List(list) => list.run(cx).await,
            Self::View(view) => view.run(cx).await,
        }
    }
}

/// The name of a field, and how a form shows it.
type Field = (&'static str, fn(&Form) -> String);

/// The fields of a form, the most telling first.
const FIELDS: [Field; 7] = [
    ("public_id", |form| form.public_id.to_string()),
    ("title", |form| form.title.clone()),
    ("status", |form| form.status.to_string()),
    ("id", |form| form.id.to_string()),
    ("created_at", |form| form.created_at.to_string()),
    ("updated_at", |form| form.updated_at.to_string()),
    ("url", |form| form.url.clone()),
];

fn listing(forms: &[Form]) -> Listing {
    let row = |form| FIELDS.iter().map(|(_, field)| text(field(form))).collect();
    Listing {
        columns: FIELDS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        rows: forms.iter().map(row).collect(),
        json: forms.iter().map(to_json).collect(),
        last_in_tables: 0,
    }
}
