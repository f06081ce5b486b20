//! `formsvc-server webhook add`.

use secrecy::ExposeSecret;

use crate::admin::{Admin, Registrar};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::egress::EgressArgs;
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::cmd::secret_key::{SecretKeyArgs, missing_key};

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    secret_key: SecretKeyArgs,
    #[command(flatten)]
    egress: EgressArgs,
    /// Id or public id of the form.
    #[arg(value_name = "FORM")]
    form: String,
    /// Where deliveries go: https, or http to this machine.
    #[arg(value_name = "URL")]
    url: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let policy = args.egress.policy()?;
    let add = async |admin: &Admin| {
        let form = admin.find_form(&args.form).await?;
        let vault =
            args.secret_key.vault(&args.database.database, missing_key(admin.store()).await?)?;
        let registrar = Registrar::new(vault, policy.clone());
        Ok(admin.add_endpoint(&form.id, &args.url, &registrar).await?)
    };
    let added = with(&args.database, Missing::Refuse, add).await?;
    if let Some(why) = added.unresolved {
        output::note(&format!("warning: the host of the URL cannot be resolved now: {why}"));
    }
    let id = &added.record.id;
    output::note(&format!("added endpoint `{id}`; its signing secret cannot be shown again"));
    output::line(added.secret.expose_secret())
}
