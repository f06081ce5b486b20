//! `formsvc submissions sync`

mod report;
mod run;
mod status;
mod verify;

use std::time::Duration;

use clap::{Args, Subcommand};
use formsvc_client::{Client, FormId};
use formsvc_export::{PullOptions, SyncStatus, SyncStore, SyncTarget};
use secrecy::SecretString;
use tokio::time::Instant;

pub(in crate::cmd) use self::report::FIELDS;
pub(in crate::cmd) use self::status::FIELDS as STATUS_FIELDS;
pub(in crate::cmd) use self::verify::FIELDS as VERIFY_FIELDS;
use super::database::{address, open_store, read_target};
use crate::base::env;
use crate::context::{Context, remaining};
use crate::error::CliError;
use crate::form_ref::{self, FormMatch};
use crate::settings::args::duration;

/// Copy submissions into an SQLite or PostgreSQL database, and keep it current
///
/// Reads the submissions that the database does not have, newest first, and adds a view per form with a
/// column per question. An interrupted run is continued by the next one. Run it every minute, or with
/// `--watch`; with nothing new it makes one request if FORM is a full form id. A form with the title
/// `status` or `verify` is given by its id.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  formsvc submissions sync survey --to sqlite:survey.db\n  formsvc submissions sync --all --to sqlite:forms.db\n  formsvc submissions sync survey contact --to postgres://app@db.example/app --schema forms --watch\n  formsvc submissions sync status --to sqlite:survey.db\n  formsvc submissions sync verify survey --to sqlite:survey.db --mark-deleted"
)]
pub(crate) struct Sync {
    #[command(subcommand)]
    command: Option<SyncCommand>,
    #[command(flatten)]
    run: run::Run,
}

#[derive(Debug, Subcommand)]
enum SyncCommand {
    Status(status::Status),
    Verify(verify::Verify),
}

impl Sync {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        match self.command {
            None => self.run.run(cx).await,
            Some(SyncCommand::Status(status)) => status.run(cx).await,
            Some(SyncCommand::Verify(verify)) => verify.run(cx).await,
        }
    }
}

/// The database of a sync.
#[derive(Debug, Args)]
struct Target {
    /// The database: `sqlite:PATH` or `postgres://USER@HOST/DATABASE` [env: FORMSVC_SYNC_TO]
    ///
    /// Other users of this machine can see a password in a command. FORMSVC_SYNC_TO, PGPASSWORD and
    /// ~/.pgpass hide it.
    #[arg(long, value_name = "URL", value_parser = address)]
    to: Option<SecretString>,
    /// The schema of a PostgreSQL database [default: public]
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
}

impl Target {
    fn read(&self) -> Result<SyncTarget, CliError> {
        let variable =
            || env::of_process(env::SYNC_TO.name)?.into_string().ok().map(SecretString::from);
        let url = self.to.clone().or_else(variable).ok_or_else(|| {
            CliError::usage("no database is given")
                .hint("use `--to sqlite:PATH`, `--to postgres://…` or FORMSVC_SYNC_TO")
        })?;
        read_target("--to", &url, self.schema.as_deref())
    }
}

/// Flags of requests.
#[derive(Debug, Args)]
struct RequestFlags {
    /// Stop after this time with exit 8; the next run continues
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    /// Leave out invalid submissions, and those beyond 100 with the same time, and end with exit 9
    #[arg(long)]
    allow_incomplete: bool,
}

impl RequestFlags {
    /// Returns the options of a run that begins now.
    fn pull(&self, deadline: Option<Instant>) -> PullOptions {
        let options = PullOptions::default().time_limit(remaining(deadline));
        options.allow_incomplete(self.allow_incomplete)
    }
}

/// Finds a form: by its full id in the database, which takes no request, or else in the service.
async fn find_form(
    cx: &Context,
    client: &Client,
    store: &SyncStore,
    text: &str,
) -> Result<FormMatch, CliError> {
    if let Ok(id) = FormId::new(text)
        // The first run creates the database.
        && let Ok(forms) = store.status().await
    {
        let is_wanted =
            |form: &&SyncStatus| form.form_id == text && form.origin == client.base_url();
        if let Some(form) = forms.into_iter().find(|form| is_wanted(&form)) {
            let title = form.title.unwrap_or_else(|| text.to_owned());
            return Ok(FormMatch { title, ..FormMatch::unlisted(id) });
        }
    }
    form_ref::resolve(cx, text).await
}
