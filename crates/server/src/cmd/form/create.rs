//! `formsvc-server form create`.

use formsvc_protocol::PublicId;

use super::account;
use super::given::{self, FieldsArgs};
use crate::admin::{Admin, FormOptions};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// E-mail address of the user who gets the form.
    #[arg(long, value_name = "EMAIL")]
    user: String,
    /// Title of the form.
    #[arg(long)]
    title: String,
    /// Public id of the form, in its address /f/ID; made up when none is given.
    #[arg(long, value_name = "ID")]
    public_id: Option<String>,
    #[command(flatten)]
    fields: FieldsArgs,
    /// draft, published or closed.
    #[arg(long, default_value = "published")]
    status: String,
    /// Site whose pages may send to the form, such as `https://example.org`; can be repeated. Without
    /// any, all may.
    #[arg(long, value_name = "URL")]
    origin: Vec<String>,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let public_id: Option<PublicId> =
        args.public_id.as_deref().map(|id| given::public_id("--public-id", id)).transpose()?;
    let status = given::status(&args.status)?;
    let origins = given::origins(&args.origin)?;
    let fields = args.fields.read()?;
    let create = async |admin: &Admin| {
        let user = admin.user(&args.user).await?.id;
        let options = FormOptions {
            public_id: public_id.clone(),
            title: args.title.clone(),
            status: status.clone(),
        };
        let (fields, origins) = (fields.clone(), origins.clone());
        let form = admin.create_form_with(&user, options, fields, origins).await?;
        account::of(admin, &form).await
    };
    output::json(&with(&args.database, Missing::Refuse, create).await?)
}
