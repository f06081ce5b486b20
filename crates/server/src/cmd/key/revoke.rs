//! `formsvc-server key revoke`.

use super::record;
use crate::admin::{Admin, parse_id};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::cmd::settings::bad;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The key's id, as `key list` shows it.
    #[arg(value_name = "ID")]
    id: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    // A key in place of its id must not be repeated in an error.
    if args.id.starts_with(crate::api_key::PREFIX) {
        let failed = CommandError::usage("this is a key, and its id is wanted");
        return Err(failed.hint("`formsvc-server key list` shows the ids"));
    }
    let id = parse_id(&args.id).map_err(|rule| bad("ID", &args.id, rule))?;
    let revoke = async |admin: &Admin| Ok(admin.revoke_key(&id).await?);
    output::json(&record(&with(&args.database, Missing::Refuse, revoke).await?))
}
