//! `formsvc-server form edit`.

use super::account;
use super::given::{self, FieldsArgs};
use crate::admin::{Admin, FormEdit};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::fields::Fields;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Id or public id of the form.
    #[arg(value_name = "FORM")]
    form: String,
    /// New title.
    #[arg(long)]
    title: Option<String>,
    #[command(flatten)]
    fields: FieldsArgs,
    /// Take any answers: the form has no fields of its own any more.
    #[arg(long, conflicts_with = "fields")]
    any_answers: bool,
    /// draft, published or closed.
    #[arg(long)]
    status: Option<String>,
    /// Site whose pages may send to the form, in place of those that may now; can be repeated.
    #[arg(long, value_name = "URL")]
    origin: Vec<String>,
    /// Let the pages of all sites send to the form.
    #[arg(long, conflicts_with = "origin")]
    any_origin: bool,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let origins = given::origins(&args.origin)?;
    let edit = FormEdit {
        title: args.title.clone(),
        status: args.status.as_deref().map(given::status).transpose()?,
        fields: if args.any_answers { Some(Fields::free()) } else { args.fields.read()? },
        origins: if args.any_origin { Some(None) } else { origins.map(Some) },
    };
    if edit.is_empty() {
        let hint = "`--title`, `--fields`, `--any-answers`, `--status`, `--origin` or `--any-origin`; \
                    `formsvc-server form show FORM` tells what there is";
        return Err(CommandError::usage("nothing is to be changed").hint(hint));
    }
    let change = async |admin: &Admin| {
        let form = admin.find_form(&args.form).await?;
        account::of(admin, &admin.edit_form(&form.id, edit.clone()).await?).await
    };
    output::json(&with(&args.database, Missing::Refuse, change).await?)
}
