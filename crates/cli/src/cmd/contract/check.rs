//! `formsvc contract check`

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use formsvc_contract::api::{API_ANSWER_MAX, API_CHECKS, ApiOptions, ApiResults, Key, check_api};
use formsvc_contract::report::CheckInfo;
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use formsvc_contract::sender::{
    SENDER_CHECKS, SenderEvent, SenderOptions, SenderResults, check_sender, skip_sender_checks,
    submit,
};
use formsvc_workbench::target;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::time::Instant;
use url::Url;

use super::ids;
use super::show::{self, Results};
use crate::checks::junit::{Junit, JunitSuite};
use crate::cmd::webhook::args::{SecretArgs, require};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::settings::KeySource;
use crate::settings::Service;
use crate::settings::args::duration;

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Longest wait for the rate limit.
const MAX_WAIT: Duration = Duration::from_secs(90);
/// The usual time limit of the API checks, and of the delivery checks: longer than the service's schedule
/// of retries.
const MAX_TIME: Duration = Duration::from_secs(30 * 60);

/// Check that a service follows its specification
///
/// Sends requests to the REST API with the API key and judges each answer by one statement of the
/// specification. The requests only read, and stay inside the rate limit. Checks that need more are
/// skipped without their flag: a revoked key, a form of another user, or the whole rate limit.
/// `--deliveries` also checks webhook deliveries to a receiver on this machine. `--output json` includes a
/// profile of the service, which is complete without `--only`. Exits with 1 if a check fails.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo contract check\n  formsvc contract check --junit report.xml\n  formsvc --demo contract check --only cursor,has-more --output json"
)]
pub(crate) struct Check {
    /// Read the submissions of this form [default: one with several pages]
    #[arg(long, value_name = "ID")]
    form: Option<String>,
    /// Run only these checks; can be repeated, or several separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = ids(), hide_possible_values = true)]
    only: Vec<String>,
    /// Write a JUnit report as well
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// File with a revoked API key: run the check `key-revoked`
    #[arg(long, value_name = "PATH", help_heading = "Optional checks")]
    revoked_key_file: Option<PathBuf>,
    /// Id of a form of another user: run the check `foreign-form`
    #[arg(long, value_name = "ID", help_heading = "Optional checks")]
    foreign_form: Option<String>,
    /// Exceed the rate limit: run the checks of it. Other clients of the key are refused for a minute
    #[arg(long, help_heading = "Optional checks")]
    spend_quota: bool,
    /// Receive deliveries and run the checks of them. Needs the signing secret of an endpoint
    #[arg(long, help_heading = "Deliveries")]
    deliveries: bool,
    /// Port of the endpoint on this machine
    #[arg(long, value_name = "PORT", default_value_t = 4242, help_heading = "Deliveries")]
    port: u16,
    /// Public form to make three submissions to; without it, make them yourself
    #[arg(long, value_name = "URL", value_parser = target::parse, help_heading = "Deliveries")]
    public_form: Option<Url>,
    /// Answers of these submissions, as a browser sends them
    #[arg(
        long,
        value_name = "ANSWERS",
        default_value = "Message=formsvc+contract+check",
        requires = "public_form",
        help_heading = "Deliveries"
    )]
    answers: String,
    /// Longest wait for a retry; the checks of later attempts are skipped
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Deliveries")]
    max_pause: Option<Duration>,
    /// Stop after this time, and end with exit 8 if no check failed until then [default: 30m for the API
    /// checks, and 30m for the delivery checks]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    #[command(flatten)]
    secrets: SecretArgs,
}

/// The results of the API checks.
struct ApiRun {
    results: ApiResults,
    base_url: Url,
    /// The keys that were used.
    keys: Vec<SecretString>,
}

/// The listener for deliveries, and the settings of their checks.
struct Receiver {
    listener: TcpListener,
    options: SenderOptions,
}

