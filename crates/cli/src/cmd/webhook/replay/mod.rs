//! `formsvc webhook replay`

mod send;

use clap::Args;
use formsvc_contract::send::ANSWER_MAX;
use formsvc_workbench::delivery::{CaptureNumber, Delivery};
use formsvc_workbench::expectation::StatusSet;
use formsvc_workbench::export::ExportFormat;
use formsvc_workbench::replay::{Destination, ReplayPlan, ReplaySignature};
use formsvc_workbench::secrets::SigningSecrets;
use formsvc_workbench::store::CaptureStore;
use formsvc_workbench::target;
use url::Url;

use self::send::ReplayRun;
use super::args::{
    CapturesArgs, ChangeArgs, SECRET_ADVICE, SecretArgs, SenderArgs, export_format, require,
};
use super::captures;
use crate::base::text::count;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;
use crate::settings::Service;

/// The fields of a replay.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("capture"),
    Field::id("submission_id").last(),
    Field::address("to").last(),
    Field::status("before"),
    Field::status("status"),
    Field::new("took_ms"),
    Field::new("error"),
    Field::new("body_size").json_only(),
    Field::new("signature").json_only(),
];

/// Send recorded deliveries again
///
/// Sends the recorded headers and body with a fresh signature, oldest delivery first, to the targets to which
/// the listener forwarded them or to `--to`. Without `--verdict`, conditions such as `--status` select only deliveries with a valid signature. `--status` is the status of the recorded response; replays do
/// not change it.
///
/// The output has the recorded status and the new one; in a pipe, each replay is one line of JSON. Exits with 11 if a status is not the one of `--expect`, which is 2xx by default. A response may take 10 seconds, unless `--timeout` is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook replay --status 5xx --dry-run\n  formsvc --demo webhook replay 2 --set data.species=Emperor --export curl\n  formsvc webhook replay --last 1 --secret-file secret.txt\n  formsvc webhook replay 17 --to localhost:4242/hook --keep-signature"
)]
pub(crate) struct Replay {
    #[command(flatten)]
    captures: CapturesArgs,
    /// Receiver: a URL, host:port/path, or port/path on this machine, such as 4242/hook [default: the targets of the listener]
    #[arg(long, value_name = "URL", value_parser = target::parse, help_heading = "Sending")]
    to: Option<Url>,
    /// Send the recorded signature and body without changes
    #[arg(long, conflicts_with_all = ["set", "unset", "secret_file", "secret_stdin"], help_heading = "Sending")]
    keep_signature: bool,
    #[command(flatten)]
    changes: ChangeArgs,
    /// Expected status of the responses, such as 2xx or 401. Exits with 11 if another arrives
    #[arg(long, value_name = "STATUS", default_value = "2xx", help_heading = "Sending")]
    expect: StatusSet,
    /// Print what would be sent, and send nothing
    #[arg(long, conflicts_with = "export", help_heading = "Sending")]
    dry_run: bool,
    /// Print each request instead of sending it
    #[arg(long, value_name = "FORMAT", value_parser = export_format(true), help_heading = "Output")]
    export: Option<ExportFormat>,
    /// Do not mask signatures and secrets. They allow others to replay the delivery
    #[arg(long, help_heading = "Output")]
    reveal: bool,
    #[command(flatten)]
    requests: SenderArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

impl Replay {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.export.is_some() {
            cx.output.refuse_flags("`--export` is the format of the output")?;
        }
        cx.output.listing(FIELDS)?;
        let store = captures::require(cx).await?;
        let plan = self.plan(cx, &store).await?;
        if plan.sends.is_empty() {
            return Ok(());
        }
        if self.export.is_none() && !self.dry_run {
            let mut targets = plan.sends.iter();
            targets.try_for_each(|(_, target)| cx.check_network(target.url.as_str()))?;
        }
        let run = ReplayRun {
            cx,
            sender: self.requests.sender(cx, ANSWER_MAX)?,
            secrets: self.secrets(cx).await?,
            store,
            plan,
            args: &self,
        };
        match self.export {
            Some(format) => run.export(format).await,
            None => run.send().await,
        }
    }

    /// Selects captures and their targets, and reports those that are left out.
    async fn plan(
        &self,
        cx: &Context,
        store: &CaptureStore,
    ) -> Result<ReplayPlan<'static>, CliError> {
        let (selection, numbers) = self.captures.select(cx, store).await?;
        let destination = match &self.to {
            Some(url) => Destination::Url(url.clone()),
            None => Destination::Forwards(None),
        };
        let signature =
            if self.keep_signature { ReplaySignature::AsReceived } else { ReplaySignature::Fresh };
        let mut plan = ReplayPlan::new(selection, destination, signature);
        for number in &numbers {
            let delivery = captures::get(store, *number).await?;
            let before = plan.sends.len();
            plan.add(*number, &delivery).map_err(|error| {
                CliError::from(error).hint("pass the URL of the receiver: `--to 4242/hook`")
            })?;
            if plan.sends.len() > before {
                self.check_signer(cx, *number, &delivery, signature)?;
            }
        }
        if numbers.is_empty() {
            cx.progress.remark("no captures match");
        }
        if plan.untrusted > 0 {
            cx.progress.remark(&format!(
                "skipped {} without a valid signature; to send them anyway, give their numbers or use \
                 `--verdict`",
                count(plan.untrusted as u64, "delivery")
            ));
        }
        if plan.not_forwarded > 0 {
            cx.progress.remark(&format!(
                "skipped {} that the listener did not forward; pass the URL: `--to 4242/hook`",
                count(plan.not_forwarded as u64, "delivery")
            ));
        }
        Ok(plan)
    }

    /// Returns an error if a stored secret would sign a capture without a valid signature: the user has to
    /// pass the secret for that.
    fn check_signer(
        &self,
        cx: &Context,
        number: CaptureNumber,
        delivery: &Delivery,
        signature: ReplaySignature,
    ) -> Result<(), CliError> {
        let verdict = delivery.summary.verdict.code.row();
        let is_stored = !self.secrets.is_given() && !matches!(cx.settings.service, Service::Demo);
        let needs_secret = signature == ReplaySignature::Fresh && !self.dry_run && is_stored;
        if !needs_secret || verdict.has_valid_signature {
            return Ok(());
        }
        let what = format!("a fresh signature for capture {number} needs a signing secret");
        Err(CliError::coded(Code::MissingArgument, what)
            .cause(format!(
                "stored secrets sign only captures with a valid signature, but {}",
                verdict.meaning
            ))
            .hint(SECRET_ADVICE))
    }

    /// Returns the secrets if a signature is made.
    async fn secrets(&self, cx: &Context) -> Result<SigningSecrets, CliError> {
        if self.keep_signature || self.dry_run {
            return Ok(SigningSecrets::default());
        }
        let secrets = self.secrets.read_or_stored(cx).await?;
        require(secrets, "a fresh signature").map_err(|error| {
            error.cause("`--keep-signature` sends the recorded one, which expires after 5 minutes")
        })
    }
}
