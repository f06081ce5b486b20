//! `formsvc webhook replay`

mod send;

use clap::Args;
use formsvc_contract::send::ANSWER_MAX;
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
use super::{captures, is_demo, secret};
use crate::base::text::{count, first_names};
use crate::cmd::help_flags::refuse_data;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;

/// Most numbers of captures in a message.
const MAX_NAMES: usize = 10;

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
/// the listener forwarded them or to `--to`. Without `--verdict`, conditions such as `--status` select only `valid`
/// deliveries; with `--keep-signature`, also `unchecked` ones. `--status` is the status of the recorded response;
/// replays do not change it.
///
/// The output has the recorded status and the new one; in a pipe, each replay is one line of JSON. Exits with 11 if a
/// status is not the one of `--expect`, which is 2xx by default. A response may take 10 seconds, unless `--timeout` is
/// given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook replay --status 5xx --export http\n  formsvc --demo webhook replay 2 --set data.species=Emperor --export curl\n  formsvc webhook replay --last 1 --secret-file secret.txt\n  formsvc webhook replay 17 --to localhost:4242/hook --keep-signature"
)]
pub(crate) struct Replay {
    #[command(flatten)]
    captures: CapturesArgs,
    /// Receiver: a URL, host:port/path, or port/path on this machine, such as 4242/hook [default: the recorded targets]
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
            refuse_data(&cx.settings.given, "`--export` is the format of the output")?;
        }
        cx.output.listing(FIELDS)?;
        let store = captures::require(cx).await?;
        let (plan, not_valid) = self.plan(cx, &store).await?;
        if plan.sends.is_empty() {
            return Ok(());
        }
        let secrets = self.secrets(cx, &not_valid).await?;
        let sender = self.requests.sender(cx, ANSWER_MAX)?;
        let run = ReplayRun { cx, sender, secrets, store, plan, args: &self };
        match self.export {
            Some(format) => run.export(format).await,
            None => run.send(&not_valid).await,
        }
    }

    /// Selects captures and their targets, and reports those that are left out. Also returns the numbers of selected
    /// captures without a valid signature.
    async fn plan(
        &self,
        cx: &Context,
        store: &CaptureStore,
    ) -> Result<(ReplayPlan<'static>, Vec<String>), CliError> {
        let (selection, numbers) = self.captures.select(cx, store).await?;
        let destination = match &self.to {
            Some(url) => Destination::Url(url.clone()),
            None => Destination::Forwards(None),
        };
        let signature =
            if self.keep_signature { ReplaySignature::AsReceived } else { ReplaySignature::Fresh };
        let mut plan = ReplayPlan::new(selection, destination, signature);
        let mut not_valid = Vec::new();
        for number in &numbers {
            let delivery = captures::get(store, *number).await?;
            let before = plan.sends.len();
            plan.add(*number, &delivery)?;
            let is_valid = delivery.summary.verdict.code.row().has_valid_signature;
            if plan.sends.len() > before && !is_valid {
                not_valid.push(number.to_string());
            }
        }
        if numbers.is_empty() {
            cx.progress.remark("no captures match");
        }
        for (skipped, reason) in [
            (
                plan.untrusted,
                "that may not be from the service; to send them anyway, pass their numbers",
            ),
            (
                plan.not_forwarded,
                "that the listener did not forward; pass the URL: `--to 4242/hook`",
            ),
        ] {
            if skipped > 0 {
                let skipped = count(skipped as u64, "delivery");
                cx.progress.remark(&format!("skipped {skipped} {reason}"));
            }
        }
        Ok((plan, not_valid))
    }

    /// Returns the secrets if a signature is made. Stored secrets do not sign captures without a valid signature, which
    /// an unknown sender may have sent.
    async fn secrets(
        &self,
        cx: &Context,
        not_valid: &[String],
    ) -> Result<SigningSecrets, CliError> {
        if self.keep_signature {
            return Ok(SigningSecrets::default());
        }
        let given = self.secrets.read(cx).await?;
        if given.is_empty() {
            let secrets =
                require(secret::stored(cx).await?, "a fresh signature").map_err(|error| {
                    error.cause(
                        "`--keep-signature` sends the recorded one, which expires after 5 minutes",
                    )
                })?;
            if not_valid.is_empty() || is_demo(cx) {
                return Ok(secrets);
            }
            let what = "stored secrets sign only captures with a valid signature";
            return Err(CliError::coded(Code::MissingArgument, what)
                .cause(format!("without a valid signature: {}", first_names(not_valid, MAX_NAMES)))
                .hint(SECRET_ADVICE));
        }
        if !not_valid.is_empty() {
            cx.progress.warn(&format!(
                "captures without a valid signature are signed with your secret now: {}",
                first_names(not_valid, MAX_NAMES)
            ));
        }
        Ok(given)
    }
}
