//! `formsvc-server deliveries resend`.

use formsvc_protocol::DeliveryId;

use super::{DeliveryArgs, record};
use crate::admin::{Admin, AdminError};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::store::sqlite::server_runs;
use crate::store::{ENDPOINT_DISABLED, StoreError, system_clock};

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let id = args.delivery.id()?;
    let resend = async |admin: &Admin| match admin.resend(&id).await {
        Ok(delivery) => Ok(delivery),
        Err(error) => Err(refused(admin, &id, error).await),
    };
    let mut delivery = with(&args.database, Missing::Refuse, resend).await?;
    // What is due at once counts as due since the submission.
    let now = system_clock()().to_timestamp();
    delivery.next_attempt_at = delivery.next_attempt_at.map(|at| at.max(now));
    output::json(&record(&delivery))?;
    let who = match args.database.database.file().map(server_runs) {
        Some(true) => "will be attempted by the running server",
        Some(false) => "no server runs now: it will be attempted when one is started",
        // Whether there is one only the servers know.
        None => "will be attempted by the next server that looks: at once when one runs",
    };
    output::note(&format!("{who}; `formsvc-server deliveries show {id}` tells how it went"));
    Ok(())
}

/// Why it is not made again, and how it could be.
async fn refused(admin: &Admin, id: &DeliveryId, error: AdminError) -> CommandError {
    let is_disabled =
        matches!(&error, AdminError::Store(StoreError::Invalid { rule: ENDPOINT_DISABLED, .. }));
    let failed = CommandError::from(error);
    // What is only a hint may be left out.
    match admin.delivery(id).await {
        Ok(delivery) if is_disabled => {
            let endpoint = delivery.record.endpoint;
            failed.hint(format!("`formsvc-server webhook enable {endpoint}` enables it"))
        }
        _ => failed,
    }
}
