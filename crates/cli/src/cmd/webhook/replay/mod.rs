//! `formsvc webhook replay`

mod plan;
mod run;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use formsvc_contract::send::ANSWER_MAX;
use url::Url;

use self::plan::{Chosen, Plan};
use self::run::Run;
use crate::args::whole;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;
use crate::webhook::changes::{self, Change};
use crate::webhook::export::Form;
use crate::webhook::kept::{WhichArgs, some_captures};
use crate::webhook::replay::Signature;
use crate::webhook::secrets::{SecretArgs, Secrets};
use crate::webhook::sender::{SenderArgs, Timeout, answer_limit};
use crate::webhook::statuses::Statuses;
use crate::webhook::target::target;

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
    Field::new("diff").json_only(),
];

/// Send recorded deliveries again
///
/// Oldest first, with the headers and the bytes they came with, and a signature of now, which a receiver
/// takes. Chosen by flags, those that a receiver refuses are left out, unless `--verdict` names them; and
/// `--status` goes by how a delivery was answered when it came: one that was replayed well since is chosen
/// again.
/// They go to where the listener forwarded them, or where `--to` says. Shown is what the sender or
/// the target was answered before, and what is answered now; in a pipe as one JSON object a line, written at
/// once. Exit 11 where the answer is not 2xx, or not what `--expect` says. `--timeout` is the time for it
/// [default: the service's 10s].
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch as typed")]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook replay --status 5xx --dry-run\n  formsvc --demo webhook replay 2 --set data.species=Emperor --export curl\n  formsvc webhook replay --last 1 --secret-file secret.txt --diff\n  formsvc webhook replay 17 --to localhost:4242/hook --keep-signature"
)]
pub(crate) struct Replay {
    #[command(flatten)]
    which: WhichArgs,
    /// Where to: a URL, a port of this machine, or host:port/path [default: where the listener forwarded it]
    #[arg(long, value_name = "URL", value_parser = target, help_heading = "Sending")]
    to: Option<Url>,
    /// Send the signature it came with, and every byte as it came
    #[arg(long, conflicts_with_all = ["set", "unset", "edit", "secret_file", "secret_stdin"], help_heading = "Sending")]
    keep_signature: bool,
    /// Change one place: data.Name=Ada, data.Guests=3. JSON, or else text; can be repeated
    #[arg(long, value_name = "PATH=VALUE", value_parser = changes::set, help_heading = "Payload")]
    set: Vec<Change>,
    /// Take one place away; can be repeated
    #[arg(long, value_name = "PATH", value_parser = changes::unset, help_heading = "Payload")]
    unset: Vec<Change>,
    /// Change the body in $VISUAL or $EDITOR before it is sent
    #[arg(long, help_heading = "Payload")]
    edit: bool,
    /// Send each so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole::<u32>(1..=u32::MAX.into()), help_heading = "Sending")]
    times: u32,
    /// The status that is right: 2xx, 401, … Another ends with exit code 11
    #[arg(long, value_name = "STATUS", default_value = "2xx", help_heading = "Sending")]
    expect: Statuses,
    /// Say what would be sent, and send nothing
    #[arg(long, conflicts_with_all = ["diff", "export"], help_heading = "Sending")]
    dry_run: bool,
    /// Show what is different between the old answer and the new one, but for the date
    #[arg(long, conflicts_with = "export", help_heading = "Output")]
    diff: bool,
    /// Print each request instead of sending it
    #[arg(long, value_name = "FORMAT", value_parser = form(), help_heading = "Output")]
    export: Option<Form>,
    /// Show signatures and secrets whole; whoever has them can replay the delivery
    #[arg(long, help_heading = "Output")]
    reveal: bool,
    #[command(flatten)]
    requests: SenderArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

fn form() -> impl TypedValueParser<Value = Form> {
    let values = Form::OF_REQUESTS.iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(values)
        .map(|name| Form::from_str(&name, false).expect("the values are names of forms"))
}

impl Replay {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.export.is_some() {
            cx.output.refuse_flags("`--export` says how requests are printed")?;
        }
        cx.output.listing(FIELDS)?;
        let captures = some_captures(cx).await?;
        let numbers = self.which.numbers(cx, &captures).await?;
        let plan = Plan::of(&captures, &numbers, self.to.as_ref(), self.chosen()).await?;
        for remark in plan.remarks() {
            cx.progress.remark(&remark);
        }
        if plan.sends.is_empty() {
            return Ok(());
        }
        if self.export.is_none() && !self.dry_run {
            plan.sends.iter().try_for_each(|send| cx.check_network(send.to.as_str()))?;
        }
        let limit = answer_limit(cx, Timeout::OfAnswers);
        let run = Run {
            cx,
            captures,
            sender: self.requests.sender(cx, limit, ANSWER_MAX)?,
            secrets: self.signing(cx).await?,
            signature: self.signature(),
            changes: self.unset.iter().chain(&self.set).cloned().collect(),
            asked: &self,
        };
        match self.export {
            Some(format) => run.print(&plan, format).await,
            None => run.send(&plan).await,
        }
    }

    fn chosen(&self) -> Chosen {
        match (self.which.are_named(), self.which.means_refused()) {
            (true, _) => Chosen::Named,
            (false, true) => Chosen::ByVerdict,
            (false, false) => Chosen::Otherwise,
        }
    }

    fn signature(&self) -> Signature {
        if self.keep_signature { Signature::Kept } else { Signature::Fresh }
    }

    /// The secrets, where a signature is made. Captures of a demo are of an endpoint of its own.
    async fn signing(&self, cx: &Context) -> Result<Secrets, CliError> {
        if self.keep_signature || self.dry_run {
            return Ok(Secrets::default());
        }
        let secrets = self.secrets.read(cx).await?;
        #[cfg(feature = "sandbox")]
        if secrets.is_empty() && matches!(cx.settings.service, crate::settings::Service::Demo) {
            return Ok(crate::webhook::kept::demo_secrets());
        }
        let what = "a fresh signature";
        secrets.required(what).map_err(|error| {
            // Three ways to give one, and a way to do without.
            error.cause("`--keep-signature` sends the one it came with, which is too old soon")
        })
    }
}
