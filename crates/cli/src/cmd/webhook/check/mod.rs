//! `formsvc webhook check`

mod demo;

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use clap::builder::PossibleValuesParser;
use formsvc_contract::receiver::{
    RECEIVER_CHECKS, ReceiverCheck, ReceiverOptions, ReceiverReport, Runner,
};
use formsvc_contract::send::{ANSWER_MAX, SendError, SendErrorKind};
use formsvc_workbench::forward::advice;
use formsvc_workbench::target;
use secrecy::SecretString;
use url::Url;

use crate::checks::junit::Junit;
use crate::checks::{self, Check, Outcome};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;

use super::args::{SecretArgs, SenderArgs, response_timeout};
use super::is_demo;

/// The fields of a result.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("check"),
    Field::status("outcome"),
    Field::new("section"),
    Field::new("found"),
    Field::new("hint"),
    Field::new("sends").json_only(),
    Field::new("wants").json_only(),
    Field::new("why").json_only(),
    Field::new("requests").json_only(),
    Field::new("took_ms").json_only(),
];

/// The fields of `--list`.
const LIST_FIELDS: &[Field] = &[
    Field::new("check"),
    Field::new("section"),
    Field::new("sends"),
    Field::new("wants"),
    Field::new("why").json_only(),
    Field::new("fix").json_only(),
];

/// Check that a receiver follows the rules for webhook deliveries
///
/// Sends valid deliveries, which the receiver must accept, and invalid ones, which it must refuse. They are
/// submissions of the form `frm_check` with ids that begin with `sub_check_`. The receiver stores or processes
/// those that it accepts, so do not check a receiver in production. A response may take 10 seconds, as for the
/// service, unless `--timeout` is given. Exits with 1 if a check fails, with 6 if the receiver cannot be reached
/// or does not answer in HTTP/1.1.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook check\n  formsvc webhook check --list\n  formsvc webhook check 9000/hook --secret-file secret.txt\n  formsvc --demo webhook check --only stale,future --junit report.xml"
)]
pub(crate) struct CheckReceiver {
    /// Receiver: a URL, host:port/path, or port/path on this machine, such as 4242/hook
    #[arg(value_name = "URL", value_parser = target::parse)]
    url: Option<Url>,
    /// Run only these checks; repeatable or comma-separated
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    only: Vec<String>,
    /// List the checks, and run none
    #[arg(long, conflicts_with_all = ["url", "junit"])]
    list: bool,
    /// Also write a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    requests: SenderArgs,
    #[command(flatten)]
    secrets: SecretArgs,
}

fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(RECEIVER_CHECKS.iter().map(|check| check.id))
}

impl CheckReceiver {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.list {
            let mut listing = cx.output.listing(LIST_FIELDS)?;
            let wanted = RECEIVER_CHECKS.iter().filter(|check| self.is_wanted(check));
            wanted.for_each(|check| listing.push(check));
            return cx.output.list(&listing);
        }
        let listing = cx.output.listing(FIELDS)?;
        let (url, secret) = self.receiver(cx).await?;
        // The report is opened before the first request.
        let junit = self.junit.as_deref().map(Junit::create).transpose()?;
        let reports = self.check(cx, &url, &secret).await?;
        let checks: Vec<Check> = reports.iter().map(result).collect();
        if let Some(junit) = junit {
            junit.write("formsvc webhook check", &url, &checks)?;
        }
        checks::print(cx, listing, &checks, &reports)?;
        checks::result(&checks, Some("--only"))
    }

    /// Returns the URL and the secret of the receiver. Starts the receiver of a demo.
    async fn receiver(&self, cx: &Context) -> Result<(Url, SecretString), CliError> {
        if is_demo(cx) {
            if self.url.is_some() {
                let what = "`--demo` checks its own receiver, so it takes no URL";
                return Err(CliError::usage(what).hint("omit one of them"));
            }
            return demo::start_receiver().await;
        }
        let url = self.url.clone().ok_or_else(|| {
            CliError::coded(Code::MissingArgument, "no URL of a receiver")
                .hint("pass it: `formsvc webhook check URL`; `--demo` has a receiver to try")
        })?;
        let secrets = self.secrets.read_for_signing(cx, "signing").await?;
        // During a rotation, the current secret is the first.
        Ok((url, secrets.texts().into_iter().next().unwrap_or_default()))
    }

    fn is_wanted(&self, check: &ReceiverCheck) -> bool {
        self.only.is_empty() || self.only.iter().any(|id| id == check.id)
    }

    /// Runs the checks.
    async fn check(
        &self,
        cx: &Context,
        url: &Url,
        secret: &SecretString,
    ) -> Result<Vec<ReceiverReport>, CliError> {
        cx.check_network(url.as_str())?;
        let timeout = response_timeout(cx);
        let sender = self.requests.sender(cx, ANSWER_MAX)?;
        let run_id = format!("{:08x}", fastrand::u32(..));
        let (sender, clock) = (&sender, &SystemTime::now);
        let options = ReceiverOptions { sender, url, secret, timeout, clock, run_id: &run_id };
        let runner =
            Runner::new(options).ok_or_else(|| CliError::usage("the signing secret is empty"))?;
        let all = RECEIVER_CHECKS.iter().filter(|check| self.is_wanted(check)).count();
        let mut done = 0_usize;
        let on_start = |check: &ReceiverCheck| {
            cx.progress.doing(&format!("{done} of {all} checks done · {}", check.id));
            done += usize::from(self.is_wanted(check));
        };
        let reports = runner.run(|check| self.is_wanted(check), on_start).await;
        cx.progress.end();
        reports.map_err(|error| unreachable(&error))
    }
}

/// Returns the result of a check. Only a warning or a failure has a fix.
fn result(report: &ReceiverReport) -> Check {
    let ReceiverCheck { id, section, sends, wants, why, fix, .. } = report.check;
    let is_bad = matches!(report.outcome, Outcome::Warning | Outcome::Failed);
    Check {
        expected: is_bad.then(|| format!("{wants}, because {why}")),
        hint: is_bad.then(|| (*fix).to_owned()),
        details: vec![
            format!("sent: {sends}"),
            format!("expected: {wants}"),
            format!("why: SPEC §{section}: {why}"),
            format!("fix: {fix}"),
        ],
        took: report.took,
        ..Check::new(id, report.outcome, &*report.found)
    }
}

/// The error for a receiver that cannot be reached, or does not answer in HTTP/1.1.
fn unreachable(error: &SendError) -> CliError {
    let (code, what) = match error.kind {
        SendErrorKind::BadUrl => return CliError::usage(error.to_string()),
        SendErrorKind::Timeout => (Code::Timeout, "the receiver cannot be reached"),
        SendErrorKind::BadAnswer => (Code::Network, "the receiver does not answer in HTTP/1.1"),
        SendErrorKind::Closed => (Code::Network, "the receiver does not answer"),
        _ => (Code::Network, "the receiver cannot be reached"),
    };
    let hint = match error.kind {
        SendErrorKind::Closed => Some("the log of the receiver may contain the reason"),
        _ => advice(error),
    };
    CliError::coded(code, what).because(error).hint(hint.unwrap_or_default())
}