impl Check {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let deadline = cx.deadline(self.max_time);
        let listing = show::listing(cx)?;
        let junit = self.junit.as_deref().map(Junit::create).transpose()?;
        // Before any request: these steps report wrong arguments.
        let mut receiver = cx.until(deadline, self.receiver(cx)).await?;
        let api = if API_CHECKS.iter().any(|check| self.is_wanted(&check.info)) {
            Some(self.check_api(cx, deadline).await?)
        } else {
            None
        };
        let (mut reports, mut profile, mut url) = (Vec::new(), None, None);
        if let Some(ApiRun { results, base_url, keys }) = api {
            reports = results.reports;
            (profile, url) = (Some(results.profile), Some(base_url));
            if let Some(receiver) = &mut receiver {
                receiver.options.masked = keys;
            }
        }
        let (mut deliveries, mut outcome) = (None, Ok(()));
        match receiver {
            None => reports.extend(skip_sender_checks(|check| self.is_wanted(check))),
            Some(receiver) => match self.check_deliveries(cx, receiver, deadline).await {
                Ok(results) => {
                    reports.extend(results.reports);
                    deliveries = Some(results.profile);
                }
                // Returned after the reports so far are written.
                Err(error) => outcome = Err(error),
            },
        }
        let is_late = deadline.is_some_and(|deadline| deadline <= Instant::now());
        cx.progress.end();
        let results = Results { checks: reports, profile, deliveries };
        if let Some(junit) = junit {
            // Before the output, which may fail as well.
            let url = url.map_or_else(|| local_url(self.port), Ok)?;
            let (name, class) = ("formsvc contract check", "contract.check");
            let cases: Vec<_> = results.checks.iter().map(show::junit_case).collect();
            junit.write(JunitSuite { name, class, url: &url }, &cases)?;
        }
        show::show(cx, listing, &results)?;
        outcome?;
        show::end(&results)?;
        if is_late { Err(cx.stopped(Exit::Incomplete)) } else { Ok(()) }
    }

    fn is_wanted(&self, check: &CheckInfo) -> bool {
        self.only.is_empty() || self.only.iter().any(|id| id == check.id)
    }

    async fn check_api(&self, cx: &Context, deadline: Option<Instant>) -> Result<ApiRun, CliError> {
        let revoked_key = match &self.revoked_key_file {
            Some(path) => Some(cx.until(deadline, read_key(cx, path)).await?),
            None => None,
        };
        let (base_url, key) = cx.until(deadline, cx.service()).await?;
        let base_url: Url = base_url.parse().map_err(|error: url::ParseError| {
            CliError::usage("the base URL is not a URL").because(&error)
        })?;
        let options = ApiOptions {
            base_url: base_url.clone(),
            key: header_key(&key)?,
            form: self.form.clone(),
            revoked_key: revoked_key.as_ref().map(header_key).transpose()?,
            foreign_form: self.foreign_form.clone(),
            spend_quota: self.spend_quota,
            max_wait: cx.settings.max_wait.unwrap_or(MAX_WAIT),
            time_limit: remaining(deadline),
        };
        let sender = http_sender(cx, API_ANSWER_MAX)?;
        let mut sent = 0_usize;
        let on_request = |request: &str| {
            sent += 1;
            cx.progress.doing(&format!("{sent} requests sent · {request}"));
        };
        let results = check_api(&sender, &options, |check| self.is_wanted(check), on_request);
        let results = results.await;
        Ok(ApiRun { results, base_url, keys: revoked_key.into_iter().chain([key]).collect() })
    }

    /// Listens for deliveries, if checks of them are wanted.
    async fn receiver(&self, cx: &Context) -> Result<Option<Receiver>, CliError> {
        if !self.deliveries || !SENDER_CHECKS.iter().any(|check| self.is_wanted(&check.info)) {
            return Ok(None);
        }
        if let Service::Demo = cx.settings.service {
            let what = "`--demo` and `--deliveries` cannot be used together";
            return Err(CliError::usage(what).hint("start `formsvc sandbox` and add an endpoint"));
        }
        let secrets = require(self.secrets.read(cx).await?, "`--deliveries`")?.texts();
        let listener = TcpListener::bind(("127.0.0.1", self.port)).await;
        let listener = listener.map_err(|error| self.cannot_listen(&error))?;
        // The time limit is set when the checks begin.
        let time_limit = MAX_TIME;
        let options =
            SenderOptions { secrets, masked: Vec::new(), time_limit, max_pause: self.max_pause };
        Ok(Some(Receiver { listener, options }))
    }

    fn cannot_listen(&self, error: &io::Error) -> CliError {
        let what = format!("cannot listen on port {}", self.port);
        CliError::new(Exit::LocalIo, what).because(error)
    }

    async fn check_deliveries(
        &self,
        cx: &Context,
        Receiver { listener, mut options }: Receiver,
        deadline: Option<Instant>,
    ) -> Result<SenderResults, CliError> {
        options.time_limit = remaining(deadline);
        let endpoint = listener.local_addr().map_err(|error| self.cannot_listen(&error))?;
        let on_event = |event| match event {
            SenderEvent::Waiting(count) if self.public_form.is_none() => {
                let form = format!("a form with the endpoint http://{endpoint}/");
                cx.progress.remark(&format!("waiting for {count} submissions to {form}"));
            }
            SenderEvent::Waiting(count) => {
                cx.progress.doing(&format!("waiting for {count} deliveries"));
            }
            SenderEvent::Attempt(number) => {
                cx.progress.doing(&format!("{number} of 4 attempts · waiting for the next"));
            }
            SenderEvent::Quiet(wait) => {
                cx.progress.waiting(wait, "an attempt that must not come");
            }
        };
        let submitted = async {
            let Some(form) = &self.public_form else { return Ok(()) };
            let sender = http_sender(cx, formsvc_contract::send::ANSWER_MAX)?;
            submit(&sender, form, &self.answers).await.map_err(|error| {
                let error =
                    CliError::coded(Code::CheckFailed, error.to_string()).because_of(&error);
                error.hint("set the answers that the form requires with --answers")
            })
        };
        let is_wanted = |check: &CheckInfo| self.is_wanted(check);
        let checked = async {
            let results = check_sender(listener, &options, is_wanted, on_event).await;
            results.map_err(|error| self.cannot_listen(&error))
        };
        let submitted = cx.until(deadline, submitted);
        let (results, ()) = tokio::try_join!(checked, submitted)?;
        Ok(results)
    }
}

