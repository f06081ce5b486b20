//! `formsvc-server key create`.

use secrecy::ExposeSecret;

use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// E-mail address of the user.
    #[arg(long, value_name = "EMAIL")]
    user: String,
    /// What to call the key.
    #[arg(long)]
    name: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let create = async |admin: &Admin| {
        let user = admin.user(&args.user).await?;
        Ok(admin.create_key(&user.id, &args.name).await?)
    };
    let created = with(&args.database, Missing::Refuse, create).await?;
    output::note(&format!("made key `{}`; it cannot be shown again", created.record.id));
    output::line(created.secret.expose_secret())
}
