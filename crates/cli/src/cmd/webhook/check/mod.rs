//! `formsvc webhook check`

mod demo;
mod print;
mod record;

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
use crate::exit::Exit;
use crate::output::prompt;
use crate::settings::Service;

use super::args::{SecretArgs, SenderArgs, require, response_timeout};
use demo::DemoReceiver;
pub(in crate::cmd) use record::FIELDS;

/// Check that a receiver follows the rules for webhook deliveries
///
/// Sends valid deliveries, which the receiver must accept, and invalid ones, which it must refuse. They are
/// submissions of the form `frm_check` with ids that begin with `sub_check_`. The receiver handles those that
/// it accepts, so check a receiver for tests. `--timeout` is the time for a response [default: the service's
/// 10s]. Exits with 1 if a check fails, with 6 if the receiver cannot be reached.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook check\n  formsvc webhook check --list\n  formsvc webhook check 9000/hook --secret-file secret.txt\n  formsvc --demo webhook check --only stale,future --junit report.xml"
)]
pub(crate) struct Check {
    /// Receiver: a URL, a port of this machine, or host:port/path
    #[arg(value_name = "URL", value_parser = target::parse)]
    url: Option<Url>,
    /// Run only these checks; repeatable or comma-separated
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    only: Vec<String>,
    /// Omit these checks; repeatable or comma-separated
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    skip: Vec<String>,
    /// List the checks, and run none
    #[arg(long, conflicts_with_all = ["url", "junit", "yes"])]
    list: bool,
    /// Also write a JUnit report
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Do not ask before sending to another machine
    #[arg(short, long)]
    yes: bool,
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
            let listing = cx.output.listing(record::LIST_FIELDS)?;
            let checks: Vec<&ReceiverCheck> =
                RECEIVER_CHECKS.iter().filter(|check| self.is_wanted(check)).collect();
            return print::list(cx, listing, &checks);
        }
        let listing = cx.output.listing(FIELDS)?;
        if !RECEIVER_CHECKS.iter().any(|check| self.is_wanted(check)) {
            return Err(CliError::usage("`--skip` omits all checks of `--only`"));
        }
        let (reports, url) = if let Service::Demo = cx.settings.service {
            self.check_demo(cx).await?
        } else {
            self.check_receiver(cx).await?
        };
        if let Some((junit, url)) = url {
            // Printing may fail too.
            let cases: Vec<_> = reports.iter().map(print::junit_case).collect();
            junit.write("formsvc webhook check", &url, &cases)?;
        }
        print::reports(cx, listing, &reports)
    }

    fn is_wanted(&self, check: &ReceiverCheck) -> bool {
        let names = |list: &[String]| list.iter().any(|id| id == check.id);
        (self.only.is_empty() || names(&self.only)) && !names(&self.skip)
    }

    /// Opens the report, before the first request.
    fn junit(&self) -> Result<Option<Junit>, CliError> {
        self.junit.as_deref().map(Junit::create).transpose()
    }

    /// Checks the receiver of `--demo`.
    async fn check_demo(&self, cx: &Context) -> Result<CheckRun, CliError> {
        if self.url.is_some() {
            let what = "`--demo` checks its own receiver, so it takes no URL";
            return Err(CliError::usage(what).hint("omit one of them"));
        }
        let junit = self.junit()?;
        let demo = DemoReceiver::start().await?;
        let reports = self.reports(cx, &demo.url, &demo.secret).await?;
        Ok((reports, junit.map(|junit| (junit, demo.url.clone()))))
    }

    async fn check_receiver(&self, cx: &Context) -> Result<CheckRun, CliError> {
        let url = self.url.clone().ok_or_else(|| {
            CliError::coded(Code::MissingArgument, "no URL of a receiver")
                .hint("pass it: `formsvc webhook check URL`; `--demo` has a receiver to try")
        })?;
        let junit = self.junit()?;
        let secrets = require(self.secrets.read(cx).await?, "signing")?;
        if !self.yes {
            confirm(cx, &url).await?;
        }
        // During a rotation, the current secret is the first.
        let secret = secrets.texts().into_iter().next().unwrap_or_default();
        let reports = self.reports(cx, &url, &secret).await?;
        Ok((reports, junit.map(|junit| (junit, url))))
    }

    /// Runs the checks.
    async fn reports(
        &self,
        cx: &Context,
        url: &Url,
        secret: &SecretString,
    ) -> Result<Vec<ReceiverReport>, CliError> {
        cx.check_network(url.as_str())?;
        let timeout = response_timeout(cx);
        let sender = self.requests.sender(cx, timeout, ANSWER_MAX)?;
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

/// The reports of the checks, and the JUnit report with the URL of the receiver.
type CheckRun = (Vec<ReceiverReport>, Option<(Junit, Url)>);

/// Asks before generated submissions are sent to another machine.
async fn confirm(cx: &Context, url: &Url) -> Result<(), CliError> {
    if target::is_local(url) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    if !cx.settings.may_ask {
        let what = format!("{host} is another machine, and would handle generated submissions");
        return Err(CliError::usage(what).hint("pass `--yes` if it is a receiver for tests"));
    }
    let question = format!("Send generated submissions to {host}, which will handle them?");
    if prompt::confirm(&question).await? {
        return Ok(());
    }
    Err(CliError::new(Exit::Usage, "nothing was sent"))
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
