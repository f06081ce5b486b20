//! `formsvc forms …`

mod list;
mod schema;
mod statistics;
mod view;

pub(super) use schema::FIELDS as SCHEMA_FIELDS;

use clap::Subcommand;
use formsvc_client::Form;
use serde::Serialize;

use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

/// List and show forms
#[derive(Debug, Subcommand)]
pub(crate) enum Forms {
    #[command(alias = "ls")]
    List(list::List),
    #[command(aliases = ["get", "show"])]
    View(view::View),
    Schema(schema::ShowSchema),
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

/// The fields of a form. Narrow tables drop the last ones first.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::id("id"),
    Field::id("public_id"),
    Field::new("title"),
    Field::status("status"),
    Field::time("created_at"),
    Field::time("updated_at"),
    Field::address("web_address"),
    Field::new("url").json_only(),
];

/// A form in the output, with the complete URL of its page.
#[derive(Debug, Serialize)]
struct FormRow<'a> {
    #[serde(flatten)]
    form: &'a Form,
    web_address: Option<String>,
}

impl<'a> FormRow<'a> {
    fn new(form: &'a Form, base_url: &str) -> Self {
        // Any other text could lead to another host.
        let is_path = form.url.starts_with('/') && !form.url.starts_with("//");
        Self { form, web_address: is_path.then(|| format!("{base_url}{}", form.url)) }
    }
}
