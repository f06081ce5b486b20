//! `formsvc webhook check`

mod demo;
mod report;

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
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::settings::Service;

use super::args::{SecretArgs, SenderArgs, response_timeout};
use demo::DemoReceiver;
pub(in crate::cmd) use report::FIELDS;

/// Check that a receiver follows the rules for webhook deliveries
///
/// Sends valid deliveries, which the receiver must accept, and invalid ones, which it must refuse. They are
/// submissions of the form `frm_check` with ids that begin with `sub_check_`. The receiver stores or processes
/// those that it accepts, so do not check a receiver in production. A response may take 10 seconds, as for the
/// service, unless `--timeout` is given. Exits with 1 if a check fails, with 6 if the receiver cannot be reached.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook check\n  formsvc webhook check --list\n  formsvc webhook check 9000/hook --secret-file secret.txt\n  formsvc --demo webhook check --only stale,future --junit report.xml"
)]
pub(crate) struct Check {
    /// Receiver: a URL, host:port/path, or port/path on this machine, such as 4242/hook
    #[arg(value_name = "URL", value_parser = target::parse)]
    url: Option<Url>,
    /// Run only these checks; repeatable or comma-separated
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    only: Vec<String>,
    /// Omit these checks; repeatable or comma-separated
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    skip: Vec<String>,
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

impl Check {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.list {
            let listing = cx.output.listing(report::LIST_FIELDS)?;
            let checks: Vec<&ReceiverCheck> =
                RECEIVER_CHECKS.iter().filter(|check| self.is_wanted(check)).collect();
            return report::list(cx, listing, &checks);
        }
        let listing = cx.output.listing(FIELDS)?;
        if !RECEIVER_CHECKS.iter().any(|check| self.is_wanted(check)) {
            return Err(CliError::usage("`--skip` omits all checks of `--only`"));
        }
        // The report is opened before the first request.
        let junit = || self.junit.as_deref().map(Junit::create).transpose();
        let (url, junit, reports) = if let Service::Demo = cx.settings.service {
            if self.url.is_some() {
                let what = "`--demo` checks its own receiver, so it takes no URL";
                return Err(CliError::usage(what).hint("omit one of them"));
            }
            let (junit, demo) = (junit()?, DemoReceiver::start().await?);
            (demo.url.clone(), junit, self.check(cx, &demo.url, &demo.secret).await?)
        } else {
            let url = self.url.clone().ok_or_else(|| {
                CliError::coded(Code::MissingArgument, "no URL of a receiver")
                    .hint("pass it: `formsvc webhook check URL`; `--demo` has a receiver to try")
            })?;
            let junit = junit()?;
            let secrets = self.secrets.read_for_signing(cx, "signing").await?;
            // During a rotation, the current secret is the first.
            let secret = secrets.texts().into_iter().next().unwrap_or_default();
            let reports = self.check(cx, &url, &secret).await?;
            (url, junit, reports)
        };
        if let Some(junit) = junit {
            let cases: Vec<_> = reports.iter().map(report::junit_case).collect();
            junit.write("formsvc webhook check", &url, &cases)?;
        }
        report::print(cx, listing, &reports)
    }

    fn is_wanted(&self, check: &ReceiverCheck) -> bool {
        let names = |list: &[String]| list.iter().any(|id| id == check.id);
        (self.only.is_empty() || names(&self.only)) && !names(&self.skip)
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

/// The error for a receiver that cannot be reached.
fn unreachable(error: &SendError) -> CliError {
    let code = match error.kind {
        SendErrorKind::BadUrl => return CliError::usage(error.to_string()),
        SendErrorKind::Timeout => Code::Timeout,
        _ => Code::Network,
    };
    let unreachable = CliError::coded(code, "the receiver cannot be reached").because(error);
    match advice(error) {
        Some(hint) => unreachable.hint(hint),
        None => unreachable,
    }
}
