//! `formsvc forms …`

mod list;
mod view;

use clap::Subcommand;
use formsvc_client::Form;

use crate::context::{Context, to_json};
use crate::error::CliError;
use crate::output::Listing;

/// List and show forms
#[derive(Debug, Subcommand)]
pub(crate) enum Forms {
    /// List the forms this key can read, newest first
    List(list::List),
    /// Show one form
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

/// Forms as rows, the most telling columns first.
fn listing(forms: Vec<Form>) -> Listing {
    Listing {
        columns: ["public_id", "title", "status", "id", "created_at", "updated_at", "url"]
            .map(str::to_owned)
            .to_vec(),
        json: forms.iter().map(to_json).collect(),
        rows: forms.into_iter().map(row).collect(),
    }
}

fn row(form: Form) -> Vec<String> {
    vec![
        form.public_id.to_string(),
        form.title,
        form.status.to_string(),
        form.id.to_string(),
        form.created_at.to_string(),
        form.updated_at.to_string(),
        form.url,
    ]
}
