//! `formsvc webhook check`

mod demo;
mod row;
mod shown;

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use clap::builder::PossibleValuesParser;
use formsvc_contract::receiver::{
    Outcome, RECEIVER_CHECKS, ReceiverCheck, ReceiverOptions, ReceiverReport, Runner,
};
use formsvc_contract::send::{ANSWER_MAX, SendError, SendErrorKind};
use secrecy::SecretString;
use url::Url;

use crate::ask;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::junit::{Junit, JunitSuite};
use crate::settings::Service;
use crate::webhook::secrets::SecretArgs;
use crate::webhook::sender::{self, SenderArgs, Timeout, answer_limit};
use crate::webhook::target::{is_here, target};

use demo::Demo;
pub(in crate::cmd) use row::FIELDS;

/// Check that a receiver follows the rules for webhook deliveries
///
/// Sends deliveries to a receiver, in whatever language it is written: right ones, which it is to take,
/// and wrong ones, which it is to refuse. They are submissions of the form `frm_check` with ids that begin
/// with `sub_check_`, and the receiver handles those that it takes: check one that may. `--timeout` is the
/// time for an answer [default: the service's 10s]. Exits with 1 if a check fails, with 6 if nothing listens.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook check\n  formsvc webhook check --list\n  formsvc webhook check 9000/hook --secret-file secret.txt\n  formsvc --demo webhook check --only stale,future --junit report.xml"
)]
pub(crate) struct Check {
    /// The receiver: a URL, a port of this machine, or host:port/path
    #[arg(value_name = "URL", value_parser = target)]
    url: Option<Url>,
    /// Make these checks alone; can be repeated, or several given with commas
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    only: Vec<String>,
    /// Leave these checks out; can be repeated, or several given with commas
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    skip: Vec<String>,
    /// Show the checks there are, and make none
    #[arg(long, conflicts_with_all = ["url", "junit", "yes"])]
    list: bool,
    /// Write a JUnit report, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Send to a receiver that is not on this machine without asking
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
            let listing = cx.output.listing(row::LIST_FIELDS)?;
            let checks: Vec<&ReceiverCheck> =
                RECEIVER_CHECKS.iter().filter(|check| self.is_wanted(check)).collect();
            return shown::list(cx, listing, &checks);
        }
        let listing = cx.output.listing(FIELDS)?;
        if !RECEIVER_CHECKS.iter().any(|check| self.is_wanted(check)) {
            return Err(CliError::usage("`--skip` leaves out every check that `--only` asks for"));
        }
        let (reports, url) = if let Service::Demo = cx.settings.service {
            self.of_demo(cx).await?
        } else {
            self.of_receiver(cx).await?
        };
        if let Some((junit, url)) = url {
            // Before anything is shown, which may fail as well.
            let (name, class) = ("formsvc webhook check", "webhook.check");
            let cases: Vec<_> = reports.iter().map(shown::junit_case).collect();
            junit.write(JunitSuite { name, class, url: &url }, &cases)?;
        }
        shown::show(cx, listing, &reports)?;
        ended(&reports)
    }

    fn is_wanted(&self, check: &ReceiverCheck) -> bool {
        let names = |list: &[String]| list.iter().any(|id| id == check.id);
        (self.only.is_empty() || names(&self.only)) && !names(&self.skip)
    }

    /// Where the report goes, opened before a request is made.
    fn junit(&self) -> Result<Option<Junit>, CliError> {
        self.junit.as_deref().map(Junit::create).transpose()
    }

    /// Checks the receiver that comes with this program.
    async fn of_demo(&self, cx: &Context) -> Result<Made, CliError> {
        if self.url.is_some() {
            let what = "`--demo` checks a receiver of its own, and takes no address";
            return Err(CliError::usage(what).hint("leave out one of them"));
        }
        let junit = self.junit()?;
        let demo = Demo::start().await?;
        let reports = self.reports(cx, &demo.url, &demo.secret).await?;
        Ok((reports, junit.map(|junit| (junit, demo.url.clone()))))
    }

    async fn of_receiver(&self, cx: &Context) -> Result<Made, CliError> {
        let url = self.url.clone().ok_or_else(|| {
            CliError::coded(Code::MissingArgument, "no address of a receiver")
                .hint("`formsvc webhook check URL`; with `--demo` there is a receiver to try it on")
        })?;
        let junit = self.junit()?;
        let secrets = self.secrets.read(cx).await?.required("signing")?;
        if !self.yes {
            agreed(cx, &url).await?;
        }
        // While a secret is rotated, the current one comes first.
        let secret = secrets.0.first().map(|(_, secret)| secret.clone()).unwrap_or_default();
        let reports = self.reports(cx, &url, &secret).await?;
        Ok((reports, junit.map(|junit| (junit, url))))
    }

    /// Makes the checks.
    async fn reports(
        &self,
        cx: &Context,
        url: &Url,
        secret: &SecretString,
    ) -> Result<Vec<ReceiverReport>, CliError> {
        cx.check_network(url.as_str())?;
        let timeout = answer_limit(cx, Timeout::OfAnswers);
        let sender = self.requests.sender(cx, timeout, ANSWER_MAX)?;
        let run_id = format!("{:08x}", fastrand::u32(..));
        let (sender, clock) = (&sender, &SystemTime::now);
        let options = ReceiverOptions { sender, url, secret, timeout, clock, run_id: &run_id };
        let runner =
            Runner::new(options).ok_or_else(|| CliError::usage("the signing secret is empty"))?;
        let all = RECEIVER_CHECKS.iter().filter(|check| self.is_wanted(check)).count();
        let mut done = 0_usize;
        let begins = |check: &ReceiverCheck| {
            cx.progress.doing(&format!("{done} of {all} checks done · {}", check.id));
            done += usize::from(self.is_wanted(check));
        };
        let made = runner.run(|check| self.is_wanted(check), begins).await;
        cx.progress.end();
        made.map_err(|error| unreachable(&error))
    }
}