/// The time until the deadline, or the usual time limit.
fn remaining(deadline: Option<Instant>) -> Duration {
    let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
    deadline.map_or(MAX_TIME, left)
}

/// A plain HTTP client with the proxy and TLS settings of every command.
fn http_sender(cx: &Context, answer_max: usize) -> Result<HttpSender, CliError> {
    let timeout = cx.settings.timeout.unwrap_or(TIMEOUT);
    let network = cx.network()?.clone();
    let options =
        HttpSenderOptions { timeout, network, answer_max, ..HttpSenderOptions::default() };
    HttpSender::new(options)
        .map_err(|error| CliError::new(Exit::Failed, error.to_string()).because_of(&error))
}

async fn read_key(cx: &Context, path: &Path) -> Result<SecretString, CliError> {
    let source = KeySource::File { path: path.to_owned(), named_by: "--revoked-key-file" };
    Ok(source.read(&cx.progress).await?.key)
}

fn header_key(key: &SecretString) -> Result<Key, CliError> {
    let what = "the API key contains characters that a header cannot have";
    Key::new(key).ok_or_else(|| CliError::new(Exit::Auth, what))
}

fn local_url(port: u16) -> Result<Url, CliError> {
    let url = format!("http://127.0.0.1:{port}/").parse();
    url.map_err(|error: url::ParseError| CliError::usage("no URL").because(&error))
}
