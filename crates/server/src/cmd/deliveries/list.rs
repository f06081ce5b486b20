//! `formsvc-server deliveries list`.

use formsvc_protocol::{FormInstant, SubmissionId, Timestamp};

use super::{Shown, delivery_id, record};
use crate::admin::{Admin, parse_id};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output::{self, OutputArgs};
use crate::cmd::settings::{bad, whole};
use crate::cmd::table::{Cut, Table};
use crate::cmd::webhook::endpoint_id;
use crate::request_id::RequestId;
use crate::store::{DeliveriesRequest, DeliveryKey, DeliveryState, system_clock};

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 10_000;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Id or public id of the form.
    #[arg(value_name = "FORM")]
    form: String,
    /// Only deliveries to this endpoint.
    #[arg(long, value_name = "ID")]
    endpoint: Option<String>,
    /// Only deliveries that are pending, retrying, delivered, failed or canceled.
    #[arg(long)]
    state: Option<String>,
    /// Only those of this submission.
    #[arg(long, value_name = "ID")]
    submission: Option<String>,
    /// Only those of the submission that this request made; what `X-Request-Id` told its sender.
    #[arg(long, value_name = "ID", conflicts_with = "submission")]
    request_id: Option<String>,
    /// Deliveries to print, at most 10000 [default: 100].
    #[arg(long, value_name = "N")]
    limit: Option<String>,
    /// Only deliveries listed after this one.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    /// The submission that is asked for by its own id or its request's.
    fn submission(&self) -> Result<Option<SubmissionId>, CommandError> {
        if let Some(text) = &self.request_id {
            let rule = "must be `req_` and 32 digits, as `X-Request-Id` and the log have it";
            let request = RequestId::parse(text).ok_or_else(|| bad("--request-id", text, rule))?;
            return Ok(Some(request.submission()));
        }
        let read = |text: &String| parse_id(text).map_err(|rule| bad("--submission", text, rule));
        self.submission.as_ref().map(read).transpose()
    }
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let shape = args.output.shape()?;
    let endpoint = args.endpoint.as_deref().map(|id| endpoint_id("--endpoint", id)).transpose()?;
    let state = args.state.as_deref().map(state).transpose()?;
    let submission = args.submission()?;
    let after = args.after.as_deref().map(key).transpose()?;
    let limit = args.limit.as_deref().map_or(Ok(LIMIT_DEFAULT), limit)?;
    let list = async |admin: &Admin| {
        let form = admin.find_form(&args.form).await?.id;
        let (endpoint, submission) = (endpoint.clone(), submission.clone());
        let request = DeliveriesRequest { form, endpoint, state, submission, after, limit };
        Ok(admin.list_deliveries(request).await?)
    };
    let deliveries = with(&args.database, Missing::Refuse, list).await?;
    let shown: Vec<_> = deliveries.iter().map(record).collect();
    let now = system_clock()();
    output::list(shape, &shown, table(), |table, delivery| {
        let (attempts, next) = (delivery.attempts.to_string(), next(delivery, now));
        let (outcome, id) = (outcome(delivery), delivery.id.as_str());
        table.row([delivery.state, &attempts, &outcome, &next, delivery.url, id]);
    })?;
    if let Some(last) = deliveries.last()
        && deliveries.len() == limit as usize
    {
        output::note(&format!("there may be more: `--after {}`", last.key.id()));
    }
    Ok(())
}

fn table() -> Table<6> {
    Table::new([
        ("STATE", Cut::Never),
        ("ATTEMPTS", Cut::Never),
        ("LAST", Cut::End),
        ("NEXT", Cut::Never),
        ("URL", Cut::Url),
        ("ID", Cut::Never),
    ])
}

/// What came of the last attempt: a status, or why there was none.
fn outcome(delivery: &Shown<'_>) -> String {
    match (delivery.last_status, delivery.last_error) {
        // Whole, and yet no success: the body did not come, say.
        (None | Some(200..300), Some(error)) => error.to_owned(),
        (Some(status), _) => status.to_string(),
        (None, None) => "-".to_owned(),
    }
}

/// How long until the next attempt.
fn next(delivery: &Shown<'_>, now: FormInstant) -> String {
    let due = |at: &Timestamp| FormInstant::from_micros(at.unix_micros()).since(now).as_secs();
    match delivery.next_attempt_at.map(due) {
        None => "-".into(),
        Some(0) => "now".into(),
        Some(seconds @ 1..120) => format!("{seconds} s"),
        Some(seconds) => format!("{} min", seconds / 60),
    }
}

fn state(text: &str) -> Result<DeliveryState, CommandError> {
    let rule = "must be pending, retrying, delivered, failed or canceled";
    DeliveryState::from_text(text).ok_or_else(|| bad("--state", text, rule))
}

fn key(text: &str) -> Result<DeliveryKey, CommandError> {
    let key = DeliveryKey::from_id(&delivery_id("--after", text)?);
    key.ok_or_else(|| bad("--after", text, "must be the id of a delivery"))
}

fn limit(text: &str) -> Result<u32, CommandError> {
    let rule = "must be a whole number from 1 to 10000";
    whole(text, 1, LIMIT_MAX).ok_or_else(|| bad("--limit", text, rule))
}
