//! `formsvc webhook check`

mod demo;
mod place;
mod report;
mod row;

use std::path::PathBuf;
use std::time::SystemTime;

use clap::Args;
use clap::builder::PossibleValuesParser;
use formsvc_contract::receiver::{CHECKS, Check as Asked, Given, Outcome, Report, Runner};
use formsvc_contract::send::{SendError, SendErrorKind, Sender, SenderOptions};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use secrecy::SecretString;
use url::Url;

use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::output::Finding;
use crate::settings::Service;
use crate::webhook::secrets::SecretArgs;

use demo::Demo;
use report::Junit;
use row::{FIELDS as ROW_FIELDS, LIST_FIELDS, Row};

/// What a check shows.
pub(crate) const FIELDS: &[crate::output::Field] = ROW_FIELDS;

/// Check that a receiver does what the service needs of it
///
/// Sends deliveries to a receiver, in whatever language it is written: right ones, which it is to take,
/// and wrong ones, which it is to refuse. They are submissions of the form `frm_check` with ids that begin
/// with `sub_check_`, and the receiver handles those it takes: check one that may. Exits with 1 if a check
/// fails, with 6 if nothing listens.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook check\n  formsvc webhook check --list\n  formsvc webhook check http://127.0.0.1:9000/ --secret-file secret.txt --junit report.xml"
)]
pub(crate) struct Check {
    /// Address of the receiver
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Make this check alone; can be repeated, or several given with commas
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids())]
    only: Vec<String>,
    /// Leave this check out; can be repeated, or several given with commas
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids())]
    skip: Vec<String>,
    /// Show the checks there are, and make none
    #[arg(long, conflicts_with_all = ["url", "junit", "yes"])]
    list: bool,
    /// Write the outcome as a JUnit report, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Send to a receiver that is not on this machine without asking
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    secrets: SecretArgs,
}

fn ids() -> PossibleValuesParser {
    PossibleValuesParser::new(CHECKS.iter().map(|check| check.id))
}

impl Check {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.list {
            let mut listing = cx.output.listing(LIST_FIELDS)?;
            for check in CHECKS.iter().filter(|check| self.is_wanted(check)) {
                listing.push(&Row::of(check));
            }
            return cx.output.list(&listing);
        }
        let mut listing = cx.output.listing(ROW_FIELDS)?;
        if !CHECKS.iter().any(|check| self.is_wanted(check)) {
            return Err(CliError::usage("`--skip` leaves out every check that `--only` asks for"));
        }
        let junit = self.junit.as_deref().map(Junit::create).transpose()?;
        let (reports, url) = self.reports(cx).await?;
        for report in &reports {
            listing.push(&Row::from(report));
        }
        // Before anything is shown, which may fail as well.
        if let Some(junit) = junit {
            junit.write(&url, &reports)?;
        }
        show(cx, &listing, &reports)?;
        ended(&reports)
    }

    fn is_wanted(&self, check: &Asked) -> bool {
        let names = |list: &[String]| list.iter().any(|id| id == check.id);
        (self.only.is_empty() || names(&self.only)) && !names(&self.skip)
    }

    /// Makes the checks.
    async fn reports(&self, cx: &Context) -> Result<(Vec<Report>, Url), CliError> {
        if let Service::Demo = cx.settings.service {
            if self.url.is_some() {
                let what = "`--demo` checks a receiver of its own, and takes no address";
                return Err(CliError::usage(what));
            }
            let demo = Demo::start().await?;
            let reports = self.made(cx, &demo.url, &demo.secret).await?;
            return Ok((reports, demo.url.clone()));
        }
        let url = place::read(self.url.as_deref())?;
        let secrets = self.secrets.read(cx).await?.required("a check")?;
        let secret = secrets.0.into_iter().next().map(|(_, secret)| secret);
        let secret = secret.ok_or_else(|| CliError::usage("no signing secret"))?;
        if !self.yes {
            place::ask(cx, &url).await?;
        }
        let reports = self.made(cx, &url, &secret).await?;
        Ok((reports, url))
    }

    async fn made(
        &self,
        cx: &Context,
        url: &Url,
        secret: &SecretString,
    ) -> Result<Vec<Report>, CliError> {
        let limit = cx.settings.timeout.unwrap_or(DELIVERY_TIMEOUT);
        let sender = Sender::new(SenderOptions { timeout: limit, ..SenderOptions::default() })
            .map_err(|error| CliError::new(Exit::Failed, "cannot send").because(&error))?;
        let run = format!("{:08x}", fastrand::u32(..));
        let given =
            Given { sender: &sender, url, secret, limit, clock: &SystemTime::now, run: &run };
        let runner =
            Runner::new(given).ok_or_else(|| CliError::usage("the signing secret is empty"))?;
        let all = CHECKS.iter().filter(|check| self.is_wanted(check)).count();
        let mut done = 0_usize;
        let made = runner.run(
            |check| self.is_wanted(check),
            |report| {
                done += 1;
                cx.progress.doing(&format!("{done} of {all} checks · {}", report.check.id));
            },
        );
        let made = made.await;
        cx.progress.end();
        made.map_err(|error| unreachable(&error))
    }
}

/// There is no receiver to be judged.
fn unreachable(error: &SendError) -> CliError {
    let code = match error.kind {
        SendErrorKind::BadUrl => return CliError::usage(error.to_string()),
        SendErrorKind::Timeout => Code::Timeout,
        _ => Code::Network,
    };
    CliError::coded(code, "the receiver cannot be reached").because(error)
}

/// Shows what was found.
fn show(
    cx: &Context,
    listing: &crate::output::Listing,
    reports: &[Report],
) -> Result<(), CliError> {
    let findings: Vec<Finding<'_>> = reports.iter().map(finding).collect();
    if !cx.output.findings(&findings, &Outcome::ALL.map(Outcome::word))? {
        cx.output.list(listing)?;
    }
    Ok(())
}

fn finding(report: &Report) -> Finding<'_> {
    let is_wrong = matches!(report.outcome, Outcome::Warn | Outcome::Fail);
    Finding {
        outcome: report.outcome.word(),
        name: report.check.id,
        found: &report.found,
        hint: is_wrong.then_some(report.check.fix),
    }
}

/// How the run ends.
fn ended(reports: &[Report]) -> Result<(), CliError> {
    let failed: Vec<&str> = reports
        .iter()
        .filter(|report| report.outcome == Outcome::Fail)
        .map(|report| report.check.id)
        .collect();
    let what = match &*failed {
        [] => return Ok(()),
        [one] => format!("the receiver fails the check `{one}`"),
        all => format!("the receiver fails {} of {} checks", all.len(), reports.len()),
    };
    let again = failed.join(",");
    Err(CliError::coded(Code::CheckFailed, what)
        .hint(format!("mend it, and check again with `--only {again}`")))
}