/// What was found, and where to write it as a report, of which receiver.
type Made = (Vec<ReceiverReport>, Option<(Junit, Url)>);

/// Asks before made-up submissions go to another machine.
async fn agreed(cx: &Context, url: &Url) -> Result<(), CliError> {
    if is_here(url) {
        return Ok(());
    }
    let host = url.host_str().unwrap_or_default();
    if !cx.settings.may_ask {
        let what = format!("{host} is not this machine, and would handle submissions made up here");
        return Err(CliError::usage(what).hint("`--yes` sends them; check a receiver that may"));
    }
    let question = format!("Send made-up submissions to {host}, which will handle them?");
    if ask::confirm(&question).await? {
        return Ok(());
    }
    Err(CliError::new(Exit::Usage, "nothing was sent"))
}

/// There is no receiver to be judged.
fn unreachable(error: &SendError) -> CliError {
    let code = match error.kind {
        SendErrorKind::BadUrl => return CliError::usage(error.to_string()),
        SendErrorKind::Timeout => Code::Timeout,
        _ => Code::Network,
    };
    let told = CliError::coded(code, "the receiver cannot be reached").because(error);
    match sender::hint(error) {
        Some(hint) => told.hint(hint),
        None => told,
    }
}

/// How the run ends.
fn ended(reports: &[ReceiverReport]) -> Result<(), CliError> {
    let failed = reports.iter().filter(|report| report.outcome == Outcome::Fail);
    let failed: Vec<&ReceiverCheck> = failed.map(|report| report.check).collect();
    let (what, hint) = match &*failed {
        [] => return Ok(()),
        [one] => (format!("the receiver fails the check `{}`", one.id), one.fix.to_owned()),
        all => {
            let ids: Vec<&str> = all.iter().map(|check| check.id).collect();
            let hint = format!("`--only {}` makes these checks again", ids.join(","));
            (format!("the receiver fails {} of {} checks", all.len(), reports.len()), hint)
        }
    };
    Err(CliError::coded(Code::CheckFailed, what).hint(hint))
}
